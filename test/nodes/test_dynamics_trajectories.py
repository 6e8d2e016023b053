# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics` following trajectories, against direct evaluation of the mechanism."""

import time

import numpy as np
import pytest

from masticator_dynamics.motion import MotionPath, chewing_stroke, path_from_state

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import wait_for

from nodes.harness import CYCLE, Client, nanoseconds, rows

pytestmark = pytest.mark.waiting

LEAD = 1_000_000_000  # ns between sending and the start; the node checks before it
TIMES = np.linspace(0.0, 0.6, 13)
STROKE = chewing_stroke(strokes=1, period=0.6, opening=0.08)


def expected(mechanism, path, seconds, wrench=None):
    """Actuated positions, velocities and efforts at times (N,) of a path."""
    sampled = path.sample(seconds)
    wrenches = None if wrench is None else np.tile(wrench, (len(seconds), 1))
    batch = mechanism.feedforward_batch(*sampled, wrenches)
    return batch.position, batch.velocity, batch.actuated


def check_follows(client, mechanism, path, start, wrench=None):
    """Check that every cycle from the start to beyond the end is published and on the path."""
    skipped, end = client.skipped(), start + round((path.end - path.start) * 1e9)
    stamps, *found = rows(client.states_between(start, end + 100_000_000))
    client.check_complete(stamps, skipped)
    seconds = path.start + (stamps - start) * 1e-9
    wanted = expected(mechanism, path, seconds, wrench)
    assert np.ptp(wanted[0]) > 0.01  # it moves
    for got, want in zip(found, wanted, strict=True):
        assert np.abs(got - want).max() < 1e-6 * max(1.0, np.abs(want).max())


def check_no_jump(states, tolerance=1e-4):
    """Check that positions change over two cycles as velocities say, by Simpson's rule."""
    stamps, position, velocity, _ = rows(states)
    mean = (velocity[:-2] + 4.0 * velocity[1:-1] + velocity[2:]) / 6.0
    error = np.abs(position[2:] - position[:-2] - 2e-9 * CYCLE * mean)
    steps = np.diff(stamps)
    following = (steps[1:] == CYCLE) & (steps[:-1] == CYCLE)  # a busy computer leaves cycles out
    assert following.sum() > 100
    assert error[following].max() < tolerance


@pytest.mark.parametrize('given', [1, 2, 3])
def test_independent_coordinates_in_any_order(at_home, mechanism, given):
    sampled = STROKE.sample(TIMES)[:given]
    order = [2, 0, 3, 1]
    names = [mechanism.independent[i] for i in order]
    start = at_home.now() + LEAD
    at_home.send(names, TIMES, *(r[:, order] for r in sampled), start=start)
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    check_follows(at_home, mechanism, path_from_state(rest, TIMES, *sampled), start)


@pytest.mark.parametrize('given', [1, 2, 3])
def test_actuated_joints_in_any_order_are_interpolated_in_independent_coordinates(
    at_home, mechanism, given
):
    sampled = STROKE.sample(TIMES)
    batch = mechanism.feedforward_batch(*sampled)
    actuated = (batch.position, batch.velocity, batch.acceleration)[:given]
    order = [5, 0, 3, 1, 4, 2]
    names = [mechanism.actuated[i] for i in order]
    start = at_home.now() + LEAD
    at_home.send(names, TIMES, *(r[:, order] for r in actuated), start=start)
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    check_follows(at_home, mechanism, path_from_state(rest, TIMES, *sampled[:given]), start)


def test_stamp_zero_starts_now(at_home, mechanism):
    sent = at_home.now()
    answer = at_home.follow(mechanism.independent, TIMES, *STROKE.sample(TIMES))
    start, answered = nanoseconds(answer.header.stamp), at_home.now()
    assert sent < start < answered + 500_000_000
    check_follows(at_home, mechanism, MotionPath.through(TIMES, *STROKE.sample(TIMES)), start)


def test_message_that_comes_late_is_joined_in_time(at_home, mechanism):
    times = np.linspace(0.0, 6.0, 601)
    sampled = chewing_stroke(strokes=10, period=0.6, opening=0.08).sample(times)
    start = at_home.now() - 20_000_000
    answer = at_home.follow(mechanism.independent, times, *sampled, start=start)
    joined = nanoseconds(answer.header.stamp)
    assert start < joined < start + 4_000_000_000
    begin, end = joined + 2_000_000_000, start + 6_100_000_000  # it takes no longer than that
    stamps, position, velocity, effort = rows(at_home.states_between(begin, end))
    path = MotionPath.through(times, *sampled)
    wanted = expected(mechanism, path, (stamps - start) * 1e-9)
    assert np.abs(effort - wanted[2]).max() < 1e-6
    check_no_jump(at_home.states_between(start - 50_000_000, end))  # it does not hurry


def test_replacement_starts_from_the_motion_it_replaces(at_home, mechanism):
    first = chewing_stroke(strokes=1, period=1.0, opening=0.08)
    times = np.linspace(0.0, 1.0, 21)
    start = at_home.now() + LEAD
    at_home.follow(mechanism.independent, times, *first.sample(times), start=start)
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    running = path_from_state(rest, times, *first.sample(times))
    taken = start + 400_000_000  # in the middle, moving fast
    points = np.array([[0.001, 0.0, 0.0, 0.03], [0.0, 0.0, 0.0, 0.01]])
    at_home.send(mechanism.independent, [0.2, 0.5], points, start=taken)
    state = running(0.4)
    assert np.abs(state[1]).max() > 0.1
    check_follows(at_home, mechanism, path_from_state(state, [0.2, 0.5], points), taken)
    stamps, position, *_ = rows(at_home.states_between(start, taken - CYCLE))
    wanted = expected(mechanism, running, (stamps - start) * 1e-9)[0]
    assert np.abs(position - wanted).max() < 1e-6  # until then the old one runs


def test_first_point_at_time_zero_must_be_where_the_mechanism_is(at_home, mechanism):
    poses = [[0.0, 0.0, 0.0, 0.02], [0.0, 0.0, 0.0, 0.0]]
    at_home.send(mechanism.independent, [0.0, 0.5], poses)
    _, message, _ = at_home.wait_for_status('trajectory', 'ERROR', 'beta')
    assert '0.02' in message
    # The same point with time to get there is fine.
    at_home.follow(mechanism.independent, [0.3, 0.8], poses)


def test_effort_trajectory_is_for_a_trajectory_controller(at_home, mechanism, node):
    times = [0.0, 0.25, 0.6]
    received = len(at_home.trajectories)
    with at_home.biting('molar_left', (0.0, 0.0, -10.0)):
        answer = at_home.follow(mechanism.independent, times, *STROKE.sample(times)[:1])
    assert answer.joint_names == list(mechanism.actuated)
    seconds = np.array([nanoseconds(p.time_from_start) * 1e-9 for p in answer.points])
    assert seconds[0] == 0.0 and seconds[-1] == pytest.approx(0.6)
    assert 0.0 < np.diff(seconds).min() and np.diff(seconds).max() <= 0.020 + 1e-9
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    path = path_from_state(rest, times, STROKE.sample(times)[0])
    batch = mechanism.feedforward_batch(*path.sample(seconds))  # no bite force
    for field, want in (
        ('positions', batch.position),
        ('velocities', batch.velocity),
        ('accelerations', batch.acceleration),
        ('effort', batch.actuated),
    ):
        got = np.array([getattr(p, field) for p in answer.points])
        assert np.abs(got - want).max() < 1e-6 * max(1.0, np.abs(want).max()), field
    assert np.abs(answer.points[-1].velocities).max() < 1e-6
    at_home.finish(answer)
    assert len(at_home.trajectories) == received + 1  # once per incoming trajectory


def test_motion_that_does_not_end_at_rest_gets_a_ramp_and_a_warning(at_home, mechanism, node):
    sampled = STROKE.sample([0.0, 0.1, 0.2])
    answer = at_home.follow(mechanism.independent, [0.0, 0.1, 0.2], *sampled)
    assert np.abs(sampled[1][-1]).max() > 0.1
    last = answer.points[-1]
    assert nanoseconds(last.time_from_start) > 210_000_000
    assert np.abs(last.velocities).max() < 1e-6
    assert np.abs(last.accelerations).max() < 1e-3
    assert node.wait_for_line('rest ramp')[-1].startswith('[WARN]')
    start = nanoseconds(answer.header.stamp)
    end = start + nanoseconds(last.time_from_start)
    stamps, position, velocity, effort = rows(at_home.states_between(start, end + 500_000_000))
    held = stamps > end
    assert held.any() and not np.abs(velocity[held]).max() > 1e-9
    assert np.abs(position[held] - np.array(last.positions)).max() < 1e-9
    assert np.abs(effort[held] - np.array(last.effort)).max() < 1e-3


def test_own_effort_trajectory_is_accepted_as_input(at_home, mechanism):
    answer = at_home.follow(mechanism.independent, TIMES, *STROKE.sample(TIMES))
    at_home.finish(answer)
    answer.header.stamp.sec = answer.header.stamp.nanosec = 0
    received = len(at_home.trajectories)
    at_home.publish(answer)
    again = at_home.answer(received)
    assert again.points[-1].positions == pytest.approx(answer.points[-1].positions, abs=1e-6)


def test_of_two_planners_the_later_message_counts(at_home, mechanism):
    """Each replaces the other's motion from its current state, without a jump."""
    planners = [at_home, Client(mechanism.contacts)]
    try:
        planners[1].connect()
        begin, goals = at_home.now(), (0.06, 0.02, 0.05)
        for turn, beta in enumerate(goals):
            planner, counts = planners[turn % 2], [len(p.trajectories) for p in planners]
            answer = planner.follow(mechanism.independent, [0.6], [(0.0, 0.0, 0.0, beta)])
            for other, count in zip(planners, counts, strict=True):
                other.answer(count)
            time.sleep(0.2)
        end = planner.finish(answer)
        states = at_home.states_between(begin, end + 500_000_000)
        _, position, velocity, _ = rows(states)
        held = mechanism.solve((0.0, 0.0, 0.0, goals[-1])).position
        assert np.abs(position[-1] - held).max() < 1e-6
        check_no_jump(states)
        assert np.abs(velocity).max() > 0.05
    finally:
        planners[1].close()


def test_a_hundred_may_wait_and_no_more_before_one(at_home, mechanism):
    """Every cycle looks at all that are accepted; one that begins now takes the place of all."""
    names, home, second = mechanism.independent, [mechanism.home.y], 10**9
    assert at_home.set_parameter('start_horizon', 3600.0)[0]
    later, before = at_home.now() + 1800 * second, len(at_home.trajectories)
    for k in range(100):
        at_home.send(names, [0.2], home, start=later + k * second)
        wait_for(lambda k=k: len(at_home.trajectories) > before + k, 'the answer')
    at_home.send(names, [0.2], home, start=later + 100 * second)
    at_home.wait_for_status('trajectory', 'ERROR', '100 trajectories are yet to begin before it')
    at_home.finish(at_home.follow(names, [0.2], home))
    at_home.follow(names, [0.2], home, start=later + 100 * second)
    at_home.finish(at_home.follow(names, [0.2], home))
