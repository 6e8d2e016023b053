# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Texts of ROS 2 message definitions, from the .msg files that message packages install."""

import os
import pathlib
import re
import sys
from collections.abc import Callable

from masticator_dynamics.errors import InputError

_PRIMITIVE = re.compile(r'(bool|byte|char|u?int(8|16|32|64)|float(32|64)|w?string)(<=\d+)?')
_SEPARATOR = '=' * 80


def complete_definition(datatype: str, read: Callable[[str], str] | None = None) -> str:
    """Text of a message and of all messages in it, as in MCAP schemas of ROS 2.

    Parameters
    ----------
    datatype : str
        For example ``sensor_msgs/msg/JointState``.
    read : callable, optional
        Returns the text of one message by its name; by default its installed .msg file.

    Raises
    ------
    InputError
        When a .msg file is not installed.
    """
    read = read or installed_definition
    texts = {datatype: read(datatype)}
    waiting = [datatype]
    while waiting:
        current = waiting.pop(0)
        for part in _parts(texts[current], package=current.split('/')[0]):
            if part not in texts:
                texts[part] = read(part)
                waiting.append(part)
    first, *others = texts.items()
    sections = [f'{_SEPARATOR}\nMSG: {_short(name)}\n{text}' for name, text in others]
    return '\n'.join([first[1], *sections])


def installed_definition(datatype: str) -> str:
    """Text of the .msg file of one message, from a ROS installation or this environment."""
    package, _, name = datatype.split('/')
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in (*prefixes, sys.prefix):
        file = pathlib.Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if file.is_file():
            return file.read_text(encoding='utf-8')
    raise InputError(f'the definition of {datatype} is not installed (ROS package {package})')


def _parts(text: str, package: str) -> list[str]:
    """Messages that are fields of a message, in order."""
    parts = []
    for line in text.splitlines():
        words = line.split('#')[0].split()
        if len(words) < 2 or _PRIMITIVE.fullmatch(field := re.sub(r'\[.*\]', '', words[0])):
            continue
        owner, _, name = field.rpartition('/')
        parts.append(f'{owner.removesuffix("/msg") or package}/msg/{name}')
    return parts


def _short(datatype: str) -> str:
    return datatype.replace('/msg/', '/')
