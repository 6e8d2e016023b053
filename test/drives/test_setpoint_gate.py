# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives receive nothing that the gate would refuse, and valid motions pass unchanged.

Long form of the random test: ``GATE_COMMANDS=1000000 pytest test/drives/test_setpoint_gate.py``.
"""

import os

import numpy as np
import pytest

from drives import real_motions
from drives.ideal_drives import PERIOD
from drives.supervised import DRIVES, LIMITS, Bench, array
from masticator_dynamics import Mechanism
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.drive_cycle import DriveGoal, Setpoint
from masticator_dynamics.drives.following import BEGINS
from masticator_dynamics.drives.loop_closure import CommandedClosure
from masticator_dynamics.drives.setpoint_gate import SetpointGate
from masticator_dynamics.engine.arrays import larger, outside, within
from masticator_dynamics.engine.evaluation.actuated_fit import ActuatedFit

COUNT = int(os.environ.get('GATE_COMMANDS', '10000'))
VELOCITY, ACCELERATION = LIMITS.velocity, LIMITS.acceleration
RATE, FIRST = LIMITS.effort_rate, 0.1 * LIMITS.following_error
SLACK = 1.0 + 1e-6


@pytest.fixture
def strict(mechanism):
    return Bench(mechanism, strict=True)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1.5, -1.5])
def test_what_is_no_number_is_within_nothing(value):
    values, limits = np.array([0.0, value, -1.0]), np.ones(3)
    assert larger(values, limits) == outside(values, -limits, limits) == [1]
    assert not within(values, 1.0) and within(values[[0, 2]], 1.0)


class Judge:
    """Checks every setpoint against the limits of the drives file, independently."""

    def __init__(self, mechanism):
        rows = mechanism.tree_indices(mechanism.actuated)
        self.lower = mechanism.limits.lower[rows] + LIMITS.position_margin
        self.upper = mechanism.limits.upper[rows] - LIMITS.position_margin
        self.effort = np.minimum(LIMITS.effort, mechanism.effort_limits)
        self.seen = 0
        self.largest = dict.fromkeys(('step', 'change', 'rate', 'effort'), 0.0)

    def begin(self, position):
        self.position, self.step, self.force = position, np.zeros(6), np.zeros(6)
        self.free = 0

    def look(self, setpoint, joins):
        """Check the gate for steps within one period: no cycle is ever left out.

        ``joins`` is 2 where a motion begins, whose first two changes of step are free, and 1 where
        it stops for want of commands.
        """
        position, effort = setpoint.position, setpoint.effort
        assert np.isfinite(position).all() and np.isfinite(effort).all()
        step, rate = position - self.position, effort - self.force
        self.free = max(self.free - 1, joins)
        largest = max(VELOCITY * PERIOD, FIRST) if joins == 2 else VELOCITY * PERIOD
        assert (position >= self.lower).all() and (position <= self.upper).all()
        assert np.abs(step).max() <= largest * SLACK
        if not self.free:
            change = np.abs(step - self.step).max()
            assert change <= ACCELERATION * PERIOD**2 * SLACK
            self.largest['change'] = max(self.largest['change'], change / PERIOD**2)
        assert (np.abs(effort) <= self.effort * SLACK).all()
        assert np.abs(rate).max() <= RATE * PERIOD * SLACK
        if setpoint.velocity is not None:
            assert np.abs(setpoint.velocity).max() <= VELOCITY * SLACK
        self.largest['step'] = max(self.largest['step'], np.abs(step).max() / PERIOD)
        self.largest['effort'] = max(self.largest['effort'], np.abs(effort).max())
        self.largest['rate'] = max(self.largest['rate'], np.abs(rate).max() / PERIOD)
        self.position, self.step, self.force, self.seen = position, step, effort, self.seen + 1


class Sender:
    """Sends commands with any stamps and rates, most of them near enough to be accepted."""

    def __init__(self, rng, bench, poses):
        self.rng, self.bench, self.poses = rng, bench, poses
        self.stamp, self.place, self.speed = 0.0, 0.0, 0.0

    def begin(self):
        self.kind = self.rng.integers(6)
        self.calm = 10.0 ** self.rng.uniform(-3.0, 0.5)
        self.place, self.speed = 0.0, 0.0

    def __call__(self):
        rng, now = self.rng, self.bench.drives.time
        between = rng.choice([0.0, 1e-5, 1e-4, 0.5 * PERIOD, PERIOD, 3.0 * PERIOD, 8.0 * PERIOD])
        self.stamp = self.stamp + between if rng.random() < 0.5 else 5000.0 + now
        self.speed += self.calm * rng.normal()
        self.place = float(np.clip(self.place + PERIOD * self.speed, 0.0, len(self.poses) - 1.001))
        low = int(self.place)
        position = self.poses[low] + (self.place - low) * (self.poses[low + 1] - self.poses[low])
        velocity = rng.choice([-1.0, 1.0]) * rng.uniform(0.0, VELOCITY, 6) * (rng.random(6) < 0.5)
        effort = rng.normal(size=6) * 10.0 ** rng.uniform(-2.0, 3.0)
        if self.kind == 1:
            velocity *= 0.01 * self.calm
        if self.kind == 2:
            position = position + rng.normal(size=6) * 10.0 ** rng.uniform(-4.0, 0.0)
        if rng.random() < 1e-3:
            position = rng.choice([1e308, -1e308, 7.0, 1e-300], 6)
        return Command(
            position,
            None if self.kind == 3 or rng.random() < 0.2 else velocity,
            None if self.kind == 4 else effort,
            now + rng.uniform(-3.0, 0.5) * PERIOD,
            self.stamp,
            float(rng.choice([0.0, 0.0, 1e-3, -1e-3, 0.05, 0.2])) if self.kind == 5 else 0.0,
        )


@pytest.mark.parametrize('mode', ['position', 'effort'])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # 1e308 - -1e308
def test_no_setpoint_is_beyond_the_limits_whatever_is_commanded(mechanism, mode):
    seed = np.random.SeedSequence().entropy % 2**32
    print(f'\nGATE seed {seed}')
    bench, rng = Bench(mechanism, strict=True, mode=mode), np.random.default_rng(seed)
    home = mechanism.home.y
    ends = np.linspace(0.0, 1.0, 40)[:, None] * np.array([0.002, 0.0, 0.0, 0.12])
    poses = np.array([mechanism.solve(home + row).position for row in ends])
    judge, sender = Judge(mechanism), Sender(rng, bench, poses)
    drives, sent, stops = bench.drives, 0, 0
    closure = CommandedClosure(mechanism)
    while sent < COUNT // 2:
        drives.position = poses[0].copy()
        if bench.report.phase.name == 'LATCHED':
            stops += 1
            drives.cycle(3)
            assert bench.supervisor.reset().success and drives.finish().success
        else:
            assert bench.supervisor.disable().success and drives.finish().success
        drives.enable()
        judge.begin(drives.setpoint.position)
        sender.begin()
        closure.begin(poses[0])
        newest, held, begun = None, False, -1.0
        for _ in range(60):
            command = None
            if rng.random() < 0.7:
                sent, command = sent + 1, sender()
                bench.supervisor.submit(command)
            taken = bench.report.accepted
            setpoint = drives.cycle()
            if setpoint.goal is not DriveGoal.ENABLED:
                break
            joins, longest = 0, 4.0 * PERIOD
            if bench.report.accepted == taken:
                held = newest is not None and drives.time - newest.time + newest.age > longest
                joins = int(held)
            else:
                came = max(drives.time, command.time)
                held = newest is None or held or came - newest.time > longest
                if held and drives.time - begun > longest:
                    joins, begun = 2, drives.time
            held = held and joins == 1
            judge.look(setpoint, joins)
            if mode == 'position':
                assert np.abs(closure.error(setpoint.position)).max() <= DRIVES.command_closure
            if bench.report.accepted > taken:
                newest = command
    print(f'GATE {mode}: {sent} commands, {judge.seen} setpoints, {stops} stops, {judge.largest}')
    assert judge.seen > COUNT // 20 and stops > COUNT // 2000  # neither all let through, nor none


@pytest.mark.parametrize('name', real_motions.NAMES)
def test_right_motions_pass_bit_for_bit(mechanism, name):
    """They give the same setpoints as with a wide-open gate."""
    rows = list(zip(*real_motions.motion(mechanism, name, 1.0 / PERIOD), strict=True))
    benches = [Bench(mechanism, strict=strict) for strict in (True, False)]
    for position, velocity, effort in rows:
        through, free = (bench.send(position, velocity, effort) for bench in benches)
        assert through.goal is DriveGoal.ENABLED, benches[0].report.text
        assert (through.position == free.position).all()
        assert (through.effort == free.effort).all()
        assert (through.velocity == free.velocity).all()
    assert np.ptp([row[0] for row in rows], axis=0).min() > 0.05  # it did move


@pytest.mark.parametrize('stall', [3, 5, 8])
def test_a_command_that_comes_long_after_sync_is_no_leap(mechanism, stall):
    """The process was kept from running in between for some periods."""
    rows = list(zip(*real_motions.motion(mechanism, 'soft', 1.0 / PERIOD), strict=True))
    bench, k, late = Bench(mechanism, strict=True), 0, 0.0
    while k + stall < len(rows):
        after = stall if k % 30 == 10 else 0
        command = bench.command(*rows[k + after])
        bench.supervisor.submit(
            command._replace(
                time=command.time + after * PERIOD,
                stamp=command.stamp + after * PERIOD,
            )
        )
        assert bench.drives.cycle().goal is DriveGoal.ENABLED, bench.report.text
        bench.drives.time += after * PERIOD
        k, late = k + after + 1, late + after
    assert late > 10 * stall


def jerked(mechanism, change):
    """A motion, 2 s long, whose acceleration changes by a step, rad/s^2, twenty times a second."""
    time = np.arange(0.0, 2.0, PERIOD)
    fastest = np.abs(mechanism.solve(mechanism.home.y, [0.0, 0.0, 0.0, 1.0]).velocity).max()
    y_ddot = np.zeros((len(time), 4))
    y_ddot[:, 3] = 0.5 * change / fastest * np.sign(np.cos(20.0 * np.pi * time - 0.1))
    y_dot = PERIOD * np.cumsum(y_ddot, axis=0)
    y = mechanism.home.y + PERIOD * np.cumsum(y_dot - 0.5 * PERIOD * y_ddot, axis=0)
    answer = mechanism.feedforward_batch(y, y_dot, y_ddot)
    return list(zip(answer.position, answer.velocity, answer.actuated, strict=True))


def sent_with_late_commands(mechanism, rows, missed):
    """Setpoints (N, 6) where some commands in 23 come after SYNC, when the next is there, too."""
    bench, sent = Bench(mechanism, strict=True), []
    for k, row in enumerate(rows):
        setpoint = bench.drives.cycle() if 0 < k % 23 <= missed else bench.send(*row)
        assert setpoint.goal is DriveGoal.ENABLED, bench.report.text
        sent.append(setpoint.position)
    return np.array(sent)


@pytest.mark.parametrize('missed', [1, 2])
def test_a_late_command_is_no_jolt(mechanism, missed):
    """What has changed meanwhile is made up for no faster than if the command had come in time."""
    rows = jerked(mechanism, 350.0)
    in_time, late = (sent_with_late_commands(mechanism, rows, k) for k in (0, missed))
    largest = [np.abs(np.diff(sent, 2, axis=0)).max() / PERIOD**2 for sent in (in_time, late)]
    assert largest[0] > 1400.0  # five times the change: positions are led
    assert largest[1] < 1.15 * largest[0]
    there = np.arange(len(rows)) % 23 >= missed + 5
    assert (late != in_time)[~there].any()
    assert late[there] == pytest.approx(in_time[there], abs=1e-12)


@pytest.mark.parametrize('pause', [0, 1])
def test_old_stamps_do_not_open_the_gate(strict, mechanism, pause):
    """Every command is older than what is compensated; none of them begins a motion anew."""
    poses = [mechanism.solve(mechanism.home.y + [0.0, 0.0, 0.0, d]).position for d in (0.0, 0.004)]
    leap = np.abs(poses[1] - poses[0]).max()
    assert 0.2 < leap / (VELOCITY * PERIOD) < 1.0  # the step alone is slow enough
    for k in range(40):
        strict.send(poses[k % 2] if k > 10 else poses[0], np.zeros(6), age=0.03)
        strict.drives.cycle(pause)
        if strict.drives.setpoint.goal is not DriveGoal.ENABLED:
            break
    assert strict.report.text.startswith('crank_') and 'change of step' in strict.report.text
    assert k < 15


@pytest.mark.parametrize('name', ['soft', 'left'])
def test_a_refused_command_leaves_a_motion_as_it_is(mechanism, name):
    """It came before the others; without it the motion goes on as if none had come."""
    rows = list(zip(*real_motions.motion(mechanism, name, 1.0 / PERIOD), strict=True))
    bench = Bench(mechanism, strict=True)
    for k, row in enumerate(rows):
        setpoint = bench.send(*row, stamp=1.0 if k % 20 == 10 else None)
        assert setpoint.goal is DriveGoal.ENABLED, bench.report.text
    assert bench.report.refused > 10


@pytest.mark.parametrize('stalled', [False, True])
@pytest.mark.parametrize('gap', [0.02, 0.05, 0.09])
def test_after_a_gap_no_drive_is_asked_to_leap(mechanism, gap, stalled):
    """Drives hold meanwhile, whether the commands stayed away or all of this process did."""
    rows = list(zip(*real_motions.motion(mechanism, 'left', 1.0 / PERIOD), strict=True))
    missing, told = round(gap / PERIOD), 0
    largest = max(2.0 * VELOCITY * PERIOD, FIRST) if stalled else VELOCITY * PERIOD
    for begin in range(20, len(rows) - missing, 40):
        bench = Bench(mechanism, strict=True)
        bench.send(rows[begin - 20][0])
        for row in rows[begin - 20 : begin]:
            bench.send(*row)
        if stalled:
            bench.drives.time += missing * PERIOD
        else:
            bench.drives.cycle(missing)
        assert bench.drives.setpoint.goal is DriveGoal.ENABLED, bench.report.text
        held = bench.drives.setpoint.position
        if bench.send(*rows[begin + missing]).goal is DriveGoal.ENABLED:
            assert np.abs(bench.drives.setpoint.position - held).max() <= largest * SLACK
        else:
            told += 1
            assert 'the first command after none for' in bench.report.text
    print(f'GAP {gap} s: {told} stops')
    assert told or gap < 0.09


@pytest.mark.parametrize('joins', [0, BEGINS])
@pytest.mark.parametrize(('periods', 'largest'), [(1.0, 1.0), (4.0, 4.0), (4.5, 2.0), (50.0, 2.0)])
def test_a_step_after_a_stall_is_no_larger_than_drives_can_take(mechanism, joins, periods, largest):
    """They hold by then, and would be there within one period, also after the second stall."""
    limits = Bench(mechanism).supervisor.limits
    for share, refused in ((0.99, False), (1.01, True)):
        gate = SetpointGate(DRIVES, limits, mechanism)
        gate.begin(mechanism.home.position)
        step = array(2, share * largest * VELOCITY * PERIOD, 0.0)
        setpoint = Setpoint(DriveGoal.ENABLED, mechanism.home.position + step, np.zeros(6))
        found = gate.refuse(setpoint, periods * PERIOD, commanded=False, joins=joins)
        assert [one.kind for one in found] == ['setpoint step'] * refused


def test_a_stop_after_a_stall_that_began_after_sync_tells_of_it(strict, mechanism):
    quiet(strict)
    opened = mechanism.solve(mechanism.home.y + [0.0, 0.0, 0.0, 0.03]).position
    command = strict.command(opened)
    strict.supervisor.submit(command._replace(time=command.time + 0.08, stamp=command.stamp + 0.08))
    assert strict.drives.cycle().goal is DriveGoal.STOPPED
    assert 'the first command after none for 0.08' in strict.report.text


def quiet(bench, cycles=10):
    bench.drives.run(cycles * PERIOD, bench.command)
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED, bench.report.text


LEAPS = {
    'alternating velocities': [{'velocity': 25.0}, {'velocity': -25.0}],
    'stamps 10 us apart': [{'velocity': 3.0, 'late': 1e-5}, {'velocity': -3.0, 'late': 2e-5}],
}


@pytest.mark.parametrize('case', LEAPS)
def test_a_leap_that_extrapolation_makes_is_refused_and_stops(strict, case):
    quiet(strict)
    before = strict.drives.setpoint.position
    stamp = 5000.0 + strict.drives.time
    for given in LEAPS[case]:
        late = given.get('late')
        setpoint = strict.send(
            velocity=array(2, given['velocity'], 0.0), stamp=None if late is None else stamp + late
        )
        if setpoint.goal is not DriveGoal.ENABLED:
            break
        assert np.abs(setpoint.position - before).max() <= VELOCITY * PERIOD
    assert setpoint.goal is DriveGoal.STOPPED
    assert strict.report.text.startswith('crank_2: setpoint')
    assert strict.report.refusal.startswith('crank_2: setpoint')


@pytest.mark.parametrize('crank', range(1, 7))
def test_a_crank_that_opens_the_loops_is_refused_and_named(strict, crank):
    quiet(strict)
    for amount in np.linspace(0.0, 0.19, 400):
        if strict.send(strict.off(crank, amount)).goal is not DriveGoal.ENABLED:
            break
    assert strict.drives.setpoint.goal is DriveGoal.STOPPED
    assert strict.report.text.startswith(f'crank_{crank}: commanded positions do not close')
    # Up to half of an error of one crank is left to itself, the rest is shared.
    assert 0.015 < amount < 0.06
    told = float(strict.report.causes[0].text.split('off by ')[1].split()[0])
    assert told == pytest.approx(amount, rel=0.1)


def test_internal_load_stays_below_what_is_stated(mechanism):
    """Position gain times the residual of the largest disagreement that passes."""
    gain = DRIVES.drives['crank_1'].gains.position
    assert gain * DRIVES.command_closure == pytest.approx(0.16)  # N m, docs/drives.md
    closure, rng = CommandedClosure(mechanism), np.random.default_rng(4)
    position = mechanism.solve(mechanism.home.y + [0.001, 0.0, 0.0, 0.08]).position
    for _ in range(50):
        closure.begin(position)
        crooked = position + 0.03 * rng.normal(size=6)
        error = closure.error(crooked)
        nearest = mechanism.made(ActuatedFit).closest(crooked).position
        assert error == pytest.approx(crooked - nearest, abs=2e-3)  # the exact fit


@pytest.mark.parametrize('velocity', [60000.0, -60000.0, 31.0])
def test_velocity_without_positions_is_bounded_in_mode_effort(mechanism, velocity):
    bench = Bench(mechanism, strict=True, mode='effort')
    bench.send(effort=np.zeros(6), velocity=np.zeros(6))
    bench.send(effort=np.zeros(6), velocity=array(3, velocity, 0.0))
    assert bench.drives.setpoint.goal is DriveGoal.STOPPED
    assert bench.report.text.startswith('crank_3: setpoint velocity')


@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_positions_that_overflow_make_no_velocity_in_mode_effort(mechanism):
    bench = Bench(mechanism, strict=True, mode='effort')
    for sign in (1.0, -1.0, 1.0):
        bench.send(array(1, sign * 1e308, 0.0), effort=np.zeros(6))
    assert bench.drives.setpoint.goal is DriveGoal.STOPPED
    assert bench.report.text.startswith('crank_1: setpoint velocity')


def test_efforts_that_come_without_velocity_are_held_to_their_limits(mechanism):
    """The position loop alone then overcomes friction, as no velocity is commanded."""
    limits = Bench(mechanism, mode='effort').supervisor.limits
    gate, home = SetpointGate(DRIVES, limits, mechanism), mechanism.home.position
    gate.begin(home)
    gate.locate(home)
    for share, refused in ((0.5, []), (1.5, ['crank_2'])):
        setpoint = Setpoint(DriveGoal.ENABLED, home, array(2, share * limits.effort[1], 0.0))
        found = gate.refuse(setpoint, 1e9, commanded=True, joins=BEGINS)
        assert [one.drive for one in found] == refused


def test_where_no_drive_is_redundant_any_positions_close_the_loops():
    mechanism = Mechanism.load('rss6')
    closure = CommandedClosure(mechanism)
    closure.begin(mechanism.home.position)
    assert not closure.redundant
    assert (closure.error(mechanism.home.position + 0.3) == 0.0).all()


def test_no_cycle_waits_for_machine_code_of_the_closure():
    """The first position far from where it began took 5 ms: a cycle of the drives was left out."""
    mechanism = Mechanism.load('masticator')
    closure = CommandedClosure(mechanism)
    closure.begin(mechanism.home.position)
    opened = mechanism.feedforward(mechanism.home.y + [0.002, 0.0, 0.0, 0.1]).position
    loaded = set(vars(mechanism.kernels)) | set(vars(mechanism.solver))
    closure.error(opened)
    assert set(vars(mechanism.kernels)) | set(vars(mechanism.solver)) == loaded
