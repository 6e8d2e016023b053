# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outgoing topics, and those whose messages are built once and filled in every time."""

from __future__ import annotations

import array
import functools
from collections.abc import Sequence
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from masticator_dynamics.engine.arrays import FloatArray

# What is kept for subscribers that do not get to run for a moment; how far a subscriber may fall
# behind is a matter of its own depth.
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

# By default rclpy waits for two events of every topic (incompatible subscribers), and checks each
# whenever anything arrives: half a millisecond per bite force, in which no cycle can run.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)


def doubles(values: FloatArray) -> array.array[float]:
    """Array in the type that messages store: any other is checked item by item when assigned."""
    return array.array('d', values.tobytes())


def publisher(node: LifecycleNode, kind: type, topic: str) -> Any:
    """What publishes messages of a kind on a topic while the node is active.

    Parameters
    ----------
    node : LifecycleNode
    kind : type
        Of the messages.
    topic : str
    """
    return node.create_lifecycle_publisher(
        kind, topic, RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
    )


class Outgoing:
    """A topic of messages of which only the numbers change.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    message : ROS message
        Complete except for the numbers. A stamp is written only if it has a header.
    fields : str
        Of doubles, or vectors (``wrench.force``), in the order in which they are given later.
    """

    def __init__(self, node: LifecycleNode, topic: str, message: Any, *fields: str):
        self._node, self._message = node, message
        self.publisher = publisher(node, type(message), topic)
        self._header = getattr(message, 'header', None)
        self._places = [_place(message, field) for field in fields]

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self.publisher.get_subscription_count())

    def filled(self, time: int, *rows: FloatArray) -> Any:
        """Fill in a stamp (ns) and a row of numbers for each field; return the message."""
        if self._header is not None:
            stamp = self._header.stamp
            stamp.sec, stamp.nanosec = divmod(time, 1_000_000_000)
        for (owner, name, vector), row in zip(self._places, rows, strict=True):
            if vector is None:
                setattr(owner, name, doubles(row))
            else:
                vector.x, vector.y, vector.z = row.tolist()
        return self._message

    def publish(self, time: int, *rows: FloatArray) -> None:
        """Publish the message with a stamp (ns) and a row of numbers for each field."""
        self.publisher.publish(self.filled(time, *rows))

    def destroy(self) -> None:
        """Destroy the topic."""
        self._node.destroy_lifecycle_publisher(self.publisher)


def _place(message: Any, field: str) -> tuple[Any, str, Any]:
    """Owner and name of a field, and the field itself if it is a vector."""
    *owners, name = field.split('.')
    owner = functools.reduce(getattr, owners, message)
    found = getattr(owner, name)
    return owner, name, found if hasattr(found, 'x') else None


def joint_topic(node: LifecycleNode, topic: str, joints: Sequence[str], *fields: str) -> Outgoing:
    """A topic of joint states.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    joints : sequence of str
    fields : str
        Of position, velocity and effort, those that are published.
    """
    return Outgoing(node, topic, JointState(name=list(joints)), *fields)
