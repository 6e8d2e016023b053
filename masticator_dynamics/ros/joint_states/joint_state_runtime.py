# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common part of the nodes that publish a message for each joint state received."""

from __future__ import annotations

import time
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.real_time import Worker
from masticator_dynamics.errors import in_words
from masticator_dynamics.ros.common.diagnostics import OK, WARN, Rejections, Status
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription
from masticator_dynamics.ros.common.managed_node import ManagedNode, Runtime
from masticator_dynamics.ros.common.node_clock import NodeClock
from masticator_dynamics.ros.common.outgoing import publisher
from masticator_dynamics.ros.common.status_reporter import StatusReporter
from masticator_dynamics.ros.joint_states.joint_state_input import (
    ACTUATED,
    INDEPENDENT,
    JointReading,
    JointStateReader,
    UnmeasuredError,
)

# Messages are queued while the process is not scheduled: one second of them at 1 kHz.
_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
_LARGEST = 65536  # bytes; enough for a thousand joints, ours among them
_LAG = 1_000_000_000  # ns; if a message has waited longer, all but the newest are skipped
_POLL = 0.1  # s; how soon the thread notices that it should end
_SILENCE = 1.0  # s without messages before a warning


class JointStateRuntime(Runtime):
    """Joint states in, read by a thread of their own; one message out for each.

    Messages that cannot be read are counted and otherwise ignored; the log says why.

    Parameters
    ----------
    node : ManagedNode
    settings : dataclass
        Must have a field ``closure_tolerance``.
    mechanism : Mechanism
        From activation to deactivation only the thread uses it.
    source, target : str
        Topics subscribed to and published.
    message : ROS message
        What is published, filled in by :meth:`answer`.
    """

    kinds: tuple[str, ...] = (INDEPENDENT, ACTUATED)  # of joints that are read, the best first

    def __init__(
        self,
        node: ManagedNode,
        settings: Any,
        mechanism: Mechanism,
        source: str,
        target: str,
        message: Any,
    ):
        self._node, self._settings, self._mechanism = node, settings, mechanism
        self._source, self._now = source, NodeClock(node)
        self._message, self._publisher = message, publisher(node, type(message), target)
        self._rejections = Rejections(node.get_logger().error)
        self._skipped = 0  # messages dropped for a newer one
        self._reader = JointStateReader(mechanism, settings.closure_tolerance, self.kinds)
        self._subscription = DirectSubscription(node, JointState, source, _QOS, _LARGEST)
        self._thread = Worker(source, self._run)
        self._received = self._residual = 0.0
        self._kind, self._unmeasured = 'none', ''
        # Read a valid state once, to fill caches and load code.
        home = mechanism.home
        self._reader.read(mechanism.actuated, home.position.tolist(), home.velocity.tolist())
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def answer(self, header: Header, reading: JointReading) -> bool:
        """Fill in the message for a reading; return whether to publish it.

        May raise `MasticatorError` to refuse it. The header has the present time if the message had
        no stamp.
        """
        raise NotImplementedError

    def describe(self) -> str:
        """Say for the log what the node does from now on."""
        raise NotImplementedError

    @property
    def silent(self) -> bool:
        """Whether the node is active but has received nothing yet, or nothing for a second."""
        return self._thread.running and time.monotonic() - self._received > _SILENCE

    def collect(self) -> list[Status]:
        """Current diagnostic statuses."""
        level, message = OK, 'active' if self._thread.running else 'not active'
        if self._thread.running and self._unmeasured:
            level, message = WARN, self._unmeasured
        elif self.silent:
            level, message = WARN, f'nothing comes on {self._source}'
        values = {
            'read as': self._kind,
            'closure residual (m)': self._residual,
            'closure tolerance (m)': self._reader.tolerance,
            'skipped': self._skipped,
            **self._rejections.values(),
        }
        return [self._rejections.status(self._source, level, message, values)]

    def activate(self) -> str:
        """Process messages from now on; those queued while inactive are discarded."""
        for _ in self._subscription.take():
            pass
        self._received = 0.0
        self._thread.start()
        return f'{self._mechanism.name}: {self.describe()}'

    def deactivate(self) -> None:
        """End the thread."""
        self._thread.stop()

    def destroy(self) -> None:
        """Stop the thread and destroy the topics."""
        self.deactivate()
        self._subscription.destroy()
        self._reporter.destroy()
        self._node.destroy_lifecycle_publisher(self._publisher)

    def apply(self, settings: Any) -> None:
        """Apply the settings that may change at run time."""
        self._reader.tolerance = settings.closure_tolerance
        self._settings = settings

    def _run(self) -> None:
        while not self._thread.ended.is_set():
            self._subscription.wait(_POLL)
            waiting = list(self._subscription.take())
            if waiting:
                self._received = time.monotonic()
            self._answer_waiting(waiting)

    def _answer_waiting(self, waiting: list[tuple[JointState, int]]) -> None:
        for index, (message, received) in enumerate(waiting):
            if self._thread.ended.is_set():
                return
            if time.time_ns() - received > _LAG:
                self._skipped += len(waiting) - 1 - index
                self._take(waiting[-1][0])
                return
            self._take(message)

    def _take(self, message: JointState) -> None:
        try:
            reading = self._reader.read(
                message.name, message.position, message.velocity, message.effort
            )
            if not (message.header.stamp.sec or message.header.stamp.nanosec):
                message.header.stamp = self._now.stamp()
            if self.answer(message.header, reading):
                self._publisher.publish(self._message)
        except Exception as error:  # no message may end the node
            # Nothing measured is normal before the first state; an error later.
            if isinstance(error, UnmeasuredError) and not self._rejections.accepted:
                self._unmeasured = str(error)
            else:
                self._rejections.reject(f'{self._source} rejected: ', in_words(error))
        else:
            self._kind, self._residual = reading.kind, reading.closure_residual
            self._unmeasured = ''
            self._rejections.accept()
