# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outgoing messages of node ``dynamics``: built once, filled in every cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.nodes.common.messages import NO_PUBLISHER_EVENTS, RELIABLE
from masticator_dynamics.nodes.common.trajectory_cdr import encode
from masticator_dynamics.nodes.common.wire_message import WireMessage
from masticator_dynamics.nodes.dynamics.cycle import Answer
from masticator_dynamics.nodes.dynamics.trajectory_preparation import PreparedTrajectory
from masticator_dynamics.results import Effort

_NO_TORQUE = np.zeros(3)


class Publishers:
    """What the node publishes of a motion.

    Parameters
    ----------
    node : LifecycleNode
    mechanism : Mechanism
    frame_prefix : str
        Put before the frames of contacts and joints.
    joint_frames : sequence of str
        Child links of the actuated joints.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        frame_prefix: str,
        joint_frames: Sequence[str],
    ):
        def publisher(kind: type, topic: str) -> Any:
            return node.create_lifecycle_publisher(
                kind, topic, RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
            )

        self._mechanism = mechanism
        self._effort = publisher(Float64MultiArray, 'feedforward_effort')
        self._state = publisher(JointState, 'feedforward_state')
        self._trajectory = publisher(JointTrajectory, 'feedforward_trajectory')
        self._joint_states = publisher(JointState, 'joint_states')
        self._multipliers = publisher(JointState, 'contact_multipliers')
        actuated, joints = len(mechanism.actuated), len(mechanism.tree_joints)
        self._effort_bytes = WireMessage(Float64MultiArray(), {'data': actuated})
        self._state_bytes = WireMessage(
            JointState(name=list(mechanism.actuated)),
            {'position': actuated, 'velocity': actuated, 'effort': actuated},
        )
        self._joints_bytes = WireMessage(
            JointState(name=list(mechanism.tree_joints)), {'position': joints, 'velocity': joints}
        )
        self._multipliers_bytes = WireMessage(
            JointState(name=list(mechanism.contacts)), {'effort': len(mechanism.contacts)}
        )
        self._external = publisher(JointState, 'external_effort')
        self._external_bytes = WireMessage(
            JointState(name=list(mechanism.actuated)), {'effort': actuated}
        )

        def wrench(topic: str, frame: str) -> tuple[Any, WireMessage]:
            message = WrenchStamped()
            message.header.frame_id = frame_prefix + frame
            blocks = {'wrench.force': 3, 'wrench.torque': 3}
            return publisher(WrenchStamped, topic), WireMessage(message, blocks)

        self._contacts = [
            wrench(f'contact_force/{contact.name}', contact.frame)
            for contact in mechanism.description.contacts
        ]
        self._joint_forces = [
            wrench(f'joint_force/{joint}', frame)
            for joint, frame in zip(mechanism.actuated, joint_frames, strict=True)
        ]
        self._of_cycles = self._effort, self._state, self._multipliers, self._external
        self._wanted = dict.fromkeys(self._of_cycles, True)
        self._ready: tuple[Answer | None, dict[Any, bytes]] = None, {}
        self._all = [self._effort, self._state, self._trajectory, self._joint_states]
        self._all += [self._multipliers, self._external]
        self._all += [publisher for publisher, _ in (*self._contacts, *self._joint_forces)]

    def destroy(self, node: LifecycleNode) -> None:
        """Destroy the topics."""
        for publisher in self._all:
            node.destroy_lifecycle_publisher(publisher)

    def prepare(self, time: int, answer: Answer | None) -> None:
        """Make messages for a time (ns), in case the answer stays the same.

        Also note who is subscribed: new subscribers get the next cycle but one.
        """
        self._wanted = {p: bool(p.get_subscription_count()) for p in self._of_cycles}
        self._ready = answer, self._messages(time, answer) if answer else {}

    def cycle(self, time: int, answer: Answer) -> None:
        """Efforts, state of the actuated joints and multipliers, where wanted, at a time (ns)."""
        known, messages = self._ready
        if known is not answer:
            messages = self._messages(time, answer)
        for publisher, message in messages.items():
            publisher.publish(message)

    def _messages(self, time: int, answer: Answer) -> dict[Any, bytes]:
        """Messages by publisher, where there are subscribers."""
        messages, wanted = {}, self._wanted
        if wanted[self._effort]:
            messages[self._effort] = self._effort_bytes.filled(time, answer.actuated)
        if wanted[self._state]:
            rows = answer.position, answer.velocity, answer.actuated
            messages[self._state] = self._state_bytes.filled(time, *rows)
        if wanted[self._multipliers]:
            contact = answer.effort.contact
            messages[self._multipliers] = self._multipliers_bytes.filled(time, contact)
        return messages

    @property
    def external_effort_wanted(self) -> bool:
        """Whether anybody subscribes to the share of the external wrenches."""
        return self._wanted[self._external]

    def external_effort(self, time: int, effort: FloatArray) -> None:
        """Share (n_u,) of the external wrenches in the efforts, at a time (ns)."""
        self._external.publish(self._external_bytes.filled(time, effort))

    def joint_states(self, time: int, effort: Effort) -> None:
        """All joints of the tree at a time (ns)."""
        self._joint_states.publish(self._joints_bytes.filled(time, effort.q, effort.v))

    @property
    def contact_forces_wanted(self) -> bool:
        """Whether anybody subscribes to the force of a contact."""
        return any(publisher.get_subscription_count() for publisher, _ in self._contacts)

    def contact_forces(self, time: int, forces: list[FloatArray]) -> None:
        """Forces (3,) of the sockets in the axes of their frames, at a time (ns)."""
        for (publisher, message), force in zip(self._contacts, forces, strict=True):
            publisher.publish(message.filled(time, force, _NO_TORQUE))

    @property
    def joint_forces_wanted(self) -> bool:
        """Whether anybody subscribes to the force of a joint."""
        return any(publisher.get_subscription_count() for publisher, _ in self._joint_forces)

    def joint_forces(self, time: int, wrenches: list[FloatArray]) -> None:
        """Wrenches (6,) on the actuated joints' child links, in their axes, at a time (ns)."""
        for (publisher, message), wrench in zip(self._joint_forces, wrenches, strict=True):
            publisher.publish(message.filled(time, wrench[:3], wrench[3:]))

    def trajectory(self, prepared: PreparedTrajectory) -> None:
        """The motion of the actuated joints with its efforts, as for a trajectory controller."""
        samples = prepared.samples
        rows = (samples.position, samples.velocity, samples.acceleration, samples.effort)
        names, times = self._mechanism.actuated, samples.times - samples.times[0]
        self._trajectory.publish(encode(prepared.start, names, times, rows))
