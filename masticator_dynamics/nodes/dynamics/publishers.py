# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outgoing messages of node ``dynamics``: built once, filled in every cycle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.nodes.common.outgoing import Outgoing, joint_topic, publisher
from masticator_dynamics.nodes.common.trajectory_cdr import encode
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
        def wrench(topic: str, frame: str) -> Outgoing:
            message = WrenchStamped()
            message.header.frame_id = frame_prefix + frame
            return Outgoing(node, topic, message, {'wrench.force': 3, 'wrench.torque': 3})

        self._mechanism, names = mechanism, mechanism.actuated
        self._effort = Outgoing(
            node, 'feedforward_effort', Float64MultiArray(), {'data': len(names)}
        )
        self._state = joint_topic(
            node, 'feedforward_state', names, 'position', 'velocity', 'effort'
        )
        self._trajectory = publisher(node, JointTrajectory, 'feedforward_trajectory')
        self._joint_states = joint_topic(
            node, 'joint_states', mechanism.tree_joints, 'position', 'velocity'
        )
        self._multipliers = joint_topic(node, 'contact_multipliers', mechanism.contacts, 'effort')
        self._external = joint_topic(node, 'external_effort', names, 'effort')
        self._contacts = [
            wrench(f'contact_force/{contact.name}', contact.frame)
            for contact in mechanism.description.contacts
        ]
        self._joint_forces = [
            wrench(f'joint_force/{joint}', frame)
            for joint, frame in zip(names, joint_frames, strict=True)
        ]
        self._of_cycles = self._effort, self._state, self._multipliers, self._external
        self._wanted = dict.fromkeys(self._of_cycles, True)
        self._ready: tuple[Answer | None, dict[Outgoing, bytes]] = None, {}

    def destroy(self, node: LifecycleNode) -> None:
        """Destroy the topics."""
        node.destroy_lifecycle_publisher(self._trajectory)
        for topic in (
            *self._of_cycles, self._joint_states, *self._contacts, *self._joint_forces
        ):  # fmt: skip
            topic.destroy()

    def prepare(self, time: int, answer: Answer | None) -> None:
        """Make messages for a time (ns), in case the answer stays the same.

        Also note who is subscribed: new subscribers get the next cycle but one.
        """
        self._wanted = {topic: topic.wanted for topic in self._of_cycles}
        self._ready = answer, self._messages(time, answer) if answer else {}

    def cycle(self, time: int, answer: Answer) -> None:
        """Efforts, state of the actuated joints and multipliers, where wanted, at a time (ns)."""
        known, messages = self._ready
        if known is not answer:
            messages = self._messages(time, answer)
        for topic, message in messages.items():
            topic.publisher.publish(message)

    def _messages(self, time: int, answer: Answer) -> dict[Outgoing, bytes]:
        """Messages by topic, where there are subscribers."""
        rows = {
            self._effort: (answer.actuated,),
            self._state: (answer.position, answer.velocity, answer.actuated),
            self._multipliers: (answer.effort.contact,),
        }
        return {
            topic: topic.filled(time, *blocks)
            for topic, blocks in rows.items()
            if self._wanted[topic]
        }

    @property
    def external_effort_wanted(self) -> bool:
        """Whether anybody subscribes to the share of the external wrenches."""
        return self._wanted[self._external]

    def external_effort(self, time: int, effort: FloatArray) -> None:
        """Share (n_u,) of the external wrenches in the efforts, at a time (ns)."""
        self._external.publish(time, effort)

    def joint_states(self, time: int, effort: Effort) -> None:
        """All joints of the tree at a time (ns)."""
        self._joint_states.publish(time, effort.q, effort.v)

    @property
    def contact_forces_wanted(self) -> bool:
        """Whether anybody subscribes to the force of a contact."""
        return any(topic.wanted for topic in self._contacts)

    def contact_forces(self, time: int, forces: list[FloatArray]) -> None:
        """Forces (3,) of the sockets in the axes of their frames, at a time (ns)."""
        for topic, force in zip(self._contacts, forces, strict=True):
            topic.publish(time, force, _NO_TORQUE)

    @property
    def joint_forces_wanted(self) -> bool:
        """Whether anybody subscribes to the force of a joint."""
        return any(topic.wanted for topic in self._joint_forces)

    def joint_forces(self, time: int, wrenches: list[FloatArray]) -> None:
        """Wrenches (6,) on the actuated joints' child links, in their axes, at a time (ns)."""
        for topic, wrench in zip(self._joint_forces, wrenches, strict=True):
            topic.publish(time, wrench[:3], wrench[3:])

    def trajectory(self, prepared: PreparedTrajectory) -> None:
        """The motion of the actuated joints with its efforts, as for a trajectory controller."""
        samples = prepared.samples
        rows = (samples.position, samples.velocity, samples.acceleration, samples.effort)
        names, times = self._mechanism.actuated, samples.times - samples.times[0]
        self._trajectory.publish(encode(prepared.start, names, times, rows))
