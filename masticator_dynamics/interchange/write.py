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

from masticator_dynamics.description.urdf import UNLIMITED, Joint
from masticator_dynamics.description.urdf_text import angles, inertial, numbers
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
            loop.name, loop.kind.name, (_end(model, loop, 'a'), _end(model, loop, 'b')),
            {key: getattr(loop, key) for key in loop.kind.dimensions},
        )
        for loop in model.loops
    ]  # fmt: skip


def _end(model: RobotModel, loop: Loop, letter: str) -> str:
    frame: Frame = loop.first if letter == 'a' else loop.second
    turned = loop.kind.oriented and not np.array_equal(frame.rotation, np.eye(3))
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
            link.append(inertial(inertia))
        link.extend(copy.deepcopy(shape) for shape in model.shapes.get(name, ()))
    robot.extend(_joint(joint) for joint in model.tree().joints)
    ElementTree.indent(robot)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(robot, encoding="unicode")}\n'


def _joint(joint: Joint) -> ElementTree.Element:
    kind = joint.urdf_type
    if kind == 'revolute' and np.isinf(joint.upper) and np.isinf(joint.lower):
        kind = 'continuous'
    element = ElementTree.Element('joint', name=joint.name, type=kind)
    place = {'xyz': numbers(joint.position), 'rpy': numbers(angles(joint.rotation))}
    ElementTree.SubElement(element, 'origin', place)
    ElementTree.SubElement(element, 'parent', link=joint.parent)
    ElementTree.SubElement(element, 'child', link=joint.child)
    if kind != 'fixed':
        ElementTree.SubElement(element, 'axis', xyz=numbers(joint.axis))
        limits = {'effort': joint.effort, 'velocity': joint.velocity}
        if kind != 'continuous':
            limits |= {'lower': joint.lower, 'upper': joint.upper}
        if kind != 'continuous' or np.isfinite(list(limits.values())).any():
            finite = {k: numbers([np.clip(v, -UNLIMITED, UNLIMITED)]) for k, v in limits.items()}
            ElementTree.SubElement(element, 'limit', finite)
    return element


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
