# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A description as files that load: YAML, and its URDF beside it."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import yaml

from masticator_dynamics.description.contacts import NEEDED
from masticator_dynamics.description.data import Actuator, JointPhysics, MechanismDescription
from masticator_dynamics.description.reading import MechanismFile
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_text

_WIDTH = 96
_MESH = re.compile(r'(<mesh\b[^>]*?filename\s*=\s*["\'])(?![/~]|\w+:)')


def save(description: MechanismDescription, file: pathlib.Path, comment: str = '') -> None:
    """Write a description: all that is not as usual; xacro is expanded.

    Parameters
    ----------
    file : pathlib.Path
        The YAML file; the URDF has the same name.
    comment : str
        For the top of the file.

    Raises
    ------
    InputError
        For another ending than ``.yaml``.
    OSError
        When writing fails.
    """
    if file.suffix not in ('.yaml', '.yml'):
        raise InputError(f'{file}: the name of a description ends with .yaml')
    folder = description.urdf_file.resolve().parent
    if file.resolve().parent != folder:
        urdf = _MESH.sub(lambda begin: f'{begin[1]}{folder.as_posix()}/', description.urdf_xml)
        description = dataclasses.replace(description, urdf_xml=urdf)
    yaml_text, urdf_text = texts(description, file.stem, comment)
    write_text(str(file.with_suffix('.urdf')), urdf_text)
    write_text(str(file), yaml_text)


def texts(description: MechanismDescription, name: str, comment: str) -> tuple[str, str]:
    """Contents of NAME.yaml and NAME.urdf, with a comment at the top of the first."""
    text = yaml.safe_dump(
        _content(description) | {'urdf': f'{name}.urdf'},
        sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH,
    )  # fmt: skip
    lines = ''.join(f'# {line}\n' for line in comment.splitlines())
    return lines + text, description.urdf_xml


def _content(description: MechanismDescription) -> dict[str, Any]:
    """Contents of the YAML file, in the order of its format."""
    mimics = {f'{mimic.joint}_mimic' for mimic in description.tree.mimics}  # the URDF has them
    special = {
        'version': 1, 'description': description.summary,
        'home': {joint: x for joint, x in description.home.items() if x},
        'closures': tuple(
            _with_needed(c, c.kind.needed)
            for c in description.closures
            if c.name not in mimics
        ),
        'contacts': tuple(_with_needed(c, NEEDED[c.type]) for c in description.contacts),
        'actuators': {n: a for n, a in description.actuators.items() if a != Actuator()},
        'joints': dict(_joints(description)),
    }  # fmt: skip
    content = {}
    for field in dataclasses.fields(MechanismFile):
        value = (
            special[field.name] if field.name in special else getattr(description, field.name, None)
        )
        if field.name in ('urdf', 'xacro_arguments') or value != _default(field):
            content[field.metadata.get('alias', field.name)] = _plain(value)
    content.pop('xacro_arguments')
    return content


def _joints(description: MechanismDescription) -> dict[str, Any]:
    """What joints do by themselves, and the dimensions of their kinds."""
    joints: dict[str, Any] = dict(description.joints)
    for joint in description.tree.joints:
        if sizes := {key: getattr(joint, key) for key in joint.kind.dimensions}:
            joints[joint.name] = _plain(joints.get(joint.name, JointPhysics())) | sizes
    return joints


def _with_needed(part: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Plain data, with keys that must be there although they are as usual."""
    return {**_plain(part), **{key: _plain(getattr(part, key)) for key in keys}}


def _plain(value: Any) -> Any:
    """Plain data of what a description holds, without what is as usual."""
    if dataclasses.is_dataclass(value):
        fields = {f.name: (f, getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {name: _plain(x) for name, (f, x) in fields.items() if x != _default(f)}
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, tuple):
        return [_plain(x) for x in value]
    return float(value) if isinstance(value, np.floating) else value


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
