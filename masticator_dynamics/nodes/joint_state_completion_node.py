# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``joint_state_completion``: all joints, from those measured or moved by hand."""

from __future__ import annotations

import dataclasses
import sys

from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.nodes import process
from masticator_dynamics.nodes.declarations import AUTOSTART, MECHANISM
from masticator_dynamics.nodes.joint_state_input import JointReading
from masticator_dynamics.nodes.joint_state_stream import CLOSURE_TOLERANCE, JointStateStream
from masticator_dynamics.nodes.managed_node import ManagedNode
from masticator_dynamics.nodes.publishers import NO_PUBLISHER_EVENTS, RELIABLE, doubles
from masticator_dynamics.nodes.status_reporter import StatusReporter

DECLARATIONS = (MECHANISM, CLOSURE_TOLERANCE, AUTOSTART)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values of the parameters."""

    mechanism: str
    closure_tolerance: float
    autostart: bool


class Completion:
    """Topic ``joint_states_in`` to topic ``joint_states``.

    Parameters
    ----------
    node : ManagedNode
    settings : Settings

    Raises
    ------
    InputError
        When both topics are the same: the node would answer itself.
    """

    def __init__(self, node: ManagedNode, settings: Settings):
        self._node, self._mechanism = node, Mechanism.load(settings.mechanism)
        topics = [node.resolve_topic_name(topic) for topic in ('joint_states_in', 'joint_states')]
        if topics[0] == topics[1]:
            raise InputError(f'joint_states_in and joint_states are both {topics[0]}')
        self._message = JointState(name=list(self._mechanism.tree_joints))
        self._publisher = node.create_lifecycle_publisher(
            JointState, 'joint_states', RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
        )
        self._stream = JointStateStream(
            node, 'joint_states_in', self._mechanism, settings.closure_tolerance, self._complete
        )
        self._reporter = StatusReporter(
            node, self._mechanism.name, lambda: [self._stream.status(self._reporter)]
        )

    def activate(self) -> str:
        """Begin to answer."""
        self._stream.start()
        return f'{self._mechanism.name}: completing joint_states_in to joint_states'

    def deactivate(self) -> None:
        """Stop answering."""
        self._stream.stop()

    def destroy(self) -> None:
        """Give topics and thread back."""
        self._stream.destroy()
        self._reporter.destroy()
        self._node.destroy_lifecycle_publisher(self._publisher)

    def check(self, settings: Settings) -> None:
        """Nothing that the ranges do not say."""

    def apply(self, settings: Settings) -> None:
        """Take over the tolerance."""
        self._stream.tolerance = settings.closure_tolerance

    def _complete(self, header: Header, reading: JointReading) -> None:
        motion, message = self._mechanism.solve(reading.y, reading.y_dot), self._message
        message.header = header
        message.position = doubles(motion.q)
        # An unknown velocity is left out: it is not zero.
        message.velocity = doubles(motion.v if reading.y_dot is not None else motion.v[:0])
        self._publisher.publish(message)


class JointStateCompletionNode(ManagedNode):
    """Passive joints of the loops; what it does is in `Completion`."""

    def __init__(self) -> None:
        super().__init__('joint_state_completion', DECLARATIONS, Settings)

    def create_runtime(self, settings: Settings) -> Completion:
        """Load the mechanism and read one state."""
        return Completion(self, settings)


def main() -> int:
    """Run the node; returns the exit code."""
    return process.run(JointStateCompletionNode)


if __name__ == '__main__':
    sys.exit(main())
