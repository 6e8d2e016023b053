# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``frame_path``: where a frame, such as the incisor, has been recently, for RViz."""

from __future__ import annotations

import collections
import dataclasses
import functools

from geometry_msgs.msg import Point
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.ros.common.managed_node import FRAME_PREFIX, ManagedNode, parameter
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    JointReading,
    JointStateRuntime,
    JointStateSettings,
)

_STEP = 20_000_000  # ns between points; 50 per second look smooth
_RED, _GREEN, _BLUE = 0.1, 0.3, 0.8


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
        0.0005, 'Of the line in RViz, m.', interval=(1e-5, 0.1), read_only=False
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
        self._points: collections.deque[tuple[int, Point]] = collections.deque()
        marker = Marker(ns=frame, type=Marker.LINE_STRIP, action=Marker.ADD)
        marker.pose.orientation.w = 1.0
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = _RED, _GREEN, _BLUE, 1.0
        marker.header.frame_id = settings.frame_prefix + mechanism.description.base
        does = f'path of {frame}'
        super().__init__(node, settings, mechanism, 'joint_states', '~/path', marker, does)

    def activate(self) -> str:
        """Start drawing an empty path."""
        self._points.clear()
        return super().activate()

    def answer(self, header: Header, reading: JointReading) -> bool:
        """The path, at most 50 times a second."""
        now = header.stamp.sec * 10**9 + header.stamp.nanosec
        points = self._points
        if points and now < points[-1][0]:
            points.clear()  # the clock was set back, as when a bag restarts
        if points and now - points[-1][0] < _STEP:
            return False
        position, _ = self._chain.poses(reading.motion.q)
        x, y, z = position.tolist()
        points.append((now, Point(x=x, y=y, z=z)))
        while now - points[0][0] > self._settings.duration * 1e9:
            points.popleft()
        marker = self._message
        marker.header.stamp = header.stamp
        marker.scale.x = self._settings.line_width
        marker.points = [point for _, point in points]
        return True


make_node = functools.partial(ManagedNode, 'frame_path', FramePathSettings, FramePath)
