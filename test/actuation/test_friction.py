# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals with friction against forces derived by hand and a brute-force search."""

import dataclasses

import numpy as np
import pytest
import samples
from oracles import rss_oracle as rss

from actuation import jaw_forces
from actuation.jaw_forces import JawForces, least_norm
from masticator_dynamics import Mechanism

GOALS = {
    'torque': {'torque': 1.0},
    'joint-force': {'joint-force': 1.0},
    'contact-force': {'contact-force': 1.0},
    'power': {'power': 1.0},
    'blend': {'torque': 1.0, 'joint-force': 1e-4},
}


def slip_map(y: samples.Array) -> samples.Array:
    """Map (6, 4) from independent velocities to both condyles' velocities, in closed form."""
    oracle, zero = rss.RssOracle('masticator'), np.zeros(4)
    columns = [
        oracle.platform_motion(y, rate, zero).point(rss.CONDYLES)[1].ravel() for rate in np.eye(4)
    ]
    return np.array(columns).T


def about_left_condyle(y: samples.Array, crawl: float) -> samples.Array:
    """A velocity (4,) that turns the jaw about its left condyle, which moves at ``crawl`` m/s."""
    left = slip_map(y)[:3]
    turning = np.linalg.svd(left)[2][2:].T @ np.array([0.3, 0.4])
    return np.asarray(turning + np.linalg.pinv(left) @ (crawl * left[:, 0]))


def motions() -> dict[str, samples.State]:
    found = {f'random_{k}': s for k, s in enumerate(samples.states('masticator', 12, seed=81))}
    one, two, three = samples.states('masticator', 3, seed=82)
    zero = np.zeros(4)
    found['rest'] = samples.State(one.y, zero, zero, one.wrench)
    found['home_unloaded'] = samples.State(zero, two.y_dot, two.y_ddot, np.zeros(6))
    found['crawling'] = samples.State(two.y, 1e-9 * two.y_dot, two.y_ddot, two.wrench)
    turning = about_left_condyle(three.y, 1e-5)
    found['about_one_condyle'] = samples.State(three.y, turning, three.y_ddot, three.wrench)
    return found


MOTIONS = motions()


# `make test` has each kind of motion, and four at random.
OFTEN = [name for name in MOTIONS if not name.startswith('random_')] + [
    f'random_{k}' for k in range(4)
]


@pytest.mark.parametrize('name', samples.swept(MOTIONS, OFTEN))
def test_forces_balance_with_friction_and_no_choice_is_better(name: str) -> None:
    state = MOTIONS[name]
    hand = JawForces('masticator', tuple(state), friction=True)
    for goal, weights in GOALS.items():
        chosen = weights if goal == 'blend' else goal
        effort = samples.mechanism('masticator').feedforward(*state, goal=chosen, friction=True)
        pin_force = hand.pin_force(effort.contact)
        for value, expected in [
            (effort.contact_friction, hand.contact_friction(effort.contact)),
            (effort.friction, hand.joint_friction(pin_force)),
            (effort.actuated, hand.torque(pin_force)),
        ]:
            assert samples.relative_error(value, expected) < 1e-9, goal
        ours = hand.norm(effort.contact, weights)
        scale = max(np.abs(effort.contact).max(), 1.0)
        best = least_norm(lambda f, w=weights: hand.terms(f, w), scale)
        assert ours <= best * (1.0 + 1e-8) + 1e-9, goal
        assert effort.optimality < 1e-6, goal
        assert effort.balance_residual < 1e-9, goal


@pytest.mark.parametrize('goal', ['torque', 'joint-force', 'power'])
def test_the_jaw_is_in_balance_and_friction_takes_power(goal: str) -> None:
    """Newton and Euler equations of the mandible, using only the forces reported for it."""
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 12, seed=83):
        effort = mechanism.feedforward(*state, goal=goal, friction=True)
        platform = rss.RssOracle('masticator').platform_motion(state.y, state.y_dot, state.y_ddot)
        joints, condyles = (platform.point(p) for p in (rss.PLATFORM_JOINTS, rss.CONDYLES))
        sockets = np.outer(effort.contact, rss.CONTACT_NORMAL) + effort.contact_friction
        given = rss._resultant(joints[0] - platform.pose[:3], effort.loop_force)
        given += rss._resultant(condyles[0] - platform.pose[:3], sockets) + state.wrench
        assert samples.relative_error(given, rss._mandible_load(platform), 10.0) < 1e-9
        assert np.all(np.sum(effort.contact_friction * condyles[1], axis=1) < 0.0)
        assert np.all(effort.friction * effort.velocity > 0.0)


def test_joints_transmit_the_forces_of_the_goal() -> None:
    """The forces on the couplers; joints that move the platform freely transmit none."""
    mechanism = samples.mechanism('masticator')
    pins = mechanism.tree_indices([f'universal_{i}_first' for i in range(1, 7)])
    free = mechanism.tree_indices(['x', 'y', 'z'])
    for state in samples.states('masticator', 4, seed=85):
        hand = JawForces('masticator', tuple(state), friction=True)
        for goal in ('torque', 'joint-force', 'contact-force'):
            effort = mechanism.feedforward(*state, goal=goal, friction=True)
            reaction = effort.joint_reaction
            pin_force = hand.pin_force(effort.contact)
            assert samples.relative_error(reaction[pins, :3], pin_force) < 1e-9, goal
            assert np.abs(reaction[free]).max() < 1e-9 * np.abs(pin_force).max(), goal


def test_rounding_does_not_choose_the_friction_of_a_condyle_at_rest() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 4, seed=84):
        moving = samples.State(state.y, about_left_condyle(state.y, 0.0), *list(state)[2:])
        hand = JawForces('masticator', tuple(moving), friction=True)
        effort = mechanism.feedforward(*moving, friction=True)
        assert not np.any(effort.contact_friction[0])
        nudged = samples.State(state.y, moving.y_dot * (1.0 + 1e-13), *list(state)[2:])
        same = mechanism.feedforward(*nudged, friction=True)
        assert samples.relative_error(same.actuated, effort.actuated) < 1e-9
        pin_force = hand.pin_force(effort.contact, effort.contact_friction)
        assert samples.relative_error(effort.actuated, hand.torque(pin_force)) < 1e-9


def test_at_rest_nothing_rubs() -> None:
    mechanism = samples.mechanism('masticator')
    state = MOTIONS['rest']
    for goal in ('torque', 'joint-force', 'contact-force', 'power'):
        with_friction = mechanism.feedforward(*state, goal=goal, friction=True)
        assert not with_friction.friction.any() and not with_friction.contact_friction.any()
        without = mechanism.feedforward(*state, goal=goal)
        assert samples.relative_error(with_friction.actuated, without.actuated) < 1e-12


def test_cranks_of_the_free_jaw_rub_as_by_hand() -> None:
    for state in samples.states('rss6', 6, seed=85):
        hand = JawForces('rss6', tuple(state), friction=True)
        pin_force = hand.pin_force(np.zeros(0))
        for goal in ('torque', 'joint-force', 'contact-force', 'power'):
            effort = samples.mechanism('rss6').feedforward(*state, goal=goal, friction=True)
            assert samples.relative_error(effort.friction, hand.joint_friction(pin_force)) < 1e-9
            assert samples.relative_error(effort.actuated, hand.torque(pin_force)) < 1e-9


def test_reproduces_the_reference_samples() -> None:
    masticator, free = samples.mechanism('masticator'), samples.mechanism('rss6')
    pose = masticator.tree_indices(['x', 'y', 'z', 'alpha', 'beta', 'gamma'])
    for reference in samples.references():
        asked, wanted = reference['in'], reference['out']
        for goal, key in (('torque', 'G1'), ('joint-force', 'G2'), ('contact-force', 'G3')):
            effort = masticator.feedforward(
                asked['x'], asked['xd'], asked['xdd'], asked['W'], goal=goal, friction=True
            )
            for value, expected in [
                (effort.actuated, wanted[key]['tau']), (effort.friction, wanted[key]['tau_f']),
                (-effort.contact_friction, wanted[key]['fT']), (effort.contact, wanted[key]['FZ']),
            ]:  # fmt: skip
                assert samples.relative_error(value, expected) < 1e-6, (reference['note'], goal)
        other = free.feedforward(
            effort.q[pose], effort.v[pose], effort.a[pose], asked['W'], friction=True
        )
        assert samples.relative_error(other.actuated, wanted['rss6']['tau_friction']) < 1e-8
        assert samples.relative_error(other.friction, wanted['rss6']['tau_f']) < 1e-8


@pytest.mark.parametrize('coefficient', samples.swept([0.15, 0.3], [0.3]))
def test_much_friction_hides_no_optimum(
    coefficient: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten times S1's friction, the objective is strongly curved; its optimum is found."""
    description = samples.mechanism('masticator').description
    actuators = {
        name: type(old)(friction=dataclasses.replace(old.friction, coulomb=coefficient))
        for name, old in description.actuators.items()
    }
    contacts = tuple(
        dataclasses.replace(old, friction=dataclasses.replace(old.friction, coulomb=coefficient))
        for old in description.contacts
    )
    mechanism = Mechanism(dataclasses.replace(description, actuators=actuators, contacts=contacts))
    monkeypatch.setattr(jaw_forces, 'COULOMB', coefficient)
    monkeypatch.setattr(jaw_forces, 'CONTACT_COULOMB', coefficient)
    for seed in (23, 28, 83, *range(30, 40)):
        state = samples.random_state('masticator', np.random.default_rng(seed))
        hand = JawForces('masticator', tuple(state), friction=True)
        for goal in ('torque', 'power'):
            effort = mechanism.feedforward(*state, goal=goal, friction=True)
            scale = max(np.abs(effort.contact).max(), 1.0)
            best = least_norm(lambda f, g=goal, h=hand: h.terms(f, {g: 1.0}), scale)
            assert hand.norm(effort.contact, {goal: 1.0}) <= best * (1.0 + 1e-8) + 1e-9, (
                seed,
                goal,
            )
