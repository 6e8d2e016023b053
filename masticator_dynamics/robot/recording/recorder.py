# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Records topics byte for byte, in the process that plays the demo."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from builtin_interfaces.msg import Duration, Time
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.files.mcap_file import Event
from masticator_dynamics.robot.recording.script import Script
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription
from masticator_dynamics.ros.common.guard import GuardedExecutor

LEAD = 0.5  # s, from sending the trajectory to its start, plus this fraction of its duration:
LEAD_PART = 0.02  # the node checks all of it first
QUIET = 0.2  # s without a new connection before the trajectory is sent
_DEPTH = 2000  # messages that may wait while the process does not get to run
_PERIOD = 0.02  # s between two checks for messages

Report = Callable[[dict[str, Any]], None]


class Recorder(Node):
    """Takes everything that arrives on some topics, and notes what the demo sends.

    Messages wait in the middleware, which notes when they arrived, and are taken many at a time:
    waking up for each would take a quarter of a processor away from what is recorded.

    Parameters
    ----------
    name : str
        Of the node.
    received : mapping of str
        Message types by topic.

    Attributes
    ----------
    events : list of Event
    received : mapping of str
        Message types by topic.
    heard : set of str
        Topics on which something has arrived.
    """

    def __init__(self, name: str, received: Mapping[str, str]):
        super().__init__(name)
        self.events: list[Event] = []
        self.received = received
        self.heard: set[str] = set()
        self.qos = QoSProfile(depth=_DEPTH)
        self._recorded = {
            topic: DirectSubscription(self, message_class(datatype), topic, self.qos)
            for topic, datatype in received.items()
        }
        self.create_timer(_PERIOD, self._record_waiting)
        # rclpy.spin_once would add and remove the node for every message.
        self.spinner = GuardedExecutor()
        self.spinner.add_node(self)

    def spin(self, seconds: float) -> None:
        """Let time pass; messages are recorded meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.spinner.spin_once(timeout_sec=_PERIOD)

    def send(self, topic: str, publisher: Any, message: Any) -> None:
        """Publish and record.

        Parameters
        ----------
        topic : str
            Name in the record.
        publisher : Publisher
            Of that topic.
        message
            Of the publisher's type.
        """
        now = time.time_ns()
        publisher.publish(message)
        self.events.append(Event(topic, now, now, 0, serialize_message(message)))

    def on_message(self, topic: str, content: bytes) -> None:
        """Called for every message that is recorded; for subclasses."""

    def _record_waiting(self) -> None:
        for topic, subscription in self._recorded.items():
            for content, info in subscription.take_serialized():
                sequence = info.get('publication_sequence_number') or 0
                times = info['received_timestamp'], info['source_timestamp']
                self.events.append(Event(topic, *times, sequence, content))
                self.heard.add(topic)
                self.on_message(topic, content)


def trajectory_message(script: Script, start: int) -> JointTrajectory:
    """The script's motion starting at a time, ns since 1970."""
    message = JointTrajectory(joint_names=list(script.coordinates))
    message.header.stamp = time_message(start)
    rows = zip(script.times, script.positions, script.velocities, script.accelerations, strict=True)
    for instant, position, velocity, acceleration in rows:
        seconds, nanoseconds = divmod(round(instant * 1e9), 10**9)
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
                positions=position.tolist(),
                velocities=velocity.tolist(),
                accelerations=acceleration.tolist(),
            )
        )
    return message


def message_class(datatype: str) -> Any:
    """Python class of a message type such as ``std_msgs/msg/Header``."""
    package, _, name = datatype.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), name)


def time_message(nanoseconds: int) -> Time:
    """A stamp from ns since 1970."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return Time(sec=seconds, nanosec=rest)
