# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every row of the safety table, on drives that do at once what they are told."""

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drives.ideal_drives import PERIOD, IdealDrives
from masticator_dynamics.drives.approach import Approach
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.cycle import Emergency, Goal
from masticator_dynamics.drives.loop_check import LoopCheck
from masticator_dynamics.drives.safety import in_order
from masticator_dynamics.drives.state_machine import State
from masticator_dynamics.drives.status import LOST_AFTER, all_heard
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.errors import DescriptionError

DRIVES = load_drives('drives.yaml')
LIMITS = DRIVES.drives['crank_1'].limits
NAN = float('nan')


class Bench:
    """Supervisor, ideal drives, and a sender of commands."""

    def __init__(self, mechanism, enabled=True, homed=True, **changes):
        fields = {k: v for k, v in dict(DRIVES).items() if k != 'schema_'}
        self.supervisor = Supervisor(type(DRIVES)(schema=1, **fields | changes), mechanism)
        self.home = mechanism.home.position
        self.drives = IdealDrives(self.supervisor, self.home)
        self.drives.cycle(3)
        self.goal = self.home.copy()
        if homed:
            self.drives.find_home()
        if enabled:
            self.drives.enable()

    def command(self, position=None, velocity=None, effort=None, age=0.0, stamp=None):
        """A command that comes now."""
        now = self.drives.time + 0.5 * PERIOD
        position = self.goal if position is None else position
        return Command(
            np.array(position, dtype=float),
            None if velocity is None else np.array(velocity, dtype=float),
            None if effort is None else np.array(effort, dtype=float),
            now, 5000.0 + now if stamp is None else stamp, age,
        )  # fmt: skip

    def send(self, *args, **kwargs):
        """Send a command and run a cycle."""
        self.supervisor.submit(self.command(*args, **kwargs))
        return self.drives.cycle()

    @property
    def report(self):
        return self.supervisor.report()

    def off(self, crank, amount):
        """Home, but for one crank."""
        position = self.home.copy()
        position[crank - 1] += amount
        return position


@pytest.fixture
def bench(mechanism):
    return Bench(mechanism)


@pytest.fixture
def following(bench):
    bench.drives.run(0.2, bench.command)
    assert bench.report.phase.name == 'FOLLOWING'
    return bench


def array(crank, value, other, dtype=float):
    row = np.full(6, other, dtype=dtype)
    row[crank - 1] = value
    return row


# Faults of drives and bus: torque-free in the cycle that tells of them


EMERGENCY = Emergency('crank_3', 0x4310, 0x08, 'drive too hot')
FAULTS = {
    'crank_3: no heartbeat for 0.151 s (timeout 0.15 s)': {
        'heartbeat_age': array(3, 0.151, 0.02)},
    'crank_3: has sent no heartbeat': {'heartbeat_age': array(3, np.inf, 0.02)},
    'crank_3: 5 PDOs missing in a row': {'missed': array(3, LOST_AFTER, 0, np.int64)},
    'crank_3: drive too hot (EMCY 0x4310)': {'emergencies': (EMERGENCY,)},
    'bus: is off': {'bus_error': 'is off'},
    'crank_3: is in fault (status word 0x0218)': {'status_word': array(3, 0x218, 0x1237, int)},
    'crank_3: is in fault reaction active': {'status_word': array(3, 0x21F, 0x1237, int)},
    'crank_3: left operation by itself, now in switch on disabled': {
        'status_word': array(3, 0x250, 0x1237, int)},
}  # fmt: skip


@pytest.mark.parametrize('cause', FAULTS)
def test_a_fault_of_one_makes_all_torque_free_in_that_cycle(following, cause):
    following.drives.once = FAULTS[cause]
    setpoint = following.drives.cycle()
    assert setpoint.goal is Goal.TORQUE_FREE
    assert not setpoint.effort.any()
    assert following.report.text.startswith(cause)
    assert following.drives.torque_free


@pytest.mark.parametrize('cause', FAULTS)
def test_it_stays_so_whatever_is_commanded_until_reset(following, cause):
    following.drives.once = FAULTS[cause]
    following.drives.cycle()
    following.drives.run(0.1, following.command)
    assert following.drives.setpoint.goal is Goal.TORQUE_FREE
    refused = following.supervisor.enable()
    assert not refused.success and cause in refused.message
    assert following.supervisor.reset().success
    assert following.drives.finish().success
    assert following.drives.setpoint.goal is Goal.TORQUE_FREE
    following.drives.enable()


def test_fewer_missing_pdos_and_younger_heartbeats_are_no_fault(following):
    following.drives.given = {
        'missed': array(3, LOST_AFTER - 1, 0, np.int64),
        'heartbeat_age': array(3, 0.149, 0.02),
        'emergencies': (Emergency('crank_3', 0, 0, 'no error'),),
    }
    following.drives.run(0.05, following.command)
    assert following.drives.setpoint.goal is Goal.ENABLED


def test_drives_not_yet_heard_of_are_waited_for_and_then_missed(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.supervisor = Supervisor(DRIVES, mechanism)
    drives = IdealDrives(bench.supervisor, bench.home)
    drives.given = {'heartbeat_age': array(2, np.inf, 0.02)}
    drives.run(DRIVES.heartbeat.timeout - 2 * PERIOD)
    assert not bench.report.text
    assert bench.supervisor.enable() == (False, 'crank_2 is not answering')
    drives.run(5 * PERIOD)
    assert bench.report.text.startswith('crank_2: has sent no heartbeat')


def test_positions_count_as_measured_while_every_drive_is_heard_of(following):
    feedback = following.report.feedback
    assert all_heard(feedback)
    for field, value, heard in (
        ('missed', array(2, LOST_AFTER - 1, 0, np.int64), True),
        ('missed', array(2, LOST_AFTER, 0, np.int64), False),
        ('position', array(2, NAN, 0.0), False),
    ):
        assert all_heard(dataclasses.replace(feedback, **{field: value})) == heard


def test_following_error_names_joint_and_amount(following):
    following.drives.follows[4] = False
    ramp = iter(np.linspace(0.0, 0.4, 200))

    def command():
        return following.command(following.off(5, next(ramp)))

    following.drives.run(0.4, command)
    assert following.drives.setpoint.goal is Goal.TORQUE_FREE
    cause = following.report.causes[0]
    assert (cause.drive, cause.kind) == ('crank_5', 'following error')
    amount = float(cause.text.split()[2])
    step = 0.4 / 199  # of the ramp; the text has three digits
    assert LIMITS.following_error < amount < LIMITS.following_error + step + 0.0005
    assert following.drives.torque_free


def test_drive_in_fault_at_the_start(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.states[1] = State.FAULT
    bench.drives.cycle()
    refused = bench.supervisor.enable()
    assert not refused.success and 'crank_2: is in fault' in refused.message
    assert bench.supervisor.reset().success
    assert bench.drives.finish() == (True, 'drives are torque-free')
    bench.drives.enable()


def test_a_fault_that_cannot_be_reset_is_told(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.given = {'status_word': array(6, 0x218, 0x250, int)}
    bench.drives.cycle()
    assert bench.supervisor.reset().success
    outcome = bench.drives.finish()
    assert not outcome.success and 'crank_6: not out of fault within 2 s' in outcome.message


def test_a_cause_that_persists_is_latched_again(following):
    following.drives.given = {'heartbeat_age': array(1, 3.0, 0.02)}
    following.drives.cycle()
    assert following.supervisor.reset().success
    outcome = following.drives.finish()
    assert not outcome.success and 'crank_1: no heartbeat for 3 s' in outcome.message


def test_cause_before_consequences(following):
    following.drives.once = {'missed': array(4, LOST_AFTER, 0, np.int64)}
    following.drives.cycle()
    following.drives.given = {'heartbeat_age': array(4, 0.2, 0.02)}
    following.drives.cycle(3)
    text = following.report.text
    assert text.startswith('crank_4: 5 PDOs missing') and '(then crank_4: no heartbeat' in text


# Commands


def test_time_out_stops_within_one_cycle_after_it(following):
    last = following.drives.time - 0.5 * PERIOD
    following.drives.until(Goal.STOPPED)
    late = following.drives.time - last - DRIVES.command_timeout
    assert 0.0 < late <= PERIOD
    assert following.report.text.startswith('commands: none for 0.1')
    following.drives.cycle(2)
    assert following.drives.torque_free
    assert following.drives.setpoint.goal is Goal.STOPPED


def test_no_time_out_before_the_first_command(bench):
    position = bench.drives.position.copy()
    bench.drives.run(1.0)
    assert bench.drives.setpoint.goal is Goal.ENABLED
    assert (bench.drives.setpoint.position == position).all()
    assert not bench.drives.setpoint.effort.any()


STOPPING = {
    'crank_2: commanded position': lambda b: b.command(b.off(2, 1.69)),
    'crank_2: commanded velocity': lambda b: b.command(b.off(2, 30.1 * PERIOD)),
    'crank_3: commanded velocity -30.5': lambda b: b.command(velocity=array(3, -30.5, 0.0)),
}


@pytest.mark.parametrize('cause', STOPPING)
def test_a_command_beyond_limits_is_not_followed_but_stops_all(following, cause):
    following.supervisor.submit(STOPPING[cause](following))
    before = following.drives.position.copy()
    assert following.drives.cycle().goal is Goal.STOPPED
    assert following.report.text.startswith(cause)
    assert (following.drives.position == before).all()
    following.drives.run(0.05, following.command)
    assert following.drives.torque_free
    assert following.supervisor.reset().success and following.drives.finish().success


def test_the_margin_is_kept_and_used(mechanism):
    edge = mechanism.limits.upper[mechanism.tree_indices(['crank_1'])[0]] - LIMITS.position_margin
    for beyond, goal in ((-1e-9, Goal.ENABLED), (1e-9, Goal.STOPPED)):
        bench = Bench(mechanism)
        near = edge - 0.1 - bench.home[0]
        ramp = iter(np.append(np.linspace(0.0, near, 400), edge + beyond - bench.home[0]))
        bench.drives.run(0.8, lambda b=bench, r=ramp: b.command(b.off(1, next(r))))
        assert bench.drives.setpoint.goal is Goal.ENABLED, bench.report.text
        last = edge + beyond - bench.home[0]
        # Slowly, and then for long: positions are led by their velocity.
        for amount in [*np.linspace(near, last - 1e-3, 1000), *np.full(500, last - 1e-3)]:
            bench.send(bench.off(1, amount))
        assert bench.drives.setpoint.goal is Goal.ENABLED, bench.report.text
        for _ in range(3):
            setpoint = bench.send(bench.off(1, last), velocity=np.zeros(6))
        assert setpoint.goal is goal


def test_velocity_counts_between_stamps_and_not_between_arrivals(following):
    """Two commands in one cycle, the way of two periods: no reason to stop."""
    step = 29.0 * PERIOD
    stamp = 5000.0 + following.drives.time + 0.5 * PERIOD
    for k in range(1, 4):
        following.supervisor.submit(
            following.command(following.off(1, k * step), stamp=stamp + k * PERIOD)
        )
    assert following.drives.cycle().goal is Goal.ENABLED


OUT_OF_DATE = {
    'command is stamped 0.25 s in the past (command_timeout 0.1 s)': {'age': 0.25},
    'command is stamped 0.25 s ahead': {'age': -0.25},
    'before the one that came before': {'stamp': 4999.0},
}


@pytest.mark.parametrize('reason', OUT_OF_DATE)
def test_commands_out_of_date_are_refused_and_do_not_count_as_signs_of_life(following, reason):
    before = following.drives.position.copy()
    changed = following.off(1, 0.01)
    bad = lambda: following.command(changed, **OUT_OF_DATE[reason])  # noqa: E731
    following.drives.run(DRIVES.command_timeout - 2 * PERIOD, bad)
    assert reason in following.report.refusal
    assert (following.drives.position == before).all()
    assert following.drives.setpoint.goal is Goal.ENABLED
    following.drives.run(4 * PERIOD, bad)
    assert following.drives.setpoint.goal is Goal.STOPPED
    assert 'command_timeout' in following.report.text


def test_a_first_command_far_away_is_refused_and_changes_nothing(bench):
    before = bench.drives.position.copy()
    bench.drives.run(0.3, lambda: bench.command(bench.off(4, -0.21)))
    assert 'first command for crank_4 is 0.21 rad away' in bench.report.refusal
    assert bench.drives.setpoint.goal is Goal.ENABLED
    assert (bench.drives.position == before).all()
    bench.send(bench.off(4, -0.019))
    assert bench.drives.position[3] == pytest.approx(bench.home[3] - 0.019)


def test_no_numbers_are_counted_after_the_first_good_ones(bench):
    bench.supervisor.not_finite()
    assert bench.report.not_finite == 0
    bench.send()
    bench.supervisor.not_finite()
    assert bench.report.not_finite == 1
    bench.drives.until(Goal.STOPPED)  # they are no signs of life


def test_commands_while_torque_free_are_ignored(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.run(0.1, lambda: bench.command(bench.off(1, 1.0)))
    report = bench.report
    assert (report.ignored, report.accepted, report.text) == (50, 0, '')
    bench.drives.enable()
    assert (bench.drives.setpoint.position == bench.home).all()


@pytest.mark.parametrize('age', [0.0, 0.001, -0.001])
def test_positions_are_led_by_velocities_and_by_what_has_passed_since_the_stamp(following, age):
    velocity = array(2, 1.5, 0.0)
    setpoint = following.send(velocity=velocity, age=age)
    # Commands of this bench come half a period before the cycle that takes them.
    led = following.goal + velocity * (2.0 * PERIOD + 0.5 * PERIOD + age)
    assert setpoint.position == pytest.approx(led, abs=1e-12)


def test_an_old_stamp_is_not_led_far(following):
    setpoint = following.send(velocity=array(2, 1.5, 0.0), age=0.09)
    assert np.abs(setpoint.position - following.goal).max() <= 1.5 * 4.0 * PERIOD + 1e-12


def test_a_motion_of_constant_acceleration_is_led_to_where_it_will_be(following):
    def motion(t):
        return following.home + array(2, 1.0, 0.0) * 4.0 * t * t, array(2, 1.0, 0.0) * 8.0 * t

    times = np.arange(30) * PERIOD
    for now in times:
        setpoint = following.send(*motion(now))
    reached, _ = motion(times[-1] + 2.5 * PERIOD)
    assert setpoint.position == pytest.approx(reached, abs=1e-12)


def test_velocity_goes_with_efforts_that_were_commanded(following):
    velocity, effort = array(2, 1.5, 0.0), array(3, 0.01, 0.0)
    assert following.send(velocity=velocity).velocity is None
    assert (following.send(velocity=velocity, effort=effort).velocity == velocity).all()
    assert following.send(effort=effort, velocity=0.0 * velocity).velocity.tolist() == [0.0] * 6


def test_velocity_of_positions_alone_is_that_of_their_motion(following):
    """Some controllers send no velocities, and send positions twice."""
    for k in range(100):
        place = following.off(2, 0.8 * (k // 2) * PERIOD)
        setpoint = following.send(place, effort=np.zeros(6))
    assert setpoint.velocity == pytest.approx(array(2, 0.4, 0.0), rel=0.2)
    assert setpoint.position[1] - place[1] == pytest.approx(0.4 * 2.5 * PERIOD, rel=0.2)


def test_a_step_within_the_velocity_but_beyond_the_following_error_stops(following):
    following.drives.cycle(20)  # 40 ms without a command
    following.send(following.off(1, LIMITS.following_error + 0.01))
    assert following.report.text.startswith('crank_1: commanded step of 0.21 rad')
    assert following.drives.setpoint.goal is Goal.STOPPED


# The way to a command that is too far


@pytest.fixture
def far(bench, mechanism):
    """Enabled at home; commands are for the mouth open."""
    bench.goal = mechanism.solve(mechanism.home.y + [0.0, 0.0, 0.0, 0.2]).position
    assert np.abs(bench.goal - bench.home).max() > LIMITS.following_error
    bench.drives.run(0.1, bench.command)
    assert bench.report.refusal.startswith('first command for ')
    assert (bench.drives.setpoint.position == bench.home).all()
    return bench


def test_the_way_to_a_far_command_is_slow_closed_and_ends_in_following_it(far, mechanism):
    assert far.supervisor.approach(0.5).success
    rows = []
    while far.supervisor.met() is None:
        far.supervisor.submit(far.command())
        rows.append(far.drives.cycle().position)
    assert far.supervisor.met().success
    rates = np.diff(rows, axis=0) / PERIOD
    assert 0.3 < np.abs(rates).max() <= 0.5
    residual = mechanism.forward_kinematics_batch(rows[::50], np.inf).closure_residual
    assert residual.max() < 1e-9
    assert rows[-1] == pytest.approx(far.goal, abs=1e-12)
    far.drives.run(0.1, far.command)
    assert far.report.phase.name == 'FOLLOWING'
    assert far.supervisor.approach(0.5).message == 'already following commands'


def test_a_way_is_told_how_long_it_takes(far):
    outcome = far.supervisor.approach(0.05)
    assert outcome.success and far.supervisor.way_lasts > 4.0
    assert f'{far.supervisor.way_lasts:.1f} s' in outcome.message
    count = 0
    while far.supervisor.met() is None:
        far.drives.cycle()
        count += 1
    assert count * PERIOD == pytest.approx(far.supervisor.way_lasts, abs=3 * PERIOD)


def test_a_way_that_leaves_ranges_is_not_gone(far):
    """Ends may be within while cranks in between are not."""
    guard, halfway = far.supervisor.guard, 0.5 * (far.home + far.goal)
    crank = int(np.argmax(np.abs(far.goal - far.home)))
    row = far.home.copy()
    row[crank] = guard.upper[crank] + 0.001
    reason = guard.leaves_range(np.array([far.home, halfway, row, far.goal]))
    assert reason.startswith(f'crank_{crank + 1}: on the way ') and 'is outside' in reason
    assert guard.leaves_range(np.array([far.home, halfway, far.goal])) == ''
    # Out of a margin, but not farther into it.
    assert guard.leaves_range(np.array([row, halfway])) == ''
    assert guard.leaves_range(np.array([row, row + 1e-6])) != ''
    way = lambda *_: Approach(np.array([far.home, row]), np.zeros((2, 6)), np.zeros((2, 6)))  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('masticator_dynamics.drives.supervisor.plan_approach', way)
        outcome = far.supervisor.approach(0.5)
    assert not outcome.success and 'on the way' in outcome.message
    assert far.report.phase.name == 'HOLDING'


# Loops while the drives are enabled


def test_a_slipped_encoder_stops_all_when_all_have_told_where_they_are(following, mechanism):
    check = LoopCheck(following.supervisor, mechanism, DRIVES.closure_tolerance, 20.0)
    check.check()
    assert not following.report.text
    slipped = {'position': following.off(3, 0.19)}  # less than the following error
    following.drives.once = slipped | {'fresh': array(5, False, True, bool)}
    following.drives.cycle()
    check.check()
    assert not following.report.text  # of different instants
    following.drives.once = slipped
    following.drives.cycle()
    check.check()
    cause = following.report.causes[0]
    assert (cause.drive, cause.kind, cause.goal) == ('crank_3', 'loops', Goal.TORQUE_FREE)


def test_loops_are_checked_as_often_as_asked_for(following, mechanism):
    times = []

    class Counted(LoopCheck):
        def check(self):
            times.append(time.monotonic())

    never = Counted(following.supervisor, mechanism, 0.001, 0.0)
    never.start()
    never.stop()
    assert not times
    often = Counted(following.supervisor, mechanism, 0.001, 80.0)
    begin = time.monotonic()
    often.start()
    while len(times) < 40 and time.monotonic() < begin + 60.0:
        time.sleep(0.01)
    often.stop()
    # No more often than asked for; a busy computer may make it less.
    assert len(times) >= 40 and times[39] - begin > 39 / 80.0
    count = len(times)
    often.stop()
    assert len(times) == count


def test_a_stop_on_the_way_stops(far):
    far.supervisor.approach(0.5)
    far.drives.cycle(50)
    far.supervisor.emergency_stop()
    assert far.drives.cycle().goal is Goal.STOPPED
    assert not far.supervisor.approach(0.5).success


def test_ways_that_there_are_not(bench, far):
    assert (
        'must be enabled' in Bench(far.supervisor._mechanism, False).supervisor.approach(1).message
    )
    far.goal = far.off(3, 5.0)
    far.drives.run(0.01, far.command)
    outcome = far.supervisor.approach(0.5)
    assert not outcome.success and 'crank_3: commanded position' in outcome.message


def test_without_a_far_command_there_is_no_way(bench):
    assert 'no command has come' in bench.supervisor.approach(0.5).message


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(-50.0, 50.0), min_size=6, max_size=6), min_size=1, max_size=30))
def test_efforts_keep_bounds_and_rates_whatever_is_commanded(mechanism, rows):
    bench = Bench(mechanism)
    before = np.zeros(6)
    for row in rows:
        effort = bench.send(effort=row).effort
        bound = np.minimum(LIMITS.effort, mechanism.effort_limits)
        assert (np.abs(effort) <= bound).all()
        assert (np.abs(effort - before) <= LIMITS.effort_rate * PERIOD * (1 + 1e-9)).all()
        assert ((effort == row) | (np.abs(effort) < np.abs(row)) | (effort != before)).all()
        before = effort
    assert bench.drives.setpoint.goal is Goal.ENABLED
    assert bench.report.clamped.sum() == (np.abs(rows) > LIMITS.effort).sum()


def test_efforts_arrive_when_held_long_enough(following):
    wanted = array(3, -0.85, 0.1)
    needed = int(np.ceil(0.85 / (LIMITS.effort_rate * PERIOD)))
    for k in range(needed):
        effort = following.send(effort=wanted).effort
        assert (effort == pytest.approx(wanted, abs=1e-12)) == (k == needed - 1)
    assert following.report.held_back[2] == needed - 1


def test_added_efforts(following):
    extra = array(6, 0.05, 0.0)
    following.supervisor.add_effort(extra)
    assert following.send(effort=array(6, 0.1, 0.0)).effort[5] == pytest.approx(0.15)
    assert following.send().effort[5] == pytest.approx(0.05)
    following.supervisor.add_effort(array(6, NAN, 0.0))
    assert not following.send().effort.any()


# Motion


@pytest.mark.parametrize(
    ('fields', 'cause'),
    [
        ({'velocity': array(2, -30.1, 0.0)}, 'crank_2: measured velocity -30.1 rad/s'),
        ({'position': array(2, 1.701, 0.0)}, 'crank_2: measured position 1.701 rad'),
        ({'position': array(2, NAN, 0.0)}, 'crank_2: measured position nan rad'),
    ],
)
def test_motion_beyond_limits_stops_all(mechanism, fields, cause):
    bench = Bench(mechanism, mode='effort')  # in position mode the following error comes first
    bench.send(effort=np.zeros(6))
    bench.drives.once = fields
    assert bench.drives.cycle().goal is Goal.STOPPED
    assert bench.report.text.startswith(cause)


def test_effort_mode_needs_no_positions_and_times_out(mechanism):
    bench = Bench(mechanism, mode='effort')
    bench.supervisor.submit(dataclasses.replace(bench.command(effort=[0.1] * 6), position=None))
    assert bench.drives.cycle().effort == pytest.approx([0.1] * 6)
    bench.drives.until(Goal.STOPPED)


def test_heat_stops_all_and_keeps_them_from_being_enabled(following):
    following.supervisor.set_temperature(array(5, 80.5, NAN))
    assert following.drives.cycle().goal is Goal.STOPPED
    assert following.report.text.startswith('crank_5: 80.5 degrees Celsius are above the limit')
    following.drives.cycle(3)
    assert following.supervisor.reset().success and following.drives.finish().success
    assert 'crank_5: 80.5' in following.supervisor.enable().message
    following.supervisor.set_temperature(array(5, 70.0, NAN))
    following.drives.enable()


# Requests


def test_emergency_stop_latches_until_reset_in_every_phase(mechanism):
    for enabled in (True, False):
        bench = Bench(mechanism, enabled=enabled)
        assert bench.supervisor.emergency_stop().success
        assert bench.drives.cycle().goal is Goal.STOPPED
        bench.drives.run(0.2, bench.command)
        assert bench.drives.setpoint.goal is Goal.STOPPED and bench.drives.torque_free
        assert 'emergency stop' in bench.supervisor.enable().message
        assert bench.supervisor.reset().success and bench.drives.finish().success
        bench.drives.enable()


def test_reset_waits_for_a_quick_stop(following):
    following.supervisor.emergency_stop()
    following.drives.given = {'status_word': array(1, 0x217, 0x250, int)}  # one still slows down
    following.drives.cycle()
    assert following.supervisor.reset() == (False, 'drives are still slowing down')
    following.drives.given = {}
    following.drives.cycle(3)
    assert following.supervisor.reset().success


def test_a_fault_in_a_quick_stop_makes_all_torque_free(following):
    following.supervisor.emergency_stop()
    assert following.drives.cycle().goal is Goal.STOPPED
    following.drives.once = {'status_word': array(1, 0x218, 0x217, int)}
    assert following.drives.cycle().goal is Goal.TORQUE_FREE
    assert following.report.text.startswith('operator: emergency stop (then crank_1: is in fault')


def test_a_drive_that_goes_on_giving_torque_is_named(following):
    following.supervisor.emergency_stop()
    following.drives.given = {'status_word': array(2, 0x217, 0x250, int)}
    count = following.drives.until(Goal.TORQUE_FREE)
    assert count * PERIOD == pytest.approx(1.0, abs=3 * PERIOD)
    assert 'crank_2: still gives torque 1 s after' in following.report.text


def test_disable_slows_down_and_latches_nothing(following):
    assert following.supervisor.disable().success
    assert following.drives.cycle().goal is Goal.STOPPED
    assert following.drives.finish() == (True, 'drives are torque-free')
    following.drives.run(0.3)
    assert following.drives.setpoint.goal is Goal.TORQUE_FREE
    following.drives.enable()


def test_requests_that_change_nothing(following):
    supervisor = following.supervisor
    assert supervisor.enable() == (True, 'already enabled')
    assert supervisor.reset() == (True, 'nothing to reset: drives are enabled')
    assert not supervisor.home().success
    following.drives.run(0.05, following.command)
    assert following.drives.setpoint.goal is Goal.ENABLED


def test_an_exchange_that_has_ended_is_told_by_every_request(following):
    following.supervisor.exchange_failed(ValueError('no such frame'))
    assert following.report.causes[0].drive == 'exchange'
    assert following.report.goal is Goal.TORQUE_FREE
    supervisor = following.supervisor
    for request in (
        supervisor.enable,
        supervisor.reset,
        supervisor.home,
        supervisor.emergency_stop,
    ):
        outcome = request()
        assert not outcome.success, request
        assert 'has ended: no such frame; deactivate and activate the node' in outcome.message
    assert not supervisor.met().success
    supervisor.restart()  # the node is active again; what is latched stays so
    assert supervisor.reset() == (False, 'drives have not been heard of yet')
    following.drives.states = [State.SWITCH_ON_DISABLED] * 6
    following.drives.cycle(3)
    assert 'stopped until reset: exchange' in supervisor.enable().message
    assert supervisor.reset().success and following.drives.finish().success
    following.drives.enable()


def test_after_a_pause_positions_of_before_count_no_more(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.supervisor.restart()
    assert bench.supervisor.enable() == (False, 'drives have not been heard of yet')
    assert not bench.supervisor.check_reference().success
    bench.drives.position = bench.off(3, 0.3)  # moved by hand meanwhile
    bench.drives.cycle()
    assert 'crank_3 is off by 0.3 rad' in bench.supervisor.enable().message
    # A pause of an hour is none of torque after a stop.
    bench.supervisor.restart()
    bench.drives.position = bench.home.copy()
    bench.drives.time += 3600.0
    bench.drives.cycle(3)
    bench.drives.enable()


def test_before_anything_is_heard(mechanism):
    supervisor = Supervisor(DRIVES, mechanism)
    for request in (supervisor.enable, supervisor.reset, supervisor.home, supervisor.may_home):
        assert request() == (False, 'drives have not been heard of yet')
    supervisor.emergency_stop()
    drives = IdealDrives(supervisor, mechanism.home.position)
    assert drives.cycle().goal is Goal.STOPPED


def test_loops_that_do_not_close_keep_drives_from_being_enabled(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.position = bench.off(3, 0.3)
    bench.drives.cycle()
    refused = bench.supervisor.enable()
    assert not refused.success
    assert 'not referenced' in refused.message and 'crank_3 is off by 0.3 rad' in refused.message
    bench.drives.position = bench.off(3, 1.75)
    bench.drives.cycle()
    assert 'crank_3: measured position 1.75 rad is outside' in bench.supervisor.enable().message


def test_drives_that_count_from_zero_must_be_homed_however_well_the_loops_close(mechanism):
    bench = Bench(mechanism, enabled=False, homed=False)
    bench.drives.position = np.zeros(6)
    bench.drives.cycle()
    assert bench.supervisor.check_reference().success
    refused = bench.supervisor.enable()
    assert not refused.success
    assert refused.message.startswith('crank_1, crank_2, ')
    assert 'crank_6 are not homed since they were switched on: service ~/home' in refused.message
    bench.drives.find_home()
    bench.drives.enable()
    bench.supervisor.disable()
    bench.drives.finish()
    bench.supervisor.forget_home(['crank_2'])
    message = 'crank_2 is not homed since it was switched on: service ~/home'
    assert bench.supervisor.enable() == (False, message)


def test_absolute_encoders_need_no_homing(mechanism):
    def absolute(drive, value):
        motor = type(drive.motor)(**dict(drive.motor) | {'absolute': value})
        return type(drive)(**dict(drive) | {'motor': motor})

    all_of_them = {name: absolute(drive, True) for name, drive in DRIVES.drives.items()}
    bench = Bench(mechanism, homed=False, drives=all_of_them)
    bench.supervisor.disable()
    bench.drives.finish()
    bench.supervisor.forget_home(DRIVES.drives)
    bench.drives.enable()
    but_one = all_of_them | {'crank_4': DRIVES.drives['crank_4']}
    bench = Bench(mechanism, enabled=False, homed=False, drives=but_one)
    assert bench.supervisor.enable().message.startswith('crank_4 is not homed')


@pytest.mark.parametrize('crank', [1, 4])
def test_a_drive_that_is_homed_to_another_position_is_named(mechanism, crank):
    """E.g. one that takes 0x607C with the other sign."""
    bench = Bench(mechanism, enabled=False, homed=False)
    bench.drives.home = bench.off(crank, -0.002)
    assert bench.supervisor.home().success
    outcome = bench.drives.finish()
    assert not outcome.success and 'other sign?' in outcome.message
    assert f'crank_{crank}: says that it is homed but measures -0.002 rad' in outcome.message
    assert bench.supervisor.reset().success and bench.drives.finish().success
    assert bench.supervisor.enable().message.startswith(f'crank_{crank} is not homed')
    bench.drives.home = bench.off(crank, -0.0005)  # the least that is allowed is 1e-3 rad
    bench.drives.find_home()


def test_a_drive_that_still_moves_is_not_homed(mechanism):
    bench = Bench(mechanism, enabled=False, homed=False)
    bench.drives.once = {'velocity': array(3, -0.3, 0.0)}
    bench.drives.cycle()
    for request in (bench.supervisor.may_home, bench.supervisor.home):
        assert request() == (False, 'crank_3 still moves, at 0.3 rad/s')
    bench.drives.cycle()
    bench.drives.find_home()


def test_homing_that_fails_leaves_drives_that_are_not_homed(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.given = {'status_word': array(4, 0x250, 0x1250, int)}
    assert bench.supervisor.home().success and not bench.drives.finish().success
    bench.drives.given = {}
    assert bench.supervisor.reset().success and bench.drives.finish().success
    assert bench.supervisor.enable().message.startswith('crank_4 is not homed')


def test_home_is_told_when_attained_and_when_not(mechanism):
    bench = Bench(mechanism, enabled=False, homed=False)
    assert bench.supervisor.may_home().success and bench.supervisor.home().success
    assert bench.drives.cycle().goal is Goal.HOMING
    assert bench.drives.finish() == (True, 'drives are torque-free')
    bench.drives.given = {'status_word': array(4, 0x250, 0x1250, int)}
    assert bench.supervisor.home().success
    outcome = bench.drives.finish()
    assert not outcome.success and 'crank_4: not homed within 3 s' in outcome.message


def test_a_drive_that_is_not_enabled_in_time_is_named(mechanism):
    bench = Bench(mechanism, enabled=False)
    bench.drives.given = {'status_word': array(1, 0x233, 0x1237, int)}
    assert bench.supervisor.enable().success
    outcome = bench.drives.finish()
    assert not outcome.success and 'crank_1: not enabled within 3 s' in outcome.message


# Configuration and cost


def test_order_of_the_file_does_not_matter_but_the_joints_do(mechanism):
    fields = {k: v for k, v in dict(DRIVES).items() if k != 'schema_'}
    turned = dict(reversed(DRIVES.drives.items()))
    drives = type(DRIVES)(schema=1, **fields | {'drives': turned})
    with pytest.raises(DescriptionError, match='are for crank_6, crank_5'):
        Supervisor(drives, mechanism)
    assert tuple(in_order(drives, mechanism).drives) == mechanism.actuated
    fewer = {k: v for k, v in turned.items() if k != 'crank_2'}
    with pytest.raises(DescriptionError, match='the actuated joints of masticator are crank_1'):
        in_order(type(DRIVES)(schema=1, **fields | {'drives': fewer}), mechanism)


def test_limits_are_the_narrower_of_drive_and_mechanism(mechanism):
    bench = Bench(mechanism, enabled=False)
    guard = bench.supervisor.guard
    assert guard.effort == pytest.approx(0.9)  # the URDF allows 5
    assert guard.velocity == pytest.approx(30.0)  # the URDF allows 40
    assert guard.upper == pytest.approx(1.7 - 0.02)
    one = DRIVES.drives['crank_1']
    wide = type(one)(**dict(one) | {'limits': type(LIMITS)(**dict(LIMITS) | {'velocity': 90.0})})
    bench = Bench(mechanism, enabled=False, drives={**DRIVES.drives, 'crank_1': wide})
    assert bench.supervisor.guard.velocity == pytest.approx([40.0] + [30.0] * 5)
    narrow = type(one)(
        **dict(one) | {'limits': type(LIMITS)(**dict(LIMITS) | {'position_margin': 1.7})}
    )
    with pytest.raises(DescriptionError, match='crank_1.*leaves nothing of the range'):
        Bench(mechanism, drives={**DRIVES.drives, 'crank_1': narrow})


def test_same_feedback_and_commands_same_setpoints(mechanism):
    def run():
        bench = Bench(mechanism)
        rows = []
        for k in range(200):
            bench.goal = bench.off(1 + k % 6, 0.01 * np.sin(0.1 * k))
            rows.append(bench.send(effort=array(1 + k % 6, 0.3, 0.0)))
        return [(r.goal, r.position.tolist(), r.effort.tolist()) for r in rows]

    assert run() == run()


def test_a_cycle_costs_little(following):
    """Of the whole cycle with a command, 0.15 ms are wanted; ten times that is a slow computer."""
    feedback = following.drives._feedback()
    times = []
    for _ in range(500):
        feedback = dataclasses.replace(feedback, time=feedback.time + PERIOD)
        command = dataclasses.replace(following.command(effort=np.zeros(6)), time=feedback.time)
        begin = time.perf_counter()
        following.supervisor.submit(command)
        following.supervisor(feedback)
        times.append(time.perf_counter() - begin)
    assert following.report.accepted > 500
    assert np.median(times) < 1.5e-3
