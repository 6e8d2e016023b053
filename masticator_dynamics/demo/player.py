# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The second process of the demo: plays a script to the dynamics node and records the answers.

Tells its parent how far it is, one JSON object per line of standard output::

    {"phase": "waiting", "lacking": ["nothing on /joint_states"]}
    {"phase": "playing", "time": 1.2}
    {"phase": "writing"}
    {"phase": "recorded"}
    {"phase": "failed", "reason": "..."}
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.subscription import Subscription
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.demo import topics
from masticator_dynamics.demo.mcap_file import Event, write_mcap
from masticator_dynamics.demo.script import BITE_STEP, Script
from masticator_dynamics.errors import MasticatorError

LEAD = 0.5  # s, from sending the trajectory to its start, and this part of its duration more:
LEAD_PART = 0.02  # the node checks all of it first
TAIL = 0.5  # s, recorded after its end
_DEPTH = 2000  # messages that may wait while the process is not scheduled
_QUIET = 0.2  # s without a new connection before the trajectory is sent


class Player(Node):
    """Waits for the dynamics node, plays, records.

    Parameters
    ----------
    script : Script
    contacts : list of str
        Whose forces to record.
    report : callable
        Called with what the parent should know.
    """

    def __init__(
        self, script: Script, contacts: list[str], report: Callable[[dict[str, Any]], None]
    ):
        super().__init__('chewing_player')
        self.events: list[Event] = []
        self.done = False
        self._script = script
        self._report = report
        self._start: int | None = None  # of the motion, ns since 1970
        self._connected: float | None = None
        qos = QoSProfile(depth=_DEPTH)
        self._trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, qos)
        self._bite = self.create_publisher(WrenchStamped, topics.BITE_FORCE, qos)
        self._awaited = {topics.EFFORT, topics.STATE, topics.JOINT_STATES}
        self._recorded: dict[str, Subscription] = {}
        for topic, datatype in topics.received_topics(contacts).items():
            self._recorded[topic] = self.create_subscription(
                message_class(datatype), topic, self._recorder(topic), qos, raw=True
            )
        self.create_timer(0.1, self._wait_or_finish)

    def _recorder(self, topic: str) -> Callable[..., None]:
        def record(content: bytes, info: dict[str, int]) -> None:
            self._record(topic, content, info)
            if topic == topics.STATE:
                self._record_waiting()

        return record

    def _record(self, topic: str, content: bytes, info: dict[str, int]) -> None:
        sequence = info.get('publication_sequence_number') or 0
        self.events.append(
            Event(topic, time.time_ns(), info['source_timestamp'], sequence, content)
        )
        self._awaited.discard(topic)

    def _record_waiting(self) -> None:
        """Take what else has come: to wait for it costs the executor ten times as much."""
        for topic, subscription in self._recorded.items():
            with subscription.handle:
                while taken := subscription.handle.take_message(subscription.msg_type, True):
                    self._record(topic, *taken)

    def _wait_or_finish(self) -> None:
        if self._start is None:
            self._start_when_connected()
            return
        elapsed = (time.time_ns() - self._start) * 1e-9
        self._report({'phase': 'playing', 'time': min(max(elapsed, 0.0), self._script.duration)})
        if elapsed > self._script.duration + TAIL:
            self.done = True

    def _start_when_connected(self) -> None:
        publishers = {topics.TRAJECTORY: self._trajectory, topics.BITE_FORCE: self._bite}
        matched = {topic: p.get_subscription_count() for topic, p in publishers.items()}
        lacking = [f'nothing on {topic}' for topic in sorted(self._awaited)]
        lacking += [f'nobody listens on {topic}' for topic, count in matched.items() if not count]
        self._report({'phase': 'waiting', 'lacking': lacking})
        if max(matched.values()) > 1:
            self._report({'phase': 'failed', 'reason': 'a second dynamics node is on this domain'})
        elif lacking:
            self._connected = None
        elif self._connected is None:
            self._connected = time.monotonic()
        elif time.monotonic() - self._connected > _QUIET:
            self.events.clear()  # the record begins with what is played
            self._start = time.time_ns() + int((LEAD + LEAD_PART * self._script.duration) * 1e9)
            self._send(topics.TRAJECTORY, self._trajectory, self._trajectory_message())
            self.create_timer(BITE_STEP, self._send_bite)

    def _trajectory_message(self) -> JointTrajectory:
        assert self._start is not None
        script = self._script
        message = JointTrajectory(joint_names=list(script.coordinates))
        message.header.stamp = _time(self._start)
        rows = zip(
            script.times, script.positions, script.velocities, script.accelerations, strict=True
        )
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

    def _send_bite(self) -> None:
        assert self._start is not None
        now = time.time_ns()
        message = WrenchStamped()
        message.header.stamp = _time(now)
        message.header.frame_id = self._script.bite_frame
        instant = (now - self._start) * 1e-9
        force = [
            float(np.interp(instant, self._script.bite_times, column, left=0.0, right=0.0))
            for column in self._script.bite_forces.T
        ]
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self._send(topics.BITE_FORCE, self._bite, message)

    def _send(self, topic: str, publisher: Any, message: Any) -> None:
        now = time.time_ns()
        publisher.publish(message)
        self.events.append(Event(topic, now, now, 0, serialize_message(message)))


def message_class(datatype: str) -> Any:
    """Python class of a message type such as ``std_msgs/msg/Header``."""
    package, _, name = datatype.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), name)


def _time(nanoseconds: int) -> Time:
    seconds, rest = divmod(nanoseconds, 10**9)
    return Time(sec=seconds, nanosec=rest)


def _print_report(content: dict[str, Any]) -> None:
    print(json.dumps(content), flush=True)


def main() -> None:
    """Play the script in a file and write the record to another."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('--script', type=pathlib.Path, required=True, help='written by the parent')
    parser.add_argument('--record', type=pathlib.Path, required=True, help='MCAP file to write')
    parser.add_argument('--contacts', nargs='*', default=[], help='contacts whose force to record')
    arguments = parser.parse_args()
    rclpy.init(args=[])
    player = Player(Script.load(arguments.script), arguments.contacts, _print_report)
    try:
        # rclpy.spin_once would add and remove the node for every message.
        executor = SingleThreadedExecutor()
        executor.add_node(player)
        while not player.done:
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        return
    _print_report({'phase': 'writing'})
    try:
        datatypes = topics.SENT | topics.received_topics(arguments.contacts)
        write_mcap(arguments.record, datatypes, player.events)
    except MasticatorError as error:
        _print_report({'phase': 'failed', 'reason': str(error)})
    else:
        _print_report({'phase': 'recorded'})
    rclpy.shutdown()


if __name__ == '__main__':
    main()
