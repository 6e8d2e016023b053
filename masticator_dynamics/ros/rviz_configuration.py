# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of a mechanism: the jaw's configuration with what differs, from the description.

Topics are relative: RViz runs in the namespace of the nodes.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.visuals import Shape, shapes
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.mechanism import Mechanism

FILE = 'rviz/masticator.rviz'  # of the jaw; what is the same for all mechanisms stands there alone
# Nodes that draw, on topics below their names.
DRAWINGS = 'dynamics', 'inertia_coupling', 'frame_path'
_DISTANCE = 2.8  # of the camera, in sizes of the mechanism, at least
_HALF_VIEW = 0.93 * math.tan(math.radians(22.5))  # of its height per distance, and a little margin


def configuration(
    mechanism: Mechanism, frame_prefix: str = '', nodes: Iterable[str] = DRAWINGS
) -> str:
    """A file for ``rviz2 -d``: view, grid and displays that fit the mechanism.

    Parameters
    ----------
    frame_prefix : str
        Of all frames, as robot_state_publisher puts it before them.
    nodes : iterable of str
        Of `DRAWINGS`, those whose drawings are shown.

    Raises
    ------
    InputError
        For a prefix that RViz cannot show.
    """
    text = (share_directory() / FILE).read_text(encoding='utf-8')
    content, nodes = yaml.safe_load(text), list(nodes)
    manager = content['Visualization Manager']
    grid, robot, frames, *drawings = manager['Displays']
    grid |= _grid(mechanism)
    robot['TF Prefix'] = tf_prefix(frame_prefix)
    if 'dynamics' not in nodes:  # forces, some of which act inside and behind the robot
        robot['Alpha'] = 1.0
    named = '|'.join(re.escape(f'{frame_prefix}{name}') for name in named_frames(mechanism))
    frames['Filter (whitelist)'] = f'^({named})$'  # RViz has a switch for each of the others
    frames['Marker Scale'] = _rounded(0.5 * mechanism.structure.extent())
    shown = [d for d in drawings if d['Topic']['Value'].partition('/')[0] in nodes]
    manager['Displays'] = [grid, robot, frames, *shown]
    manager['Global Options']['Fixed Frame'] = frame_prefix + mechanism.description.base
    view = manager['Views']['Current']
    view |= _view(mechanism, view['Yaw'], view['Pitch'])
    head = itertools.takewhile(lambda line: line.startswith('#'), text.splitlines(keepends=True))
    return ''.join(head) + yaml.safe_dump(content, sort_keys=False, width=100)


def tf_prefix(frame_prefix: str) -> str:
    """The prefix for RViz's RobotModel, which puts a slash between it and the name of a link.

    Raises
    ------
    InputError
        For a prefix that does not end with a slash.
    """
    inside = frame_prefix.strip('/')
    if frame_prefix and not (inside and frame_prefix == f'{inside}/'):
        raise InputError(
            f'frame_prefix is {frame_prefix!r}: RViz shows robots only with prefixes that end with '
            f'one slash, such as {inside.strip("_") or "left"}/ (gui:=false goes without)'
        )
    return frame_prefix.removesuffix('/')


def box_at_home(mechanism: Mechanism) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner (3,) of joints, loops and contacts at home, base axes, m."""
    tree, description = mechanism.structure.tree, mechanism.description
    poses = tree.poses(mechanism.structure.in_floats.home)
    ends = [frame for closure in description.closures for frame in closure.frames]
    frames = [*ends, *(c.frame for c in description.contacts), description.platform]
    corners = [poses.point(tree.frames[f].body, tree.frames[f].position) for f in frames]
    corners.extend(poses.origins)
    return np.min(corners, axis=0), np.max(corners, axis=0)


def grid_cell(extent: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size / 2.5, m."""
    most = extent / 2.5
    power = 10.0 ** math.floor(math.log10(most))
    cell = max(base * power for base in (1, 2, 5) if base * power <= most * (1.0 + 1e-12))
    return float(f'{cell:.3g}')


def named_frames(mechanism: Mechanism) -> list[str]:
    """Frames that mean something to people: base, platform, contacts, and points of the platform.

    Not those at which loops are closed.
    """
    description, frames = mechanism.description, mechanism.structure.tree.frames
    closed = {frame for closure in description.closures for frame in closure.frames}
    platform = frames[description.platform].body
    points = [name for name, placement in frames.items() if placement.body == platform]
    contacts = [contact.frame for contact in description.contacts]
    wanted = [description.base, description.platform, *contacts, *points]
    return list(dict.fromkeys(name for name in wanted if name not in closed))


def drawn_points(mechanism: Mechanism) -> FloatArray:
    """Corners (N, 3) of the boxes around the drawn shapes at home, base axes, m; meshes without."""
    description, tree = mechanism.description, mechanism.structure.tree
    poses = tree.poses(mechanism.structure.in_floats.home)
    corners = []
    for shape in shapes(description.urdf_xml, description.urdf_file.parent)[0]:
        turn = Rotation.from_euler('xyz', shape.angles).as_matrix()
        frame = tree.frames[shape.link]
        for corner in itertools.product((-1.0, 1.0), repeat=3):
            in_link = shape.position + turn @ (corner * _half_sizes(shape))
            in_body = frame.position + frame.rotation @ in_link
            corners.append(poses.point(frame.body, in_body))
    return np.array(corners).reshape(-1, 3)


def _half_sizes(shape: Shape) -> FloatArray:
    if shape.kind == 'box':
        return 0.5 * np.array(shape.size)
    if shape.kind == 'cylinder':
        return np.array([shape.size[0], shape.size[0], 0.5 * shape.size[1]])
    return np.full(3, shape.size[0] if shape.kind == 'sphere' else 0.0)


def _distance(mechanism: Mechanism, middle: FloatArray, yaw: float, pitch: float) -> float:
    """From which joints fill the window well, and all that is drawn is inside, m."""
    along = np.array([
        np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch),
    ])  # fmt: skip
    aside = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    away = drawn_points(mechanism) - middle
    across = np.maximum(np.abs(away @ aside), np.abs(away @ np.cross(along, aside)))
    needed = (across / _HALF_VIEW + away @ along).max(initial=0.0)
    return max(_DISTANCE * mechanism.structure.extent(), float(needed))


def _view(mechanism: Mechanism, yaw: float, pitch: float) -> dict[str, Any]:
    lowest, highest = box_at_home(mechanism)
    middle = 0.5 * (lowest + highest)
    return {
        'Distance': _rounded(_distance(mechanism, middle, yaw, pitch)),
        'Focal Point': _vector(middle),
        'Near Clip Distance': _rounded(0.01 * mechanism.structure.extent()),
    }


def _grid(mechanism: Mechanism) -> dict[str, Any]:
    """A floor below the mechanism, square to gravity."""
    lowest, highest = box_at_home(mechanism)
    extent = mechanism.structure.extent()
    gravity = np.array(mechanism.description.gravity)
    down = int(np.abs(gravity).argmax()) if gravity.any() else 2
    offset = 0.5 * (lowest + highest)
    below = lowest[down] - 0.2 * extent
    offset[down] = below if gravity[down] <= 0.0 else highest[down] + 0.2 * extent
    plane = ('YZ', 'XZ', 'XY')[down]
    return {'Cell Size': grid_cell(extent), 'Offset': _vector(offset), 'Plane': plane}


def _vector(values: FloatArray) -> dict[str, float]:
    return {axis: _rounded(value) for axis, value in zip('XYZ', values.tolist(), strict=True)}


def _rounded(value: float) -> float:
    """Four digits, and no negative zero: the file of a mechanism is then always the same."""
    return float(f'{value:.4g}') + 0.0
