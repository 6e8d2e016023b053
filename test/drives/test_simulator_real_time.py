# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator against the clock: never ahead of it, and able to fall behind and recover."""

import collections
import math
import os
import time

import can
import numpy as np
import pytest

from drives.simulated import drives, simulation
from masticator_dynamics.drives import objects
from masticator_dynamics.drives.objects import NmtState
from masticator_dynamics.drives.simulator.process_data import SYNC_LOST
from masticator_dynamics.drives.simulator.servo import FreeMotors
from masticator_dynamics.drives.simulator.simulator import DriveSimulator
from masticator_dynamics.drives.simulator.slave import Slave
from masticator_dynamics.errors import DriveError

pytestmark = pytest.mark.waiting
PATIENCE = 60.0  # s


class SlowMotors(FreeMotors):
    """Motors that take longer to compute a step than the step lasts."""

    def advance(self, efforts):
        time.sleep(0.004)
        super().advance(efforts)


class BrokenBus(can.BusABC):
    def __init__(self):
        super().__init__('broken')

    def send(self, msg, timeout=None):
        pass

    def _recv_internal(self, timeout):
        raise can.CanOperationError('the device is gone')


class ScriptedBus(can.BusABC):
    """Frames that arrive at their stamps, on a clock that advances when somebody waits."""

    channel_info = 'scripted'

    def __init__(self):
        super().__init__('scripted')
        self.clock, self.frames = 1000.0, collections.deque()

    def send(self, msg, timeout=None):
        pass

    def wait(self, duration):
        self.clock += max(duration, 1e-6)

    def recv(self, timeout=None):
        due = self.frames[0].timestamp if self.frames else math.inf
        if due > self.clock + timeout:
            self.wait(timeout)
            return None
        self.clock = max(self.clock, due)
        return self.frames.popleft()


@pytest.fixture
def scripted(monkeypatch):
    bus = ScriptedBus()
    monkeypatch.setattr(time, 'monotonic', lambda: bus.clock)
    monkeypatch.setattr(time, 'time', lambda: bus.clock)
    monkeypatch.setattr(time, 'sleep', bus.wait)
    yield bus
    bus.shutdown()


@pytest.fixture
def bus():
    with can.Bus(interface='virtual', channel='real time') as found:
        yield found


def until(condition):
    end = time.monotonic() + PATIENCE
    return lambda: not condition() and time.monotonic() < end


def test_time_never_runs_ahead_of_the_clock(bus):
    simulator = DriveSimulator(drives(), simulation(), bus)
    start = time.monotonic()
    simulator.run(until(lambda: simulator.axes.time >= 0.4))
    assert simulator.axes.time >= 0.4
    assert simulator.axes.time + simulator.real_time.given_up <= time.monotonic() - start


def test_a_machine_that_is_too_slow_gives_time_up_and_says_so_now_and_then(bus):
    said = []
    joints = ('crank_1', 'crank_2')
    plant = SlowMotors(joints, np.full(2, 1e-3), 0.0005)
    simulator = DriveSimulator(drives(), simulation(), bus, plant, report=said.append)
    start = time.monotonic()
    simulator.run(until(lambda: simulator.real_time.given_up > 1.5))
    elapsed = time.monotonic() - start
    assert simulator.real_time.given_up > 1.5
    assert simulator.axes.time + simulator.real_time.given_up <= elapsed
    assert 2 <= len(said) <= 1 + elapsed
    assert said[0].startswith('too slow: the plant stood still for ')


def test_frames_are_answered_while_time_passes(bus):
    with can.Bus(interface='virtual', channel='real time') as client:
        simulator = DriveSimulator(drives(), simulation(), bus)
        request = bytes([0x40, 0x41, 0x60, 0, 0, 0, 0, 0])
        client.send(can.Message(arbitration_id=0x602, data=request, is_extended_id=False))
        found = []

        def answered():
            message = client.recv(0.0)
            found.extend([message] if message and message.arbitration_id == 0x582 else [])
            return bool(found)

        simulator.run(until(answered))
    assert bytes(found[0].data) == bytes([0x4B, 0x41, 0x60, 0, 0x50, 0x02, 0, 0])


def test_a_bus_that_fails_ends_it_with_a_reason():
    bus = BrokenBus()
    simulator = DriveSimulator(drives(), simulation(), bus)
    with pytest.raises(DriveError, match='bus socketcan can0: the device is gone'):
        simulator.run(until(lambda: False))
    bus.shutdown()


@pytest.mark.parametrize('phase', [0.01, 0.3, 0.99])
def test_steps_come_to_lie_around_sync(bus, monkeypatch, phase):
    """Wherever SYNC arrives at first, targets are later taken in the same step of every cycle."""
    simulator = DriveSimulator(drives(), simulation(), bus)
    step, clock = simulator.axes.plant.step, [1000.0]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    simulator._start = clock[0] - phase * step
    for _ in range(200):
        simulator._follow_sync(clock[0])
        clock[0] += 8 * step
        while simulator.behind >= step:
            simulator.axes._count(1)
    assert simulator.behind == pytest.approx(0.5 * step, abs=1e-3 * step)
    # One that came before time was given up does not drag the plant's time back to it.
    simulator._follow_sync(clock[0] - 1.0)
    assert simulator.behind == pytest.approx(0.5 * step, abs=0.05 * step)


@pytest.mark.parametrize('kind', ['is_extended_id', 'is_remote_frame', 'is_fd', 'is_error_frame'])
def test_a_frame_of_another_kind_with_the_number_of_sync_shifts_no_step(scripted, kind):
    simulator = DriveSimulator(drives(), simulation(), scripted)
    simulator._start = start = scripted.clock
    flags = {'is_extended_id': False} | {kind: True}
    scripted.frames.append(can.Message(timestamp=scripted.clock, arbitration_id=0x080, **flags))
    simulator.step()
    assert not scripted.frames and simulator._start == start


@pytest.mark.parametrize(('hold', 'kept'), [(0.0015, True), (0.02, False)])
def test_frames_that_came_while_it_was_kept_from_running_are_for_their_own_time(
    scripted, hold, kept
):
    """Unless the gap was long: then they are answered at once, ahead of the plant's time."""
    sent = scripted.clock + np.arange(1, 201) * 0.004
    sync = {'arbitration_id': 0x080, 'is_extended_id': False}
    scripted.frames.extend(can.Message(timestamp=stamp, **sync) for stamp in sent)
    simulator = DriveSimulator(drives(), simulation(), scripted)
    taken, held = [], [0.1]
    link = simulator.slaves['crank_1'].link
    simulator._routes = {0x080: [(link, lambda data: taken.append(simulator.axes.time))]}

    def go_on():
        if simulator.axes.time > held[0]:
            held[0] += 3.3 * hold
            scripted.clock += hold
        return len(taken) < 200

    simulator.run(go_on)
    late = np.array(taken) - (sent - simulator._start)
    early = np.median(late) - late.min()
    assert (early < simulator.axes.plant.step) == kept


@pytest.mark.parametrize(('period', 'most'), [(0.004, 2.1), (0.002, 2.1), (0.001, 2.1)])
def test_sync_is_answered_at_once_and_setpoints_wake_nobody(scripted, period, most):
    """They come in a burst after SYNC and wait for the next steps."""
    begin, waits, late, count = scripted.clock, [], [], 200
    wait = scripted.wait
    scripted.wait = lambda duration: (waits.append(len(late)) if duration else None, wait(duration))
    for k in range(1, count + 1):
        for identifier, after in ((0x080, 0.0), (0x201, 0.3), (0x202, 0.31), (0x201, 0.32)):
            stamp = begin + (k + after) * period
            scripted.frames.append(
                can.Message(timestamp=stamp, arbitration_id=identifier, is_extended_id=False)
            )
    simulator = DriveSimulator(drives(), simulation(), scripted)
    receive = simulator._receive

    def looked_at(message):
        if message.arbitration_id == 0x080:
            late.append(scripted.clock - message.timestamp)
        receive(message)

    simulator._receive = looked_at
    time.sleep = scripted.wait  # the fixture takes it back
    simulator.run(lambda: len(late) < count)
    assert len(late) == count and max(late[20:]) < 1e-5
    half = count // 2  # steps have come to lie around SYNC by then
    assert sum(at >= half for at in waits) < most * half


def test_neither_sync_nor_setpoints_have_drives_look_or_divide_steps(scripted, monkeypatch):
    """Setpoints wait for SYNC, and servos ask when there is something to see."""
    begin, period, count, looks, steps = scripted.clock, 0.004, 50, [], []
    for k in range(1, count + 1):
        for identifier, after in ((0x080, 0.0), (0x201, 0.3), (0x202, 0.31)):
            scripted.frames.append(
                can.Message(
                    timestamp=begin + (k + after) * period, arbitration_id=identifier,
                    is_extended_id=False, data=bytes(8),
                )
            )  # fmt: skip
    step = Slave.step
    monkeypatch.setattr(Slave, 'step', lambda s, now: (looks.append(now), step(s, now))[1])
    simulator = DriveSimulator(drives(), simulation(), scripted)
    for slave in simulator.slaves.values():
        slave._enter(NmtState.OPERATIONAL)
        slave.objects.put(objects.SYNC_PERIOD.key, round(1e6 * period))
    assert {0x201, 0x202} <= simulator._find_routes().keys()
    advance = simulator.axes.advance
    monkeypatch.setattr(
        simulator.axes, 'advance',
        lambda most: (steps.append(most), sum(advance() for _ in range(most)))[1],
    )  # fmt: skip
    simulator.run(lambda: len(scripted.frames) > 0)
    assert (
        len(steps) < 2.5 * count and sum(steps) > 0.9 * count * period / simulator.axes.plant.step
    )
    assert len(looks) < 0.1 * count * len(simulator.slaves)
    # That SYNC ceases is seen nevertheless.
    for _ in range(60 * round(period / simulator.axes.plant.step)):
        simulator.step()
    assert all(SYNC_LOST in slave.errors for slave in simulator.slaves.values())


def test_a_frame_that_is_held_back_at_sync_goes_out_in_time(scripted, monkeypatch):
    """As no drive looks after SYNC, one that holds frames back looks in each step."""
    sent, delay = [], 0.003
    monkeypatch.setattr(scripted, 'send', lambda frame, timeout=None: sent.append(scripted.clock))
    simulator = DriveSimulator(drives(), simulation(), scripted)
    slave = simulator.slaves['crank_1']
    slave._enter(NmtState.OPERATIONAL)
    simulator.inject(f'delay crank_1 {delay}')
    simulator.step()
    slave.link.send(0x181, bytes(8))
    before, due = len(sent), simulator.axes.time + delay
    while len(sent) == before and simulator.axes.time < 2.0 * due:
        simulator.step()
    assert due <= simulator.axes.time < due + 2.0 * simulator.axes.plant.step


@pytest.mark.skipif(not hasattr(os, 'sched_getscheduler'), reason='Linux only')
def test_the_calling_thread_is_given_back_as_it_was(bus):
    """Otherwise it, and every process that it starts, would keep its real-time priority."""

    def priority():
        return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, os.sched_getparam(0)

    before = priority()
    DriveSimulator(drives(), simulation(), bus).run(lambda: False)
    assert priority() == before
