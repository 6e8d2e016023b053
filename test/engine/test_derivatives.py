# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians, velocities and accelerations against finite differences of positions."""

import numpy as np
import pytest
import samples

POSES = 6
# Fourth-order differences; what is left is the cancellation of about 16 digits over the step.
STEP = 1e-4
RELATIVE = 1e-7


def _steps(name: str) -> samples.Array:
    """One finite-difference step per independent coordinate, small compared with its box."""
    box = samples.BOXES[name]
    return 0.002 * (box.upper - box.lower)


@pytest.mark.parametrize('name', samples.NAMES)
def test_tangent_is_the_derivative_of_the_tree(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, POSES, seed=11):
        tangent = mechanism.solve(state.y).tangent
        for k, step in enumerate(_steps(name)):
            direction = np.eye(len(state.y))[k]
            slope = samples.five_point(
                lambda h, y=state.y, d=direction: mechanism.solve(y + h * d).q, step
            )
            assert samples.relative_error(tangent[:, k], slope) < RELATIVE


@pytest.mark.parametrize('name', samples.NAMES)
def test_actuated_jacobian_is_the_derivative_of_the_actuated_positions(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, POSES, seed=12):
        jacobian = mechanism.jacobian_actuated_from_independent(mechanism.solve(state.y))
        assert jacobian.shape == (len(mechanism.actuated), len(mechanism.independent))
        for k, step in enumerate(_steps(name)):
            direction = np.eye(len(state.y))[k]
            slope = samples.five_point(
                lambda h, y=state.y, d=direction: mechanism.solve(y + h * d).position, step
            )
            assert samples.relative_error(jacobian[:, k], slope) < RELATIVE


@pytest.mark.parametrize('name', samples.NAMES)
def test_frame_jacobian_is_the_derivative_of_the_pose_of_every_frame(name: str) -> None:
    mechanism = samples.mechanism(name)
    state = samples.states(name, 1, seed=13)[0]
    motion = mechanism.solve(state.y)
    for k, step in enumerate(_steps(name)):
        moved = {
            h: mechanism.solve(state.y + h * step * np.eye(len(state.y))[k]) for h in (-2, -1, 1, 2)
        }
        for frame in mechanism.frames:
            pose = mechanism.frame_pose(motion, frame)

            def at(h: float, frame: str = frame, moved=moved) -> samples.Array:
                other = mechanism.frame_pose(moved[round(h)], frame)
                return np.column_stack([other.position, other.rotation])

            slope = samples.five_point(at, 1.0) / step
            linear, rotation_rate = slope[:, 0], slope[:, 1:]
            spin = rotation_rate @ pose.rotation.T
            angular = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            column = mechanism.frame_jacobian(motion, frame)[:, k]
            assert samples.relative_error(column[:3], linear) < RELATIVE, frame
            assert samples.relative_error(column[3:], angular) < RELATIVE, frame


@pytest.mark.parametrize('name', samples.NAMES)
def test_velocities_and_accelerations_belong_to_the_positions(name: str) -> None:
    """Along a smooth motion, v is dq/dt and a is dv/dt in all joints."""
    mechanism = samples.mechanism(name)
    for y, y_dot, y_ddot, _ in samples.states(name, POSES, seed=14):

        def motion(t: float, y=y, y_dot=y_dot, y_ddot=y_ddot):
            position = y + t * y_dot + 0.5 * t * t * y_ddot
            return mechanism.solve(position, y_dot + t * y_ddot, y_ddot)

        now = motion(0.0)
        assert (
            samples.relative_error(now.v, samples.five_point(lambda t, m=motion: m(t).q, STEP))
            < RELATIVE
        )
        assert (
            samples.relative_error(now.a, samples.five_point(lambda t, m=motion: m(t).v, STEP))
            < RELATIVE
        )


@pytest.mark.parametrize('name', samples.NAMES)
def test_velocity_of_a_frame_follows_from_its_jacobian(name: str) -> None:
    mechanism = samples.mechanism(name)
    platform = mechanism.description.platform
    for y, y_dot, _, _ in samples.states(name, POSES, seed=15):
        motion = mechanism.solve(y, y_dot)
        slope = samples.five_point(
            lambda t, y=y, d=y_dot: (
                mechanism.frame_pose(mechanism.solve(y + t * d), platform).position
            ),
            STEP,
        )
        twist = mechanism.frame_jacobian(motion, platform) @ y_dot
        assert samples.relative_error(twist[:3], slope, floor=1e-3) < RELATIVE
