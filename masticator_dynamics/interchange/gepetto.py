# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Format of Gepetto's example-parallel-robots: an open URDF and a YAML file that closes it.

``closed_loop`` lists pairs of frames (links, or joints whose child they stand for), ``type``
says ``3d`` (a point) or ``6d`` (a weld) for each, ``name_mot`` lists the joints with motors, and
``joint_name`` with ``joint_type`` the placeholders that stand for balls and universal joints.
"""

from __future__ import annotations

import difflib
import pathlib
from typing import Any

import numpy as np

from masticator_dynamics.description.closures import KINDS
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.interchange.robot_model import (
    Frame,
    ImportedMotor,
    Loop,
    RobotModel,
    turning_joints,
)
from masticator_dynamics.interchange.unread import Unread
from masticator_dynamics.interchange.urdf_file import read_urdf

_LOOPS = {kind.gepetto: kind for kind in KINDS.values() if kind.gepetto}
_KEYS = ('closed_loop', 'type', 'name_mot', 'joint_name', 'joint_type')


def read_gepetto(file: pathlib.Path, unread: Unread) -> RobotModel:
    """Model from a YAML file and the URDF file in its folder.

    Raises
    ------
    DescriptionError
        For keys or names that do not match, or a missing URDF file.
    """
    content = read_mapping(file)
    for key in content:
        if key not in _KEYS:
            reason = f'it is unknown{meant(key, _KEYS)}'
            unread.refuse('key', key, reason, f'Read are {", ".join(_KEYS)}')
    model = read_urdf(_urdf_beside(file), unread, transmissions=False)
    model.file, model.name = file, file.parent.name
    motors = [_known(model, name, file, 'name_mot') for name in _list(content, 'name_mot', file)]
    model.motors = {name: ImportedMotor() for name in motors}
    for coupling in [c for c in model.couplings if c.joint in motors]:
        model.couplings.remove(coupling)
        model.notes.append(f'joint {coupling.joint} has a motor: its <mimic> is left out')
    _replace_placeholders(model, content, file)
    pairs, kinds = _list(content, 'closed_loop', file), _list(content, 'type', file)
    if len(pairs) != len(kinds):
        raise DescriptionError(file, 'type', f'{len(kinds)} types for {len(pairs)} closed loops')
    for index, (pair, kind) in enumerate(zip(pairs, kinds, strict=True)):
        key = f'closed_loop[{index}]'
        if not isinstance(pair, list) or len(pair) != 2:
            raise DescriptionError(file, key, f'{pair!r} is not a pair of frames')
        if str(kind).lower() not in _LOOPS:
            raise DescriptionError(file, f'type[{index}]', f"{kind!r} is neither '3d' nor '6d'")
        frames = [_frame(model, name, file, key) for name in pair]
        model.loops.append(Loop(f'loop_{index + 1}', _LOOPS[str(kind).lower()], *frames))
    return model


def _urdf_beside(file: pathlib.Path) -> pathlib.Path:
    """The URDF of the same name, or the only one in the folder."""
    same = file.with_suffix('.urdf')
    if same.is_file():
        return same
    urdf_files = sorted(file.parent.glob('*.urdf'))
    if len(urdf_files) != 1:
        count = f'{len(urdf_files)} URDF files' if urdf_files else 'no URDF file'
        raise DescriptionError(file, '', f'there is {count} beside it; one is needed')
    return urdf_files[0]


def _list(content: dict[str, Any], key: str, file: pathlib.Path) -> list[Any]:
    value = content.get(key, [])
    if not isinstance(value, list):
        raise DescriptionError(file, key, 'is no list')
    return value


def _known(model: RobotModel, name: object, file: pathlib.Path, key: str) -> str:
    """A moving joint of the URDF by the name that the YAML gives it.

    A name with a non-ASCII letter is taken for the nearest spelling, with a note.
    """
    names = [joint.name for joint in model.joints if joint.moves]
    if name in names:
        return str(name)
    foreign = [n for n in names if not n.isascii()]
    if close := difflib.get_close_matches(str(name), foreign, n=1, cutoff=0.9):
        model.notes.append(f'{key}: {name!r} is taken for the joint {close[0]!r}')
        return close[0]
    near = meant(str(name), names)
    raise DescriptionError(file, key, f'moving joint {name!r} does not exist in the URDF{near}')


def _frame(model: RobotModel, name: object, file: pathlib.Path, key: str) -> Frame:
    if name in model.links:
        return Frame.of(str(name))
    for joint in model.joints:
        if name == joint.name:
            return Frame.of(joint.child)
    near = meant(str(name), model.links)
    raise DescriptionError(file, key, f'frame {name!r} does not exist in the URDF{near}')


def _replace_placeholders(model: RobotModel, content: dict[str, Any], file: pathlib.Path) -> None:
    names, kinds = _list(content, 'joint_name', file), _list(content, 'joint_type', file)
    if len(names) != len(kinds):
        raise DescriptionError(file, 'joint_type', f'{len(kinds)} types for {len(names)} names')
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        joint = model.joint(_known(model, name, file, f'joint_name[{index}]'))
        if kind == 'FIXED':
            model.lock(joint.name, 0.0)
            continue
        letters = 'XYZ' if kind == 'SPHERICAL' else str(kind).removeprefix('UJOINT_')
        if not set(letters) <= set('XYZ') or len(set(letters)) not in (2, 3):
            allowed = 'SPHERICAL, UJOINT_XY and its like, or FIXED'
            raise DescriptionError(file, f'joint_type[{index}]', f'{kind!r} is not {allowed}')
        axes = np.array([np.eye(3)['XYZ'.index(letter)] for letter in letters])
        model.joints.remove(joint)
        model.guess.pop(joint.name, None)
        turning_joints(
            model, joint.name, joint.parent, joint.child, joint.position, joint.rotation, axes
        )
