# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A pinion between two racks, by Lagrange's equation on paper."""

import pathlib

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError

FOLDER = pathlib.Path(__file__).parent
RADIUS, CARRIAGE, PINION, TABLE, INERTIA = 0.04, 1.5, 0.8, 2.5, 0.002
OFF = np.array([0.02, 0.01])  # the pinion's centre of mass
SLOPE, GRAVITY = np.radians(20.0), 9.81


def load() -> Mechanism:
    return Mechanism.load(FOLDER / 'travelling_pinion.yaml')


def by_hand(s: float, rate: float, acceleration: float, push: float) -> float:
    """Force on the table (N), which is at s: the carriage is at s / 2, the pinion turned back.

    In the axes of the way: M(s) s'' + M'(s) s'^2 / 2 + V'(s) = force + push.
    """
    turned = -0.5 * s / RADIUS
    c, d = np.cos(turned), np.sin(turned)
    by_turn = -0.5 / RADIUS
    arm = np.array([c * OFF[0] - d * OFF[1], d * OFF[0] + c * OFF[1]])
    across = np.array([-arm[1], arm[0]])  # derivative of the arm by the turn
    velocity = np.array([0.5, 0.0]) + across * by_turn  # of the centre of mass, per rate of s
    bend = -arm * by_turn**2
    mass = TABLE + 0.25 * CARRIAGE + PINION * velocity @ velocity + INERTIA * by_turn**2
    slope = 2.0 * PINION * velocity @ bend
    down = GRAVITY * np.array([np.sin(SLOPE), np.cos(SLOPE)])  # minus gravity, in axes of the way
    weight = (TABLE + 0.5 * CARRIAGE) * down[0] + PINION * velocity @ down
    return float(mass * acceleration + 0.5 * slope * rate**2 + weight - push)


# 0.9 m turn the pinion by almost two turns.
@pytest.mark.parametrize('s', [0.0, 0.07, -0.3, 0.9, -0.95])
def test_agrees_with_lagrange(s: float) -> None:
    mechanism, along = load(), np.array([np.cos(SLOPE), np.sin(SLOPE), 0.0])
    for rate, acceleration, push in ((0.0, 0.0, 0.0), (0.6, -2.0, 3.0), (-1.5, 4.0, -7.0)):
        wrench = np.concatenate([push * along, np.zeros(3)])
        effort = mechanism.feedforward([s], [rate], [acceleration], wrench)
        positions = dict(zip(mechanism.tree_joints, effort.q, strict=True))
        assert positions['carriage_joint'] == pytest.approx(0.5 * s, abs=1e-14)
        assert positions['pinion_joint'] == pytest.approx(-0.5 * s / RADIUS, abs=1e-13)
        assert effort.actuated[0] == pytest.approx(by_hand(s, rate, acceleration, push), rel=1e-10)
        assert effort.balance_residual < 1e-11


def test_teeth_push_along_the_rack_at_the_pitch_circle() -> None:
    """Each rack pushes at the pitch circle; below it holds what the pinion does not hand on."""
    mechanism = load()
    effort = mechanism.feedforward([0.2], [0.5], [3.0])
    along = np.array([np.cos(SLOPE), np.sin(SLOPE), 0.0])
    for force, torque, radius in zip(
        effort.loop_force, effort.loop_torque, (RADIUS, -RADIUS), strict=True
    ):
        assert np.cross(force, along) == pytest.approx(np.zeros(3), abs=1e-12)
        assert torque == pytest.approx([0.0, 0.0, radius * (force @ along)], abs=1e-12)


def test_another_radius_and_offset() -> None:
    """As parameters; what they mean is asked of poses."""
    mechanism = load()
    assert {'below.radius', 'above.offset'} <= mechanism.parameters(geometry=True).keys()
    changed = mechanism.with_parameters({'below.offset': 0.01, 'above.offset': -0.02})
    motion = changed.solve([0.3])
    place = {name: changed.frame_pose(motion, name) for name in ('lower_rack', 'table', 'pinion')}
    for rack, radius, offset in (('lower_rack', RADIUS, 0.01), ('table', -RADIUS, -0.02)):
        axes = place[rack].rotation.T
        x, _, _ = axes @ (place['pinion'].position - place[rack].position)
        facing = axes @ place['pinion'].rotation
        angle = np.arctan2(facing[1, 0], facing[0, 0])
        gap = (x + radius * angle - offset) / (2.0 * np.pi * RADIUS)
        assert gap - round(gap) == pytest.approx(0.0, abs=1e-9)


def test_slopes_by_dimensions() -> None:
    """Of efforts, by recorded dimensions and the tilt of a rack, against differences."""
    mechanism, names = load(), ('below.radius', 'above.offset', 'carriage_joint.yaw')
    state = [[0.3]], [[0.5]], [[1.0]]
    at = np.array([mechanism.parameters(geometry=True)[name] for name in names])
    batch = mechanism.parameter_batch(names).feedforward([at], *state, derivatives=True)
    assert batch.by_parameters is not None and batch.valid.all()
    for k in range(len(names)):

        def effort(t: float, k: int = k) -> float:
            values = dict(zip(names, (at + t * np.eye(len(names))[k]).tolist(), strict=True))
            other = mechanism.with_parameters(values)
            return float(other.feedforward_batch(*state).actuated[0, 0])

        slope = samples.five_point(effort, 1e-5)
        assert batch.by_parameters[0, 0, 0, k] == pytest.approx(slope, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        ('radius: 0.04}', 'radius: 0.0}', r'closures\[0\].radius: a radius other than 0 is needed'),
        (', radius: 0.04', '', r'closures\[0\].radius: is missing'),
        ('[lower_rack, pinion]', '[tilted, pinion]', 'pinion_joint between rack and pinion'),
        ('[lower_rack, pinion]', '[lower_rack, carriage]', 'no joint turns the pinion'),
        ('[lower_rack, pinion]', '[lower_rack, cam]', 'Z of rack and pinion are not parallel'),
        ('pinion], radius: 0.04', 'pinion], radius: -0.04', 'centre is at y = 0.04 m of the rack'),
        ('pinion], radius: 0.04', 'pinion], radius: 40', 'its radius 40 m'),
    ],
)
def test_refusals(tmp_path: pathlib.Path, old: str, new: str, said: str) -> None:
    for ending in ('urdf', 'yaml'):
        text = (FOLDER / f'travelling_pinion.{ending}').read_text(encoding='utf-8')
        tilted = text.replace(
            '  <link name="lower_rack"/>',
            '<link name="lower_rack"/><link name="tilted"/><joint name="tilt" type="fixed">'
            '<parent link="way"/><child link="tilted"/><origin rpy="0.1 0 0" xyz="0 -0.04 0"/>'
            '</joint><link name="cam"/><joint name="key" type="fixed"><parent link="pinion"/>'
            '<child link="cam"/><origin rpy="0 0.2 0"/></joint>',
        )
        (tmp_path / f'travelling_pinion.{ending}').write_text(
            tilted.replace(old, new), encoding='utf-8'
        )
    with pytest.raises(DescriptionError, match=said):
        Mechanism.load(tmp_path / 'travelling_pinion.yaml')
