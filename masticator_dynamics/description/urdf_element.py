# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Values of links and joints of a URDF, with errors that name the link or joint."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import DescriptionError


class UrdfElement(NamedTuple):
    """A link or joint, or a part of one, for which values are 0 where it is not there."""

    file: pathlib.Path
    key: str  # kind and name of the link or joint, for messages
    element: ElementTree.Element | None

    @property
    def name(self) -> str:
        """Of the link or joint."""
        return self.text('name')

    def part(self, tag: str) -> UrdfElement:
        """An element in it, which may not be there."""
        return self._replace(element=None if self.element is None else self.element.find(tag))

    def text(self, name: str) -> str:
        """An attribute that must be there."""
        text = None if self.element is None else self.element.get(name)
        if text is None:
            tag = '' if self.element is None else f'<{self.element.tag}> '
            raise self.error(f'{tag}has no {name}="..."')
        return text

    def number(self, name: str, default: str | None = None) -> float:
        """A number; with no default it must be there."""
        text = default if self.element is None else self.element.get(name, default)
        text = self.text(name) if text is None else text
        try:
            return float(text)
        except ValueError as error:
            raise self.error(f'{name} {text!r} is not a number') from error

    def vector(self, name: str, default: str = '0 0 0') -> npt.NDArray[np.float64]:
        """Three numbers (3,)."""
        text = default if self.element is None else self.element.get(name, default)
        try:
            values = [float(word) for word in text.split() or default.split()]
        except ValueError:
            values = []
        if len(values) != 3:
            raise self.error(f'{name} {text!r} is not 3 numbers')
        return np.array(values)

    def error(self, reason: str) -> DescriptionError:
        """What is wrong with the link or joint."""
        return DescriptionError(self.file, self.key, reason)


def named_elements(
    robot: ElementTree.Element, kind: str, file: pathlib.Path
) -> Iterator[UrdfElement]:
    """Links or joints of a robot, each of its own name.

    Raises
    ------
    DescriptionError
        For one without a name, or of a name that another has.
    """
    names = set[str]()
    for element in robot.findall(kind):
        part = UrdfElement(file, f'{kind} {element.get("name", "")}'.strip(), element)
        if not part.name.strip():
            raise part.error('has no name')
        if part.name in names:
            raise part.error('appears twice')
        names.add(part.name)
        yield part
