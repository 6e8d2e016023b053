# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``joint_state_completion``: all joints, from those measured or moved by hand."""

from __future__ import annotations

import dataclasses
import functools

from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.direct_subscription import doubles
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
            'completing joint_states_in to joint_states',
        )  # fmt: skip

    def answer(self, header: Header, reading: JointReading) -> bool:
        """All joints of the tree."""
        motion, message = reading.motion, self._message
        if reading.y_dot is not None:
            motion = self._mechanism.solve(motion.y, reading.y_dot)
        message.header = header
        message.position = doubles(motion.q)
        # An unknown velocity is left out: it is not zero.
        message.velocity = doubles(motion.v if reading.y_dot is not None else motion.v[:0])
        return True


make_node = functools.partial(
    ManagedNode, 'joint_state_completion', JointStateCompletionSettings, Completion
)
