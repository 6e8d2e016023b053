# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the masticator alone: mirror symmetry, sockets, and reference samples."""

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism

# Left-right mirroring swaps odd and even limbs; shafts 1 and 2 are antiparallel and mirrored, so
# these two turn alike, the pairs 3-4 and 5-6 against each other.
PAIRS = [1, 0, 3, 2, 5, 4]
TURN = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
POSE = np.array([1.0, -1.0, -1.0, 1.0])  # x, y, alpha, beta
WRENCH = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])  # a force mirrors, a torque does so reversed
ACROSS = np.diag([1.0, -1.0, 1.0])


def mirrored_cranks(values) -> samples.Array:
    return TURN * np.asarray(values)[PAIRS]


def mirrored(state: samples.State) -> samples.State:
    return samples.State(
        POSE * state.y, POSE * state.y_dot, POSE * state.y_ddot, WRENCH * state.wrench
    )


def test_mirrored_motions_swap_the_cranks() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 10, seed=71):
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        other = mirrored(state)
        image = mechanism.solve(other.y, other.y_dot, other.y_ddot)
        for quantity in ('position', 'velocity', 'acceleration'):
            expected = mirrored_cranks(getattr(motion, quantity))
            assert samples.relative_error(getattr(image, quantity), expected) < 1e-9, quantity


def test_mirrored_loads_at_rest_swap_the_efforts() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 10, seed=72):
        effort = mechanism.feedforward(state.y, None, None, state.wrench)
        image = mechanism.feedforward(POSE * state.y, None, None, WRENCH * state.wrench)
        assert samples.relative_error(image.actuated, mirrored_cranks(effort.actuated)) < 1e-9
        assert samples.relative_error(image.contact, effort.contact[::-1]) < 1e-9
        forces = effort.loop_force[PAIRS] @ ACROSS
        assert samples.relative_error(image.loop_force, forces) < 1e-9


def test_moving_only_the_skew_inertia_of_the_jaw_breaks_the_symmetry() -> None:
    """S0 prints products of inertia for a jaw that is not quite symmetric.

    With the additional torque that a mirrored jaw would need, efforts swap again.
    """
    mechanism = samples.mechanism('masticator')
    skew = mechanism.description.tree.links['mandible'].about_center
    skew = ACROSS @ skew @ ACROSS - skew
    assert np.abs(skew).max() > 0.0
    for state in samples.states('masticator', 6, seed=73):
        effort = mechanism.feedforward(*state)
        other = mirrored(state)

        def twist(t: float, other=other) -> samples.Array:
            motion = mechanism.solve(other.y + t * other.y_dot + 0.5 * t * t * other.y_ddot)
            rates = other.y_dot + t * other.y_ddot
            return mechanism.frame_jacobian(motion, 'mandible') @ rates

        omega, acceleration = twist(0.0)[3:], samples.five_point(twist, 1e-4)[3:]
        rotation = mechanism.frame_pose(mechanism.solve(other.y), 'mandible').rotation
        in_base = rotation @ skew @ rotation.T
        torque = in_base @ acceleration + np.cross(omega, in_base @ omega)
        wrench = other.wrench - np.concatenate([np.zeros(3), torque])
        image = mechanism.feedforward(other.y, other.y_dot, other.y_ddot, wrench)
        assert samples.relative_error(image.actuated, mirrored_cranks(effort.actuated)) < 1e-8
        assert samples.relative_error(image.contact, effort.contact[::-1]) < 1e-8


def test_condyles_stay_in_their_sockets() -> None:
    """S1: p1 x + z + p2 = 0 with p1 = 1.1, p2 = -13.215 mm, at T = (-2.5, +-72, 15.965) mm."""
    mechanism = samples.mechanism('masticator')
    for side, name in ((1.0, 'condyle_left'), (-1.0, 'condyle_right')):
        home = mechanism.frame_pose(mechanism.home, name).position
        assert home == pytest.approx([-0.0025, side * 0.072, 0.015965], abs=1e-12)
        for state in samples.states('masticator', 10, seed=74):
            x, _, z = mechanism.frame_pose(mechanism.solve(state.y), name).position
            assert abs(1.1 * x + z - 0.013215) < 1e-12


def test_parasitic_motions_are_those_of_the_papers() -> None:
    """The tangent of gamma is sin alpha over p1 cos beta - cos alpha sin beta."""
    mechanism = samples.mechanism('masticator')
    gamma = mechanism.tree_joints.index('gamma')
    for state in samples.states('masticator', 10, seed=75):
        _, _, alpha, beta = state.y
        tangent = np.sin(alpha) / (1.1 * np.cos(beta) - np.cos(alpha) * np.sin(beta))
        assert mechanism.solve(state.y).q[gamma] == pytest.approx(np.arctan(tangent), abs=1e-13)


def test_reproduces_the_reference_samples() -> None:
    masticator, free = samples.mechanism('masticator'), samples.mechanism('rss6')
    pose = masticator.tree_indices(['x', 'y', 'z', 'alpha', 'beta', 'gamma'])
    for reference in samples.references():
        asked, wanted = reference['in'], reference['out']
        effort = masticator.feedforward(asked['x'], asked['xd'], asked['xdd'], asked['W'])
        other = free.feedforward(effort.q[pose], effort.v[pose], effort.a[pose], asked['W'])
        jacobian = masticator.jacobian_actuated_from_independent(effort)
        for value, expected in [
            (effort.q[pose], wanted['pose']), (effort.v[pose], wanted['pose_d']),
            (effort.a[pose], wanted['pose_dd']), (effort.position, wanted['theta']),
            (effort.velocity, wanted['theta_d']), (effort.acceleration, wanted['theta_dd']),
            (jacobian, wanted['J_theta1']), (effort.actuated, wanted['tau_minnorm']),
            (effort.contact, wanted['FZ_minnorm']), (other.actuated, wanted['rss6']['tau']),
            (masticator.frame_pose(effort, 'mandible').rotation, wanted['R']),
        ]:  # fmt: skip
            assert samples.relative_error(value, expected) < 1e-8


def test_two_motors_are_redundant() -> None:
    """Any four motors that control the jaw suffice; the other two idle."""
    for powered in (
        ['crank_1', 'crank_2', 'crank_3', 'crank_4'],
        ['crank_1', 'crank_3', 'crank_4', 'crank_6'],
    ):
        mechanism = Mechanism.load('masticator', powered)
        full = samples.mechanism('masticator')
        for state in samples.states('masticator', 3, seed=76):
            effort = mechanism.feedforward(*state)
            idle = [k for k, name in enumerate(mechanism.actuated) if name not in powered]
            assert np.all(effort.actuated[idle] == 0.0)
            # The same work on every motion, by other motors.
            jacobian = mechanism.jacobian_actuated_from_independent(effort)
            expected = jacobian.T @ full.feedforward(*state).actuated
            assert samples.relative_error(jacobian.T @ effort.actuated, expected) < 1e-8
            assert effort.balance_residual < 1e-9
