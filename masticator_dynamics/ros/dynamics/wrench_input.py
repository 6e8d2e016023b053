# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incoming wrenches, kept while they are fresh, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy

from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.ros.common.diagnostics import Rejections
from masticator_dynamics.ros.common.direct_subscription import ReadTopic
from masticator_dynamics.ros.dynamics.bite_force import MeasuredWrenches

_LARGEST = 4096  # bytes; a wrench has 100, and the name of its frame
# Only the newest wrench counts; best effort accepts reliable and best-effort publishers alike.
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class WrenchInput:
    """A topic of wrenches.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    kept : MeasuredWrenches
        Gets what passes the checks, in that thread.
    now : callable
        The node's clock, ns.
    frame_prefix : str
        Removed from the frames of messages that have it.
    """

    def __init__(
        self,
        node: LifecycleNode,
        topic: str,
        kept: MeasuredWrenches,
        now: Callable[[], int],
        frame_prefix: str,
    ):
        self._prefix = frame_prefix
        self.rejections = Rejections(node.get_logger().error)
        self.topic, self.kept, self._now = topic, kept, now
        self._messages = ReadTopic(node, WrenchStamped, topic, _NEWEST, self._read, _LARGEST)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._messages.destroy()

    def _read(self, message: WrenchStamped) -> None:
        header, force, torque = message.header, message.wrench.force, message.wrench.torque
        stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        try:
            self.kept.take(header.frame_id.removeprefix(self._prefix), stamp, self._now(), wrench)
        except MasticatorError as error:
            self.rejections.reject(f'{self.topic} rejected: ', str(error))
        else:
            self.rejections.accept()
