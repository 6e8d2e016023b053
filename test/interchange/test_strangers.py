# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small robots of others that were once read as other robots; they are not part of the project."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import samples

from interchange.mujoco_oracle import assert_as_in_mujoco
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_robot

STRANGERS = samples.ROOT.parent / 'shared' / 'robots' / 'strangers'
pytestmark = pytest.mark.skipif(not STRANGERS.is_dir(), reason=f'{STRANGERS} is not there')
# Efforts at home, at rest: virtual work by hand for the fingers, whose joints turn by 1, -1, -1, 1.
FINGERS = 0.1 * 9.80665 * 0.04
RIGHT = {
    's_onshape.sdf': (0.21057, -0.21057),
    'g_mimicplugin.urdf': (-FINGERS,),
    'g_r2param.urdf': (-FINGERS,),
}


@pytest.mark.parametrize('file', RIGHT)
def test_efforts_at_home(file: str) -> None:
    mechanism = Mechanism.load(STRANGERS / file)
    rest = np.zeros(len(mechanism.independent))
    effort = mechanism.feedforward(mechanism.home.y, rest, rest).actuated
    assert effort == pytest.approx(RIGHT[file], abs=5e-6)


@pytest.mark.parametrize(
    ('file', 'freedoms'), [('tt.xml', 1), ('boom_crank.xml', 2), ('fb_onshape.xml', 2)]
)
def test_efforts_of_mujoco(file: str, freedoms: int) -> None:
    assert_as_in_mujoco(STRANGERS / file, freedoms, reach=0.05)


def potential(left: float, right: float) -> float:
    """Energy, J, of the five-bar of fb_revolute.urdf at two cranks: the rods meet at the pin."""

    def turned(angle: float, x: float, z: float) -> np.ndarray:  # about y
        return np.array(
            [np.cos(angle) * x + np.sin(angle) * z, np.cos(angle) * z - np.sin(angle) * x]
        )

    elbows = [
        np.array([side * 0.05, 0.0]) + turned(angle, side * 0.06, 0.08)
        for side, angle in ((-1.0, left), (1.0, right))
    ]
    middle, across = sum(elbows) / 2.0, (elbows[1] - elbows[0]) / 2.0
    length, half = np.hypot(0.11, 0.1), float(np.linalg.norm(across))
    pin = middle + np.sqrt(length**2 - half**2) / half * np.array([-across[1], across[0]])
    # Centres of rods are at (0.055, 0.051) where the pin is at (0.11, 0.1).
    energy = 0.2 * (turned(left, -0.03, 0.04)[1] + turned(right, 0.03, 0.04)[1])
    for side, elbow in zip((1.0, -1.0), elbows, strict=True):
        x, z = pin - elbow
        angle = np.arctan2(side * 0.11, 0.1) - np.arctan2(x, z)
        energy += 0.15 * (elbow[1] + turned(-angle, side * 0.055, 0.051)[1])
    return float(9.80665 * energy)


@pytest.mark.parametrize('file', ['fb_revolute.urdf', 'pa_only.urdf'])
def test_a_five_bar_that_a_constraint_closes(file: str) -> None:
    """Virtual work, by hand."""
    mechanism, step = Mechanism.load(STRANGERS / file), 1e-5
    assert mechanism.independent == mechanism.actuated == ('m_l', 'm_r')
    for left, right in ((0.0, 0.0), (0.1, -0.05)):
        expected = [
            (potential(left + a, right + b) - potential(left - a, right - b)) / (2.0 * step)
            for a, b in ((step, 0.0), (0.0, step))
        ]
        effort = mechanism.feedforward([left, right], [0.0, 0.0], [0.0, 0.0]).actuated
        assert effort == pytest.approx(expected, abs=1e-8)


def test_both_motors_of_a_four_bar() -> None:
    """By virtual work: the cranks share what the coupler and they themselves weigh."""
    mechanism = Mechanism.load(STRANGERS / 'motor_right.urdf')
    turned = mechanism.feedforward([0.3], [0.0], [0.0])
    expected = -9.80665 * np.sin(0.3) * (1.0 * 0.1 + 1.0 * 0.2 + 1.0 * 0.1) / 2.0
    assert turned.actuated == pytest.approx([expected, expected], abs=1e-9)


@pytest.mark.parametrize(
    ('file', 'message'),
    [
        ('n_plugin.urdf', r'plugin loop: it names rod_l and rod_r'),
        ('no_axis.urdf', r'constraint cut: its type is revolute, and it has no <parent_axis xyz='),
        ('motor_misspelt.urdf', r"ros2_control joint jC: there is no joint jC; is 'jc' meant"),
    ],
)
def test_what_is_refused_by_name(file: str, message: str) -> None:
    path: pathlib.Path = STRANGERS / file
    with pytest.raises(DescriptionError, match=message):
        import_robot(path, 'a')
