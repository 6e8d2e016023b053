# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``joint_state_completion``: all joints, from those measured or moved by hand."""

from __future__ import annotations

import dataclasses
import functools

from sensor_msgs.msg import JointState

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.managed_node import ManagedNode
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    JointReading,
    JointStateRuntime,
    JointStateSettings,
)


@dataclasses.dataclass(frozen=True)
class JointStateCompletionSettings(JointStateSettings):
    """Values of the parameters; units are in their descriptions."""


class Completion(JointStateRuntime):
    """Turns topic ``joint_states_in`` into topic ``joint_states``.

    Raises
    ------
    InputError
        When both topics are the same: the node would answer itself.
    """

    def __init__(self, node: ManagedNode, settings: JointStateCompletionSettings):
        mechanism = Mechanism.load(settings.mechanism)
        topics = [node.resolve_topic_name(topic) for topic in ('joint_states_in', 'joint_states')]
        if topics[0] == topics[1]:
            raise InputError(f'joint_states_in and joint_states are both {topics[0]}')
        message = JointState(name=list(mechanism.tree_joints))
        super().__init__(
            node, settings, mechanism, 'joint_states_in', 'joint_states', message,
            ('position', 'velocity'), 'completing joint_states_in to joint_states',
        )  # fmt: skip

    def answer(self, stamp: int, frame: str, reading: JointReading) -> tuple[FloatArray, ...]:
        """Positions and velocities of all joints of the tree."""
        self._target.set_frame(frame)
        motion, y_dot = reading.motion, reading.y_dot
        if y_dot is None:  # left out: it is not zero
            return motion.q, motion.v[:0]
        # By code that has just run; for a product with the tangent more would have to be fetched.
        motion = self._mechanism.solve(motion.y, y_dot)
        return motion.q, motion.v


make_node = functools.partial(
    ManagedNode, 'joint_state_completion', JointStateCompletionSettings, Completion
)
