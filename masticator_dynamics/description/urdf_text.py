# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF text with the numbers of another tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree

from masticator_dynamics.description.urdf import Array, Inertia, Joint, Tree


def numbers(values: Iterable[float]) -> str:
    """Numbers as text, to the last digit."""
    return ' '.join(repr(float(value) + 0.0) for value in values)


def angles(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, rad, as in a URDF.

    Accurate to rounding even at a pitch of 90 degrees, where roll and yaw turn about the same axis.
    Whatever roll is chosen, pitch and yaw follow from R Rx(roll)^T = Rz(yaw) Ry(pitch).
    """
    (_, xy, xz), (_, yy, yz), (zx, zy, zz) = rotation.tolist()
    roll = math.atan2(zy, zz) if math.hypot(zy, zz) > 1e-15 else 0.0
    sine, cosine = math.sin(roll), math.cos(roll)
    pitch = math.atan2(-zx, sine * zy + cosine * zz)
    return roll, pitch, math.atan2(sine * xz - cosine * xy, cosine * yy - sine * yz)


def inertial(inertia: Inertia) -> ElementTree.Element:
    """``<inertial>`` of a body, in the axes of its link."""
    found = ElementTree.Element('inertial')
    ElementTree.SubElement(found, 'origin', xyz=numbers(inertia.center_of_mass))
    ElementTree.SubElement(found, 'mass', value=numbers([inertia.mass]))
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    moments = {f'i{"xyz"[i]}{"xyz"[j]}': numbers([inertia.about_center[i, j]]) for i, j in pairs}
    ElementTree.SubElement(found, 'inertia', moments)
    return found


def with_tree(text: str, old: Tree, new: Tree) -> str:
    """The text with placements of joints and inertia of links that have changed."""
    root = ElementTree.fromstring(text)
    joints = {a.name: b for a, b in zip(old.joints, new.joints, strict=True) if _moved(a, b)}
    for element in root.findall('joint'):
        if (name := element.get('name', '')) in joints:
            _place(element, joints[name])
    for element in root.findall('link'):
        name = element.get('name', '')
        if name in new.links and new.links[name] is not old.links.get(name):
            _set_inertia(element, new.links[name])
    return ElementTree.tostring(root, encoding='unicode')


def _moved(a: Joint, b: Joint) -> bool:
    return a.position is not b.position or a.rotation is not b.rotation


def _place(element: ElementTree.Element, joint: Joint) -> None:
    origin = element.find('origin')
    origin = ElementTree.SubElement(element, 'origin') if origin is None else origin
    origin.set('xyz', numbers(joint.position))
    origin.set('rpy', numbers(angles(joint.rotation)))


def _set_inertia(link: ElementTree.Element, inertia: Inertia) -> None:
    found = link.find('inertial')
    if found is not None:
        link.remove(found)
    if inertia.mass or inertia.about_center.any():
        link.append(inertial(inertia))
