# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process that ends once joints have measured positions: launch files wait for it.

Hardware interfaces of ros2_control report NaN until the first state arrives. A trajectory
controller that is active before that holds NaN, and considers every goal reached.
"""

from __future__ import annotations

import math
import time
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

_REMIND = 10.0  # s between two reminders


class WaitForJointStates(Node):
    """Subscribes to ``joint_states_in``; parameter ``joints`` names those that must be finite."""

    def __init__(self) -> None:
        super().__init__('wait_for_joint_states')
        self._joints = list(self.declare_parameter('joints', ['']).value or ())
        self._began = time.monotonic()
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(JointState, 'joint_states_in', self._take, newest)
        self.create_timer(_REMIND, self._remind)
        self.code = 1  # of the process, if it is told to end before there are positions

    def _take(self, message: Any) -> None:
        position = dict(zip(message.name, message.position, strict=False))
        if all(math.isfinite(position.get(joint, math.nan)) for joint in self._joints):
            self.get_logger().info('all joints have measured positions')
            self.code = 0
            self.context.try_shutdown()

    def _remind(self) -> None:
        topic, names = self.resolve_topic_name('joint_states_in'), ', '.join(self._joints)
        age = time.monotonic() - self._began
        self.get_logger().warning(f'waiting since {age:.0f} s: no positions of {names} on {topic}')


make_node = WaitForJointStates
