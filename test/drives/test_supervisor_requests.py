# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to the supervisor and their answers: enable, approach, disable, reset, home."""

import time

import numpy as np
import pytest

from drives.ideal_drives import PERIOD, IdealDrives
from drives.supervised import DRIVES, LIMITS, Bench, array
from masticator_dynamics.drives import approach
from masticator_dynamics.drives.approach import Approach
from masticator_dynamics.drives.drive_cycle import DriveGoal, Emergency
from masticator_dynamics.drives.joint_limits import in_order
from masticator_dynamics.drives.state_machine import State
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.errors import DescriptionError, ReachError


def test_emergency_stop_latches_until_reset_in_every_phase(mechanism):
    for enabled in (True, False):
        bench = Bench(mechanism, enabled=enabled)
        assert bench.supervisor.emergency_stop().success
        assert bench.drives.cycle().goal is DriveGoal.STOPPED
        bench.drives.run(0.2, bench.command)
        assert bench.drives.setpoint.goal is DriveGoal.STOPPED and bench.drives.torque_free
        assert 'emergency stop' in bench.supervisor.enable().message
        assert 'stopped until reset' in bench.supervisor.home().message
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
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    following.drives.once = {'status_word': array(1, 0x218, 0x217, int)}
    assert following.drives.cycle().goal is DriveGoal.TORQUE_FREE
    assert following.report.text.startswith('operator: emergency stop (then crank_1: is in fault')


def test_a_drive_that_goes_on_giving_torque_is_named(following):
    following.supervisor.emergency_stop()
    following.drives.given = {'status_word': array(2, 0x217, 0x250, int)}
    count = following.drives.until(DriveGoal.TORQUE_FREE)
    # 0.1 s from 30 rad/s with 300 rad/s^2, and 50 ms until that has shown.
    assert count * PERIOD == pytest.approx(0.15, abs=3 * PERIOD)
    assert 'crank_2: still gives torque 0.15 s after' in following.report.text


def test_disable_slows_down_and_latches_nothing(following):
    assert following.supervisor.disable().success
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    assert following.drives.finish() == (True, 'drives are torque-free')
    following.drives.run(0.3)
    assert following.drives.setpoint.goal is DriveGoal.TORQUE_FREE
    following.drives.enable()


def test_requests_that_change_nothing(following):
    supervisor = following.supervisor
    assert supervisor.enable() == (True, 'already enabled')
    assert supervisor.reset() == (True, 'nothing to reset: drives are enabled')
    assert not supervisor.home().success
    following.drives.run(0.05, following.command)
    assert following.drives.setpoint.goal is DriveGoal.ENABLED


def test_an_exchange_that_has_ended_is_told_by_every_request(following):
    following.supervisor.exchange_failed(ValueError('no such frame'))
    assert following.report.causes[0].drive == 'exchange'
    assert following.report.goal is DriveGoal.TORQUE_FREE
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
    assert drives.cycle().goal is DriveGoal.STOPPED


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
    """For example a drive that uses 0x607C with the opposite sign."""
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
    assert bench.drives.cycle().goal is DriveGoal.HOMING
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


# The way to a command that is too far


@pytest.fixture
def far(bench, mechanism):
    """Drives enabled at home, with commands for the open mouth."""
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
    assert outcome.success and far.supervisor.approach_duration > 4.0
    assert f'{far.supervisor.approach_duration:.1f} s' in outcome.message
    count = 0
    while far.supervisor.met() is None:
        far.drives.cycle()
        count += 1
    assert count * PERIOD == pytest.approx(far.supervisor.approach_duration, abs=3 * PERIOD)


@pytest.mark.parametrize('crank', [1, 6])
def test_drives_that_do_not_get_to_the_end_of_a_way_are_stopped(far, crank):
    """Food that is too hard lies in the way: the motor would press until it is too hot."""
    far.supervisor.approach(0.5)
    row = far.goal.copy()
    row[crank - 1] -= 0.063 * np.sign(far.goal - far.home)[crank - 1]
    way = round(far.supervisor.approach_duration / PERIOD)
    far.drives.cycle(way - 20)
    far.drives.given = {'position': row}
    far.drives.cycle(30)
    assert far.supervisor.met() is None
    count = 10 + far.drives.until(DriveGoal.STOPPED)
    assert count * PERIOD == pytest.approx(1.0, abs=5 * PERIOD)
    outcome = far.drives.finish()
    assert not outcome.success
    assert outcome.message.startswith(f'crank_{crank}: 0.063 rad short of the end of the way, 1 s')
    assert 'at most 0.02 rad' in outcome.message and far.drives.torque_free


def test_drives_that_get_there_late_have_arrived(far):
    far.supervisor.approach(0.5)
    far.drives.cycle(round(far.supervisor.approach_duration / PERIOD) - 20)
    row = far.goal.copy()
    row[2] += 0.021
    far.drives.given = {'position': row}
    far.drives.run(0.9, far.command)
    assert far.supervisor.met() is None
    row[2] -= 0.002
    far.drives.given = {}
    far.drives.position = row
    far.drives.follows[:] = False
    far.drives.run(0.1, far.command)
    assert far.report.phase.name == 'FOLLOWING'


def test_a_way_that_leaves_ranges_is_not_gone(far):
    """Both ends may be within ranges while cranks in between are not."""
    limits, halfway = far.supervisor.limits, 0.5 * (far.home + far.goal)
    crank = int(np.argmax(np.abs(far.goal - far.home)))
    row = far.home.copy()
    row[crank] = limits.upper[crank] + 0.001
    reason = limits.leaves_range(np.array([far.home, halfway, row, far.goal]))
    assert reason.startswith(f'crank_{crank + 1}: on the way ') and 'is outside' in reason
    assert limits.leaves_range(np.array([far.home, halfway, far.goal])) == ''
    # Out of a margin, but not farther into it.
    assert limits.leaves_range(np.array([row, halfway])) == ''
    assert limits.leaves_range(np.array([row, row + 1e-6])) != ''
    way = Approach(np.array([far.home, row]), np.zeros((2, 6)), np.zeros((2, 6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('masticator_dynamics.drives.approach.plan_approach', lambda *_: way)
        outcome = far.supervisor.approach(0.5)
    assert not outcome.success and 'on the way' in outcome.message
    assert far.report.phase.name == 'HOLDING'


def test_a_stop_on_the_way_stops(far):
    far.supervisor.approach(0.5)
    far.drives.cycle(50)
    far.supervisor.emergency_stop()
    assert far.drives.cycle().goal is DriveGoal.STOPPED
    assert not far.supervisor.approach(0.5).success


def test_ways_that_there_are_not(bench, far):
    assert (
        'must be enabled' in Bench(far.supervisor._mechanism, False).supervisor.approach(1).message
    )
    far.goal = far.off(3, 5.0)
    far.drives.run(0.01, far.command)
    outcome = far.supervisor.approach(0.5)
    assert not outcome.success and 'crank_3: commanded position' in outcome.message


@pytest.mark.parametrize('crank', [1, 4])
def test_there_is_no_way_to_where_the_loops_would_be_open(mechanism, crank):
    """The drives would pull against one another there for as long as they are enabled."""
    bench = Bench(mechanism, strict=True)
    bench.goal = bench.off(crank, 0.19)
    bench.drives.run(0.1, bench.command)
    assert bench.report.refusal.startswith(f'first command for crank_{crank}')
    outcome = bench.supervisor.approach(0.5)
    assert not outcome.success
    assert outcome.message.startswith(f'crank_{crank}: commanded positions do not close the loops')
    assert float(outcome.message.split('off by ')[1].split()[0]) == pytest.approx(0.19, rel=0.1)
    bench.drives.cycle(10)
    assert (bench.drives.setpoint.position == bench.home).all()


def test_without_a_far_command_there_is_no_way(bench):
    assert 'no command has come' in bench.supervisor.approach(0.5).message


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
    limits = bench.supervisor.limits
    assert limits.effort == pytest.approx(0.9)  # the URDF allows 5
    assert limits.velocity == pytest.approx(30.0)  # the URDF allows 40
    assert limits.upper == pytest.approx(1.7 - 0.02)
    one = DRIVES.drives['crank_1']
    wide = type(one)(**dict(one) | {'limits': type(LIMITS)(**dict(LIMITS) | {'velocity': 90.0})})
    bench = Bench(mechanism, enabled=False, drives={**DRIVES.drives, 'crank_1': wide})
    assert bench.supervisor.limits.velocity == pytest.approx([40.0] + [30.0] * 5)
    narrow = type(one)(
        **dict(one) | {'limits': type(LIMITS)(**dict(LIMITS) | {'position_margin': 1.7})}
    )
    with pytest.raises(DescriptionError, match='crank_1.*leaves nothing of the range'):
        Bench(mechanism, drives={**DRIVES.drives, 'crank_1': narrow})


def test_a_range_of_more_counts_than_a_target_holds_is_refused(mechanism):
    """Else the exchange would end in motion, at the first position that does not fit."""
    one = DRIVES.drives['crank_1']
    motor = type(one.motor)(**dict(one.motor) | {'counts_per_turn': 2**28, 'gear_ratio': 30.0})
    fine = type(one)(**dict(one) | {'motor': motor})
    with pytest.raises(DescriptionError, match=r'crank_1\.motor.*1\.7.*2\.18e\+09 counts'):
        Bench(mechanism, drives={**DRIVES.drives, 'crank_1': fine})


def test_a_stop_while_the_loops_are_checked_is_not_overruled(mechanism, monkeypatch):
    bench = Bench(mechanism, enabled=False)
    check = bench.supervisor.check_reference

    def stopped_meanwhile():
        found = check()
        bench.supervisor.emergency_stop()
        return found

    monkeypatch.setattr(bench.supervisor, 'check_reference', stopped_meanwhile)
    outcome = bench.supervisor.enable()
    assert not outcome.success and 'emergency stop' in outcome.message
    assert bench.drives.cycle().goal is DriveGoal.STOPPED


def test_a_stop_while_a_way_is_looked_for_is_not_overruled(far, monkeypatch):
    plan = approach.plan_approach

    def stopped_meanwhile(*given):
        found = plan(*given)
        far.supervisor.disable()
        return found

    monkeypatch.setattr(approach, 'plan_approach', stopped_meanwhile)
    assert far.supervisor.approach(0.5) == (False, 'drives are stopping')
    assert far.drives.cycle().goal is not DriveGoal.ENABLED


def test_no_way_is_told(far, monkeypatch):
    def none(*_):
        raise ReachError('too far')

    monkeypatch.setattr(approach, 'plan_approach', none)
    assert far.supervisor.approach(0.5) == (False, 'no way to what is commanded: too far')


def test_reset_waits_for_drives_that_are_just_being_disabled(following):
    following.supervisor.disable()
    outcome = following.supervisor.reset()
    assert not outcome.success and outcome.message.endswith('not yet')


def test_an_emergency_of_a_stranger_on_the_bus_stops_all_and_names_it(following):
    stranger = Emergency('node 9', 0x2310, 0, 'overcurrent')
    following.drives.once = {'emergencies': (stranger,)}
    assert following.drives.cycle().goal is DriveGoal.TORQUE_FREE
    assert following.report.text == 'node 9: overcurrent (EMCY 0x2310)'
    assert following.supervisor.reset().success and following.drives.finish().success


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
    """The whole cycle with a command should take 0.15 ms; ten times that is a slow computer."""
    feedback = following.drives._feedback()
    times = []
    for _ in range(500):
        feedback = feedback._replace(time=feedback.time + PERIOD)
        command = following.command(effort=np.zeros(6))._replace(time=feedback.time)
        begin = time.perf_counter()
        following.supervisor.submit(command)
        following.supervisor(feedback)
        times.append(time.perf_counter() - begin)
    assert following.report.accepted > 500
    assert np.median(times) < 1.5e-3
