# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF text with the numbers of another tree."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

import numpy as np

from masticator_dynamics.description.urdf import Array, Inertia, Joint, Tree


def angles(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, rad, as in a URDF."""
    flat = float(np.hypot(rotation[0, 0], rotation[1, 0]))
    pitch = float(np.arctan2(-rotation[2, 0], flat))
    if flat < 1e-9:  # roll and yaw turn about the same axis
        return 0.0, pitch, float(np.arctan2(-rotation[0, 1], rotation[1, 1]))
    roll = float(np.arctan2(rotation[2, 1], rotation[2, 2]))
    return roll, pitch, float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def with_tree(text: str, old: Tree, new: Tree) -> str:
    """The text with placements of joints and inertia of links that have changed."""
    root = ElementTree.fromstring(text)
    joints = {a.name: b for a, b in zip(old.joints, new.joints, strict=True) if _moved(a, b)}
    for element in root.findall('joint'):
        if (name := element.get('name', '')) in joints:
            joint = joints[name]
            _place(element, joint.position, angles(joint.rotation))
    for element in root.findall('link'):
        name = element.get('name', '')
        if name in new.links and new.links[name] is not old.links.get(name):
            _set_inertia(element, new.links[name])
    return ElementTree.tostring(root, encoding='unicode')


def _moved(a: Joint, b: Joint) -> bool:
    return a.position is not b.position or a.rotation is not b.rotation


def _child(element: ElementTree.Element, name: str) -> ElementTree.Element:
    found = element.find(name)
    return ElementTree.SubElement(element, name) if found is None else found


def _place(element: ElementTree.Element, position: Iterable[float], rpy: Iterable[float]) -> None:
    origin = _child(element, 'origin')
    origin.set('xyz', ' '.join(repr(float(x)) for x in position))
    origin.set('rpy', ' '.join(repr(float(x)) for x in rpy))


def _set_inertia(link: ElementTree.Element, inertia: Inertia) -> None:
    found = link.find('inertial')
    if found is not None:
        link.remove(found)
    if not inertia.mass and not inertia.about_center.any():
        return
    inertial = ElementTree.SubElement(link, 'inertial')
    _place(inertial, inertia.center_of_mass, (0.0, 0.0, 0.0))
    ElementTree.SubElement(inertial, 'mass').set('value', repr(float(inertia.mass)))
    tensor = ElementTree.SubElement(inertial, 'inertia')
    for i, a in enumerate('xyz'):
        for j, b in enumerate('xyz'[i:], i):
            tensor.set(f'i{a}{b}', repr(float(inertia.about_center[i, j])))
