# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How topics are published, and arrays put into messages."""

from __future__ import annotations

import array

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy

from masticator_dynamics.engine.arrays import FloatArray

# What is kept for subscribers that are not scheduled for a moment; how far behind a subscriber may
# be is a matter of its own depth.
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

# By default rclpy waits for two events of every topic (subscribers that do not fit), and looks at
# each whenever anything arrives: half a millisecond per bite force, in which no cycle can run.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)


def doubles(values: FloatArray) -> array.array[float]:
    """Array as messages store it: an assignment of any other type is checked item by item."""
    return array.array('d', values.tobytes())
