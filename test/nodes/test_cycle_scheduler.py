# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cycles on a grid: late ones are counted, long stalls are cut, clock jumps are survived."""

import threading
import time

from masticator_dynamics.nodes.cycle_scheduler import CycleScheduler

MS = 1_000_000


class Run:
    """A scheduler at 100 Hz whose cycles can be made slow."""

    def __init__(self, now=time.monotonic_ns):
        self.due, self.jumps, self.errors = [], [], []
        self.stalls = {}
        self.changed = threading.Event()
        self.scheduler = CycleScheduler(
            100.0, now, self.cycle, self.jumps.append, self.errors.append
        )

    def cycle(self, due):
        self.due.append(due)
        stall = self.stalls.get(len(self.due))
        if isinstance(stall, Exception):
            raise stall
        if stall:
            time.sleep(stall)

    def until(self, count):
        self.scheduler.start()
        end = time.monotonic() + 10.0
        while self.scheduler.counts.run < count and time.monotonic() < end:
            time.sleep(0.005)
        self.scheduler.stop()
        return [(b - a) // MS for a, b in zip(self.due, self.due[1:], strict=False)]


def test_due_times_are_a_grid_and_durations_are_measured():
    run = Run()
    assert set(run.until(20)) == {10}
    assert 0.0 <= run.scheduler.durations().max() < 0.1
    assert len(run.scheduler.durations()) == run.scheduler.counts.run >= 20


def test_short_stall_is_made_up_for_and_counted():
    run = Run()
    run.stalls = {5: 0.065}
    assert set(run.until(20)) == {10}  # no cycle is lost
    counts = run.scheduler.counts
    assert counts.late >= 6  # the slow one and those that were due meanwhile
    assert counts.skipped == 0
    assert run.scheduler.lateness().max() >= 0.065


def test_long_stall_leaves_cycles_out_and_counts_them():
    run = Run()
    run.stalls = {5: 0.5}
    steps = run.until(12)
    assert set(steps) - {10} == {steps[4]}
    assert steps[4] >= 490
    assert run.scheduler.counts.skipped == steps[4] // 10 - 1


def test_failing_cycle_does_not_end_the_others():
    run = Run()
    run.stalls = {3: ValueError('no')}
    run.until(10)
    assert [str(error) for error in run.errors] == ['no']
    assert len(run.due) >= 10


def test_clock_that_jumps_is_followed_and_reported():
    offset = [100_000 * MS]
    run = Run(lambda: time.monotonic_ns() + offset[0])

    def jump():
        time.sleep(0.1)
        offset[0] -= 50_000 * MS

    thread = threading.Thread(target=jump)
    thread.start()
    run.until(30)
    thread.join()
    (step,) = run.jumps
    assert abs(step + 50_000 * MS) < 2_000 * MS
    assert run.scheduler.counts.jumps == 1
    assert run.due[-1] < run.due[0]


def test_clock_that_has_not_started_is_waited_for():
    clock = [0]
    run = Run(lambda: clock[0])
    run.scheduler.start()
    time.sleep(0.05)
    assert not run.due
    clock[0] = 7_000 * MS
    time.sleep(0.05)
    run.scheduler.stop()
    assert run.due == [7_000 * MS]
