# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common part of the nodes that publish a message for each joint state received."""

from __future__ import annotations

from typing import Any

from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.nodes.common.diagnostics import Status
from masticator_dynamics.nodes.common.managed_node import ManagedNode, Runtime
from masticator_dynamics.nodes.common.outgoing import publisher
from masticator_dynamics.nodes.common.status_reporter import StatusReporter
from masticator_dynamics.nodes.joint_states.joint_state_input import JointReading
from masticator_dynamics.nodes.joint_states.joint_state_stream import JointStateStream


class JointStateRuntime(Runtime):
    """Joint states in, one message out for each.

    Parameters
    ----------
    node : ManagedNode
    settings : dataclass
        Must have a field ``closure_tolerance``.
    mechanism : Mechanism
    source, target : str
        Topics subscribed to and published.
    kind : type
        Type of the published messages.
    """

    def __init__(
        self,
        node: ManagedNode,
        settings: Any,
        mechanism: Mechanism,
        source: str,
        target: str,
        kind: type,
    ):
        self._node, self._settings, self._mechanism = node, settings, mechanism
        self._publisher = publisher(node, kind, target)
        self._stream = JointStateStream(
            node, source, mechanism, settings.closure_tolerance, self.answer
        )
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def answer(self, header: Header, reading: JointReading) -> None:
        """Publish the message for a reading; may raise `MasticatorError` to refuse it."""
        raise NotImplementedError

    def describe(self) -> str:
        """Say for the log what the node does from now on."""
        raise NotImplementedError

    def collect(self) -> list[Status]:
        """Current diagnostic statuses."""
        return [self._stream.status(self._reporter)]

    def activate(self) -> str:
        """Start publishing."""
        self._stream.start()
        return f'{self._mechanism.name}: {self.describe()}'

    def deactivate(self) -> None:
        """Stop publishing."""
        self._stream.stop()

    def destroy(self) -> None:
        """Stop the thread and destroy the topics."""
        self._stream.destroy()
        self._reporter.destroy()
        self._node.destroy_lifecycle_publisher(self._publisher)

    def apply(self, settings: Any) -> None:
        """Apply the settings that may change at run time."""
        self._stream.reader.tolerance = settings.closure_tolerance
        self._settings = settings
