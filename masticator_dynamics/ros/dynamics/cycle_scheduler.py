# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Calls a cycle at a fixed rate and counts late cycles.

An rclpy timer shares its thread with every other callback and drops the periods that it misses.
This thread keeps a grid of due times on the node's clock, catches up after a short stall and
counts what it had to skip after a long one. When the clock is set, the grid moves with it; when the
process stood still, it does not.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.real_time import Longest, Window
from masticator_dynamics.ros.dynamics.simulated_clock import SimulatedClock

_CATCH_UP = 0.1  # s; cycles overdue by more are of no use to anybody
_STALL = 1.0  # s without a cycle, after which a motion must not simply continue
_POLL = 0.0005  # s; how often a simulated clock is read
# A processor that sleeps takes its time to wake: the thread wakes before a cycle is due, by as much
# as it is seldom late, and waits for the rest without sleeping, which is half of what cycles take
# if it is to be late in 3 of 100 instead of one in four.
_SELDOM = 0.25  # fraction of all cycles
_LESSON = 5_000  # ns by which one cycle changes that time at most
_EARLIEST, _PART = 150_000, 0.15  # ns and part of a period: what waiting may cost of a processor
_SMALLEST = 10_000_000  # ns; clocks that are slewed differ by 0.0005 of the time between two looks
_TOGETHER = 1_000_000  # ns; within which both clocks must have been read
_ATTEMPTS = 5


def steady_ns() -> int:
    """Time since the start of the computer, ns; it goes on while the computer sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@dataclasses.dataclass
class CycleCounts:
    """Cycles since the start."""

    run: int = 0  # cycles that were run, late ones included
    late: int = 0  # finished after the next one was due
    skipped: int = 0  # skipped after a long stall
    jumps: int = 0  # steps of the clock
    stalls: int = 0  # times in which there was no cycle for more than a second


class CycleScheduler(real_time.Worker):
    """Runs ``cycle(due)`` for due times (ns) on a grid, in a thread of its own.

    Parameters
    ----------
    rate : float
        Hz.
    now : callable
        The node's clock, ns; 0 while a simulated clock has not started.
    cycle : callable
        Called with the due time.
    rest : callable
        Also called with it, after a cycle that did not fail: for what can wait or be prepared.
    jumped : callable
        Called with the step (ns) when the clock was set.
    stalled : callable
        Called with the due time (ns) and the duration (s) of a long stall, before the first cycle
        after it.
    failed : callable
        Called with what a cycle raised; the scheduler carries on.
    steady : callable
        A clock that is never set, ns.
    """

    def __init__(
        self,
        rate: float,
        now: Callable[[], int],
        cycle: Callable[[int], None],
        rest: Callable[[int], None],
        jumped: Callable[[int], None],
        stalled: Callable[[int, float], None],
        failed: Callable[[Exception], None],
        steady: Callable[[], int] = steady_ns,
    ):
        super().__init__('cycle', self._run, real_time.DYNAMICS, 1.0 / rate)
        self.period = round(1e9 / rate)
        self.simulated = False
        self._now, self._cycle, self._rest, self._failed = now, cycle, rest, failed
        self._jumped, self._stalled, self._steady = jumped, stalled, steady
        self.counts = CycleCounts()
        self.late = Longest()  # s by which cycles started late
        # How long cycles took with what followed, and how late they finished.
        self.durations, self.lateness = Window(), Window()
        self._early = 0.0  # ns before a cycle is due
        self._due = 0  # of the latest cycle
        self._difference: int | None = None  # ns, between the two clocks
        self._clock = SimulatedClock(self.period)

    def sleep_until_quiet(self) -> None:
        """Sleep until a quarter of a period after a cycle was due.

        Whatever holds Python's lock from then on holds up no cycle if it takes half a period.
        """
        if not self.simulated:
            time.sleep((self._due + self.period // 4 - self._now()) % self.period * 1e-9)

    def _run(self) -> None:
        self._difference, self._clock, due = None, SimulatedClock(self.period), 0
        while not self.ended.is_set():
            now = self._wait_until(due)
            if self.ended.is_set():
                return
            due = due or now
            step = self._step(now, due)
            if step:
                due, now = due + step, self._now()
            due = self._after_stall(due, now - due)
            self._run_cycle(due)
            due += self.period

    def _step(self, now: int, due: int) -> int:
        """By how much the clock was set, ns, given what it shows and when a cycle is due, ns."""
        if not self.simulated:
            step = self._set_by()
        else:  # it may run at any speed: by how much more than usual, nobody knows
            step = now - due if self._clock.was_set(now, self._steady()) else 0
        if step:
            self._jumped(step)
            self.counts.jumps += 1
        return step

    def _set_by(self) -> int:
        """By how much the clock was set since the last call, ns; 0 if it was not.

        A clock that nobody sets tells that from a process that stood still.
        """
        for _ in range(_ATTEMPTS):
            begin = self._steady()
            difference = self._now() - begin
            if self._steady() - begin < _TOGETHER:
                break
        else:  # interrupted every time; the next cycle will find out
            return 0
        before, self._difference = self._difference, difference
        if before is None or abs(difference - before) < _SMALLEST:
            return 0
        return difference - before

    def _after_stall(self, due: int, late: int) -> int:
        """The due time on the grid from which to continue."""
        if not self.simulated:
            self.late.add(late * 1e-9)
        if late <= _CATCH_UP * 1e9:
            return due
        missed = late // self.period
        due += missed * self.period
        self.counts.skipped += missed
        if late > _STALL * 1e9:
            self.counts.stalls += 1
            self._stalled(due, late * 1e-9)
        return due

    def _run_cycle(self, due: int) -> None:
        self._due, begin = due, time.perf_counter()
        done = self._succeeds(self._cycle, due)
        lateness = self._now() - due
        if done:
            self._succeeds(self._rest, due)
        self.lateness.add(lateness * 1e-9)
        self.durations.add(time.perf_counter() - begin)
        self.counts.late += lateness > self.period
        self.counts.run += 1

    def _succeeds(self, part: Callable[[int], None], due: int) -> bool:
        try:
            part(due)
        except Exception as error:  # the node survives whatever one cycle does
            self._failed(error)
            return False
        return True

    def _wait_until(self, due: int) -> int:
        """Sleep until a time, or until the clock is set back; returns the time on waking."""
        earliest = self.period + (self._clock.few if self.simulated else _SMALLEST)
        while True:
            now = self._now()
            if self.ended.is_set() or (now > 0 and not 0 < due - now <= earliest):
                return now
            if self.simulated or now == 0:
                self._clock.look(self._steady())
                time.sleep(_POLL)
            elif due - now > self._early:
                wanted = due - self._early
                time.sleep((wanted - now) * 1e-9)
                self._learn(self._now() - wanted)

    def _learn(self, late: float) -> None:
        """Wake earlier or later from now on, given by how much (ns) a wake was late."""
        change = 1.0 - _SELDOM if late > self._early else -_SELDOM
        most = min(_EARLIEST, _PART * self.period)
        self._early = min(max(self._early + _LESSON * change, 0.0), most)
