# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals without friction, weighted sums of goals, and refusals."""

import numpy as np
import pytest
import samples
from oracles import rcid_oracle
from oracles.rss_oracle import RssOracle

from actuation.jaw_forces import JawForces
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import ActuationError, InputError

GOALS = ('torque', 'joint-force', 'contact-force', 'power')
FIVE = ['crank_1', 'crank_2', 'crank_3', 'crank_4', 'crank_5']


def test_the_torque_goal_is_the_pseudo_inverse() -> None:
    """Given as a mapping, the goal takes the general path and not the engine's shortcut."""
    mechanism, hand = samples.mechanism('masticator'), RssOracle('masticator')
    for state in samples.states('masticator', 10, seed=91):
        expected = hand.inverse_dynamics(*state)
        effort = mechanism.feedforward(*state, goal={'torque': 1.0})
        assert samples.relative_error(effort.actuated, expected.effort) < 1e-9
        assert samples.relative_error(effort.contact, expected.contact) < 1e-9


def test_the_goal_of_no_contact_force_drives_the_free_jaw() -> None:
    mechanism, hand = samples.mechanism('masticator'), RssOracle('rss6')
    for y, y_dot, y_ddot, wrench in samples.states('masticator', 10, seed=92):
        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench, goal='contact-force')
        jaw = RssOracle('masticator').platform_motion(y, y_dot, y_ddot)
        expected = hand.inverse_dynamics(jaw.pose, jaw.pose_dot, jaw.pose_ddot, wrench).effort
        assert np.abs(effort.contact).max() < 1e-9
        assert samples.relative_error(effort.actuated, expected) < 1e-9


@pytest.mark.parametrize(
    ('name', 'solve'),
    [('rss6', RssOracle('rss6').inverse_dynamics), ('rcid', rcid_oracle.inverse_dynamics)],
)
def test_without_redundancy_every_goal_gives_the_one_answer(name: str, solve) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 4, seed=93):
        expected = solve(*state).effort
        for goal in (*GOALS, {'torque': 2.0, 'joint-force': 0.5}):
            effort = mechanism.feedforward(*state, goal=goal)
            assert samples.relative_error(effort.actuated, expected) < 1e-8
            assert effort.optimality == 0.0


def test_power_at_rest_is_torque() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 5, seed=94):
        torque = mechanism.feedforward(state.y, None, state.y_ddot, state.wrench)
        power = mechanism.feedforward(state.y, None, state.y_ddot, state.wrench, goal='power')
        assert samples.relative_error(power.actuated, torque.actuated) < 1e-12


@pytest.mark.parametrize('friction', [False, True])
def test_a_blend_is_stationary_between_its_goals(friction: bool) -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 4, seed=95):
        hand = JawForces('masticator', tuple(state), friction)

        def chosen(goal, state=state) -> samples.Array:
            return mechanism.feedforward(*state, goal=goal, friction=friction).contact

        torque, force = chosen('torque'), chosen('joint-force')
        weights = {'torque': 1.0, 'joint-force': 1e-4}
        blend = chosen(weights)
        assert np.linalg.norm(torque - force) > 1e-3  # there is something to blend
        # Off the kinks at zero contact force, the slope of the norm along every direction is 0.
        assert np.abs(blend).min() > 1e-2
        for direction in np.eye(2):
            slope = samples.five_point(
                lambda t, d=direction, h=hand, b=blend, w=weights: h.norm(b + t * d, w), 1e-3
            )
            assert abs(slope) < 1e-9 * hand.norm(blend, weights) / 1e-3
        for goal in ({'torque': 1.0}, {'joint-force': 1.0}):
            pure = torque if 'torque' in goal else force
            assert hand.norm(pure, goal) < hand.norm(blend, goal)
        for small, pure in (('joint-force', torque), ('torque', force)):
            nearly = {'torque': 1.0, 'joint-force': 1.0, small: 1e-11}
            assert samples.relative_error(chosen(nearly), pure) < 1e-4


def test_only_the_ratio_of_weights_matters() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 3, seed=96):
        one = mechanism.feedforward(*state, goal={'torque': 1.0, 'power': 0.2}, friction=True)
        two = mechanism.feedforward(*state, goal={'torque': 5.0, 'power': 1.0}, friction=True)
        assert samples.relative_error(two.actuated, one.actuated) < 1e-9


@pytest.mark.parametrize('friction', samples.swept([False, True], [True]))
@pytest.mark.parametrize('goal', ['joint-force', 'power', 'torque'])
def test_a_batch_is_its_rows(goal: str, friction: bool) -> None:
    """To 1e-12, since the machine code for many rows differs from that for one."""
    mechanism = samples.mechanism('masticator')
    states = samples.states('masticator', 6, seed=97)
    parts = [np.array(part) for part in zip(*states, strict=True)]
    batch = mechanism.feedforward_batch(*parts, goal=goal, friction=friction)
    for row, state in enumerate(states):
        single = mechanism.feedforward(*state, goal=goal, friction=friction)
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        split = mechanism.inverse_dynamics(motion, state.wrench, goal=goal, friction=friction)
        for name in ('actuated', 'contact', 'friction', 'contact_friction', 'optimality'):
            together, alone = getattr(batch, name)[row], getattr(single, name)
            assert samples.relative_error(together, alone) < 1e-12, name
            assert samples.relative_error(getattr(split, name), getattr(single, name)) < 1e-9


def test_five_motors_serve_a_goal_and_the_sixth_idles() -> None:
    """One contact force remains free; the idle motor's zero torque determines the other."""
    mechanism = Mechanism.load('masticator', FIVE)
    for state in samples.states('masticator', 3, seed=98):
        hand = JawForces('masticator', tuple(state), friction=False)
        for goal in ('torque', 'joint-force', 'contact-force'):
            effort = mechanism.feedforward(*state, goal=goal)
            assert effort.actuated[5] == 0.0
            torque = hand.torque(hand.pin_force(effort.contact))
            assert samples.relative_error(effort.actuated, torque) < 1e-8
            ours = hand.norm(effort.contact, {goal: 1.0})
            # Contact forces that leave the sixth torque alone lie along one direction.
            rates = [
                hand.torque(hand.pin_force(effort.contact + d))[5] - torque[5] for d in np.eye(2)
            ]
            along = np.array([rates[1], -rates[0]]) / np.hypot(*rates)
            slope = samples.five_point(
                lambda t, d=along, g=goal, h=hand, c=effort.contact: h.norm(c + t * d, {g: 1.0}),
                1e-2,
            )
            assert abs(slope) < 1e-8 * max(ours, 1.0)


def test_friction_of_an_idle_motor_is_refused() -> None:
    mechanism = Mechanism.load('masticator', FIVE)
    with pytest.raises(ActuationError, match='5 of 6'):
        mechanism.feedforward(mechanism.home.y, friction=True)


@pytest.mark.parametrize(
    'goal',
    [
        'speed',
        3,
        None,
        {'speed': 1.0},
        {'torque': -1.0},
        {'torque': 0.0},
        {'torque': 'a'},
        {},
        {'torque': float('nan')},
    ],
)
def test_a_goal_that_is_none_is_refused(goal) -> None:
    mechanism = samples.mechanism('masticator')
    with pytest.raises(InputError, match='goal'):
        mechanism.feedforward(mechanism.home.y, goal=goal)
