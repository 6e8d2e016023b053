# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Five-axis kinematics against S4's closed form for TriMule."""

import re

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError, LimitError, ReachError, SingularityError
from masticator_dynamics.motion.tool import ToolKinematics

D_V, D_W = 0.05, 0.25
NAME = 'trimule_five_axis'


def rotation(axis: int, angle: float) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = np.cos(angle)
    turn[j, i] = np.sin(angle)
    turn[i, j] = -turn[j, i]
    return turn


def closed_form(tip: np.ndarray, w: np.ndarray, sign: float) -> np.ndarray:
    """S4 Eqs. 2 to 7: P, theta_4 and theta_5, for both directions of the wrist."""
    r_q = tip - D_W * w
    u = sign * np.cross(r_q, w) / np.linalg.norm(np.cross(r_q, w))
    v = np.cross(w, u)
    p = r_q - D_V * v
    s = p / np.linalg.norm(p)
    head = rotation(0, np.arctan2(-s[1], s[2])) @ rotation(1, np.arcsin(s[0]))
    wrist = head.T @ np.column_stack([u, v, w])
    theta_4, theta_5 = np.arctan2(wrist[1, 0], wrist[0, 0]), np.arctan2(wrist[2, 1], wrist[2, 2])
    return np.array([*p, theta_4, theta_5])


@pytest.fixture(scope='module')
def machine() -> ToolKinematics:
    return ToolKinematics(samples.mechanism(NAME))


def in_stroke(machine: ToolKinematics, y: np.ndarray) -> bool:
    violations = machine.mechanism.range_violations(machine.mechanism.solve(y))
    return not [v for v in violations if v.quantity == 'position']


def test_tip_and_axis_are_those_of_the_description_by_hand(machine) -> None:
    y = np.array([0.2, -0.3, 1.2, 0.7, -0.5])
    s = y[:3] / np.linalg.norm(y[:3])
    head = rotation(0, np.arctan2(-s[1], s[2])) @ rotation(1, np.arcsin(s[0]))
    axes = head @ rotation(2, y[3]) @ rotation(0, y[4])
    tip, axis = machine.forward(machine.mechanism.solve(y))
    assert tip == pytest.approx(y[:3] + axes @ [0.0, D_V, D_W], abs=1e-13)
    assert axis == pytest.approx(axes[:, 2], abs=1e-13)


def test_the_way_back_is_one_of_the_closed_forms(machine) -> None:
    """Of the two solutions, one within the stroke is preferred, then that with the smaller turn."""
    rng = np.random.default_rng(81)
    for _ in range(25):
        y = rng.uniform([-0.3, -0.5, 1.2, -np.pi, -1.4], [0.3, 0.1, 1.3, np.pi, 1.4])
        tip, axis = machine.forward(machine.mechanism.solve(y))
        ways = [closed_form(tip, axis, sign) for sign in (1.0, -1.0)]
        assert min(np.abs(way - y).max() for way in ways) < 1e-9
        usable = [way for way in ways if in_stroke(machine, way)]
        expected = min(usable, key=lambda way: np.hypot(*way[3:]))
        motion = machine.inverse(tip, 2.0 * axis)
        assert motion.y == pytest.approx(expected, abs=1e-9)
        found = machine.forward(machine.mechanism.solve(motion.y))
        assert np.abs(np.subtract(found, (tip, axis))).max() < 1e-11


def test_limbs_lead_back_to_the_tool(machine) -> None:
    tip, axis = np.array([0.1, -0.2, 1.45]), np.array([0.3, -0.1, 0.9])
    motion = machine.inverse(tip, axis)
    y = machine.mechanism.forward_kinematics(motion.position)
    found = machine.forward(machine.mechanism.solve(y))
    assert found[0] == pytest.approx(tip, abs=1e-9)
    assert found[1] == pytest.approx(axis / np.linalg.norm(axis), abs=1e-9)


def test_the_pose_before_chooses_the_way(machine) -> None:
    tip, axis = np.array([0.05, -0.25, 1.5]), np.array([0.2, -0.5, 0.8])
    axis /= np.linalg.norm(axis)
    for sign in (1.0, -1.0):
        way = closed_form(tip, axis, sign)
        motion = machine.inverse(tip, axis, near=way + 0.05)
        assert motion.y == pytest.approx(way, abs=1e-9)
    # The C axis turns once either way, so that an angle may be there twice.
    twice = closed_form(tip, axis, 1.0)
    for turn in (0.0, -2.0 * np.pi * np.sign(twice[3])):
        turned = twice + [0.0, 0.0, 0.0, turn, 0.0]
        assert machine.inverse(tip, axis, near=turned).y == pytest.approx(turned, abs=1e-9)
    beyond = twice[3] + 2.0 * np.pi * np.sign(twice[3])
    assert abs(beyond) > 2.0 * np.pi
    near = [*twice[:3], beyond, twice[4]]
    assert machine.inverse(tip, axis, near).y[3] == pytest.approx(twice[3], abs=1e-9)


def test_a_singular_wrist_is_refused(machine) -> None:
    """With w along r_Q, S4's u is undetermined, and so is the C axis."""
    r_q = np.array([0.1, -0.2, 1.3])
    w = r_q / np.linalg.norm(r_q)
    with pytest.raises(SingularityError, match='wrist is singular.*not determine theta_4'):
        machine.inverse(r_q + D_W * w, w)
    tilted = machine.inverse(r_q + D_W * w, rotation(0, 0.02) @ w)
    assert machine.forward(tilted)[1] == pytest.approx(rotation(0, 0.02) @ w, abs=1e-10)


def test_a_limb_outside_its_stroke_is_refused(machine) -> None:
    tip, axis = np.array([0.0, -0.1, 1.9]), np.array([0.2, 0.1, 1.0])
    ways = [closed_form(tip, axis / np.linalg.norm(axis), sign) for sign in (1.0, -1.0)]
    least_turned = min(ways, key=lambda way: np.hypot(*way[3:]))
    length = machine.mechanism.solve(least_turned).position[0]
    assert length > 1.3
    told = f'limb_1 position {length:.6g} m is outside [0.8, 1.3] m, by {length - 1.3:.6g} m'
    with pytest.raises(LimitError, match=re.escape(told)):
        machine.inverse(tip, axis)


def test_a_tip_out_of_reach_is_refused(machine) -> None:
    """A point behind the machine: the limbs would have to pass through their own feet."""
    with pytest.raises(ReachError, match=r'tip \(0, 0\.1, -1\.5\) m, axis .*, which misses '):
        machine.inverse([0.0, 0.1, -1.5], [0.0, 0.2, -1.0])


@pytest.mark.parametrize(
    ('tip', 'axis', 'message'),
    [
        ([0.0, 0.0, 1.5], [0.0, 0.0, 0.0], 'length 0'),
        ([0.0, np.nan, 1.5], [0.0, 0.0, 1.0], 'tip is not finite'),
        ([0.0, 1.5], [0.0, 0.0, 1.0], r'tip has shape \(2,\), needed is \(3,\)'),
    ],
)
def test_bad_input_is_refused(machine, tip, axis, message) -> None:
    with pytest.raises(InputError, match=message):
        machine.inverse(tip, axis)


def test_machines_without_five_freedoms_or_a_tool_are_refused() -> None:
    with pytest.raises(InputError, match='trimule has 3 degrees of freedom'):
        ToolKinematics(samples.mechanism('trimule'))
    with pytest.raises(InputError, match="no frame 'drill'"):
        ToolKinematics(samples.mechanism(NAME), 'drill')
