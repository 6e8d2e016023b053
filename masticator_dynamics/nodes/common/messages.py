# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How topics are published and arrays are put into messages."""

from __future__ import annotations

import array

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy

from masticator_dynamics.engine.arrays import FloatArray

# What is kept for subscribers that do not get to run for a moment; how far a subscriber may fall
# behind is a matter of its own depth.
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

# By default rclpy waits for two events of every topic (incompatible subscribers), and checks each
# whenever anything arrives: half a millisecond per bite force, in which no cycle can run.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)


def doubles(values: FloatArray) -> array.array[float]:
    """Array in the type that messages store: any other is checked item by item when assigned."""
    return array.array('d', values.tobytes())
