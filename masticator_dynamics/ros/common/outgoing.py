# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outgoing topics, and those whose messages are built once and filled in every time."""

from __future__ import annotations

import array
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.ros.common.wire_message import WireMessage

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
    message, blocks
        As for `WireMessage`, whose ``filled`` this has.
    """

    def __init__(self, node: LifecycleNode, topic: str, message: Any, blocks: dict[str, int]):
        self._node = node
        self.publisher = publisher(node, type(message), topic)
        self.filled = WireMessage(message, blocks).filled

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self.publisher.get_subscription_count())

    def publish(self, time: int, *blocks: npt.ArrayLike) -> None:
        """Publish the message with a stamp (ns) and a row of numbers for each block."""
        self.publisher.publish(self.filled(time, *blocks))

    def destroy(self) -> None:
        """Destroy the topic."""
        self._node.destroy_lifecycle_publisher(self.publisher)


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
    return Outgoing(node, topic, JointState(name=list(joints)), dict.fromkeys(fields, len(joints)))
