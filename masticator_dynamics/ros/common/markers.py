# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drawings for RViz and Foxglove: lines, arrows and texts that follow the frames they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from geometry_msgs.msg import Point
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.ros.common.direct_subscription import publisher

Colour = tuple[float, float, float]
GREEN, AMBER, RED, WHITE = (0.25, 0.8, 0.3), (1.0, 0.75, 0.1), (0.95, 0.15, 0.1), (1.0, 1.0, 1.0)

PERIOD = 50_000_000  # ns between drawings: twenty a second look smooth enough
LIFETIME = 500_000_000  # ns; what its node no longer draws is soon gone


class Board:
    """Topic ``~/markers`` of drawings, of which each is seen while it is drawn again and again."""

    def __init__(self, node: LifecycleNode):
        self._node = node
        self._publisher = publisher(node, MarkerArray, '~/markers')
        self._shown: dict[tuple[str, int], Marker] = {}
        self._last = -PERIOD

    def is_due(self, time: int) -> bool:
        """Whether somebody looks and it is time (ns) for the next drawing, which follows then."""
        if 0 <= time - self._last < PERIOD or not self._publisher.get_subscription_count():
            return False
        self._last = time
        return True

    def show(self, time: int, markers: Iterable[Marker]) -> None:
        """Publish drawings of a time (ns); what was drawn before and is not among them goes."""
        drawn = {(marker.ns, marker.id): marker for marker in markers}
        gone = [_gone(*key) for key in self._shown if key not in drawn]
        for marker in drawn.values():
            stamp = marker.header.stamp
            stamp.sec, stamp.nanosec = divmod(time, 1_000_000_000)
        self._shown = drawn
        self._publisher.publish(MarkerArray(markers=[*gone, *drawn.values()]))

    def destroy(self) -> None:
        """Destroy the topic."""
        self._node.destroy_lifecycle_publisher(self._publisher)


def marker(kind: int, group: str, number: int, frame: str, colour: Colour = WHITE) -> Marker:
    """A drawing in a frame, which it follows.

    Parameters
    ----------
    kind : int
        Such as ``Marker.ARROW``.
    group, number : str and int
        Together its name; groups can be switched off in RViz.
    """
    made = Marker(type=kind, action=Marker.ADD, ns=group, id=number, frame_locked=True)
    made.header.frame_id = frame
    made.pose.orientation.w = 1.0
    made.lifetime.sec, made.lifetime.nanosec = divmod(LIFETIME, 1_000_000_000)
    paint(made, colour)
    return made


def paint(drawn: Marker, colour: Colour) -> None:
    """Give a drawing another colour."""
    red, green, blue = colour
    drawn.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)


def arrow_between(drawn: Marker, start: FloatArray, end: FloatArray, width: float) -> None:
    """Draw an arrow from point to point (3,), m; width is that of its shaft."""
    length = float(((end - start) ** 2).sum()) ** 0.5
    drawn.points = [point(start), point(end)]
    drawn.scale.x, drawn.scale.y = width, 2.2 * width
    drawn.scale.z = min(3.0 * width, 0.5 * length)


def write(drawn: Marker, text: str, position: FloatArray, height: float) -> None:
    """Write a text at a point (3,), m.

    The width of blanks is given, too: without it, those of RViz are a metre wide.
    """
    drawn.text, drawn.scale.x, drawn.scale.z = text, 0.5 * height, height
    place = drawn.pose.position
    place.x, place.y, place.z = position.tolist()


def point(position: FloatArray) -> Point:
    """A point (3,), m, for a message."""
    x, y, z = position.tolist()
    return Point(x=x, y=y, z=z)


def by_share(share: float) -> Colour:
    """Green for none of a limit, amber for half of it, red for all of it and more."""
    share = min(max(share, 0.0), 1.0)
    if share < 0.5:
        return _between(GREEN, AMBER, 2.0 * share)
    return _between(AMBER, RED, 2.0 * share - 1.0)


def _between(first: Colour, second: Colour, part: float) -> Colour:
    mixed: Sequence[float] = [a + part * (b - a) for a, b in zip(first, second, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def _gone(group: str, number: int) -> Marker:
    return Marker(action=Marker.DELETE, ns=group, id=number)
