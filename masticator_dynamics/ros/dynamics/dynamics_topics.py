# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of node ``dynamics``: measured wrenches in, efforts and forces out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import InvalidHandle
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.ros.common.diagnostics import Rejections
from masticator_dynamics.ros.common.direct_subscription import (
    POLL,
    Outgoing,
    ThreadedSubscription,
    joint_topic,
    publisher,
)
from masticator_dynamics.ros.common.fixed_layout import Numbers
from masticator_dynamics.ros.dynamics.cycle import CycleAnswer, FeedforwardCycle
from masticator_dynamics.ros.dynamics.measured_wrenches import MeasuredWrenches
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings, effort_topic


class Publishers:
    """What the node publishes of a motion.

    Parameters
    ----------
    settings : DynamicsSettings
        What is put before the frames of contacts and joints; whether efforts have topics of their
        own, too.
    cycle : FeedforwardCycle
        Computes forces when somebody wants them.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        settings: DynamicsSettings,
        cycle: FeedforwardCycle,
    ):
        def wrench(topic: str, frame: str, *parts: str) -> Outgoing:
            message = WrenchStamped()
            message.header.frame_id = settings.frame_prefix + frame
            return Outgoing(node, topic, message, *(f'wrench.{part}' for part in parts))

        self._node, self._mechanism, self._cycle = node, mechanism, cycle
        names = mechanism.actuated
        self._effort = Outgoing(node, 'feedforward_effort', Float64MultiArray(), 'data')
        self._state = joint_topic(
            node, 'feedforward_state', names, 'position', 'velocity', 'effort'
        )
        self.trajectory = publisher(node, JointTrajectory, 'feedforward_trajectory')
        self._joint_states: Outgoing | None = None
        self._multipliers = joint_topic(node, 'contact_multipliers', mechanism.contacts, 'effort')
        self._external = joint_topic(node, 'external_effort', names, 'effort')
        self._contacts = [
            wrench(f'contact_force/{contact.name}', contact.frame, 'force')
            for contact in mechanism.description.contacts
        ]
        self._joint_forces = [
            wrench(f'joint_force/{joint}', frame, 'force', 'torque')
            for joint, frame in zip(names, cycle.joint_frames, strict=True)
        ]
        named = names if settings.effort_topics else ()
        self._by_joint = [Outgoing(node, effort_topic(j), Float64(), 'data') for j in named]
        self._of_cycles = self._effort, self._state, self._multipliers, self._external
        self._ready: tuple[CycleAnswer | None, dict[Outgoing, Any] | None] = None, None
        self._stayed = True  # whether the latest answer was the one known before

    def destroy(self, node: LifecycleNode) -> None:
        """Destroy the topics."""
        node.destroy_lifecycle_publisher(self.trajectory)
        for topic in (*self._of_cycles, *self._contacts, *self._joint_forces, *self._by_joint):
            topic.destroy()
        self.show_joints(False, active=False)

    def show_joints(self, wanted: bool, *, active: bool) -> None:
        """Publish all joints or not; a topic that is silent would be taken for a second source."""
        topic = self._joint_states
        if topic is None and wanted:
            joints = self._mechanism.tree_joints
            topic = joint_topic(self._node, 'joint_states', joints, 'position', 'velocity')
            if active:
                topic.publisher.on_activate(None)
            self._joint_states = topic
        elif topic is not None and not wanted:
            self._joint_states = None
            topic.destroy()

    def prepare(self, time: int, answer: CycleAnswer | None) -> None:
        """Make messages for a time (ns), in case the answer stays the same, as the last one did."""
        self._ready = answer, self._messages(time, answer) if answer and self._stayed else None

    def publish(self, time: int, answer: CycleAnswer) -> None:
        """What belongs to every cycle, where wanted, at a time (ns): what others wait for first."""
        prepared, messages = self._ready
        self._stayed = prepared is answer
        if messages is None or not self._stayed:
            messages = self._messages(time, answer)
        for topic, message in messages.items():
            topic.publisher.publish(message)
        if self._external.wanted:
            self._external.publish(time, self._cycle.external_effort(answer))

    def _messages(self, time: int, answer: CycleAnswer) -> dict[Outgoing, Any]:
        """Messages by topic, where there are subscribers."""
        messages = {}
        if self._effort.wanted:
            messages[self._effort] = self._effort.filled(time, answer.actuated)
        if self._state.wanted:
            rows = answer.position, answer.velocity, answer.actuated
            messages[self._state] = self._state.filled(time, *rows)
        if self._multipliers.wanted:
            messages[self._multipliers] = self._multipliers.filled(time, answer.effort.contact)
        return messages

    def visual(self, time: int, answer: CycleAnswer) -> None:
        """What people look at, at a time (ns), where anybody does: forces, efforts, all joints."""
        effort = answer.effort
        for topic, sent in zip(self._by_joint, answer.actuated, strict=False):
            if topic.wanted:
                topic.publish(time, np.array([sent]))
        for topics, forces in (
            (self._contacts, self._cycle.contact_forces),
            (self._joint_forces, self._cycle.joint_forces),
        ):
            if any(topic.wanted for topic in topics):
                for topic, force in zip(topics, forces(effort), strict=True):
                    topic.publish(time, *force.reshape(-1, 3))
        joint_states = self._joint_states
        if joint_states is not None:
            with contextlib.suppress(InvalidHandle):  # it may have been switched off just now
                if joint_states.wanted:
                    joint_states.publish(time, effort.q, effort.v)


_LARGEST = 4096  # bytes; a wrench has 100, and the name of its frame
# Only the newest of each frame counts, and many may come between two cycles; best effort accepts
# reliable and best-effort publishers alike.
_NEWEST = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


class WrenchInput(ThreadedSubscription):
    """A topic of wrenches, read by a thread of its own, or by a cycle while that runs.

    Parameters
    ----------
    wrenches : MeasuredWrenches
        Gets what passes the checks, in the reader's thread.
    now : callable
        The node's clock, ns.
    frame_prefix : str
        Removed from the frames of messages that have it.
    by_cycle : bool
        A cycle calls `read`: waking a thread for each message takes ten times as long. The thread
        only reads while there are no cycles.
    """

    def __init__(
        self,
        node: LifecycleNode,
        topic: str,
        wrenches: MeasuredWrenches,
        now: Callable[[], int],
        frame_prefix: str,
        by_cycle: bool = False,
    ):
        self._prefix, self._by_cycle, self._latest = frame_prefix, by_cycle, 0.0
        self.rejections = Rejections(node.get_logger().error)
        self.topic, self.kept, self._now = topic, wrenches, now
        super().__init__(node, WrenchStamped, topic, _NEWEST, _LARGEST, 'wrench')

    def read(self) -> None:
        """Read what waits; whatever it is, the caller goes on."""
        self._latest = time.monotonic()
        self.kept.publishers = self.publishers
        super().read()

    def _wanted(self) -> bool:
        if not self._by_cycle:
            return True
        return not self._thread.ended.wait(POLL) and time.monotonic() - self._latest >= POLL

    def _keep(self, numbers: Numbers, received: int) -> None:
        frame = numbers.message.header.frame_id.removeprefix(self._prefix)
        arrival = self._now() - max(time.time_ns() - received, 0)
        try:
            self.kept.take(frame, numbers.stamp, arrival, *numbers.rows)
        except MasticatorError as error:
            self.rejections.reject(f'{self.topic} rejected: ', str(error))
        else:
            self.rejections.accept()
