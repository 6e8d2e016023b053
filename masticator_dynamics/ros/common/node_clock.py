# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a node, for threads that read it several times a millisecond.

Alone, or together with the monotonic clock: between two lines of Python another thread may hold the
lock, or the kernel the processor, for milliseconds. Times converted from one clock to the other
would be wrong by as much: a command then has too little lead, and the drives are sent back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from rclpy.clock import JumpThreshold, ROSClock
from rclpy.node import Node

# ns; stamps end with the 31 bits of their seconds, and some are of later times than now. Whoever
# publishes a simulated clock may send any.
_LATEST = (2**31 - 3600) * 1_000_000_000
_TOGETHER = 1e-4  # s, within which both clocks are read
_ATTEMPTS = 5


class NodeClock:
    """Time of a node's clock, ns; 0 while a simulated one has not started.

    rclpy takes 10 µs to return what the system's clock returns in a tenth of a microsecond, and one
    to tell whether that is the node's clock: it tells when that changes.
    """

    def __init__(self, node: Node):
        clock = node.get_clock()
        assert isinstance(clock, ROSClock)
        self._clock = clock
        changes = JumpThreshold(min_forward=None, min_backward=None, on_clock_change=True)
        self._told = clock.create_jump_callback(changes, post_callback=self._look)
        self._look()

    def _look(self, change: object = None) -> None:
        self._simulated = self._clock.ros_time_is_active

    def __call__(self) -> int:
        """Return the time, ns."""
        if not self._simulated:
            return time.time_ns()
        nanoseconds: int = self._clock.now().nanoseconds
        return min(nanoseconds, _LATEST)

    def stamp(self) -> Time:
        """Return the time as a stamp."""
        seconds, nanoseconds = divmod(self(), 1_000_000_000)
        return Time(sec=seconds, nanosec=nanoseconds)


def both_clocks(now: Callable[[], int]) -> tuple[int, float]:
    """A node's clock, ns, and ``time.monotonic()``, s, at the same time.

    Parameters
    ----------
    now : callable
        The node's clock, ns.
    """
    best, closest = (0, 0.0), math.inf
    for _ in range(_ATTEMPTS):
        begin = time.monotonic()
        nanoseconds = now()
        end = time.monotonic()
        if end - begin < closest:
            best, closest = (nanoseconds, 0.5 * (begin + end)), end - begin
        if closest < _TOGETHER:
            break
    return best
