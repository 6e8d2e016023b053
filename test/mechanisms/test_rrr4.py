# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The planar 4-RRR: kinematics against circles by hand, and what it refuses."""

import numpy as np
import pytest
import samples
from oracles import rrr4_oracle

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import ActuationError, ReachError


def test_motor_angles_are_absolute() -> None:
    mechanism = samples.mechanism('rrr4')
    for state in samples.states('rrr4', 20, seed=72):
        solution = rrr4_oracle.inverse_dynamics(*state)
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        turn = (motion.position - solution.angle + np.pi) % (2.0 * np.pi) - np.pi
        assert turn == pytest.approx(np.zeros(4), abs=1e-12)
        assert motion.velocity == pytest.approx(solution.angle_dot, rel=1e-11)
        assert motion.acceleration == pytest.approx(solution.angle_ddot, rel=1e-10, abs=1e-8)


def test_legs_are_quarter_turns_of_one_another_at_home() -> None:
    position = samples.mechanism('rrr4').home.position
    quarter = np.diff(position) % (2.0 * np.pi)
    assert quarter == pytest.approx(np.full(3, np.pi / 2.0), abs=1e-12)


def test_gravity_is_the_bearings_business() -> None:
    effort = samples.mechanism('rrr4').feedforward([0.01, 0.02, 2.0])
    assert np.abs(effort.actuated).max() < 1e-15


def test_an_unknown_motor_is_refused() -> None:
    with pytest.raises(ActuationError, match=r"no actuator 'motor_5'; there are: motor_1, "):
        Mechanism.load('rrr4', ['motor_5'])


def test_a_pose_out_of_reach_names_the_leg_and_what_is_missing() -> None:
    """C1 is 233.4 mm from A1, well beyond the leg's 200 mm."""
    with pytest.raises(ReachError, match=r'leg_1 cannot close at x = 0, y = 0\.3.*mm are missing'):
        samples.mechanism('rrr4').solve([0.0, 0.3, 2.0943951])
