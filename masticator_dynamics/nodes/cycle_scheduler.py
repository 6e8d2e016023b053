# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Calls a cycle at a fixed rate and counts what came late.

An rclpy timer shares its thread with every other callback and drops the periods that it misses.
This thread keeps a grid of due times on the node's clock, catches up after a short stall and
counts what it had to leave out after a long one.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

_CATCH_UP = 0.1  # s; cycles that are due for longer are of no use to anybody
_JUMP = 1.0  # s; a larger step is one of the clock itself
_POLL = 0.0005  # s; how often a simulated clock is looked at
_WINDOW = 4096  # cycles over which statistics are taken


@dataclasses.dataclass(frozen=True)
class CycleCounts:
    """Cycles since the start.

    Attributes
    ----------
    run : int
        Cycles that were run, late ones included.
    late : int
        Finished after the next one was due.
    skipped : int
        Left out after a long stall.
    jumps : int
        Steps of the clock.
    """

    run: int = 0
    late: int = 0
    skipped: int = 0
    jumps: int = 0


class CycleScheduler:
    """Runs ``cycle(due)`` for due times (ns) on a grid, in a thread of its own.

    Parameters
    ----------
    rate : float
        Hz.
    now : callable
        The node's clock, ns; 0 while a simulated clock has not started.
    cycle : callable
        Called with the due time.
    jumped : callable
        Called with the step (ns) when the clock jumps.
    failed : callable
        Called with what a cycle raised; it goes on.
    """

    def __init__(
        self,
        rate: float,
        now: Callable[[], int],
        cycle: Callable[[int], None],
        jumped: Callable[[int], None],
        failed: Callable[[Exception], None],
    ):
        self.period = round(1e9 / rate)
        self.simulated = False
        self._now, self._cycle, self._jumped, self._failed = now, cycle, jumped, failed
        self.counts = CycleCounts()
        self._durations = np.zeros(_WINDOW)
        self._lateness = np.zeros(_WINDOW)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin with the next period."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name='cycle', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the cycle that is running."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def durations(self) -> FloatArray:
        """How long the latest cycles took, s."""
        return self._durations[: min(self.counts.run, _WINDOW)].copy()

    def lateness(self) -> FloatArray:
        """How long after they were due the latest cycles were finished, s."""
        return self._lateness[: min(self.counts.run, _WINDOW)].copy()

    def _run(self) -> None:
        due = 0
        run = late = skipped = jumps = 0
        while not self._stopped.is_set():
            now = self._wait_until(due)
            if self._stopped.is_set():
                return
            if due == 0:
                due = now
            elif abs(now - due) > _JUMP * 1e9:
                self._jumped(now - due)
                jumps, due = jumps + 1, now
            elif now - due > _CATCH_UP * 1e9:
                missed = (now - due) // self.period
                skipped, due = skipped + missed, due + missed * self.period
            begin = time.perf_counter()
            try:
                self._cycle(due)
            except Exception as error:  # the node survives whatever one cycle does
                self._failed(error)
            self._durations[run % _WINDOW] = time.perf_counter() - begin
            lateness = self._now() - due
            self._lateness[run % _WINDOW] = lateness * 1e-9
            run += 1
            late += lateness > self.period
            self.counts = CycleCounts(run, late, skipped, jumps)
            due += self.period

    def _wait_until(self, due: int) -> int:
        """Sleep until a time, or until the clock has jumped back; returns the time then."""
        while True:
            now = self._now()
            remaining = (due - now) * 1e-9
            if self._stopped.is_set() or (now > 0 and (remaining <= 0.0 or remaining > _JUMP)):
                return now
            time.sleep(_POLL if self.simulated or now == 0 else remaining)
