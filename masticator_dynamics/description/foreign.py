# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Separates what a URDF says about motion from what it says to other programs.

Vendors put elements of their own into URDF files. Those that do not affect the dynamics are ignored
with a warning; those that look misspelt are refused, since ignoring them could lose a mass or axis.
"""

import dataclasses
import pathlib
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from masticator_dynamics.description.joints import FLOATING, KINDS
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.files.text_file import root_element

KNOWN = {
    'link': ('inertial', 'visual', 'collision'),
    'inertial': ('origin', 'mass', 'inertia'),
    'joint': (
        'origin', 'parent', 'child', 'axis', 'calibration', 'dynamics', 'limit', 'mimic',
        'safety_controller',
    ),
}  # fmt: skip
# Attributes whose lack the parser reports without saying where.
_NEEDED = {'parent': 'link', 'child': 'link', 'axis': 'xyz', 'mass': 'value'}
# Others of their attributes would make another robot of it.
_ATTRIBUTES = {
    'origin': {'xyz', 'rpy'}, 'axis': {'xyz'}, 'mimic': {'joint', 'multiplier', 'offset'},
    'dynamics': {'damping', 'friction'}, 'limit': {'lower', 'upper', 'effort', 'velocity'},
    'mass': {'value'}, 'inertia': {'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'},
}  # fmt: skip
_MORE = ('dynamics', 'limit')  # to which vendors add attributes of their own
_UNREAD = ('visual', 'collision', 'calibration', 'safety_controller')
_XACRO = 'wiki/xacro}'
_SIMILAR = 0.7  # of two names, by difflib; 'axes' and 'axis' are 0.75 alike


@dataclasses.dataclass(frozen=True)
class WhatMoves:
    """Links and joints of a URDF, and nothing else.

    ``warnings`` name what was ignored, ``shaped`` the links that have a shape but no mass.
    """

    robot: ElementTree.Element
    warnings: tuple[str, ...]
    shaped: tuple[str, ...]


def what_moves(text: str, file: pathlib.Path) -> WhatMoves:
    """Read a URDF text, ignoring what does not affect the motion.

    Raises
    ------
    DescriptionError
        For broken XML, another root element, xacro, or an element that is probably misspelt.
    """
    robot = _robot(text, file)
    left_out: dict[str, list[str]] = {}
    unlimited, shaped, turned = [], [], list[str]()
    for part in list(robot):
        if not isinstance(part.tag, str) or part.tag not in ('link', 'joint'):
            _refuse_misspelt(part, ('link', 'joint'), '', file)
            robot.remove(part)
            continue
        place = f'{part.tag} {part.get("name")}'
        if part.find('inertial') is None and part.find('visual') is not None:
            shaped.append(str(part.get('name')))
        turned += [place for origin in part.findall('origin') if _beyond_a_turn(origin)]
        for element in (part, *part.findall('inertial')):
            for tag in _strip(element, place, file):
                left_out.setdefault(tag, []).append(place)
        if _without_bounds(part):
            unlimited.append(place)
    warnings = [f'<{tag}> in {_some(places)} is not read' for tag, places in left_out.items()]
    if unlimited:
        warnings.append(f'<limit> without lower and upper counts as unlimited: {_some(unlimited)}')
    if turned:
        warnings.append(f'rpy beyond a full turn, though in radians: {_some(turned)}')
    return WhatMoves(robot, tuple(warnings), tuple(shaped))


def _some(places: list[str]) -> str:
    """The first of several places, and how many more there are."""
    return f'{places[0]} and {len(places) - 1} more' if len(places) > 1 else places[0]


def _robot(text: str, file: pathlib.Path) -> ElementTree.Element:
    """The root element, if it is ``<robot>`` and no xacro is left in the file."""
    robot = root_element(text, file, 'URDF')
    if robot.tag != 'robot':
        raise DescriptionError(file, '', f'URDF: its root element is <{robot.tag}>, not <robot>')
    if any(isinstance(e.tag, str) and _XACRO in e.tag for e in robot.iter()):
        raise DescriptionError(file, '', 'has xacro elements, but its name does not end .xacro')
    return robot


def _strip(element: ElementTree.Element, place: str, file: pathlib.Path) -> Iterator[str]:
    """Remove what is not read from an element; yield the tags that are not URDF."""
    children = KNOWN[str(element.tag)]
    for child in list(element):
        if child.tag in children and child.tag not in _UNREAD:
            yield from _check_read(child, element, place, file)
            continue
        if child.tag not in children and isinstance(child.tag, str):
            _refuse_misspelt(child, children, place, file)
            yield child.tag
        element.remove(child)


def _check_read(
    child: ElementTree.Element, element: ElementTree.Element, place: str, file: pathlib.Path
) -> Iterator[str]:
    """Refuse an element that is there twice or says nothing; yield what of it is not read."""
    tag = str(child.tag)
    for name in child.attrib:  # in the file's order
        if name in _ATTRIBUTES.get(tag, child.attrib):
            continue
        if name == 'rpy' and re.fullmatch(r'[\s0.+-]*', child.get(name, '')):
            continue  # files of ROS 1 turn axes by nothing
        if tag not in _MORE or meant(name, _ATTRIBUTES[tag] - child.attrib.keys(), _SIMILAR):
            attributes = ', '.join(sorted(_ATTRIBUTES[tag]))
            raise DescriptionError(file, place, f'{name} of <{tag}> is not one of {attributes}')
        yield f'{tag} {name}'
    for name, value in child.attrib.items():
        if name not in ('link', 'joint') and re.search(r'\d_\d', value):
            raise DescriptionError(file, place, f'{name} of <{tag}> {value!r} is not a number')
    if len(element.findall(tag)) > 1:
        raise DescriptionError(file, place, f'<{tag}> appears twice')
    needed = _NEEDED.get(tag)
    if needed is None:
        return
    text = child.get(needed)
    if text is None:
        raise DescriptionError(file, place, f'<{tag}> has no {needed}="..."')
    if tag == 'mass':
        try:
            float(text)
        except ValueError as error:
            raise DescriptionError(file, place, f'<mass> {text!r} is not a number') from error


def _refuse_misspelt(
    element: ElementTree.Element, children: tuple[str, ...], place: str, file: pathlib.Path
) -> None:
    tag = str(element.tag)
    if near := meant(tag, children, _SIMILAR):
        raise DescriptionError(file, place, f'unknown element <{tag}>{near}')


def _beyond_a_turn(origin: ElementTree.Element) -> bool:
    """Whether angles of an origin look like degrees."""
    try:
        return any(abs(float(word)) > 6.3 for word in origin.get('rpy', '').split())
    except ValueError:
        return False  # the parser says what is wrong


def _without_bounds(part: ElementTree.Element) -> bool:
    """Whether a joint has a limit but no range, though it could; the range is then open."""
    limit = part.find('limit')
    if limit is None or not KINDS.get(str(part.get('type')), FLOATING).ranged:
        return False
    if 'lower' in limit.attrib or 'upper' in limit.attrib:
        return False
    limit.attrib.update(lower='-inf', upper='inf')
    return True
