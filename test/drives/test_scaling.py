# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Units, against numbers derived by hand and the power that a gear transmits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masticator_dynamics.drives.configuration import Motor
from masticator_dynamics.drives.scaling import Scaling


def motor(**changes):
    data = {
        'rated_torque': 0.1,
        'peak_torque': 0.3,
        'gear_ratio': 5.0,
        'efficiency': 0.8,
        'counts_per_turn': 4000,
    }
    return Motor(**(data | changes))


def of(**changes):
    return Scaling([motor(**changes)])


def one(value):
    return np.array([value])


def test_positions_by_hand():
    # One turn of the joint is five turns of the motor, 20000 counts.
    assert of().counts_from_position(one(2.0 * math.pi)) == 20000
    assert of().counts_from_position(one(-math.pi / 2.0)) == -5000
    assert of().position_from_counts(one(2500.0)) == pytest.approx(math.pi / 4.0)
    assert of(direction=-1).counts_from_position(one(math.pi)) == -10000
    # Count 0 is at the zero.
    assert of(zero=0.5).position_from_counts(one(0.0)) == 0.5
    assert of(zero=0.5).counts_from_position(one(0.5)) == 0.0


def test_efforts_by_hand():
    fast = one(1.0)
    # 0.4 N m at the joint, driving: 0.4 / 5 / 0.8 = 0.1 N m of the motor, its rated torque.
    assert of().per_mille_from_effort(one(0.4), fast) == pytest.approx(1000.0)
    # Driven, the gear's loss is on the motor's side of the joint: 0.4 / 5 * 0.8.
    assert of().per_mille_from_effort(one(-0.4), fast) == pytest.approx(-640.0)
    # At rest there is no loss.
    assert of().per_mille_from_effort(one(0.4), one(0.0)) == pytest.approx(800.0)
    assert of().effort_from_per_mille(one(1000.0), fast) == pytest.approx(0.4)
    assert of(direction=-1).effort_from_per_mille(one(-1000.0), fast) == pytest.approx(0.4)
    assert of(direction=-1).per_mille_from_effort(one(0.4), fast) == pytest.approx(-1000.0)


def test_what_friction_leaves_by_hand():
    rubbed = of(friction={'coulomb': 0.02, 'viscous': 1e-3})
    # At 1 rad/s of the joint the motor turns at 5, and loses 0.025 N m of its 0.1 before the gear.
    for per_mille, direction in ((1000.0, 1.0), (-1000.0, -1.0)):
        told = rubbed.effort_from_per_mille(one(per_mille), one(direction))
        left = rubbed.effort_behind_friction(told, one(direction))
        assert left == pytest.approx(direction * 0.075 * 5.0 * 0.8)
    # Driven: friction helps to hold.
    told = rubbed.effort_from_per_mille(one(-1000.0), one(1.0))
    assert rubbed.effort_behind_friction(told, one(1.0)) == pytest.approx(-0.125 * 5.0 / 0.8)


@given(st.floats(-1000.0, 1000.0), st.floats(-20.0, 20.0), st.sampled_from((1, -1)))
def test_what_is_felt_behind_friction(per_mille, velocity, direction):
    """Also where friction takes more than the motor gives, so that the load drives the gear."""
    rubbed = of(direction=direction, friction={'coulomb': 0.02, 'viscous': 1e-3})
    told, speed = rubbed.effort_from_per_mille(one(per_mille), one(velocity)), one(velocity)
    effort, part = rubbed.felt(told, speed)
    taken = 5.0 * (0.02 * np.clip(speed / 0.05, -1.0, 1.0) + 1e-3 * 5.0 * speed)
    left = rubbed.effort_behind_friction(told, speed)
    assert effort - part * taken == pytest.approx(left, abs=1e-12)


@given(st.floats(-3.0, 3.0), st.floats(-20.0, 20.0), st.sampled_from((1, -1)), st.floats(-1.0, 1.0))
def test_round_trips(effort, velocity, direction, zero):
    scaling = of(direction=direction, zero=zero)
    per_mille = scaling.per_mille_from_effort(one(effort), one(velocity))
    back = scaling.effort_from_per_mille(per_mille, one(velocity))
    assert back == pytest.approx(effort, abs=1e-12)
    count = 2.0 * math.pi / 20000.0
    position = scaling.position_from_counts(scaling.counts_from_position(one(effort)))
    assert abs(position - effort) <= 0.5 * count * (1.0 + 1e-9)


@given(st.floats(-300.0, 300.0), st.floats(-20.0, 20.0), st.sampled_from((1, -1)))
def test_no_power_comes_from_the_gear(per_mille, velocity, direction):
    """Power at the joint is at most the motor's, reduced by the efficiency."""
    scaling = of(direction=direction)
    effort = scaling.effort_from_per_mille(one(per_mille), one(velocity))[0]
    motor_power = per_mille * 1e-3 * 0.1 * direction * 5.0 * velocity
    joint_power = effort * velocity
    assert joint_power <= motor_power + 1e-12
    if abs(velocity) > 0.05:
        factor = 0.8 if motor_power > 0.0 else 1.0 / 0.8
        assert joint_power == pytest.approx(factor * motor_power, abs=1e-12)


def test_order_is_that_of_the_motors():
    scaling = Scaling([motor(), motor(gear_ratio=10.0), motor(direction=-1)])
    counts = scaling.counts_from_position(np.full(3, math.pi))
    np.testing.assert_array_equal(counts, [10000, 20000, -10000])
