# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified numbers as files that load: a description with its URDF, and a drives file."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

import yaml

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.description.urdf_text import laid_out, with_tree
from masticator_dynamics.description.written import texts
from masticator_dynamics.drives.configuration import Drives, find_file, load_drives
from masticator_dynamics.engine.parameters import changed, with_inertia
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.identification.identify import with_motor_friction
from masticator_dynamics.mechanism import Mechanism

_WIDTH = 96


def description_files(
    mechanism: Mechanism, values: Mapping[str, float], name: str, comment: str
) -> dict[str, str]:
    """Texts of a description with other numbers, by the files' names: NAME.yaml and NAME.urdf.

    Parameters
    ----------
    mechanism : Mechanism
        Whose description is changed; made from a YAML file.
    values : mapping
        Parameters by name.
    name : str
        Of the files, without ending.
    comment : str
        Stands at the top.

    Raises
    ------
    InputError
        For a mechanism that was not read from YAML.
    """
    old = mechanism.description
    if old.file.suffix not in ('.yaml', '.yml'):
        raise InputError(f'{old.file}: first make a description of it: masticator import')
    parameters = mechanism.parameters(friction=True)
    values = {n: x for n, x in values.items() if n in parameters}
    new = with_inertia(changed(old, values, lambda angle: None), mechanism.structure, values)
    urdf = with_tree(laid_out(old.urdf_xml), old.tree, new.tree)
    yaml_text, _ = texts(new, name, comment)
    return {f'{name}.yaml': yaml_text, f'{name}.urdf': urdf}


def _text(content: Any) -> str:
    return yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH
    )


def drives_text(drives_file: pathlib.Path, values: Mapping[str, float], comment: str) -> str:
    """A drives file with the motors' own friction, moved there from the description.

    A motor that gives other torques than its drive tells has other units of torque.

    Parameters
    ----------
    drives_file : pathlib.Path
        To change.
    values : mapping
        Parameters ``JOINT.friction`` and ``JOINT.damping``, at the joint; ``JOINT.effort_scale``.
    comment : str
        Stands at the top.
    """
    source = find_file(drives_file)
    content = read_mapping(source)
    for joint, drive in load_drives(source).drives.items():
        entry = content['drives'][joint] = dict(content['drives'][joint])
        if (source.parent / drive.eds).is_file():  # the new file may stand elsewhere
            entry['eds'] = str((source.parent / drive.eds).resolve())
        motor = entry['motor'] = dict(entry['motor'])
        ratio = drive.motor.gear_ratio
        law = dict(motor.get('friction') or {})
        if f'{joint}.friction' in values:
            law['coulomb'] = values[f'{joint}.friction'] / ratio
        if f'{joint}.damping' in values:
            law['viscous'] = values[f'{joint}.damping'] / ratio**2
        motor['friction'] = law
        scale = values.get(f'{joint}.effort_scale', 1.0)
        for unit in ('rated_torque', 'rated_torque_unit', 'peak_torque'):
            if scale != 1.0:
                motor[unit] = scale * getattr(drive.motor, unit)
    return f'# {comment}\n{_text(content)}'


def check_loads(texts: Mapping[str, str], name: str) -> MechanismDescription:
    """Load the files from a folder of their own, so that nothing is written that does not."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in texts.items():
            pathlib.Path(folder, file).write_text(text, encoding='utf-8')
        description = load_description(pathlib.Path(folder, f'{name}.yaml'))
        Mechanism(description)
        if f'{name}_drives.yaml' in texts:
            load_drives(pathlib.Path(folder, f'{name}_drives.yaml'))
        return description


def with_drive_friction(description: MechanismDescription, drives: Drives) -> MechanismDescription:
    """A description whose motors have the friction of their drives, at the joints."""
    joints = dict(with_motor_friction(description).joints)
    for joint, drive in drives.drives.items():
        ratio, law = drive.motor.gear_ratio, drive.motor.friction
        joints[joint] = dataclasses.replace(
            joints[joint], friction=law.coulomb * ratio, damping=law.viscous * ratio**2
        )
    return dataclasses.replace(description, joints=joints)


def without_drive_friction(
    mechanism: Mechanism, original: MechanismDescription, values: Mapping[str, float]
) -> dict[str, float]:
    """Parameters for the description alone: friction of motors and their rotors are the drives'."""
    theirs = {f'{j}.{kind}': 0.0 for j in mechanism.actuated for kind in ('friction', 'damping')}
    merged = {**values, **theirs}
    for joint in mechanism.actuated:
        name = f'{joint}.rotor_inertia'
        if name in merged:  # what is more than the drives file says
            felt = mechanism.description.actuators[joint].rotor_inertia
            more = merged[name] - felt + original.actuators[joint].rotor_inertia
            merged[name] = max(more, 0.0)
    return merged
