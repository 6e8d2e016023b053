# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cycles on a time grid: late ones are counted, long stalls cut short, clock jumps handled."""

import itertools
import threading
import time

import numpy as np
import pytest
from processes import wait_for

from masticator_dynamics.ros.dynamics import cycle_scheduler
from masticator_dynamics.ros.dynamics.cycle_scheduler import CycleScheduler

pytestmark = pytest.mark.waiting

MS = 1_000_000


class Clock:
    """A clock that advances by a millisecond each time it is read, however slow the computer is."""

    def __init__(self):
        self.time = 100_000 * MS

    def __call__(self):
        self.time += MS
        return self.time


def nothing(due):
    """Work that can wait."""


class Run:
    """A scheduler at 100 Hz whose cycles can be made slow."""

    def __init__(self):
        self.clock = Clock()
        self.due, self.rests, self.jumps, self.errors = [], [], [], []
        self.slow_rest = 0  # ms
        self.stalls = {}  # ms by cycle, or what it raises
        self.scheduler = CycleScheduler(
            100.0, self.clock, self.cycle, self.rest, self.jumps.append, print, self.errors.append,
            lambda: self.clock.time,
        )  # fmt: skip
        self.scheduler.simulated = True

    def cycle(self, due):
        self.due.append(due)
        stall = self.stalls.get(len(self.due), 0)
        if isinstance(stall, Exception):
            raise stall
        self.clock.time += stall * MS

    def rest(self, due):
        self.rests.append(due)
        self.clock.time += self.slow_rest * MS

    def until(self, count):
        """Steps between cycles, ms."""
        self.scheduler.start()
        try:
            wait_for(lambda: self.scheduler.counts.run >= count, f'{count} cycles')
        finally:
            self.scheduler.stop()
        return [(b - a) // MS for a, b in zip(self.due, self.due[1:], strict=False)]


def test_due_times_are_a_grid_and_lateness_is_measured():
    run = Run()
    assert set(run.until(20)) == {10}
    counts = run.scheduler.counts
    assert len(run.scheduler.durations()) == len(run.scheduler.lateness()) == counts.run >= 20
    assert (counts.late, counts.skipped, counts.jumps) == (0, 0, 0)
    assert 0.0 < run.scheduler.lateness().max() <= 0.003


def test_what_can_wait_follows_each_cycle_that_did_not_fail_and_is_not_waited_for():
    run = Run()
    run.stalls, run.slow_rest = {3: ValueError('no')}, 4
    run.until(20)
    assert run.rests[:10] == [*run.due[:2], *run.due[3:11]]
    assert run.scheduler.lateness().max() <= 0.003  # as without
    slow = CycleScheduler(
        100.0, time.monotonic_ns, nothing, lambda due: time.sleep(0.002), print, print, print
    )
    slow.start()
    wait_for(lambda: slow.counts.run >= 3, 'cycles')
    slow.stop()
    assert slow.durations().min() >= 0.002


def test_durations_are_measured():
    slow = CycleScheduler(
        100.0, time.monotonic_ns, lambda due: time.sleep(0.02), nothing, print, print, print
    )
    slow.start()
    wait_for(lambda: slow.counts.run >= 3, 'cycles')
    slow.stop()
    assert 0.02 <= slow.durations().min() <= slow.lateness().max()


def test_short_stall_is_made_up_for_and_counted():
    run = Run()
    run.stalls = {5: 65}
    assert set(run.until(20)) == {10}  # no cycle is lost
    counts = run.scheduler.counts
    assert counts.late >= 6  # the slow one and those that were due meanwhile
    assert counts.skipped == 0
    assert run.scheduler.lateness().max() >= 0.065


def test_long_stall_leaves_cycles_out_and_counts_them():
    run = Run()
    run.stalls = {5: 500}
    steps = run.until(12)
    assert set(steps) - {10} == {steps[4]}
    assert 490 <= steps[4] <= 510
    assert run.scheduler.counts.skipped == steps[4] // 10 - 1


def test_failing_cycle_does_not_end_the_others():
    run = Run()
    run.stalls = {3: ValueError('no')}
    run.until(10)
    assert [str(error) for error in run.errors] == ['no']
    assert len(run.due) >= 10


def test_clock_that_jumps_is_followed_and_reported():
    run = Run()
    run.stalls = {10: -50_000}
    run.until(30)
    (step,) = run.jumps
    assert abs(step + 50_000 * MS) < 20 * MS
    assert run.scheduler.counts.jumps == 1
    assert run.due[-1] < run.due[0]


def test_clock_that_has_not_started_is_waited_for():
    shown, looked = [0], threading.Event()

    def clock():
        looked.set()
        return shown[0]

    due = []
    scheduler = CycleScheduler(100.0, clock, due.append, nothing, print, print, print)
    scheduler.start()
    for _ in range(3):
        looked.clear()
        assert looked.wait(60.0)
    assert not due
    shown[0] = 7_000 * MS
    wait_for(lambda: due, 'a cycle')
    scheduler.simulated = True
    for _ in range(3):
        looked.clear()
        assert looked.wait(60.0)
    scheduler.stop()
    assert due == [7_000 * MS]  # the clock stands still


class TwoClocks:
    """A 100 Hz scheduler with a settable and a steady clock, both of which can stall."""

    def __init__(self):
        self.set_by, self.stalled_for = 0, 0  # ns
        self.events = {}  # by cycle
        self.due, self.jumps, self.stalls = [], [], []
        self.scheduler = CycleScheduler(
            100.0,
            lambda: self.steady() + self.set_by + 10**18,
            self.cycle,
            nothing,
            self.jumps.append,
            lambda due, duration: self.stalls.append((due, duration)),
            print,
            self.steady,
        )

    def steady(self):
        return time.monotonic_ns() + self.stalled_for

    def cycle(self, due):
        self.due.append(due)
        self.events.get(len(self.due), lambda: None)()

    def set(self, by):
        self.set_by += by

    def stall(self, time):
        self.stalled_for += time

    def run(self, count):
        self.scheduler.start()
        try:
            wait_for(lambda: self.scheduler.counts.run >= count, f'{count} cycles')
        finally:
            self.scheduler.stop()


@pytest.mark.parametrize('step', [30, -30, 400, -400, 5000, -5000, 86_400_000])
def test_a_clock_that_is_set_takes_the_grid_along(step):
    """By any step, even one shorter than a stall that would be made up for."""
    clocks = TwoClocks()
    clocks.events[10] = lambda: clocks.set(step * MS)
    clocks.run(20)
    assert clocks.scheduler.counts.jumps == 1 and not clocks.stalls
    assert abs(clocks.jumps[0] - step * MS) < 2 * MS
    assert clocks.due[10] - clocks.due[9] == 10 * MS + clocks.jumps[0]


@pytest.mark.parametrize('duration', [1500, 5000, 86_400_000])
def test_a_stall_is_not_taken_for_a_clock_that_was_set(duration):
    """The grid stays in place, so no later stamp is wrong."""
    clocks = TwoClocks()
    clocks.events[10] = lambda: clocks.stall(duration * MS)
    clocks.run(20)
    assert not clocks.jumps and clocks.scheduler.counts.jumps == 0
    assert clocks.scheduler.counts.stalls >= 1
    due, told = clocks.stalls[0]
    assert due == clocks.due[10]  # told before the first cycle after it
    assert abs(told - duration * 1e-3) < 1.0
    assert all((due - clocks.due[0]) % (10 * MS) == 0 for due in clocks.due)
    assert clocks.scheduler.counts.skipped >= duration // 10 - 2


def test_a_clock_that_is_set_during_a_stall():
    clocks = TwoClocks()

    def both():
        clocks.stall(3000 * MS)
        clocks.set(-7000 * MS)

    clocks.events[10] = both
    clocks.run(20)
    assert len(clocks.jumps) == 1 and abs(clocks.jumps[0] + 7000 * MS) < 2 * MS
    assert len(clocks.stalls) >= 1 and abs(clocks.stalls[0][1] - 3.0) < 1.0


class Simulation:
    """A 500 Hz scheduler on a clock that a simulation advances by steps (ms), as fast as it runs.

    The clock is as fast as a steady one, and so that the scheduler waits for every step.
    """

    def __init__(self, steps, speed=1.0):
        self.time = self.steady = 5_000_000 * MS
        self._steps, self._speed, self._after = iter(steps), speed, 0.0
        self.due, self.jumps, self.stalls, self.over = [], [], [], threading.Event()
        self.scheduler = CycleScheduler(
            500.0, lambda: self.time, self.due.append, nothing, self.jumps.append,
            lambda *stall: self.stalls.append(stall), print, lambda: self.steady,
        )  # fmt: skip
        self.scheduler.simulated = True

    def sleep(self, seconds):
        """What the scheduler does between two looks: half a millisecond passes."""
        self.steady += round(seconds * 1e9)
        self._after -= seconds * 1e3 * self._speed
        if self._after > 0.0:
            return
        step = next(self._steps, None)
        if step is None:
            self.over.set()
            self.scheduler.ended.wait(60.0)
        else:
            advance, self._after = step if isinstance(step, tuple) else (step, step)
            self.time += round(advance * MS)

    def perf_counter(self):
        return self.steady * 1e-9

    def run(self, monkeypatch):
        monkeypatch.setattr(cycle_scheduler, 'time', self)
        self.scheduler.start()
        assert self.over.wait(60.0)
        self.scheduler.stop()
        return self


USUAL = [1.0, 4.0, 20.0, 50.0]  # ms between two messages of a simulated clock


@pytest.mark.parametrize('usual', USUAL)
@pytest.mark.parametrize('jump', [180.0, 500.0, 990.0, 5000.0, -30.0, -400.0, -5000.0])
def test_a_simulated_clock_that_is_set_by_any_step_is_told(monkeypatch, usual, jump):
    """A motion then goes on from where it was, as for a step of seconds."""
    run = Simulation([usual] * 60 + [(jump, usual)] + [usual] * 60).run(monkeypatch)
    assert len(run.jumps) == 1 and abs(run.jumps[0] / MS - jump) <= usual + 2.0
    assert run.scheduler.counts.skipped == 0
    steps = np.diff(run.due) // MS
    assert set(np.delete(steps, np.argmax(np.abs(steps)))) == {2}


@pytest.mark.parametrize('usual', USUAL)
@pytest.mark.parametrize('speed', [0.1, 1.0, 20.0])
def test_a_simulated_clock_that_runs_at_any_speed_was_not_set(monkeypatch, usual, speed):
    """In steps of any size, with messages that are lost and pauses."""
    lost = [2.0 * usual if k % 7 == 3 else usual for k in range(100)]
    steps = [*lost, (usual, 3000.0 * speed), *lost]
    run = Simulation(steps, speed).run(monkeypatch)
    assert not run.jumps and not run.stalls and run.scheduler.counts.skipped == 0
    assert set(np.diff(run.due) // MS) == {2}


@pytest.mark.parametrize('silence', [20.0, 60.0, 90.0])
def test_a_simulated_clock_that_is_not_heard_for_a_moment_was_not_set(monkeypatch, silence):
    """The thread that takes its messages was busy."""
    steps = [*[1.0] * 60, (1.0, silence), silence, *[1.0] * 60]
    run = Simulation(steps).run(monkeypatch)
    assert not run.jumps and set(np.diff(run.due) // MS) == {2}


def test_a_simulation_that_becomes_faster_is_followed_after_a_few_jumps(monkeypatch):
    run = Simulation([*[2.0] * 60, *[(100.0, 2.0)] * 60]).run(monkeypatch)
    assert 1 <= len(run.jumps) <= 3


class LateSleeper:
    """A clock, and sleeps that end too late by what ``late`` gives in turn, ns."""

    def __init__(self, late):
        self.time, self._late, self.meant = 1_000_000 * MS, itertools.cycle(late), 0

    def __call__(self):
        self.time += 500
        return self.time

    def perf_counter(self):
        return self() * 1e-9

    def sleep(self, seconds):
        assert seconds > 0.0
        self.meant = self.time + round(seconds * 1e9)  # to wake
        self.time = self.meant + next(self._late)


@pytest.mark.parametrize('late', [(60_000,), (20_000, 40_000, 60_000)])
def test_a_thread_that_always_wakes_late_wakes_earlier(monkeypatch, late):
    clock = LateSleeper(late)
    monkeypatch.setattr(cycle_scheduler, 'time', clock)
    scheduler = CycleScheduler(1000.0, clock, nothing, nothing, print, print, print)
    dues = [clock.time + k * MS for k in range(1, 1001)]
    found = [scheduler._wait_until(due) - due for due in dues]
    assert found[0] > late[0]  # as late as it wakes
    assert all(0 <= lateness < 5_000 for lateness in found[300:])


def test_a_thread_does_not_wait_long_for_what_is_rarely_late(monkeypatch):
    """One wake in a hundred is late by a millisecond: that is not worth waiting for each time."""
    clock = LateSleeper([20_000] * 99 + [MS])
    monkeypatch.setattr(cycle_scheduler, 'time', clock)
    scheduler = CycleScheduler(500.0, clock, nothing, nothing, print, print, print)
    early = []
    for due in range(clock.time + 2 * MS, clock.time + 4000 * MS, 2 * MS):
        scheduler._wait_until(due)
        early.append(due - clock.meant)
    assert 20_000 <= max(early[-1000:]) <= 20_000 + 2 * cycle_scheduler._LESSON


@pytest.mark.parametrize('late', [50_000, 250_000, 600_000, 999_000])
def test_what_holds_the_lock_begins_when_a_cycle_is_done(monkeypatch, late):
    """A quarter of a period after due, however far the present period has gone."""
    clock = LateSleeper([0])
    monkeypatch.setattr(cycle_scheduler, 'time', clock)
    scheduler = CycleScheduler(1000.0, clock, nothing, nothing, print, print, print)
    due = clock.time
    scheduler._run_cycle(due)
    clock.time = due + 3 * MS + late
    scheduler.sleep_until_quiet()
    assert abs((clock.time - due) % MS - 250_000) < 2_000 and clock.time - due < 5 * MS
