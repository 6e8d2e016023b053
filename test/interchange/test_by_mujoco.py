# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Imported MJCF: efforts at home, at rest and starting, are those that MuJoCo's own loops need."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import samples

from interchange import five_bars
from masticator_dynamics import Mechanism
from masticator_dynamics.interchange.imported_description import import_description

pytest.importorskip('mujoco', reason='the outside check needs MuJoCo')

from interchange.mujoco_projection import Projection

STRANGERS = samples.ROOT.parent / 'shared' / 'robots' / 'strangers'


def assert_mujoco_agrees(file: pathlib.Path, tolerance: float = 1e-6) -> Mechanism:
    """Compare efforts for three random accelerations of the motors, and the rest."""
    mechanism, outside = Mechanism(import_description(file)), Projection(file)
    motion = mechanism.solve(mechanism.home.y)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    rng = np.random.default_rng(7)
    for scale in (0.0, 2.0, 2.0, 2.0):
        y_ddot = scale * rng.uniform(-1.0, 1.0, len(mechanism.independent))
        found = mechanism.feedforward(mechanism.home.y, 0.0 * y_ddot, y_ddot)
        given = dict(zip(mechanism.actuated, (jacobian @ y_ddot).tolist(), strict=True))
        at_joints = found.actuated * mechanism.transmission_ratios
        expected = np.array([*outside.efforts(given).values()])
        assert at_joints == pytest.approx(expected, abs=tolerance * max(1.0, *np.abs(expected)))
    return mechanism


def test_armature_of_joints_without_motors(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'a.xml'
    text = five_bars.mjcf().replace(
        '<joint name="elbow_1"', '<joint armature="0.03" name="elbow_1"'
    )
    file.write_text(text, encoding='utf-8')
    mechanism = assert_mujoco_agrees(file)
    assert mechanism.description.joints['elbow_1'].armature == 0.03


FREEDOMS = {
    'arm_payload': 4, 'fb_free': 2, 'stew_free': 6, 'stew_six': 6, 'fb_clean': 2, 'fb_onshape': 2,
}  # fmt: skip
PLATFORMS = {'stew_free': 'plat', 'stew_six': 'plat', 'fb_clean': 'rod_l'}


@pytest.mark.skipif(not STRANGERS.is_dir(), reason=f'{STRANGERS} is not there')
@pytest.mark.parametrize('name', FREEDOMS)
def test_strangers(name: str) -> None:
    mechanism = assert_mujoco_agrees(STRANGERS / f'{name}.xml')
    assert len(mechanism.independent) == FREEDOMS[name]
    platform = mechanism.description.platform
    assert platform == PLATFORMS.get(name, platform)
