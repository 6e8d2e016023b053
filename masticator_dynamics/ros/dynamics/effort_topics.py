# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A topic for each effort, named by its joint: rqt_plot names curves by topics alone.

Not below ``feedforward_effort``: rqt_plot would take their names for fields of that topic.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Float64

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.ros.common.direct_subscription import publisher


def effort_topic(joint: str) -> str:
    """Topic of the effort of an actuated joint."""
    return f'joint_effort/{joint}'


class EffortTopics:
    """Efforts of joints, N m or N, each published while somebody subscribes to it.

    Parameters
    ----------
    joints : sequence of str
        Actuated joints that have a topic.
    """

    def __init__(self, node: LifecycleNode, joints: Sequence[str]):
        self._node = node
        self._publishers = [publisher(node, Float64, effort_topic(joint)) for joint in joints]

    def publish(self, efforts: FloatArray) -> None:
        """Publish efforts (n_u,)."""
        for topic, effort in zip(self._publishers, efforts.tolist(), strict=False):
            if topic.get_subscription_count():
                topic.publish(Float64(data=effort))

    def destroy(self) -> None:
        """Destroy the topics."""
        for topic in self._publishers:
            self._node.destroy_lifecycle_publisher(topic)
