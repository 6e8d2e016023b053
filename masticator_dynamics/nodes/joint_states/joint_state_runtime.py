# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes that answer joint states with a topic of their own have in common."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.nodes.common.managed_node import ManagedNode
from masticator_dynamics.nodes.common.messages import NO_PUBLISHER_EVENTS, RELIABLE
from masticator_dynamics.nodes.common.status_reporter import StatusReporter
from masticator_dynamics.nodes.joint_states.joint_state_input import JointReading
from masticator_dynamics.nodes.joint_states.joint_state_stream import JointStateStream


class JointStateRuntime:
    """Joint states in, one message out for each; a `managed_node.Runtime`.

    Parameters
    ----------
    node : ManagedNode
    settings : dataclass
        With a field ``closure_tolerance``.
    mechanism : Mechanism
    source, target : str
        Topics in and out.
    kind : type
        Of the messages that go out.
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
        self._publisher = node.create_lifecycle_publisher(
            kind, target, RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
        )
        self._stream = JointStateStream(
            node, source, mechanism, settings.closure_tolerance, self.answer
        )
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def answer(self, header: Header, reading: JointReading) -> None:
        """Publish what a reading leads to; may raise `MasticatorError` to refuse it."""
        raise NotImplementedError

    def describe(self) -> str:
        """What begins, for the log."""
        raise NotImplementedError

    def collect(self) -> list[DiagnosticStatus]:
        """Present statuses."""
        return [self._stream.status(self._reporter)]

    def activate(self) -> str:
        """Begin to answer."""
        self._stream.start()
        return f'{self._mechanism.name}: {self.describe()}'

    def deactivate(self) -> None:
        """Stop answering."""
        self._stream.stop()

    def destroy(self) -> None:
        """Give topics and thread back."""
        self._stream.destroy()
        self._reporter.destroy()
        self._node.destroy_lifecycle_publisher(self._publisher)

    def check(self, settings: Any) -> None:
        """Nothing that the ranges do not say."""

    def fail(self, reason: str) -> None:
        """Nothing here moves."""

    def apply(self, settings: Any) -> None:
        """Take over what may change."""
        self._stream.tolerance = settings.closure_tolerance
        self._settings = settings
