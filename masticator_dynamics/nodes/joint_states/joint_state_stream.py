# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A topic of joint states, read in its own thread; each message is processed in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.nodes.common.diagnostics import ERROR, OK, WARN, Rejections, Status
from masticator_dynamics.nodes.common.direct_subscription import DirectSubscription
from masticator_dynamics.nodes.common.node_clock import NodeClock
from masticator_dynamics.nodes.common.status_reporter import StatusReporter
from masticator_dynamics.nodes.joint_states.joint_state_input import (
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

Answer = Callable[[Header, JointReading], None]


class JointStateStream:
    """Configurations of a mechanism from a topic of joint states.

    Messages that cannot be read are counted and otherwise ignored; the log says why.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    mechanism : Mechanism
        Used only by the stream's thread, in which ``answer`` also runs.
    tolerance : float
        Largest gap of a loop, m.
    answer : callable
        Receives the header (with the present time if it had no stamp) and the reading; may raise
        `MasticatorError` to refuse it.

    Attributes
    ----------
    reader : JointStateReader
        Its tolerance may change.
    """

    def __init__(
        self,
        node: LifecycleNode,
        topic: str,
        mechanism: Mechanism,
        tolerance: float,
        answer: Answer,
    ):
        self.rejections = Rejections()
        self.skipped = 0  # messages dropped for a newer one
        self._node, self._topic, self._answer = node, topic, answer
        self._now = NodeClock(node)
        self.reader = JointStateReader(mechanism, tolerance)
        self._subscription = DirectSubscription(node, JointState, topic, _QOS, _LARGEST)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._received = self._residual = 0.0
        self._kind, self._unmeasured = 'none', ''
        # Read a valid state once, to fill caches and load code.
        home = mechanism.home
        self.reader.read(mechanism.actuated, home.position.tolist(), home.velocity.tolist())

    @property
    def active(self) -> bool:
        """Whether messages are being processed."""
        return self._thread is not None

    @property
    def silent(self) -> bool:
        """Whether the stream is active but has received nothing yet, or nothing for a second."""
        return self.active and time.monotonic() - self._received > _SILENCE

    def start(self) -> None:
        """Process messages from now on; those queued while inactive are discarded."""
        for _ in self._subscription.take():
            pass
        self._ended.clear()
        self._received = 0.0
        self._thread = threading.Thread(target=self._run, name=self._topic, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def destroy(self) -> None:
        """Stop the thread and destroy the subscription."""
        self.stop()
        self._subscription.destroy()

    def status(self, reporter: StatusReporter) -> Status:
        """Diagnostic status of the topic."""
        level, message = OK, 'active' if self.active else 'not active'
        if self.rejections.alarming:
            level = ERROR
            message = f'rejected ({self.rejections.rejected}): {self.rejections.last}'
        elif self.active and self._unmeasured:
            level, message = WARN, self._unmeasured
        elif self.silent:
            level, message = WARN, f'nothing comes on {self._topic}'
        values = {
            'read as': self._kind,
            'closure residual (m)': self._residual,
            'closure tolerance (m)': self.reader.tolerance,
            'skipped': self.skipped,
            **self.rejections.values(),
        }
        return reporter.status(self._topic, level, message, values)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._subscription.wait(_POLL)
            waiting = list(self._subscription.take())
            if waiting:
                self._received = time.monotonic()
            self._answer_waiting(waiting)

    def _answer_waiting(self, waiting: list[tuple[JointState, int]]) -> None:
        for index, (message, received) in enumerate(waiting):
            if self._ended.is_set():
                return
            if time.time_ns() - received > _LAG:
                self.skipped += len(waiting) - 1 - index
                self._take(waiting[-1][0])
                return
            self._take(message)

    def _take(self, message: JointState) -> None:
        try:
            reading = self.reader.read(message.name, message.position, message.velocity)
            if not (message.header.stamp.sec or message.header.stamp.nanosec):
                message.header.stamp = self._now.stamp()
            self._answer(message.header, reading)
        except UnmeasuredError as error:
            # Normal before the first state; an error later.
            if self.rejections.accepted:
                self._reject(str(error))
            else:
                self._unmeasured = str(error)
        except MasticatorError as error:
            self._reject(str(error))
        except Exception as error:  # no message may end the node
            self._reject(f'{type(error).__name__}: {error}')
        else:
            self._kind, self._residual = reading.kind, reading.closure_residual
            self._unmeasured = ''
            self.rejections.accept()

    def _reject(self, reason: str) -> None:
        line = self.rejections.reject(reason)
        if line:
            self._node.get_logger().error(f'{self._topic} rejected: {line}')
