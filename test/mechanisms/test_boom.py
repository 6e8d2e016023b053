# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A driven slide on a turning body, and a platform whose frame is not at its joint."""

import numpy as np
import pytest
import samples


def test_stroke_follows_from_the_triangle() -> None:
    mechanism = samples.mechanism('boom')
    stroke = mechanism.actuated.index('stroke')
    for state in samples.states('boom', 20, seed=63):
        lift = state.y[0]
        eye = np.array([0.8 * np.cos(lift), 0.5 + 0.8 * np.sin(lift)])
        length = np.hypot(*(eye - [0.5, 0.1]))
        motion = mechanism.solve(state.y)
        assert motion.position[stroke] == pytest.approx(length - 0.3, abs=1e-13)


def test_a_force_on_the_load_is_taken_about_the_frame_of_the_load() -> None:
    """A force at another point equals the same force with its moment, so efforts agree."""
    mechanism = samples.mechanism('boom')
    for state in samples.states('boom', 5, seed=64):
        motion = mechanism.solve(state.y)
        force = state.wrench[:3]
        arm = (
            mechanism.frame_pose(motion, 'load').position
            - mechanism.frame_pose(motion, 'shaft').position
        )
        # The swivel's motor holds the moment of the force about its shaft.
        wrench = [*force, 0.0, 0.0, 0.0]
        added = mechanism.feedforward(state.y, None, None, wrench).actuated
        added = added - mechanism.feedforward(state.y).actuated
        axis = np.array([0.3, 0.1, 1.0]) / np.sqrt(1.1)
        axis = mechanism.frame_pose(motion, 'shaft').rotation @ axis
        swivel = mechanism.actuated.index('swivel')
        assert added[swivel] == pytest.approx(-axis @ np.cross(arm, force), rel=1e-9)


def test_the_cylinder_is_in_tension_or_thrust_as_the_stroke_says() -> None:
    """At rest, along the cylinder, the piston's force is the effort minus its own weight."""
    mechanism = samples.mechanism('boom')
    effort = mechanism.feedforward([0.2, 0.5])
    cylinder = mechanism.frame_pose(effort, 'cylinder').rotation @ [0.6, 0.0, 0.8]
    on_boom = effort.loop_force[0] @ cylinder
    assert on_boom > 0.0  # it carries the boom
    assert effort.actuated[0] == pytest.approx(on_boom + 3.0 * 9.81 * cylinder[2], rel=1e-9)
    assert effort.loop_force[0][1] == 0.0
