# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What links look like: the <visual> elements of a URDF."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Mapping
from xml.etree import ElementTree

import numpy as np

from masticator_dynamics.files.tables import FloatArray

_GREY = (150, 150, 150)


@dataclasses.dataclass(frozen=True)
class Shape:
    """A primitive or a mesh fixed to a link."""

    link: str
    where: str  # which element it is, for messages
    kind: str  # 'box', 'cylinder', 'sphere' or 'mesh'
    # m: edges of a box; radius and length of a cylinder along z; radius of a sphere; scale of a
    # mesh.
    size: tuple[float, ...]
    # (3,): pose of the shape in the link: m, and roll, pitch, yaw about its fixed axes, rad.
    position: FloatArray
    angles: FloatArray
    colour: tuple[int, int, int]  # red, green, blue, 0 to 255
    file: pathlib.Path | None = None  # file of a mesh


def shapes(urdf_xml: str, folder: pathlib.Path) -> tuple[list[Shape], list[str]]:
    """Shapes of all links, and a sentence for each that cannot be shown as written.

    Parameters
    ----------
    folder : pathlib.Path
        Folder of the URDF: meshes are looked up in it.
    """
    robot = ElementTree.fromstring(urdf_xml)
    palette = {
        str(material.get('name')): material
        for material in (*robot.findall('link/visual/material'), *robot.findall('material'))
        if material.find('color') is not None
    }
    visible, doubts = [], []
    for link in robot.findall('link'):
        name = str(link.get('name'))
        for number, visual in enumerate(link.findall('visual'), start=1):
            where = f'link {name}, visual {number}'
            try:
                colour = _colour(visual, palette)
            except ValueError as error:
                doubts.append(f'{where}: {error}; it is shown in grey')
                colour = _GREY
            try:
                visible.append(_shape(name, where, visual, colour, folder))
            except ValueError as error:
                doubts.append(f'{where}: {error}; it is not shown')
    return visible, doubts


def _shape(
    link: str,
    where: str,
    visual: ElementTree.Element,
    colour: tuple[int, int, int],
    folder: pathlib.Path,
) -> Shape:
    """Raises ValueError saying which element is wrong, and how."""
    geometries = visual.findall('geometry/*')
    if len(geometries) != 1:
        raise ValueError(f'<geometry> has {len(geometries)} shapes, not one')
    geometry = geometries[0]
    origin = visual.find('origin')
    position = _numbers(origin, 'xyz', 3, '0 0 0')
    angles = _numbers(origin, 'rpy', 3, '0 0 0')
    kind, file = geometry.tag, None
    if kind == 'box':
        size = _sizes(geometry, 'size', 3)
    elif kind == 'cylinder':
        size = _sizes(geometry, 'radius', 1) + _sizes(geometry, 'length', 1)
    elif kind == 'sphere':
        size = _sizes(geometry, 'radius', 1)
    elif kind == 'mesh':
        size = tuple(_numbers(geometry, 'scale', 3, '1 1 1').tolist())  # negative: mirrored
        if 0.0 in size:
            raise ValueError('<mesh>: its scale is zero')
        file = _mesh_file(geometry.get('filename', ''), folder)
    else:
        raise ValueError(f'a <{kind}> is not drawn')
    return Shape(link, where, kind, size, position, angles, colour, file)


def _mesh_file(name: str, folder: pathlib.Path) -> pathlib.Path:
    file = folder / name.removeprefix('file://')
    if '://' in name.removeprefix('file://') or not os.path.isfile(file):  # whatever the name
        raise ValueError(f'the mesh {name!r} is not there')
    return file


def _sizes(element: ElementTree.Element, key: str, count: int) -> tuple[float, ...]:
    sizes = tuple(_numbers(element, key, count).tolist())
    if min(sizes) <= 0.0:
        raise ValueError(f'<{element.tag}>: {key} is {element.get(key)!r}, expected above 0 m')
    return sizes


def _numbers(
    element: ElementTree.Element | None, key: str, count: int, default: str = ''
) -> FloatArray:
    text = default if element is None else element.get(key, default)
    try:
        numbers = np.array([float(number) for number in text.split()])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != count or not np.isfinite(numbers).all():
        tag = '' if element is None else element.tag
        expected = 'a finite number' if count == 1 else f'{count} finite numbers'
        raise ValueError(f'<{tag}>: {key} is {text[:60]!r}, expected {expected}')
    return numbers


def _colour(
    visual: ElementTree.Element, palette: Mapping[str, ElementTree.Element]
) -> tuple[int, int, int]:
    """Colour of a visual's material, its own or one of that name."""
    material = visual.find('material')
    if material is None:
        return _GREY
    if material.find('color') is None:
        name = str(material.get('name'))
        if name not in palette:
            raise ValueError(f'<material>: {name!r} has no colour')
        material = palette[name]
    rgba = _numbers(material.find('color'), 'rgba', 4)
    if rgba.min() < 0.0 or rgba.max() > 1.0:
        raise ValueError(f'<color>: rgba is {rgba.tolist()}, expected 0 to 1')
    red, green, blue = np.rint(255.0 * rgba[:3]).astype(int).tolist()
    return red, green, blue
