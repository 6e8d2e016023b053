# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""export-mjcf: MuJoCo reads the file and agrees on accelerations, and import reads it back."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest
from interchange.mujoco_oracle import accelerates_softly

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description
from masticator_dynamics.interchange.imported_description import import_robot
from masticator_dynamics.interchange.mjcf_export import export_mjcf

mujoco = pytest.importorskip('mujoco', reason='MuJoCo is not installed')


@pytest.mark.parametrize(
    ('name', 'tolerance'),
    # Loops are soft in MuJoCo, by 1e-4 of the force that they would need; contacts feel it most.
    [('five_bar', 0.01), ('delta', 0.01), ('stewart', 0.01), ('trimule', 0.01), ('jaw_6pus', 0.25)],
)
def test_mujoco_accelerates_as_our_efforts_ask(run, tmp_path, name: str, tolerance: float) -> None:
    file = tmp_path / 'made.xml'
    assert run('export-mjcf', name, '--output', file).status == 0
    data = accelerates_softly(Mechanism.load(name), file.read_text(encoding='utf-8'), tolerance)
    assert np.abs(data.efc_pos).max() < 2e-6


@pytest.mark.parametrize('name', ['delta', 'trimule', 'five_bar'])
def test_import_reads_it_back(tmp_path: pathlib.Path, name: str) -> None:
    """The same efforts, except for the small inertia that bodies need in MuJoCo."""
    described = load_description(name)
    (tmp_path / 'made.xml').write_text(export_mjcf(described).text)
    made = import_robot(
        tmp_path / 'made.xml', 'back', independent=described.independent,
        platform=described.platform,
    )  # fmt: skip
    (tmp_path / 'back.yaml').write_text(made.yaml)
    (tmp_path / 'back.urdf').write_text(made.urdf)
    ours, back = Mechanism(described), Mechanism.load(str(tmp_path / 'back.yaml'))
    order = [back.actuated.index(motor) for motor in ours.actuated]
    rng = np.random.default_rng(4)
    for _ in range(5):
        y = ours.home.y + rng.uniform(-0.03, 0.03, len(ours.independent))
        state = (y, *rng.normal(size=(2, len(y))), rng.normal(size=6))
        expected = ours.feedforward(*state).actuated
        assert back.feedforward(*state).actuated[order] == pytest.approx(
            expected, abs=1e-4, rel=1e-4
        )


def test_what_mujoco_has_no_equal_of_is_said(run, tmp_path: pathlib.Path) -> None:
    answer = run('export-mjcf', 'masticator', '--output', tmp_path / 'made.xml')
    assert answer.status == 0
    assert 'left out: friction of contact condyle_left' in answer.err
    assert (
        '<!-- Left out: friction of contact condyle_left -->' in (tmp_path / 'made.xml').read_text()
    )
    assert run('export-mjcf', 'nothing', '--output', tmp_path / 'b.xml').status == 2
    assert not (tmp_path / 'b.xml').exists()


def test_motors_with_transmissions_stay_motors() -> None:
    described = load_description('trimule')
    text = export_mjcf(dataclasses.replace(described)).text
    model = mujoco.MjModel.from_xml_string(text)
    assert model.actuator('limb_1').gear[0] == pytest.approx(described.actuators['limb_1'].ratio)
    armature = model.dof_armature[model.joint('limb_1').dofadr[0]]
    assert armature == pytest.approx(described.actuators['limb_1'].joint_inertia)
