# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints whose names our columns or topics use are refused, and tables with one name twice."""

import re

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files.tables import write_table

BOOM = samples.file_of('boom')


def renamed(folder, **joints):
    """The boom with other names of joints: (old)=(new)."""
    for file in (BOOM, BOOM.with_suffix('.urdf')):
        text = file.read_text()
        for old, new in joints.items():
            text = re.sub(rf'(?<![\w]){old}(?![\w])', new, text)
        (folder / file.name).write_text(text)
    return folder / BOOM.name


@pytest.mark.parametrize(
    ('joints', 'key', 'meaning'),
    [
        ({'swivel': 'tx'}, 'independent[1]', 'torque about x'),
        ({'swivel': 'fz'}, 'independent[1]', 'force along z'),
        ({'stroke': 'time'}, 'actuated[0]', 'the time'),
        ({'lift': 'closure_residual'}, 'independent[0]', 'gap'),
        ({'swivel': 'lift_dot'}, 'independent[1]', "velocity of joint 'lift'"),
        ({'swivel': 'lift_ddot'}, 'independent[1]', "acceleration of joint 'lift'"),
        ({'stroke': 'position_swivel'}, 'actuated[0]', "position of joint 'swivel'"),
        ({'stroke': 'effort_swivel'}, 'actuated[0]', "effort of joint 'swivel'"),
        ({'swivel': 'fx@load'}, 'independent[1]', 'a wrench on a link'),
    ],
)
def test_names_that_our_columns_use_are_refused(tmp_path, joints, key, meaning) -> None:
    with pytest.raises(DescriptionError) as caught:
        Mechanism.load(renamed(tmp_path, **joints))
    assert caught.value.key == key
    assert meaning in caught.value.reason and repr(next(iter(joints.values()))) in str(caught.value)


@pytest.mark.parametrize('name', ['x_dot', 'position', 'tx_1', 'position_of_lift', 'times'])
def test_names_that_only_resemble_them_are_fine(tmp_path, name) -> None:
    assert name in Mechanism.load(renamed(tmp_path, swivel=name)).independent


def test_passive_joints_have_no_columns(tmp_path) -> None:
    assert 'tx' in Mechanism.load(renamed(tmp_path, barrel='tx')).tree_joints


@pytest.mark.parametrize('name', ['left ball', 'left/ball', '1st', 'left-ball'])
def test_contacts_must_be_possible_names_of_topics(tmp_path, name) -> None:
    file = samples.file_of('masticator')
    for source in (file, *(file.parents[2] / 'urdf').glob('*.xacro')):
        folder = tmp_path / source.parent.name
        folder.mkdir(exist_ok=True)
        text = source.read_text().replace('name: condyle_left', f'name: "{name}"')
        (folder / source.name).write_text(text.replace('../../urdf', '../urdf'))
    with pytest.raises(DescriptionError, match=re.escape(repr(name))):
        Mechanism.load(tmp_path / file.parent.name / file.name)


def test_a_table_does_not_have_one_column_twice(tmp_path) -> None:
    with pytest.raises(InputError, match='called time'):
        write_table(str(tmp_path / 'out.csv'), ['time', 'x', 'time'], np.zeros((1, 3)))
    assert not list(tmp_path.iterdir())
