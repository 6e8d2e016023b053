# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node's clock is the system's or a simulated one, like rclpy's, and changes with it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.time import Time
from sensor_msgs.msg import JointState

from masticator_dynamics.ros.common.node_clock import NodeClock


class FakeNode:
    """A stand-in for a node that has only a clock."""

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


def test_a_simulated_clock_of_any_time_fits_into_stamps():
    """2147483651 s: what a message of /clock can say, and 31 bits of seconds cannot."""
    node = FakeNode()
    node.clock._set_ros_time_is_active(True)
    now = NodeClock(node)
    for seconds in (2**31 - 1, 2**31 + 3):
        wild = Time(nanoseconds=seconds * 10**9, clock_type=ClockType.ROS_TIME)
        node.clock.set_ros_time_override(wild)
        soon = JointState()
        soon.header.stamp.sec = (now() + 10**9) // 10**9  # rclpy refuses what does not fit
        assert soon.header.stamp.sec == now.stamp().sec + 1 > 2**31 - 10_000
