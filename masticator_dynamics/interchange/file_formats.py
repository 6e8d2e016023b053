# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which reader a file needs, and what holds for all of them."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Collection, Mapping
from typing import Any
from xml.etree import ElementTree

from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import (
    LARGEST_DESCRIPTION,
    NOT_XML,
    read_bytes,
    root_element,
)
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.interchange.gepetto import read_gepetto
from masticator_dynamics.interchange.mjcf import read_mjcf
from masticator_dynamics.interchange.robot_model import RobotModel
from masticator_dynamics.interchange.sdf import read_sdf
from masticator_dynamics.interchange.unread import Unread
from masticator_dynamics.interchange.urdf_file import read_urdf

_Reader = Callable[[pathlib.Path, Unread, Collection[str], Mapping[str, str] | None], RobotModel]
_READERS: dict[str, _Reader] = {
    'robot': lambda path, unread, wanted, arguments: read_urdf(
        path, unread, arguments, wanted=wanted
    ),
    'mujoco': lambda path, unread, _, __: read_mjcf(path, unread),
    'sdf': read_sdf,
}
_XML = {'.urdf': 'robot', '.xacro': 'robot', '.mjcf': 'mujoco', '.sdf': 'sdf'}


def is_foreign(path: pathlib.Path) -> bool:
    """Whether a file needs :func:`import_robot`, rather than being a mechanism file."""
    if path.suffix in ('.yaml', '.yml'):
        return path.is_file() and 'closed_loop' in read_mapping(path)
    return path.suffix in ('.urdf', '.xacro', '.xml', '.mjcf', '.sdf')


def read(
    path: pathlib.Path,
    wanted: Collection[str] = (),
    arguments: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
) -> RobotModel:
    """Model of a file in any of the formats, recognised by name and content.

    Parameters
    ----------
    wanted : collection of str
        Joints that must not be where a loop is cut, if the format leaves a choice.
    arguments : mapping, optional
        Values of a xacro file's arguments.
    ignore : collection of str
        Names or types of elements to leave out that would be refused.

    Raises
    ------
    DescriptionError
        For a file that cannot be read.
    """
    unread = Unread(path, ignore)
    model = _read(path, unread, wanted, arguments)
    unread.account(model)
    _rename_namesakes(model)
    return model


def _rename_namesakes(model: RobotModel) -> None:
    """Number loops and couplings of one name: several formats need no names for them."""
    taken, all_ties = set[str](), list[list[Any]]((model.loops, model.couplings))
    for ties in all_ties:
        for index, tie in enumerate(ties):
            name, number = tie.name, 2
            while name in taken:
                name, number = f'{tie.name}_{number}', number + 1
            taken.add(name)
            ties[index] = dataclasses.replace(tie, name=name)


def _read(
    path: pathlib.Path, unread: Unread, wanted: Collection[str], arguments: Mapping[str, str] | None
) -> RobotModel:
    if path.suffix in ('.yaml', '.yml'):
        return read_gepetto(path, unread)
    kind = 'sdf' if path.name.endswith('.sdf.xacro') else _XML.get(path.suffix)
    kind = kind or _root_element(path)
    if kind not in _READERS:
        roots = ', '.join(f'<{name}>' for name in _READERS)
        raise DescriptionError(path, '', f'its root element is <{kind}>, none of {roots}')
    return _READERS[kind](path, unread, wanted, arguments)


def _root_element(path: pathlib.Path) -> str:
    """Tag of an XML file's first element; MuJoCo, too, reads blanks before the declaration."""
    if path.suffix != '.xml':
        raise DescriptionError(path, '', 'is no URDF, xacro, MJCF, SDF or YAML file by its name')
    try:
        for _, element in ElementTree.iterparse(path, events=('start',)):
            return str(element.tag)
    except OSError as error:
        raise DescriptionError(path, '', error.strerror or 'cannot be read') from error
    except NOT_XML:
        return str(root_element(read_bytes(path, LARGEST_DESCRIPTION), path, 'MJCF or SDF').tag)
    raise DescriptionError(path, '', 'is empty')
