# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What RViz shows of a mechanism: its configuration, made from the description.

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
from masticator_dynamics.mechanism import Mechanism

# What nodes draw: title, topic, and whether it is seen from the start.
DRAWINGS = {
    'dynamics': ('Forces', 'dynamics/markers', True),
    'inertia_coupling': ('Inertia coupling', 'inertia_coupling/markers', False),
    'frame_path': ('Path', 'frame_path/path', True),
}
_SEEN_THROUGH = 0.65  # opacity of a robot with forces, some of which act inside and behind it
_BACKGROUND = '70; 76; 84'  # white names, dark motors and light teeth are all seen on it
_DISTANCE = 2.8  # of the camera, in sizes of the mechanism, at least
_HALF_VIEW = 0.93 * math.tan(math.radians(22.5))  # of its height per distance, and a little margin
_YAW, _PITCH = 0.6, 0.3  # rad: from the front, the left, and above
_HEAD = """\
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
#
# Made from the description by python -m tools.rviz_file; launch files make one for each mechanism.
# Topics are relative: start RViz in the namespace of the nodes.
"""


def configuration(
    mechanism: Mechanism, frame_prefix: str = '', nodes: Iterable[str] = DRAWINGS
) -> str:
    """A file for ``rviz2 -d``: view, grid and displays that fit the mechanism.

    Parameters
    ----------
    frame_prefix : str
        Of all frames, as robot_state_publisher puts it before them.
    nodes : iterable of str
        Keys of `DRAWINGS`: the nodes whose drawings are shown.

    Raises
    ------
    InputError
        For a prefix that RViz cannot show.
    """
    nodes = list(nodes)
    opacity = _SEEN_THROUGH if 'dynamics' in nodes else 1.0
    displays = [
        _grid(mechanism),
        _robot(tf_prefix(frame_prefix), opacity),
        _frames(mechanism, frame_prefix),
        *(_drawing(node) for node in nodes),
    ]
    manager = {
        'Class': '',
        'Displays': displays,
        'Enabled': True,
        'Global Options': {
            'Background Color': _BACKGROUND,
            'Fixed Frame': frame_prefix + mechanism.description.base,
            'Frame Rate': 30,
        },
        'Name': 'root',
        'Tools': [
            {'Class': f'rviz_default_plugins/{tool}'}
            for tool in ('MoveCamera', 'Select', 'FocusCamera', 'Measure')
        ],
        'Transformation': {'Current': {'Class': 'rviz_default_plugins/TF'}},
        'Value': True,
        'Views': {'Current': _view(mechanism), 'Saved': None},
    }
    content = {
        'Panels': [_panel()],
        'Visualization Manager': manager,
        'Window Geometry': {
            'Displays': {'collapsed': False},
            'Hide Left Dock': False,
            'Hide Right Dock': True,
            'Height': 800,
            'Width': 1200,
        },
    }
    return _HEAD + yaml.safe_dump(content, sort_keys=False, width=100)


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


def _distance(mechanism: Mechanism, middle: FloatArray) -> float:
    """From which joints fill the window well, and all that is drawn is inside, m."""
    along = np.array([
        np.cos(_YAW) * np.cos(_PITCH), np.sin(_YAW) * np.cos(_PITCH), np.sin(_PITCH),
    ])  # fmt: skip
    aside = np.array([-np.sin(_YAW), np.cos(_YAW), 0.0])
    away = drawn_points(mechanism) - middle
    across = np.maximum(np.abs(away @ aside), np.abs(away @ np.cross(along, aside)))
    needed = (across / _HALF_VIEW + away @ along).max(initial=0.0)
    return max(_DISTANCE * mechanism.structure.extent(), float(needed))


def _view(mechanism: Mechanism) -> dict[str, Any]:
    lowest, highest = box_at_home(mechanism)
    middle, extent = 0.5 * (lowest + highest), mechanism.structure.extent()
    return {
        'Class': 'rviz_default_plugins/Orbit',
        'Name': 'Current View',
        'Distance': _rounded(_distance(mechanism, middle)),
        'Focal Point': _vector(middle),
        'Focal Shape Fixed Size': True,
        'Focal Shape Size': 0.02,
        'Near Clip Distance': _rounded(0.01 * extent),
        'Pitch': _PITCH,
        'Target Frame': '<Fixed Frame>',
        'Value': 'Orbit (rviz)',
        'Yaw': _YAW,
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
    return _display(
        'Grid', 'Grid', True,
        {
            'Alpha': 0.4,
            'Cell Size': grid_cell(extent),
            'Color': '160; 160; 164',
            'Normal Cell Count': 0,
            'Offset': _vector(offset),
            'Plane': ('YZ', 'XZ', 'XY')[down],
            'Plane Cell Count': 10,
            'Reference Frame': '<Fixed Frame>',
        },
    )  # fmt: skip


def _robot(prefix: str, opacity: float) -> dict[str, Any]:
    topic = _topic('robot_description', 'Transient Local')
    return _display(
        'RobotModel', 'Robot', True,
        {
            'Alpha': opacity,
            'Collision Enabled': False,
            'Description Source': 'Topic',
            'Description Topic': topic,
            'TF Prefix': prefix,
            'Update Interval': 0,
            'Visual Enabled': True,
        },
    )  # fmt: skip


def _frames(mechanism: Mechanism, prefix: str) -> dict[str, Any]:
    """Axes and names; of all the frames only those that mean something to people.

    By a filter: RViz enables frames that a configuration does not name.
    """
    named = '|'.join(re.escape(f'{prefix}{name}') for name in named_frames(mechanism))
    return _display(
        'TF', 'Frames', False,
        {
            'Filter (whitelist)': f'^({named})$',
            'Frame Timeout': 15,
            'Marker Scale': _rounded(0.5 * mechanism.structure.extent()),
            'Show Arrows': False,
            'Show Axes': True,
            'Show Names': True,
            'Update Interval': 0,
        },
    )  # fmt: skip


def _drawing(node: str) -> dict[str, Any]:
    title, topic, seen = DRAWINGS[node]
    kind = 'Marker' if topic.endswith('path') else 'MarkerArray'
    return _display(kind, title, seen, {'Namespaces': {}, 'Topic': _topic(topic, 'Volatile')})


def _display(kind: str, name: str, seen: bool, settings: dict[str, Any]) -> dict[str, Any]:
    head = {'Class': f'rviz_default_plugins/{kind}', 'Name': name, 'Enabled': seen, 'Value': seen}
    return head | settings


def _topic(name: str, durability: str) -> dict[str, Any]:
    return {
        'Depth': 5,
        'Durability Policy': durability,
        'History Policy': 'Keep Last',
        'Reliability Policy': 'Reliable',
        'Value': name,
    }


def _panel() -> dict[str, Any]:
    return {
        'Class': 'rviz_common/Displays',
        'Help Height': 0,
        'Name': 'Displays',
        'Property Tree Widget': {'Expanded': ['/Global Options1'], 'Splitter Ratio': 0.5},
        'Tree Height': 400,
    }


def _vector(values: FloatArray) -> dict[str, float]:
    return {axis: _rounded(value) for axis, value in zip('XYZ', values.tolist(), strict=True)}


def _rounded(value: float) -> float:
    """Four digits, and no negative zero: the file of a mechanism is then always the same."""
    return float(f'{value:.4g}') + 0.0
