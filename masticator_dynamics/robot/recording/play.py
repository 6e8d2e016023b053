# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process that sends the motion of a script, and records topics byte for byte.

To the dynamics node alone it also sends the food's force; in closed loop (``--drives``) it enables
the drives. Reports its progress to its parent, one JSON object per line of standard output::

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.time import Time
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.drives.drive_faults import Phase
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.bag_writer import offered_qos, write_mcap
from masticator_dynamics.interrupt import held_back
from masticator_dynamics.motion.motion_rows import MotionRows, rows_at
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Health
from masticator_dynamics.robot.recording.processes import RunError, load_in_words
from masticator_dynamics.robot.recording.script import BITE_STEP, Script
from masticator_dynamics.ros import middleware
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

    def spin(self, seconds: float, done: Callable[[], object] = lambda: False) -> bool:
        """Record while time passes, or until something is ``done``; return whether it is."""
        end = time.monotonic() + seconds
        while True:
            with held_back():  # what reads a message would lose Ctrl-C
                if (met := bool(done())) or time.monotonic() >= end:
                    return met
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

    def offered(self) -> dict[str, list[dict[str, Any]]]:
        """What the publishers of each topic offer, for the recording."""
        return {
            topic: [
                offered_qos(info.qos_profile.reliability.name, info.qos_profile.durability.name)
                for info in self.get_publishers_info_by_topic(topic)
            ]
            for topic in {*self.received, *(event.topic for event in self.events)}
        }

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


def trajectory_message(names: Sequence[str], motion: MotionRows, start: int) -> JointTrajectory:
    """A motion of coordinates starting at a time, ns since 1970."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = Time(nanoseconds=start).to_msg()
    for instant, position, velocity, acceleration in zip(motion.time, *motion.rows, strict=True):
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(nanoseconds=round(instant * 1e9)).to_msg(),
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


_FIRST = 1.5  # s more to check the first trajectory, on a busy computer
_LOOK = 0.1  # s between two looks at what there is to do
_TAIL = 1.2  # s, recorded after the end of the motion: diagnostics come once per second
_RESET = 3.0  # s, for a reset to appear in diagnostics


class Player(Recorder):
    """Waits for everything it needs, sends the motion, records until some time after it.

    Parameters
    ----------
    received : mapping of str
        Message types by topic.
    awaited : sequence of str
        Topics on which something must arrive before it plays.
    report : callable
        Called with what the parent should know.
    """

    tail = 0.5  # s, recorded after the end of the motion

    def __init__(
        self, script: Script, received: Mapping[str, str], awaited: Sequence[str], report: Report
    ):
        super().__init__('chewing_player', received)
        self.script, self._awaited, self._report = script, awaited, report
        self.start = 0  # of the motion, ns since 1970
        self.trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, self.qos)

    def play(self) -> None:
        """Play and record.

        Raises
        ------
        RunError
            When the motion cannot be played to the end.
        """
        connected = time.monotonic()
        while time.monotonic() - connected <= QUIET:
            lacking = self.lacking()
            self.wait(*lacking)
            if lacking:
                connected = time.monotonic()
        self.prepare()
        lead = LEAD + _FIRST + LEAD_PART * self.script.duration
        self.start = time.time_ns() + int(lead * 1e9)
        message = trajectory_message(self.script.coordinates, self.script, self.start)
        self.send(topics.TRAJECTORY, self.trajectory, message)
        elapsed = 0.0
        while elapsed <= self.script.duration + self.tail:
            self._report({'phase': 'playing', 'time': min(elapsed, self.script.duration)})
            self.spin(_LOOK)
            self.check()
            elapsed = max(self.elapsed(), 0.0)

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        silent = [f'nothing on {topic}' for topic in self._awaited if topic not in self.heard]
        if not self.trajectory.get_subscription_count():
            silent.append(f'nobody listens on {topics.TRAJECTORY}')
        return silent

    def prepare(self) -> None:
        """Do what remains once nothing is missing; the record then begins with what is played."""

    def check(self) -> None:
        """Refuse to go on, by `RunError`, when something has stopped."""

    def wait(self, *lacking: str) -> None:
        """Report what is missing and wait a little."""
        self._report({'phase': 'waiting', 'lacking': lacking})
        self.spin(_LOOK)

    def elapsed(self) -> float:
        """Time since the start of the motion, s."""
        return (time.time_ns() - self.start) * 1e-9


class BitingPlayer(Player):
    """Plays to the dynamics node alone and also sends the food's force.

    Parameters
    ----------
    contacts : list of str
        Contacts whose forces are recorded.
    report : callable
        Called with what the parent should know.
    """

    def __init__(self, script: Script, contacts: list[str], report: Report):
        awaited = topics.EFFORT, topics.JOINT_STATES, topics.STATE, topics.CONTACTS
        super().__init__(script, topics.received_topics(contacts), awaited, report)
        self._bite = self.create_publisher(WrenchStamped, topics.BITE_FORCE, self.qos)

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        listeners = self._bite.get_subscription_count()
        if max(listeners, self.trajectory.get_subscription_count()) > 1:
            raise RunError('a second dynamics node is on this domain')
        return super().lacking() + [f'nobody listens on {topics.BITE_FORCE}'] * (not listeners)

    def prepare(self) -> None:
        """Begin to bite."""
        self.events.clear()
        self.create_timer(BITE_STEP, self._send_bite)

    def _send_bite(self) -> None:
        if not self.start:
            return
        instant = self.elapsed()
        message = WrenchStamped()
        message.header.stamp = Time(nanoseconds=time.time_ns()).to_msg()
        message.header.frame_id = self.script.bite_frame
        times, forces = self.script.bite_times, self.script.bite_forces
        (force,) = rows_at(np.array([instant]), times, forces, 0.0, 0.0).tolist()
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self.send(topics.BITE_FORCE, self._bite, message)


class DrivesPlayer(Player):
    """Waits for all nodes, enables the drives, plays, records.

    Parameters
    ----------
    report : callable
        Called with what the parent should know.
    """

    tail = _TAIL

    def __init__(self, script: Script, report: Report):
        self._health = Health()
        awaited = topics.BITE_FORCE, topics.STATE, topics.DRIVES, topics.TRUTH
        super().__init__(script, topics.CLOSED_LOOP, awaited, report)
        self._enable = self.create_client(Trigger, topics.ENABLE)
        self._reset = self.create_client(Trigger, topics.RESET)
        self._before = self._health.counts

    def on_message(self, topic: str, content: bytes) -> None:
        """Evaluate diagnostics."""
        if topic == topics.DIAGNOSTICS:
            self._health.take(deserialize_message(content, DiagnosticArray).status)

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        ready = self._enable.service_is_ready()
        return super().lacking() + [f'no service {topics.ENABLE}'] * (not ready)

    def prepare(self) -> None:
        """Get the drives to follow; the record keeps earlier counts, too."""
        if self._health.stopped:
            self._clear()
        answer = self._answer(self._enable)
        if not answer.success:
            self._clear()
            answer = self._answer(self._enable)
        if not answer.success:
            raise self._failure(f'the drives cannot be enabled: {answer.message}')
        while self._health.phase != Phase.FOLLOWING.value:
            self.check()
            self.wait(f'the drives do not follow {topics.STATE}: {self._health.phase}')
        self.events = [event for event in self.events if event.topic == topics.DIAGNOSTICS]
        self._before = self._health.counts

    def check(self) -> None:
        """Say why the drives stopped, once every process has reported its delays."""
        if self._health.stopped:
            when = f' {self.elapsed():.1f} s after the motion began' if self.start else ''
            self.spin(_TAIL)
            raise self._failure(f'the drives stopped{when}: {self._health.stopped}')

    def _clear(self) -> None:
        """Reset drives, which may have stopped because this process started.

        Now and then the middleware blocks publishers for a third of a second when a new
        subscriber appears.
        """
        begin = time.monotonic()
        self._answer(self._reset)
        while self._health.stopped and time.monotonic() - begin <= _RESET:
            self.spin(_LOOK)
        self.check()

    def _answer(self, service: Any) -> Any:
        future = service.call_async(Trigger.Request())
        while not future.done():
            self.wait(f'no answer from {service.srv_name}')
        return future.result()

    def _failure(self, reason: str) -> RunError:
        behind = self._health.counts.since(self._before).in_words()
        if behind:
            reason += f'. This computer was too slow ({load_in_words()}): {behind}'
        return RunError(reason)


def _report(content: dict[str, Any]) -> None:
    """Report to the parent process."""
    print(json.dumps(content), flush=True)


def _written(
    record: pathlib.Path,
    datatypes: Mapping[str, str],
    events: Sequence[Event],
    offered: Mapping[str, Sequence[dict[str, Any]]],
) -> dict[str, Any]:
    """Write the record; return the last report."""
    try:
        write_mcap(record, datatypes, events, qos=offered)
    except MasticatorError as error:
        return {'phase': 'failed', 'reason': str(error)}
    except OSError as error:
        return {'phase': 'failed', 'reason': f'{record.name} cannot be written: {error.strerror}'}
    return {'phase': 'recorded'}


def main() -> None:
    """Play the script in a file and write the record to another."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('--script', type=pathlib.Path, required=True, help='written by the parent')
    parser.add_argument('--record', type=pathlib.Path, required=True, help='MCAP file to write')
    parser.add_argument('--contacts', nargs='*', default=[], help='contacts whose force to record')
    parser.add_argument('--drives', action='store_true', help='enable drives; twin and food bite')
    arguments = parser.parse_args()
    script = Script.load(arguments.script)
    middleware.prepare()
    rclpy.init(args=[])
    player = (
        DrivesPlayer(script, _report)
        if arguments.drives
        else BitingPlayer(script, arguments.contacts, _report)
    )
    try:
        player.play()
        datatypes, offered = {**topics.SENT, **player.received}, player.offered()
        _report({'phase': 'writing'})
        _report(_written(arguments.record, datatypes, player.events, offered))
    except RunError as error:
        _report({'phase': 'failed', 'reason': str(error)})
    except (KeyboardInterrupt, ExternalShutdownException):
        return
    rclpy.shutdown()


if __name__ == '__main__':
    main()
