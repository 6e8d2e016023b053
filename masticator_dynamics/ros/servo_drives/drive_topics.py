# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of node ``servo_drives``: commands in, states out, in ros2_control's conventions.

The cycle of the drives itself reads and publishes: handing over to another thread would cost more
than both.
"""

from __future__ import annotations

import time

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from masticator_dynamics.drives.command import CommandReader, NotFiniteError, Trend
from masticator_dynamics.drives.desired_motion import DesiredMotion
from masticator_dynamics.drives.drive_cycle import Feedback
from masticator_dynamics.drives.modes import MODES
from masticator_dynamics.drives.state_machine import all_heard
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.diagnostics import Rejections
from masticator_dynamics.ros.common.direct_subscription import (
    JOINT_FIELDS,
    RELIABLE,
    DirectSubscription,
    joint_topic,
)
from masticator_dynamics.ros.common.fixed_layout import Numbers
from masticator_dynamics.ros.common.node_clock import NodeClock, both_clocks


class AddedEffort:
    """The newest efforts to add, extrapolated with their rate.

    A trajectory controller plays the efforts of ``feedforward_trajectory``, which do not include
    food. Node ``dynamics`` publishes what food adds on ``external_effort``.

    Parameters
    ----------
    count : int
        Joints.
    timeout : float
        Age of an effort beyond which nothing is added, s.
    lead : float
        Time by which efforts are extrapolated, s, plus their age up to as much again.
    """

    def __init__(self, count: int, timeout: float, lead: float = 0.0):
        self.timeout = timeout
        self._lead = lead
        self._none = np.zeros(count)
        self._extra = Trend.begin(0.0, self._none)

    def take(self, stamp: int, effort: FloatArray) -> None:
        """Take efforts (n,) to add at an instant, ns."""
        if np.isfinite(effort).all():
            self._extra = self._extra.then(stamp * 1e-9, effort, self.timeout)

    def at(self, now: int) -> FloatArray:
        """Efforts (n,) to add at a time, ns: the newest, or zero when they are too old."""
        age = now * 1e-9 - self._extra.stamp
        if abs(age) > self.timeout:
            return self._none
        # An effort that is no longer updated must not be extrapolated for long.
        return self._extra.ahead(self._lead + min(max(age, 0.0), self._lead))


# Best effort accepts reliable and best-effort publishers alike.
_NEWEST = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
_EFFORT = 2  # of the rows of a joint state
_LARGEST = 8192  # bytes; a command for six joints has 400; converting 8192 takes 0.15 ms


class DriveTopics:
    """Topics of the cycle: ``~/command``, ``~/emergency_stop``, ``external_effort``, ``~/state``.

    In mode effort also ``feedforward_state``, which tells what the efforts are for.

    Parameters
    ----------
    supervisor : Supervisor
        Gets the commands that can be read.
    mode : str
        Of the drives.
    forward_effort : bool
        Whether efforts are used in addition to positions.
    added : AddedEffort, optional
        Gets ``external_effort``, which goes on top of commanded efforts.
    """

    def __init__(
        self,
        node: LifecycleNode,
        supervisor: Supervisor,
        mode: str,
        *,
        forward_effort: bool = True,
        added: AddedEffort | None = None,
    ):
        self.rejections = Rejections(node.get_logger().error)
        self.added = added
        self._supervisor, joints = supervisor, supervisor.joints
        self._joints, self._now = list(joints), NodeClock(node)
        self._forward_effort = forward_effort
        self._reader = CommandReader(joints, mode)
        self._state = joint_topic(node, '~/state', joints, 'position', 'velocity', 'effort')
        self._commands = _joints_in(node, '~/command')
        # Reliable publishers are heard twice, and despite lost frames; others once.
        self._stops = [
            DirectSubscription(node, Bool, '~/emergency_stop', qos, _LARGEST)
            for qos in (RELIABLE, _NEWEST)
        ]
        self._external: DirectSubscription | None = None
        if added is not None:
            self._external = _joints_in(node, 'external_effort')
        self._desired: DirectSubscription | None = None
        if not MODES[mode].positions:
            self._desired = _joints_in(node, 'feedforward_state')

    def destroy(self) -> None:
        """Destroy the topics."""
        self._state.destroy()
        for topic in (self._commands, *self._stops, self._external, self._desired):
            if topic is not None:
                topic.destroy()

    def poll(self) -> None:
        """Read what has arrived since the last call."""
        for stops in self._stops:
            for message, _ in stops.take():
                if message.data:
                    self._supervisor.emergency_stop()
        if self._desired is not None:
            for numbers, received in self._desired.take_numbers():
                self._desire(numbers, max(time.time_ns() - received, 0))
        for numbers, received in self._commands.take_numbers():
            self._take(numbers, max(time.time_ns() - received, 0))
        if self.added is not None and self._external is not None:
            for numbers, _ in self._external.take_numbers():
                names, effort = numbers.message.name, numbers.rows[_EFFORT]
                if names == self._joints and len(effort) == len(names):
                    self.added.take(numbers.stamp, effort)
            self._supervisor.add_effort(self.added.at(self._now()))

    def discard(self) -> None:
        """Discard commands that arrived while inactive; emergency stops still count."""
        for _ in self._commands.take_serialized():
            pass

    def publish(self, feedback: Feedback) -> None:
        """Measured positions, velocities and efforts, stamped with SYNC.

        Only while every drive reports: old positions must not pass for measured ones.
        """
        if not all_heard(feedback):
            return
        now, steady = both_clocks(self._now)
        stamp = max(now - round((steady - feedback.time) * 1e9), 0)
        self._state.publish(stamp, feedback.position, feedback.velocity, feedback.effort)

    def _desire(self, numbers: Numbers, waited: int) -> None:
        """Take what efforts are for, from a message that has waited for some ns."""
        rows = numbers.rows[:_EFFORT]
        names = numbers.message.name
        if names == self._joints and all(len(row) == len(names) for row in rows):
            now = time.monotonic() - waited * 1e-9
            self._supervisor.desire(DesiredMotion(now, *rows))

    def _take(self, numbers: Numbers, waited: int) -> None:
        """Pass on a message that has waited for some ns."""
        now, steady = both_clocks(self._now)
        now, steady = now - waited, steady - waited * 1e-9
        stamp, (position, velocity, effort) = numbers.stamp, numbers.rows
        try:
            command = self._reader.read(
                numbers.message.name,
                position,
                velocity,
                effort if self._forward_effort else (),
                steady,
                (stamp or now) * 1e-9,
                (now - stamp) * 1e-9 if stamp else 0.0,
            )
        except NotFiniteError:
            self._supervisor.not_finite()
        except InputError as error:
            self.rejections.reject('command refused: ', str(error))
        else:
            self.rejections.accept()
            self._supervisor.submit(command)


def _joints_in(node: LifecycleNode, topic: str) -> DirectSubscription:
    """A topic of joint states, whose numbers are read."""
    return DirectSubscription(node, JointState, topic, _NEWEST, _LARGEST, *JOINT_FIELDS)
