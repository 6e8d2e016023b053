# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a node is the system's or a simulated one, as rclpy has it, and changes with it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.clock import Clock  # noqa: E402
from rclpy.clock_type import ClockType  # noqa: E402
from rclpy.time import Time  # noqa: E402

from masticator_dynamics.nodes.common.node_clock import NodeClock  # noqa: E402


class FakeNode:
    """A node as far as its clock goes."""

    def __init__(self):
        self.clock = Clock(clock_type=ClockType.ROS_TIME)

    def get_clock(self):
        return self.clock


def test_it_is_what_rclpy_says():
    node = FakeNode()
    now = NodeClock(node)
    before = node.clock.now().nanoseconds
    assert before <= now() <= node.clock.now().nanoseconds
    node.clock._set_ros_time_is_active(True)
    assert now() == 0  # nobody has told the time yet
    node.clock.set_ros_time_override(Time(nanoseconds=123, clock_type=ClockType.ROS_TIME))
    assert now() == 123
    node.clock._set_ros_time_is_active(False)
    assert abs(now() - time.time_ns()) < 10**9
