# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What links look like: the <visual> elements of a URDF."""

from __future__ import annotations

import dataclasses
import pathlib
from xml.etree import ElementTree

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

_GREY = (150, 150, 150)


@dataclasses.dataclass(frozen=True)
class Shape:
    """A primitive or a mesh fixed to a link.

    Attributes
    ----------
    link : str
    kind : str
        'box', 'cylinder', 'sphere' or 'mesh'.
    size : tuple of float
        m: edges of a box; radius and length of a cylinder along z; radius of a sphere; scale of a
        mesh.
    position, angles : array, shape (3,)
        Pose of the shape in the link: m, and roll, pitch, yaw about its fixed axes, rad.
    colour : tuple of int
        Red, green, blue, 0 to 255.
    file : pathlib.Path or None
        File of a mesh.
    """

    link: str
    kind: str
    size: tuple[float, ...]
    position: FloatArray
    angles: FloatArray
    colour: tuple[int, int, int]
    file: pathlib.Path | None = None


def shapes(urdf_xml: str, folder: pathlib.Path) -> tuple[list[Shape], list[str]]:
    """Shapes of all links, and a sentence for each that cannot be shown.

    Parameters
    ----------
    folder
        Folder of the URDF: meshes are looked up in it.
    """
    robot = ElementTree.fromstring(urdf_xml)
    palette = {
        material.get('name'): _colour(material)
        for material in robot.findall('material')
        if material.find('color') is not None
    }
    found, missing = [], []
    for link in robot.findall('link'):
        for visual in link.findall('visual'):
            shape = _shape(str(link.get('name')), visual, palette, folder)
            if isinstance(shape, Shape):
                found.append(shape)
            else:
                missing.append(shape)
    return found, missing


def _shape(
    link: str,
    visual: ElementTree.Element,
    palette: dict[str | None, tuple[int, int, int]],
    folder: pathlib.Path,
) -> Shape | str:
    origin = visual.find('origin')
    position = _numbers(origin, 'xyz', '0 0 0')
    angles = _numbers(origin, 'rpy', '0 0 0')
    material = visual.find('material')
    colour = _GREY
    if material is not None:
        own = material.find('color') is not None
        colour = _colour(material) if own else palette.get(material.get('name'), _GREY)
    geometry = next(iter(visual.findall('geometry/*')), None)
    kind = '' if geometry is None else geometry.tag
    if kind == 'box':
        size = tuple(_numbers(geometry, 'size', '0 0 0').tolist())
    elif kind == 'cylinder':
        size = tuple(float(_numbers(geometry, key, '0')[0]) for key in ('radius', 'length'))
    elif kind == 'sphere':
        size = (float(_numbers(geometry, 'radius', '0')[0]),)
    elif kind == 'mesh' and geometry is not None:
        name = geometry.get('filename', '')
        file = folder / name.removeprefix('file://')
        if '://' in name.removeprefix('file://') or not file.is_file():
            return f'link {link}: the mesh {name!r} is not there and is not shown'
        scale = tuple(_numbers(geometry, 'scale', '1 1 1').tolist())
        return Shape(link, kind, scale, position, angles, colour, file)
    else:
        return f'link {link}: a {kind or "visual without geometry"} is not shown'
    return Shape(link, kind, size, position, angles, colour)


def _numbers(element: ElementTree.Element | None, key: str, default: str) -> FloatArray:
    text = default if element is None else element.get(key, default)
    return np.array([float(number) for number in text.split()])


def _colour(material: ElementTree.Element) -> tuple[int, int, int]:
    red, green, blue, *_ = _numbers(material.find('color'), 'rgba', '0.6 0.6 0.6 1')
    return round(255 * red), round(255 * green), round(255 * blue)
