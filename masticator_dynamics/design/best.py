# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A geometry of a study as files that load: a mechanism file, and its URDF."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
import yaml

from masticator_dynamics.files.tables import write_text
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.mechanism import Mechanism

_WIDTH = 96


def write_description(mechanism: Mechanism, file: pathlib.Path, said: str) -> None:
    """Write a mechanism with other numbers as YAML, and its URDF beside it.

    Parameters
    ----------
    mechanism : Mechanism
        From :meth:`Mechanism.with_parameters`.
    file : pathlib.Path
        The YAML file; the URDF has the same name.
    said : str
        A comment for the top of the file.
    """
    described = mechanism.description
    content = read_mapping(described.file)
    content.pop('xacro_arguments', None)
    content['urdf'] = f'{file.stem}.urdf'
    content['home'] = {joint: float(x) for joint, x in described.home.items() if x}
    # Closures that follow are the URDF's mimics.
    own = described.closures[: len(content.get('closures', ()))]
    parts: dict[str, Any] = {
        'closures': [_plain(closure) for closure in own],
        'contacts': [_plain(contact) for contact in described.contacts],
        'actuators': {name: _plain(motor) for name, motor in described.actuators.items()},
        'joints': {name: _plain(physics) for name, physics in described.joints.items()},
    }
    content |= {key: part for key, part in parts.items() if part}
    text = yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH
    )
    comment = ''.join(f'# {line}\n' for line in said.splitlines())
    write_text(str(file.with_suffix('.urdf')), described.urdf_xml)
    write_text(str(file), comment + text)


def write_arguments(
    mechanism: Mechanism, arguments: dict[str, float], file: pathlib.Path, said: str
) -> None:
    """Write a mechanism file that refers to the same xacro file, with other arguments."""
    described = mechanism.description
    content = read_mapping(described.file)
    content['urdf'] = str(described.urdf_file.resolve())
    texts = {name: repr(x) for name, x in arguments.items()}
    content['xacro_arguments'] = dict(content.get('xacro_arguments', {})) | texts
    comment = ''.join(f'# {line}\n' for line in said.splitlines())
    write_text(str(file), comment + yaml.safe_dump(content, sort_keys=False, width=_WIDTH))


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
