# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control cycle without ROS: bite force in any frame, clamping, unreachable poses."""

import types

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, FeedforwardCycle, Piece
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches

S = 10**9
OPEN = np.array([0.001, -0.0005, 0.01, 0.1])


@pytest.fixture
def bite(mechanism):
    return BiteForce(mechanism)


@pytest.fixture
def motion(mechanism):
    return ExecutedMotion(mechanism.home.y)


@pytest.fixture
def cycle(mechanism, motion, bite):
    return FeedforwardCycle(mechanism, motion, bite, EffortClamp(mechanism))


@pytest.mark.parametrize('point', ['', 'incisor', 'crank_2_link'])
@pytest.mark.parametrize('frame', ['molar_left', 'maxilla', 'coupler_4'])
def test_wrench_reaches_the_platform(mechanism, bite, frame, point):
    motion = mechanism.solve(OPEN)
    bite.point_frame = point
    bite.take(frame, 0, S, np.array([1.0, -2.0, 30.0, 0.4, 0.5, -0.6]))
    found = bite.on_platform(bite.fresh(S), motion)
    wanted = mechanism.wrench_on_platform(
        motion, (1.0, -2.0, 30.0), (0.4, 0.5, -0.6), frame, point or frame
    )
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize('point', ['', 'a_axis', 'tool'])
@pytest.mark.parametrize('frame', ['a_axis', 'tool'])
def test_a_platform_away_from_its_bodys_origin_and_turned_gets_the_same(frame, point):
    machine = Mechanism.load('trimule_five_axis')
    bite, motion = BiteForce(machine), machine.solve(machine.home.y)
    bite.point_frame = point
    bite.take(frame, 0, S, np.array([1.0, -2.0, 30.0, 0.4, 0.5, -0.6]))
    wanted = machine.wrench_on_platform(
        motion, (1.0, -2.0, 30.0), (0.4, 0.5, -0.6), frame, point or frame
    )
    assert bite.on_platform(bite.fresh(S), motion) == pytest.approx(wanted, abs=1e-12)


def test_age_counts_from_the_stamp_but_never_from_the_future(bite):
    bite.timeout = 0.5
    assert bite.state(S) == 'none' and bite.age(S) is None
    bite.take('incisor', 10 * S, 11 * S, np.ones(6))
    assert bite.age(11 * S) == pytest.approx(1.0)
    assert bite.age(11 * S, ()) is None
    assert bite.state(11 * S) == 'stale' and bite.fresh(11 * S) is None
    bite.take('incisor', 99 * S, 11 * S, np.ones(6))
    assert bite.state(11 * S) == 'fresh'
    assert bite.state(12 * S) == 'stale'
    bite.take('incisor', 0, 20 * S, np.ones(6))  # no stamp: when it arrived
    assert bite.age(20 * S + S // 4) == pytest.approx(0.25)


def test_wrenches_of_several_frames_add_up_and_their_share_is_told(mechanism, motion, bite):
    external = MeasuredWrenches(mechanism)
    cycle = FeedforwardCycle(mechanism, motion, bite, EffortClamp(mechanism), external=external)
    free = cycle(0)
    assert free.loaded is None and not cycle.external_effort(free).any()
    external.take('molar_left', 0, S, np.array([9.0, 9.0, 9.0, 0.0, 0.0, 0.0]))
    external.take('molar_left', 0, S, np.array([1.0, -2.0, 30.0, 0.4, 0.5, -0.6]))  # newer
    external.take('crank_2_link', 0, S + S // 20, np.array([0.0, 3.0, 1.0, 0.0, 0.01, 0.02]))
    bite.take('incisor', 0, S, np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0]))
    home = mechanism.home
    wrench = mechanism.wrench_on_platform(home, (0, 0, -20.0), (0, 0, 0), 'incisor', 'incisor')
    molar = mechanism.frame_pose(home, 'molar_left').rotation
    crank = mechanism.frame_pose(home, 'crank_2_link').rotation
    links = {
        'molar_left': np.concatenate([molar @ (1.0, -2.0, 30.0), molar @ (0.4, 0.5, -0.6)]),
        'crank_2_link': np.concatenate([crank @ (0.0, 3.0, 1.0), crank @ (0.0, 0.01, 0.02)]),
    }
    wanted = mechanism.feedforward(home.y, wrench=wrench, link_wrenches=links).actuated
    answer = cycle(S)
    assert answer.actuated == pytest.approx(wanted, abs=1e-9)
    assert cycle.external_effort(answer) == pytest.approx(wanted - free.actuated, abs=1e-9)
    # Each is stale by itself.
    later = S + S // 20 + S // 10
    assert external.stale(later) == ['molar_left'] and external.state(later) == 'stale'
    links.pop('molar_left')
    wanted = mechanism.feedforward(home.y, link_wrenches=links).actuated
    assert cycle(later).actuated == pytest.approx(wanted, abs=1e-9)
    assert cycle(2 * S).loaded is None


def test_the_share_is_of_what_is_sent(mechanism, motion, bite):
    clamp = EffortClamp(mechanism)
    cycle = FeedforwardCycle(mechanism, motion, bite, clamp)
    free = cycle(0).actuated
    bite.take('molar_left', 0, S, np.array([0.0, 0.0, -2000.0, 0.0, 0.0, 0.0]))
    answer = cycle(S)
    assert (np.abs(answer.effort.actuated) > mechanism.effort_limits).any()
    assert cycle.external_effort(answer) == pytest.approx(answer.actuated - free, abs=1e-12)


def follow(motion, mechanism, there):
    path = MotionPath.through([0.0, 1.0], [mechanism.home.y, there], np.zeros((2, 4)))
    assert motion.replace(Piece(S, path), motion.schedule, S)


def test_what_was_prepared_is_what_the_cycle_computes(mechanism, motion, cycle, bite):
    follow(motion, mechanism, OPEN)
    unprepared = FeedforwardCycle(mechanism, motion, bite, EffortClamp(mechanism))
    time = S + S // 3
    known = cycle.prepare(time)
    assert cycle(time) is known
    state = mechanism.solve(*motion.state(time))
    for answer in (known, unprepared(time)):
        wanted = mechanism.feedforward(state.y, state.y_dot, state.y_ddot).actuated
        assert answer.actuated == pytest.approx(wanted, abs=1e-12)
        assert answer.position == pytest.approx(state.position, abs=1e-12)
        assert answer.velocity == pytest.approx(state.velocity, abs=1e-12)
    assert cycle(time + 1) is not known
    assert cycle(time + 1).actuated == pytest.approx(unprepared(time + 1).actuated, abs=1e-12)


@pytest.mark.parametrize('frames', [('incisor',) * 2, ('incisor', 'maxilla'), ('', 'molar_left')])
def test_bite_force_measured_after_the_preparation_counts(mechanism, motion, cycle, bite, frames):
    """In the frame it was prepared for, in another frame, and as the first force of all."""
    follow(motion, mechanism, OPEN)
    time, (before, after) = S + S // 3, frames
    if before:
        bite.take(before, 0, time, np.array([0.0, 0.0, -5.0, 0.0, 0.1, 0.0]))
    free = cycle.prepare(time)
    bite.take(after, 0, time, np.array([1.0, -2.0, -30.0, 0.4, 0.5, -0.6]))
    state = mechanism.solve(*motion.state(time))
    for point in ('', 'crank_2_link'):  # which may change as well
        bite.point_frame = point
        wrench = mechanism.wrench_on_platform(
            state, (1.0, -2.0, -30.0), (0.4, 0.5, -0.6), after, point or after
        )
        wanted = mechanism.inverse_dynamics(state, wrench).actuated
        answer = cycle(time)
        assert answer.actuated == pytest.approx(wanted, abs=1e-9)
        assert answer.position == pytest.approx(state.position, abs=1e-12)
        share = cycle.external_effort(answer)
        assert share == pytest.approx(wanted - free.actuated, abs=1e-9)


def test_a_motion_replaced_after_the_preparation_counts(mechanism, motion, cycle):
    follow(motion, mechanism, OPEN)
    time = S + S // 3
    cycle.prepare(time)
    motion.hold(time, OPEN)
    assert cycle(time).actuated == pytest.approx(mechanism.feedforward(OPEN).actuated, abs=1e-12)


def test_the_clamp_counts_cycles_not_preparations(mechanism, motion, bite):
    clamp = EffortClamp(mechanism)
    cycle = FeedforwardCycle(mechanism, motion, bite, clamp)
    wanted = mechanism.feedforward(mechanism.home.y).actuated
    clamp.scale = 0.5 * (np.abs(wanted) / mechanism.effort_limits).max()
    cycle.prepare(S)
    assert not clamp.counts.any() and not np.any(clamp.take_largest())
    assert (np.abs(cycle(S).actuated) <= clamp.scale * mechanism.effort_limits).all()
    assert clamp.counts.max() == 1
    assert np.abs(clamp.take_largest()[0]).max() == pytest.approx(np.abs(wanted).max())
    cycle.prepare(2 * S)
    clamp.scale = 1.0
    assert cycle(2 * S).actuated == pytest.approx(wanted, abs=1e-12)
    assert clamp.counts.max() == 1


def test_refused_wrench_leaves_the_one_before(bite):
    bite.take('incisor', 0, S, np.ones(6))
    for frame, wrench in (('tooth', np.ones(6)), ('incisor', np.full(6, np.nan))):
        with pytest.raises(InputError):
            bite.take(frame, 0, 2 * S, wrench)
    assert bite.fresh(S).frame == 'incisor' and bite.fresh(S).time == S


def test_clamp_cuts_and_remembers(mechanism):
    clamp = EffortClamp(mechanism)
    effort = np.array([1.0, -6.0, 5.0, 7.0, -4.9, 0.0])
    assert clamp(effort) == pytest.approx([1.0, -5.0, 5.0, 5.0, -4.9, 0.0])
    clamp.scale = 0.9
    assert clamp(effort) == pytest.approx([1.0, -4.5, 4.5, 4.5, -4.5, 0.0])
    assert clamp.counts.tolist() == [0, 2, 1, 2, 1, 0]
    largest, sent = clamp.take_largest()
    assert largest == pytest.approx([0.0, -6.0, 5.0, 7.0, -4.9, 0.0])
    assert sent == pytest.approx([0.0, -5.0, 4.5, 5.0, -4.5, 0.0])
    assert not np.any(clamp.take_largest())


def test_a_bound_on_one_side_is_no_silent_cut():
    """Of motors without a limit in the URDF, and of cables, which only pull."""
    infinite = np.array([np.inf, 300.0])
    bounds = np.array([-50.0, -300.0]), np.array([np.inf, 0.0])
    clamp = EffortClamp(
        types.SimpleNamespace(effort_units=('N', 'N'), effort_limits=infinite, effort_range=bounds)
    )
    assert clamp(np.array([-80.0, 5.0])).tolist() == [-50.0, 0.0]
    assert clamp.counts.tolist() == [1, 1]
    largest, sent = clamp.take_largest()
    assert largest.tolist() == [-80.0, 5.0] and sent.tolist() == [-50.0, 0.0]
    assert clamp(np.array([80.0, -5.0])).tolist() == [80.0, -5.0]
    assert clamp.counts.tolist() == [1, 1]


def test_pose_that_cannot_be_met_stops_the_motion_where_it_was(mechanism, motion, cycle):
    there = mechanism.home.y + [0.2, 0.0, 0.0, 0.0]
    rest = np.zeros((2, 4))
    path = MotionPath.through([0.0, 1.0], [mechanism.home.y, there], rest, rest)
    assert motion.replace(Piece(S, path), motion.schedule, S)
    last = None
    for time in range(S, 2 * S, 2_000_000):
        answer = cycle(time)
        if cycle.failure:
            break
        last = answer.effort.y.copy()
    assert 'cannot close' in cycle.failure
    assert answer.effort.y == pytest.approx(last)
    assert not answer.effort.y_dot.any()
    assert cycle(2 * S).effort.y == pytest.approx(last)
    assert motion.mode(2 * S) == 'hold last'
