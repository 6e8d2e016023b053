# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of commands: followed, extrapolated, kept within limits, refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drives.ideal_drives import PERIOD
from drives.supervised import DRIVES, LIMITS, Bench, array
from masticator_dynamics.drives.drive_cycle import DriveGoal

NAN = float('nan')


def test_time_out_stops_within_one_cycle_after_it(following):
    last = following.drives.time - 0.5 * PERIOD
    following.drives.until(DriveGoal.STOPPED)
    late = following.drives.time - last - DRIVES.command_timeout
    assert 0.0 < late <= PERIOD
    assert following.report.text.startswith('commands: none for 0.1')
    following.drives.cycle(2)
    assert following.drives.torque_free
    assert following.drives.setpoint.goal is DriveGoal.STOPPED


def test_no_time_out_before_the_first_command(bench):
    position = bench.drives.position.copy()
    bench.drives.run(1.0)
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED
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
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    assert following.report.text.startswith(cause)
    assert (following.drives.position == before).all()
    following.drives.run(0.05, following.command)
    assert following.drives.torque_free
    assert following.supervisor.reset().success and following.drives.finish().success


def test_the_margin_is_kept_and_used(mechanism):
    edge = mechanism.limits.upper[mechanism.tree_indices(['crank_1'])[0]] - LIMITS.position_margin
    for beyond, goal in ((-1e-9, DriveGoal.ENABLED), (1e-9, DriveGoal.STOPPED)):
        bench = Bench(mechanism)
        near = edge - 0.1 - bench.home[0]
        ramp = iter(np.append(np.linspace(0.0, near, 400), edge + beyond - bench.home[0]))
        bench.drives.run(0.8, lambda b=bench, r=ramp: b.command(b.off(1, next(r))))
        assert bench.drives.setpoint.goal is DriveGoal.ENABLED, bench.report.text
        last = edge + beyond - bench.home[0]
        # Slowly, and then for long: positions are led by their velocity.
        for amount in [*np.linspace(near, last - 1e-3, 1000), *np.full(500, last - 1e-3)]:
            bench.send(bench.off(1, amount))
        assert bench.drives.setpoint.goal is DriveGoal.ENABLED, bench.report.text
        for _ in range(3):
            setpoint = bench.send(bench.off(1, last), velocity=np.zeros(6))
        assert setpoint.goal is goal


def test_velocity_counts_between_stamps_and_not_between_arrivals(following):
    """Three commands wait while cycles are left out; together they move by three periods."""
    following.drives.time += 2.0 * PERIOD
    step = 20.0 * PERIOD
    stamp = 5000.0 + following.drives.time - 1.5 * PERIOD
    for k in range(1, 4):
        following.supervisor.submit(
            following.command(following.off(1, k * step), stamp=stamp + k * PERIOD)
        )
    assert following.drives.cycle().goal is DriveGoal.ENABLED


OUT_OF_DATE = {
    'command is stamped 0.25 s in the past (command_timeout 0.1 s)': {'age': 0.25},
    'command is stamped 0.25 s ahead': {'age': -0.25},
    'before the one that came before': {'stamp': 4999.0},
}


@pytest.mark.parametrize('reason', OUT_OF_DATE)
def test_commands_out_of_date_are_refused_and_do_not_count_as_signs_of_life(following, reason):
    before = following.drives.position.copy()
    changed = following.off(1, 0.01)

    def bad():
        return following.command(changed, **OUT_OF_DATE[reason])

    following.drives.run(DRIVES.command_timeout - 2 * PERIOD, bad)
    assert reason in following.report.refusal
    assert (following.drives.position == before).all()
    assert following.drives.setpoint.goal is DriveGoal.ENABLED
    following.drives.run(4 * PERIOD, bad)
    assert following.drives.setpoint.goal is DriveGoal.STOPPED
    assert 'command_timeout' in following.report.text


def test_a_first_command_far_away_is_refused_and_changes_nothing(bench):
    before = bench.drives.position.copy()
    bench.drives.run(0.3, lambda: bench.command(bench.off(4, -0.21)))
    assert 'first command for crank_4 is 0.21 rad away' in bench.report.refusal
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED
    assert (bench.drives.position == before).all()
    bench.send(bench.off(4, -0.019))
    assert bench.drives.position[3] == pytest.approx(bench.home[3] - 0.019)


def test_no_numbers_are_counted_after_the_first_good_ones(bench):
    bench.supervisor.not_finite()
    assert bench.report.not_finite == 0
    bench.send()
    bench.supervisor.not_finite()
    assert bench.report.not_finite == 1
    bench.drives.until(DriveGoal.STOPPED)  # they are no signs of life


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
    for _ in range(6):  # a command that is older than those before it is joined within five periods
        following.send(age=age)
    setpoint = following.send(velocity=velocity, age=age)
    # Commands of this bench come half a period before the cycle that takes them.
    led = following.goal + velocity * (2.0 * PERIOD + 0.5 * PERIOD + age)
    assert setpoint.position == pytest.approx(led, abs=1e-12)


def test_an_old_stamp_is_not_led_far(following):
    setpoint = following.send(velocity=array(2, 1.5, 0.0), age=0.09)
    assert np.abs(setpoint.position - following.goal).max() <= 1.5 * 6.0 * PERIOD + 1e-12


def test_a_motion_of_constant_acceleration_is_led_to_where_it_will_be(following):
    def motion(t):
        return following.home + array(2, 1.0, 0.0) * 4.0 * t * t, array(2, 1.0, 0.0) * 8.0 * t

    times = np.arange(30) * PERIOD
    for now in times:
        setpoint = following.send(*motion(now))
    reached, _ = motion(times[-1] + 2.5 * PERIOD)
    assert setpoint.position == pytest.approx(reached, abs=1e-12)


def test_a_motion_whose_next_command_is_late_goes_on_for_four_periods(following):
    """Four periods from its stamp, which is half a period before the cycle here."""
    velocity, slope = array(2, 1.5, 0.0), array(3, 2.0, 0.0)

    def sent(t):
        following.send(following.home + velocity * t, velocity, effort=slope * t)
        return following.drives.setpoint

    times = np.arange(10) * PERIOD
    for now in times:
        last = sent(now)
    for cycles, gone in ((1, 1.0), (2, 2.0), (3, 3.0), (4, 3.5), (5, 3.5)):
        setpoint = following.drives.cycle()
        moved = last.position + velocity * gone * PERIOD
        assert setpoint.position == pytest.approx(moved, abs=1e-12), cycles
        led = last.effort + slope * gone * PERIOD
        assert setpoint.effort == pytest.approx(led, abs=1e-9), cycles
    following.drives.cycle()
    assert following.drives.setpoint.goal is DriveGoal.ENABLED


def test_a_motion_does_not_go_on_out_of_the_range(mechanism):
    bench = Bench(mechanism)
    edge = mechanism.limits.upper[mechanism.tree_indices(['crank_1'])[0]] - LIMITS.position_margin
    step = 0.5 * PERIOD
    slow, way = array(1, 0.5, 0.0), edge - bench.home[0]
    for amount in np.linspace(0.0, way - 41 * step, 2000):
        bench.send(bench.off(1, amount), velocity=0.0 * slow)
    for left in range(40, 2, -1):
        sent = bench.send(bench.off(1, way - left * step), velocity=slow)
    assert sent.position[0] == pytest.approx(edge - 0.5 * step)
    for _ in range(3):
        assert (bench.drives.cycle().position == sent.position).all()
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED, bench.report.text


def test_velocity_goes_with_efforts_that_were_commanded(following):
    velocity, effort = array(2, 1.5, 0.0), array(3, 0.01, 0.0)
    assert following.send(velocity=velocity).velocity is None
    assert (following.send(velocity=velocity, effort=effort).velocity == velocity).all()
    assert following.send(effort=effort, velocity=0.0 * velocity).velocity.tolist() == [0.0] * 6


def test_velocity_of_positions_alone_is_that_of_their_motion(following):
    """Some controllers send no velocities, and send each position twice."""
    for k in range(100):
        place = following.off(2, 0.8 * (k // 2) * PERIOD)
        setpoint = following.send(place, effort=np.zeros(6))
    assert setpoint.velocity == pytest.approx(array(2, 0.4, 0.0), rel=0.2)
    assert setpoint.position[1] - place[1] == pytest.approx(0.4 * 2.5 * PERIOD, rel=0.2)


def test_a_step_within_the_velocity_but_beyond_the_following_error_stops(following):
    following.drives.cycle(20)  # 40 ms without a command
    following.send(following.off(1, LIMITS.following_error + 0.01))
    assert following.report.text.startswith('crank_1: commanded step of 0.21 rad')
    assert following.drives.setpoint.goal is DriveGoal.STOPPED


@pytest.mark.parametrize('age', [0.0, 0.001])
def test_efforts_are_led_to_the_middle_of_the_cycle_in_which_they_are_given(following, age):
    def effort(t):
        return array(4, 0.1 - 5.0 * t, 0.02)

    times = np.arange(20) * PERIOD
    for now in times:
        setpoint = following.send(effort=effort(now), age=age)
    given = effort(times[-1] + 1.5 * PERIOD + 0.5 * PERIOD + age)
    # Stamps of 5000 s are rounded to 1e-12 s, differences of 2 ms therefore to 5e-10.
    assert setpoint.effort == pytest.approx(given, abs=1e-10)


def test_an_effort_is_not_led_beyond_its_bound(following):
    """The bound is not counted as a clamped command, since nobody commanded so much."""
    for amount in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        effort = following.send(effort=array(1, amount, 0.0)).effort
    assert effort[0] == pytest.approx(min(LIMITS.effort, following.bound[0]))
    assert not following.report.clamped.any()


def test_a_step_of_effort_is_not_overshot(following):
    given = [following.send(effort=array(2, 0.3, 0.0)).effort[1] for _ in range(10)]
    given += [following.send(effort=array(2, 0.0, 0.0)).effort[1] for _ in range(10)]
    assert min(given) == 0.0
    assert max(given) == 0.3


@pytest.mark.parametrize('changes', [{'effort_lead': 0.0}, {'mode': 'effort'}])
def test_efforts_that_are_not_led(mechanism, changes):
    """A controller that closes its loop over efforts alone must not have them extrapolated."""
    bench = Bench(mechanism, **changes)
    for amount in np.linspace(0.0, 0.1, 20):
        effort = bench.send(effort=array(2, amount, 0.0)).effort
        assert effort[1] == pytest.approx(amount, abs=1e-15)


def test_efforts_after_a_gap_begin_anew(following):
    for amount in (0.01, 0.02, 0.03):
        following.send(effort=array(2, amount, 0.0))
    following.drives.cycle(10)
    assert following.send(effort=array(2, 0.1, 0.0)).effort[1] == pytest.approx(0.1)


@pytest.mark.parametrize('lead', [0.0, None])
@given(
    rows=st.lists(st.lists(st.floats(-50.0, 50.0), min_size=6, max_size=6), min_size=1, max_size=30)
)
def test_efforts_keep_bounds_and_rates_whatever_is_commanded(mechanism, lead, rows):
    bench = Bench(mechanism, effort_lead=lead)
    before = np.zeros(6)
    for row in rows:
        effort = bench.send(effort=row).effort
        bound = np.minimum(LIMITS.effort, mechanism.effort_limits)
        assert (np.abs(effort) <= bound).all()
        assert (np.abs(effort - before) <= LIMITS.effort_rate * PERIOD * (1 + 1e-9)).all()
        assert ((effort == row) | (np.abs(effort) < np.abs(row)) | (effort != before)).all()
        before = effort
    assert bench.drives.setpoint.goal is DriveGoal.ENABLED
    beyond = (np.abs(rows) > LIMITS.effort).sum()
    clamped = bench.report.clamped.sum()
    assert clamped == beyond if lead == 0.0 else clamped <= beyond


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
