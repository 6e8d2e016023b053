# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rates of tangent and Jacobians, twists and accelerations of every frame, by differences."""

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError

STEP = 5e-5  # s


def after(mechanism, state: samples.State, t: float):
    """The motion a moment later."""
    y = state.y + t * state.y_dot + 0.5 * t * t * state.y_ddot
    return mechanism.solve(y, state.y_dot + t * state.y_ddot, state.y_ddot)


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_the_rate_of_the_tangent_is_its_derivative_along_the_motion(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 5, seed=3301):
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        rate = mechanism.tangent_rate(motion)
        slope = samples.five_point(lambda t, s=state: after(mechanism, s, t).tangent, STEP)
        assert samples.relative_error(rate, slope) < 1e-7
        expected = motion.tangent @ state.y_ddot + rate @ state.y_dot
        assert samples.relative_error(motion.a, expected) < 1e-11
        # As exact for a motion a million times slower: no difference is taken over a fixed step.
        slow = mechanism.tangent_rate(mechanism.solve(state.y, 1e-6 * state.y_dot))
        assert samples.relative_error(1e6 * slow, rate) < 1e-9
    assert not mechanism.tangent_rate(mechanism.home).any()


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_every_frame_moves_as_its_pose_says(name: str) -> None:
    mechanism = samples.mechanism(name)
    state = samples.states(name, 1, seed=3302)[0]
    motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
    near = {k: after(mechanism, state, k * STEP) for k in (-2, -1, 1, 2)}

    def slope(of) -> samples.Array:
        return samples.five_point(lambda t: of(near[round(t / STEP)]), STEP)

    for frame in mechanism.frames:
        pose = mechanism.frame_pose(motion, frame)
        spin = slope(lambda m, f=frame: mechanism.frame_pose(m, f).rotation) @ pose.rotation.T
        turning = 0.5 * np.array(
            [spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]
        )
        moving = slope(lambda m, f=frame: mechanism.frame_pose(m, f).position)
        twist = mechanism.frame_twist(motion, frame)
        assert samples.relative_error(twist, np.concatenate([moving, turning])) < 1e-7
        acceleration = mechanism.frame_acceleration(motion, frame)
        expected = slope(lambda m, f=frame: mechanism.frame_twist(m, f))
        assert samples.relative_error(acceleration, expected) < 1e-7
        jacobian = mechanism.frame_jacobian(motion, frame)
        rate = mechanism.frame_jacobian_rate(motion, frame)
        expected = slope(lambda m, f=frame: mechanism.frame_jacobian(m, f))
        assert samples.relative_error(rate, expected) < 1e-7
        assert samples.relative_error(jacobian @ state.y_dot, twist) < 1e-12
        both = jacobian @ state.y_ddot + rate @ state.y_dot
        assert samples.relative_error(both, acceleration) < 1e-11


def test_an_unknown_frame_and_a_foreign_motion_are_named() -> None:
    jaw = samples.mechanism('masticator')
    for ask in (jaw.frame_twist, jaw.frame_acceleration, jaw.frame_jacobian_rate):
        with pytest.raises(InputError, match="no frame 'tongue'; there are"):
            ask(jaw.home, 'tongue')
        with pytest.raises(InputError, match='the motion is of rcid, not of masticator'):
            ask(samples.mechanism('rcid').home, 'mandible')
