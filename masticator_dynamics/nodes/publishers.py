# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outgoing messages of node ``dynamics``: built once, filled in every cycle."""

from __future__ import annotations

import array
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.nodes.cycle import Answer
from masticator_dynamics.nodes.trajectory_cdr import encode
from masticator_dynamics.nodes.trajectory_preparation import PreparedTrajectory
from masticator_dynamics.results import Effort

# What is kept for subscribers that are not scheduled for a moment; how far behind a subscriber may
# be is a matter of its own depth.
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

# By default rclpy waits for two events of every topic (subscribers that do not fit), and looks at
# each whenever anything arrives: half a millisecond per bite force, in which no cycle can run.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)


def doubles(values: FloatArray) -> array.array[float]:
    """Array as messages store it: an assignment of any other type is checked item by item."""
    return array.array('d', values.tobytes())


class Publishers:
    """What the node publishes of a motion.

    Parameters
    ----------
    node : LifecycleNode
    mechanism : Mechanism
    frame_prefix : str
        Goes before the frames of contacts.
    """

    def __init__(self, node: LifecycleNode, mechanism: Mechanism, frame_prefix: str):
        def publisher(kind: type, topic: str) -> Any:
            return node.create_lifecycle_publisher(
                kind, topic, RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
            )

        self._mechanism = mechanism
        self._effort = publisher(Float64MultiArray, 'feedforward_effort')
        self._state = publisher(JointState, 'feedforward_state')
        self._trajectory = publisher(JointTrajectory, 'feedforward_trajectory')
        self._joint_states = publisher(JointState, 'joint_states')
        self._effort_message = Float64MultiArray()
        self._state_message = JointState(name=list(mechanism.actuated))
        self._joints_message = JointState(name=list(mechanism.tree_joints))
        self._contacts = []
        for contact in mechanism.description.contacts:
            message = WrenchStamped()
            message.header.frame_id = frame_prefix + contact.frame
            topic = f'contact_force/{contact.name}'
            self._contacts.append((publisher(WrenchStamped, topic), message))
        self._all = [self._effort, self._state, self._trajectory, self._joint_states]
        self._all += [contact for contact, _ in self._contacts]

    def destroy(self, node: LifecycleNode) -> None:
        """Take the topics back."""
        for publisher in self._all:
            node.destroy_lifecycle_publisher(publisher)

    def cycle(self, time: int, answer: Answer) -> None:
        """Efforts and the state of the actuated joints at a time (ns)."""
        effort, message = doubles(answer.actuated), self._state_message
        self._effort_message.data = effort
        self._effort.publish(self._effort_message)
        _stamp(message.header.stamp, time)
        message.position = doubles(answer.effort.position)
        message.velocity = doubles(answer.effort.velocity)
        message.effort = effort
        self._state.publish(message)

    def joint_states(self, time: int, effort: Effort) -> None:
        """All joints of the tree at a time (ns)."""
        message = self._joints_message
        _stamp(message.header.stamp, time)
        message.position = doubles(effort.q)
        message.velocity = doubles(effort.v)
        self._joint_states.publish(message)

    def contact_forces(self, time: int, forces: list[FloatArray]) -> None:
        """Forces (3,) of the sockets in the axes of their frames, at a time (ns)."""
        for (publisher, message), force in zip(self._contacts, forces, strict=True):
            _stamp(message.header.stamp, time)
            vector = message.wrench.force
            vector.x, vector.y, vector.z = force.tolist()
            publisher.publish(message)

    def trajectory(self, prepared: PreparedTrajectory) -> None:
        """The motion in actuated joints with its efforts, as a trajectory controller takes it."""
        samples = prepared.samples
        rows = (samples.position, samples.velocity, samples.acceleration, samples.effort)
        names, times = self._mechanism.actuated, samples.times - samples.times[0]
        self._trajectory.publish(encode(prepared.start, names, times, rows))


def _stamp(message: Any, nanoseconds: int) -> None:
    message.sec, message.nanosec = divmod(nanoseconds, 1_000_000_000)
