# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``frame_path``: where a frame, such as the incisor, has been recently, for RViz."""

from __future__ import annotations

import collections
import dataclasses
import functools

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.ros.common.managed_node import FRAME_PREFIX, ManagedNode, parameter
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    JointReading,
    JointStateRuntime,
    JointStateSettings,
)

_STEP = 20_000_000  # ns between points; 50 per second look smooth
_PERIOD = 40_000_000  # ns between drawings
_RED, _GREEN, _BLUE = 0.3, 0.9, 1.0
_THIN = 0.007  # width of a line, relative to the size of the mechanism


@dataclasses.dataclass(frozen=True)
class FramePathSettings(JointStateSettings):
    """Values of the parameters; units are in their descriptions."""

    frame: str = parameter(
        '',
        'URDF frame whose origin draws the path; empty: the platform.',
        constraints='a link of the URDF, or empty',
    )
    duration: float = parameter(
        3.0, 'How far back the path goes, s.', interval=(0.1, 60.0), read_only=False
    )
    line_width: float = parameter(
        0.0,
        'Of the line in RViz, m; 0: as fits the size of the mechanism, for the masticator 1 mm.',
        interval=(0.0, 0.1),
        read_only=False,
    )
    aside: float = parameter(
        0.0,
        'How far from where the frame has been the line is drawn, horizontally outwards, so that '
        'links do not hide it; in sizes of the mechanism (masticator: 0.14 m).',
        interval=(0.0, 1.0),
        read_only=False,
    )
    frame_prefix: str = FRAME_PREFIX


class FramePath(JointStateRuntime):
    """Turns topic ``joint_states`` into topic ``~/path``.

    Raises
    ------
    InputError
        For an unknown frame.
    """

    def __init__(self, node: ManagedNode, settings: FramePathSettings):
        mechanism = Mechanism.load(settings.mechanism)
        frame = settings.frame or mechanism.description.platform
        self._chain = FrameChain(mechanism, frame)
        self._size = mechanism.structure.extent()
        self._outward = _outward(mechanism, self._chain)
        self._points: collections.deque[tuple[int, Point]] = collections.deque()
        self._drawn = 0  # ns
        marker = Marker(ns=frame, type=Marker.LINE_STRIP, action=Marker.ADD)
        marker.pose.orientation.w = 1.0
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = _RED, _GREEN, _BLUE, 1.0
        marker.header.frame_id = settings.frame_prefix + mechanism.description.base
        self._marker, does = marker, f'path of {frame}'
        super().__init__(node, settings, mechanism, 'joint_states', '~/path', marker, (), does)

    def activate(self) -> str:
        """Start drawing an empty path."""
        self._points.clear()
        return super().activate()

    def answer(self, now: int, frame: str, reading: JointReading) -> tuple[()] | None:
        """The path, at most 25 times a second."""
        points = self._points
        if points and now < points[-1][0]:
            points.clear()  # the clock was set back, as when a bag restarts
        if points and now - points[-1][0] < _STEP:
            return None
        position, _ = self._chain.poses(reading.motion.q)
        x, y, z = position.tolist()
        points.append((now, Point(x=x, y=y, z=z)))
        while now - points[0][0] > self._settings.duration * 1e9:
            points.popleft()
        if 0 <= now - self._drawn < _PERIOD:
            return None
        self._drawn = now
        marker = self._marker
        marker.scale.x = self._settings.line_width or _THIN * self._size
        aside = self._settings.aside * self._size * self._outward
        place = marker.pose.position
        place.x, place.y, place.z = aside.tolist()
        marker.points = [point for _, point in points]
        return ()  # all that changes is written already


def _outward(mechanism: Mechanism, chain: FrameChain) -> FloatArray:
    """Horizontal direction (3,) from the middle of the mechanism to a frame at home; or zero."""
    origins = mechanism.structure.tree.poses(mechanism.home.q).origins
    away = chain.poses(mechanism.home.q)[0] - 0.5 * (origins.max(axis=0) + origins.min(axis=0))
    down = np.array(mechanism.description.gravity)
    if down.any():
        down /= np.linalg.norm(down)
        away -= (away @ down) * down
    length = np.linalg.norm(away)
    return np.asarray(away / length if length > 1e-6 else np.zeros(3))


make_node = functools.partial(ManagedNode, 'frame_path', FramePathSettings, FramePath)
