# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a node, for threads that read it several times a millisecond."""

from __future__ import annotations

import time

from builtin_interfaces.msg import Time
from rclpy.clock import ROSClock
from rclpy.node import Node

# ns; stamps end with the 31 bits of their seconds, and some are of later times than now. Whoever
# publishes a simulated clock may send any.
_LATEST = (2**31 - 3600) * 1_000_000_000


class NodeClock:
    """Time of a node's clock, ns; 0 while a simulated one has not started.

    rclpy takes 10 µs to return what the system's clock returns in a tenth of a microsecond.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node):
        clock = node.get_clock()
        assert isinstance(clock, ROSClock)
        self._clock = clock

    def __call__(self) -> int:
        """Return the time, ns."""
        if not self._clock.ros_time_is_active:
            return time.time_ns()
        nanoseconds: int = self._clock.now().nanoseconds
        return min(nanoseconds, _LATEST)

    def stamp(self) -> Time:
        """The same as a stamp."""
        seconds, nanoseconds = divmod(self(), 1_000_000_000)
        return Time(sec=seconds, nanosec=nanoseconds)
