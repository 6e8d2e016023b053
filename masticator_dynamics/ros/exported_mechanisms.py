# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that packages have exported as C for ros2_control, found by what they compute."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.engine.traced.c_files import c_files
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

RESOURCE = 'masticator_mechanisms'  # in the ament index; see masticator_add_mechanism() in CMake


def installed_sources() -> dict[str, pathlib.Path]:
    """Exported C by name, of all packages that ROS 2 finds."""
    from ament_index_python.resources import get_resource, get_resources

    sources = {}
    for name in sorted(get_resources(RESOURCE)):
        content, prefix = get_resource(RESOURCE, name)
        sources[name] = pathlib.Path(prefix) / content.split(';')[1]
    return sources


def exported_as(
    description: MechanismDescription,
    sources: Mapping[str, pathlib.Path],
    *,
    drives: str = '',
    goal: str = 'torque',
    friction: bool = False,
) -> str:
    """Name under which exactly this mechanism has been exported.

    Its C is made again and compared: a description, drives file or version that has changed since a
    package was built is noticed.

    Parameters
    ----------
    sources : mapping of str to path
        As :func:`installed_sources`.
    drives : str
        Drives file whose rotors the efforts accelerate, too; empty: none.
    goal, friction
        As node ``dynamics`` has them.

    Raises
    ------
    InputError
        If there is none, with what makes one.
    """
    if drives:
        description = with_rotors(description, load_drives(drives))
    mechanism = Mechanism(description)
    for name, source in sources.items():
        files = c_files(
            description, mechanism.structure, goal, friction, effort_range=mechanism.effort_range,
            name=name,
        )  # fmt: skip
        if source.is_file() and source.read_text(encoding='utf-8') == files[f'{name}.c']:
            return name
    options = ''.join(
        [' FRICTION' if friction else '', f' GOAL {goal}' if goal != 'torque' else '',
         f' DRIVES {drives}' if drives else '']
    )  # fmt: skip
    raise InputError(
        f'feedforward controller: no package has exported {description.name} as it is now; there '
        f'are: {", ".join(sources) or "none"}. In a package: masticator_add_mechanism(<name> '
        f'{description.file}{options}), then build it (docs/ros2-control.md)'
    )
