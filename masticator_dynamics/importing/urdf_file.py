# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads URDF with ``<mimic>`` and the elements that other tools add to close loops.

Loops: ``<constraint>`` (urdfdom pull request 264), ``<loop_joint>`` (Isaac), ``<gazebo><joint>``,
``<drake:ball_constraint>``, and the frames ``closing_*`` of onshape-to-robot.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import urdf
from masticator_dynamics.description.urdf import Array
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.xml_file import root_element
from masticator_dynamics.importing.robot_model import (
    Frame,
    ImportedMotor,
    JointCoupling,
    Loop,
    RobotModel,
    axis_in,
    numbers_in,
)

_TYPES = {
    'ball': 'point', 'spherical': 'point', 'point': 'point', 'revolute': 'hinge',
    'continuous': 'hinge', 'hinge': 'hinge', 'fixed': 'weld', 'weld': 'weld',
    'universal': 'universal', 'cylindrical': 'cylindrical', 'prismatic': 'slider',
}  # fmt: skip
_DRAKE = '{http://drake.mit.edu}'


def read_urdf(file: pathlib.Path, arguments: Mapping[str, str] | None = None) -> RobotModel:
    """Model of a URDF or xacro file.

    Parameters
    ----------
    file : pathlib.Path
        The file.
    arguments : mapping, optional
        Values of the xacro file's arguments.

    Raises
    ------
    DescriptionError
        For anything unreadable or probably misspelt.
    """
    text, _ = urdf.expansion(file, dict(arguments or {}))
    root = root_element(text, file, 'URDF')
    loops = list(_loops(root, file))
    floating = [joint for joint in root.findall('joint') if joint.get('type') == 'floating']
    for joint in floating:
        joint.set('type', 'fixed')
    tree = urdf.parse(ElementTree.tostring(root, encoding='unicode'), file)
    model = RobotModel(
        file, str(root.get('name') or file.stem), tree.root, dict(tree.links), list(tree.joints)
    )
    model.notes += tree.warnings
    for name in (str(joint.get('name')) for joint in floating):
        model.change(name, type='floating')
        model.floating[name] = f'joint {name}'
    model.couplings = [
        JointCoupling(f'{m.joint}_mimic', m.joint, m.other, (m.offset, m.multiplier))
        for m in tree.mimics
    ]
    model.loops = loops or list(_closing_frames(tree))
    model.shapes = {
        str(link.get('name')): [*link.findall('visual'), *link.findall('collision')]
        for link in ElementTree.fromstring(text.encode()).findall('link')
    }
    for loop in model.loops:
        for frame in (loop.first, loop.second):
            if frame.link not in model.links:
                reason = f'link {frame.link!r} does not exist in the URDF'
                raise DescriptionError(file, loop.name, reason)
    model.damping = {joint.name: joint.damping for joint in tree.joints if joint.damping}
    model.dry = {joint.name: joint.friction for joint in tree.joints if joint.friction}
    model.motors = {name: ImportedMotor() for name in _driven(root) if model.has_moving(name)}
    return model


def _driven(root: ElementTree.Element) -> Iterator[str]:
    """Joints with a command interface (ros2_control) or a transmission."""
    for joint in root.findall('ros2_control/joint'):
        if joint.find('command_interface') is not None:
            yield str(joint.get('name'))
    for joint in root.findall('transmission/joint'):
        yield str(joint.get('name'))


def _loops(root: ElementTree.Element, file: pathlib.Path) -> Iterator[Loop]:
    """Remove elements that close loops from the robot, and yield the loops."""
    for element in list(root):
        tag = str(element.tag)
        if tag in ('constraint', 'loop_joint'):
            root.remove(element)
            yield _two_ended(element, file)
        elif tag == f'{_DRAKE}ball_constraint':
            root.remove(element)
            yield _drake_ball(element, file)
        elif tag == 'gazebo':
            yield from (_gazebo(joint, root, file) for joint in element.findall('joint'))


def _two_ended(element: ElementTree.Element, file: pathlib.Path) -> Loop:
    """``<loop_joint>`` or ``<constraint>``: two links, each with an origin and perhaps an axis."""
    place = f'{element.tag} {element.get("name")}'
    ends = [end for end in element if end.tag in ('link1', 'link2', 'parent', 'child')]
    if len(ends) != 2 or not all(end.get('link') for end in ends):
        raise DescriptionError(file, place, 'does not name two links')
    frames = []
    for end in ends:
        origin, axis = (element.find(f'{end.tag}_{part}') for part in ('origin', 'axis'))
        axis = element.find('axis') if axis is None else axis
        position, rotation = _placement(end if origin is None else origin, file, place)
        if axis is not None:
            rotation = rotation @ rotation_to(axis_in(axis.get('xyz', '0 0 1'), file, place))
        frames.append(Frame(str(end.get('link')), position, rotation))
    kind = _type(element.get('type'), file, place)
    return Loop(str(element.get('name') or element.tag), kind, *frames)


def _drake_ball(element: ElementTree.Element, file: pathlib.Path) -> Loop:
    place = 'drake:ball_constraint'
    frames = []
    for body_tag, point_tag in (('body_A', 'p_AP'), ('body_B', 'p_BQ')):
        body = element.find(f'{_DRAKE}ball_constraint_{body_tag}')
        point = element.find(f'{_DRAKE}ball_constraint_{point_tag}')
        if body is None or point is None:
            raise DescriptionError(file, place, f'has no {body_tag} or no {point_tag}')
        offset = np.array(numbers_in(point.get('value', ''), 3, file, f'{place} value'))
        frames.append(Frame(str(body.get('name')), offset, np.eye(3)))
    return Loop(str(element.get('name') or 'ball_constraint'), 'point', *frames)


def _gazebo(joint: ElementTree.Element, root: ElementTree.Element, file: pathlib.Path) -> Loop:
    """``<gazebo><joint>``: a joint as in SDF, with its pose in its child."""
    name = str(joint.get('name'))
    place = f'gazebo joint {name}'
    parent, child = ((joint.findtext(tag) or '').strip() for tag in ('parent', 'child'))
    pose, axis = joint.findtext('pose') or '0 0 0 0 0 0', joint.findtext('axis/xyz') or '0 0 1'
    numbers = numbers_in(pose, 6, file, f'{place} pose')
    rotation = Rotation.from_euler('xyz', numbers[3:]).as_matrix()
    turned = rotation @ rotation_to(axis_in(axis, file, f'{place} axis'))
    second = Frame(child, np.array(numbers[:3]), turned)
    position, rotation = _relative(root, parent, child, file, place)
    first = Frame(parent, position + rotation @ second.position, rotation @ second.rotation)
    return Loop(name, _type(joint.get('type'), file, place), first, second)


def _relative(
    root: ElementTree.Element, parent: str, child: str, file: pathlib.Path, place: str
) -> tuple[Array, Array]:
    """Placement of one link in another with all joints at 0."""
    holders = {
        joint.find('child').get('link'): joint  # type: ignore[union-attr]
        for joint in root.findall('joint')
        if joint.find('child') is not None and joint.find('parent') is not None
    }

    def in_root(link: str) -> tuple[Array, Array]:
        position, rotation = np.zeros(3), np.eye(3)
        for _ in range(len(holders) + 1):
            if link not in holders:
                return position, rotation
            joint = holders[link]
            p, r = _placement(joint.find('origin'), file, place)
            position, rotation = p + r @ position, r @ rotation
            link = str(joint.find('parent').get('link'))  # type: ignore[union-attr]
        raise DescriptionError(file, place, 'its links hang in a ring of parents')

    (p_a, r_a), (p_b, r_b) = in_root(parent), in_root(child)
    return r_a.T @ (p_b - p_a), r_a.T @ r_b


def _closing_frames(tree: urdf.Tree) -> Iterator[Loop]:
    """Frames of onshape-to-robot: ``closing_NAME_1`` and ``closing_NAME_2`` coincide."""
    names = [name for name in tree.links if name.startswith('closing_')]
    for name in sorted(names):
        stem, _, number = name.rpartition('_')
        if number == '1' and f'{stem}_2' in names:
            yield Loop(stem, 'point', Frame.of(name), Frame.of(f'{stem}_2'))


def _type(kind: str | None, file: pathlib.Path, place: str) -> str:
    if kind not in _TYPES:
        raise DescriptionError(file, place, f'type {kind!r} is not one of {", ".join(_TYPES)}')
    return _TYPES[kind]


def _placement(
    origin: ElementTree.Element | None, file: pathlib.Path, place: str
) -> tuple[Array, Array]:
    if origin is None:
        return np.zeros(3), np.eye(3)
    position = np.array(numbers_in(origin.get('xyz', '0 0 0'), 3, file, f'{place} xyz'))
    angles = numbers_in(origin.get('rpy', '0 0 0'), 3, file, f'{place} rpy')
    return position, Rotation.from_euler('xyz', angles).as_matrix()
