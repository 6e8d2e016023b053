# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every row of the safety table, on drives that follow commands at once."""

import time

import numpy as np
import pytest

from drives.ideal_drives import PERIOD, IdealDrives
from drives.supervised import DRIVES, LIMITS, Bench, array
from masticator_dynamics.drives.drive_cycle import DriveGoal, Emergency
from masticator_dynamics.drives.state_machine import LOST_AFTER, State, all_heard
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.drives.watches import LoopCheck

NAN = float('nan')


# Faults of drives and bus: torque-free in the cycle that tells of them


EMERGENCY = Emergency('crank_3', 0x4310, 0x08, 'drive too hot')
FAULTS = {
    'crank_3: no heartbeat for 0.151 s (timeout 0.15 s)': {
        'heartbeat_age': array(3, 0.151, 0.02)},
    'crank_3: has sent no heartbeat': {'heartbeat_age': array(3, np.inf, 0.02)},
    'crank_3: 5 PDOs missing in a row': {'missed': array(3, LOST_AFTER, 0, np.int64)},
    'crank_3: drive too hot (EMCY 0x4310)': {'emergencies': (EMERGENCY,)},
    'crank_3: has restarted since it was set up': {'restarted': (2,)},
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
    assert setpoint.goal is DriveGoal.TORQUE_FREE
    assert not setpoint.effort.any()
    assert following.report.text.startswith(cause)
    assert following.drives.torque_free


@pytest.mark.parametrize('cause', FAULTS)
def test_it_stays_so_whatever_is_commanded_until_reset(following, cause):
    following.drives.once = FAULTS[cause]
    following.drives.cycle()
    following.drives.run(0.1, following.command)
    assert following.drives.setpoint.goal is DriveGoal.TORQUE_FREE
    refused = following.supervisor.enable()
    assert not refused.success and cause in refused.message
    assert following.supervisor.reset().success
    assert following.drives.finish().success
    assert following.drives.setpoint.goal is DriveGoal.TORQUE_FREE
    following.drives.enable()


def test_fewer_missing_pdos_and_younger_heartbeats_are_no_fault(following):
    following.drives.given = {
        'missed': array(3, LOST_AFTER - 1, 0, np.int64),
        'heartbeat_age': array(3, 0.149, 0.02),
        'emergencies': (Emergency('crank_3', 0, 0, 'no error'),),
    }
    following.drives.run(0.05, following.command)
    assert following.drives.setpoint.goal is DriveGoal.ENABLED


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
        assert all_heard(feedback._replace(**{field: value})) == heard


def test_a_velocity_that_is_no_number_stops_the_drives(following):
    following.drives.once = {'velocity': array(3, NAN, 0.0)}
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    assert following.report.text.startswith('crank_3: measured velocity nan rad/s is beyond 30')


def test_a_drive_that_runs_away_while_others_are_being_enabled(mechanism):
    bench = Bench(mechanism, enabled=False)
    drives = bench.drives
    assert bench.supervisor.enable().success
    drives.given = {'status_word': array(6, 0x0233, 0x1237, int)}  # stays switched on
    drives.cycle(10)
    assert drives.setpoint.goal is DriveGoal.ENABLED and not bench.report.text
    drives.follows[0] = False
    for _ in range(40):
        drives.position[0] += 0.01
        drives.cycle()
        if drives.setpoint.goal is not DriveGoal.ENABLED:
            break
    assert drives.setpoint.goal is DriveGoal.TORQUE_FREE
    assert bench.report.text.startswith('crank_1: following error -0.')
    assert abs(drives.position[0] - bench.home[0]) < LIMITS.following_error + 0.011


def test_drives_that_are_moved_by_hand_may_be_enabled(mechanism):
    bench = Bench(mechanism, enabled=False)
    assert bench.supervisor.enable().success
    bench.drives.given = {'status_word': np.full(6, 0x0250)}
    for _ in range(400):  # by 0.8 rad in all
        bench.drives.position = bench.drives.position + 0.002
        bench.drives.cycle()
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED and not bench.report.text


def test_following_error_names_joint_and_amount(following):
    following.drives.follows[4] = False
    ramp = iter(np.linspace(0.0, 0.4, 200))

    def command():
        return following.command(following.off(5, next(ramp)))

    following.drives.run(0.4, command)
    assert following.drives.setpoint.goal is DriveGoal.TORQUE_FREE
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
    assert bench.drives.cycle().goal is DriveGoal.STOPPED
    assert bench.report.text.startswith(cause)


def test_effort_mode_needs_no_positions_and_times_out(mechanism):
    bench = Bench(mechanism, mode='effort')
    bench.supervisor.submit(bench.command(effort=[0.1] * 6)._replace(position=None))
    assert bench.drives.cycle().effort == pytest.approx([0.1] * 6)
    bench.drives.until(DriveGoal.STOPPED)


def test_heat_stops_all_and_keeps_them_from_being_enabled(following):
    following.supervisor.set_temperature(array(5, 80.5, NAN))
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    assert following.report.text.startswith('crank_5: 80.5 degrees Celsius are above the limit')
    following.drives.cycle(3)
    assert following.supervisor.reset().success and following.drives.finish().success
    assert 'crank_5: 80.5' in following.supervisor.enable().message
    following.supervisor.set_temperature(array(5, 70.0, NAN))
    following.drives.enable()


# Loops while the drives are enabled


def test_a_slipped_encoder_stops_all_when_all_have_told_where_they_are(following, mechanism):
    check = LoopCheck(following.supervisor, mechanism, DRIVES.closure_tolerance, 20.0)
    check.look()
    assert not following.report.text
    slipped = {'position': following.off(3, 0.19)}  # less than the following error
    following.drives.once = slipped | {'fresh': array(5, False, True, bool)}
    following.drives.cycle()
    check.look()
    assert not following.report.text  # of different instants
    following.drives.once = slipped
    following.drives.cycle()
    check.look()
    cause = following.report.causes[0]
    assert (cause.drive, cause.kind, cause.goal) == ('crank_3', 'loops', DriveGoal.TORQUE_FREE)


def test_loops_are_checked_as_often_as_asked_for(following, mechanism):
    times = []

    class Counted(LoopCheck):
        def look(self):
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
