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
from masticator_dynamics.ros.common.large_messages import LargeMessages
from masticator_dynamics.ros.common.wire_message import WireReader
from masticator_dynamics.ros.dynamics.bite_force import MeasuredWrenches

_LARGEST = 4096  # bytes; a wrench has 100, and the name of its frame
# Only the newest wrench counts; best effort accepts reliable and best-effort publishers alike.
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class WrenchInput:
    """A topic of wrenches, read by a thread of its own: one of megabytes must not stop a cycle.

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
        self._reader = WireReader(WrenchStamped, ('wrench.force', 'wrench.torque'))
        self._messages = LargeMessages(node, WrenchStamped, topic, _NEWEST, self._read, _LARGEST)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._messages.destroy()

    def _read(self, data: memoryview) -> None:
        stamp, wrench = self._reader.read(bytes(data))
        frame = self._reader.message.header.frame_id.removeprefix(self._prefix)
        try:
            self.kept.take(frame, stamp, self._now(), np.concatenate(wrench))
        except MasticatorError as error:
            self.rejections.reject(f'{self.topic} rejected: ', str(error))
        else:
            self.rejections.accept()
