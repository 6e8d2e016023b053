# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A model as the two texts of a description: URDF and YAML."""

from __future__ import annotations

import copy
import textwrap
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import UNLIMITED, Array, Inertia, Joint
from masticator_dynamics.interchange.robot_model import Frame, Loop, RobotModel

_WIDTH = 96


def with_loop_frames(
    model: RobotModel,
) -> list[tuple[str, str, tuple[str, str], dict[str, float]]]:
    """Give every loop end a link of its own.

    Returns name, type, the two links and, where the type has one, the length of each loop.
    """
    return [
        (
            loop.name, loop.type, (_end(model, loop, 'a'), _end(model, loop, 'b')),
            {'length': loop.length} if loop.type == 'distance' else {},
        )
        for loop in model.loops
    ]  # fmt: skip


def _end(model: RobotModel, loop: Loop, letter: str) -> str:
    frame: Frame = loop.first if letter == 'a' else loop.second
    turned = loop.type not in ('point', 'distance') and not np.array_equal(
        frame.rotation, np.eye(3)
    )
    if not frame.position.any() and not turned:
        return frame.link
    name = model.add_link(f'{loop.name}_{letter}')
    joint = model.free_joint_name(f'{name}_frame')
    rotation = frame.rotation if turned else np.eye(3)
    model.joints.append(
        Joint(joint, 'fixed', frame.link, name, frame.position, rotation, np.zeros(3))
    )
    return name


def urdf_text(model: RobotModel) -> str:
    """The tree as URDF."""
    robot = ElementTree.Element('robot', name=model.name)
    for name, inertia in model.links.items():
        link = ElementTree.SubElement(robot, 'link', name=name)
        if inertia.mass > 0.0 or inertia.about_center.any():
            link.append(_inertial(inertia))
        link.extend(copy.deepcopy(shape) for shape in model.shapes.get(name, ()))
    robot.extend(_joint(joint) for joint in model.tree().joints)
    ElementTree.indent(robot)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(robot, encoding="unicode")}\n'


def _inertial(inertia: Inertia) -> ElementTree.Element:
    element = ElementTree.Element('inertial')
    ElementTree.SubElement(element, 'origin', xyz=_numbers(inertia.center_of_mass))
    ElementTree.SubElement(element, 'mass', value=_number(inertia.mass))
    pairs = (('ixx', 0, 0), ('ixy', 0, 1), ('ixz', 0, 2), ('iyy', 1, 1), ('iyz', 1, 2))
    moments = {name: _number(inertia.about_center[i, j]) for name, i, j in pairs}
    ElementTree.SubElement(element, 'inertia', moments, izz=_number(inertia.about_center[2, 2]))
    return element


def _joint(joint: Joint) -> ElementTree.Element:
    kind = joint.type
    if kind == 'revolute' and np.isinf(joint.upper) and np.isinf(joint.lower):
        kind = 'continuous'
    element = ElementTree.Element('joint', name=joint.name, type=kind)
    angles = roll_pitch_yaw(joint.rotation)
    ElementTree.SubElement(element, 'origin', xyz=_numbers(joint.position), rpy=_numbers(angles))
    ElementTree.SubElement(element, 'parent', link=joint.parent)
    ElementTree.SubElement(element, 'child', link=joint.child)
    if kind != 'fixed':
        ElementTree.SubElement(element, 'axis', xyz=_numbers(joint.axis))
        limits = {'effort': joint.effort, 'velocity': joint.velocity}
        if kind != 'continuous':
            limits |= {'lower': joint.lower, 'upper': joint.upper}
        if kind != 'continuous' or np.isfinite(list(limits.values())).any():
            finite = {k: _number(np.clip(v, -UNLIMITED, UNLIMITED)) for k, v in limits.items()}
            ElementTree.SubElement(element, 'limit', finite)
    return element


def roll_pitch_yaw(rotation: Array) -> Array:
    """Fixed-axis angles (3,) of a rotation, accurate to rounding even at a pitch of 90 degrees.

    There roll and yaw turn about the same axis. Whatever roll is chosen, pitch and yaw follow from
    R Rx(roll)^T = Rz(yaw) Ry(pitch).
    """
    roll = float(np.arctan2(rotation[2, 1], rotation[2, 2]))
    rest = rotation @ Rotation.from_euler('x', -roll).as_matrix()
    pitch, yaw = np.arctan2(-rest[2, 0], rest[2, 2]), np.arctan2(-rest[0, 1], rest[1, 1])
    return np.array([roll, pitch, yaw])


def yaml_text(model: RobotModel, content: dict[str, Any]) -> str:
    """A mechanism file, with the model's notes in a comment at the top."""
    lines = [f'Made by `masticator import` from {model.file.name}.', *model.notes]
    comment = '\n'.join(
        textwrap.fill(
            ' '.join(line.split()),
            _WIDTH,
            initial_indent='# ' if not i else '# - ',
            subsequent_indent='# ' if not i else '#   ',
            break_long_words=False,
        )  # fmt: skip
        for i, line in enumerate(lines)
    )
    # Simple lists and pairs on one line each, as written by hand.
    text = yaml.safe_dump(
        content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH
    )
    return f'{comment}\n{text}'


def _number(value: float) -> str:
    return repr(float(value) + 0.0)


def _numbers(values: Array) -> str:
    return ' '.join(_number(value) for value in values)
