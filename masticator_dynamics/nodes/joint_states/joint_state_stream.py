# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A topic of joint states, read in a thread of its own, each message answered in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.nodes.common.diagnostics import ERROR, OK, WARN, Rejections
from masticator_dynamics.nodes.common.direct_subscription import DirectSubscription
from masticator_dynamics.nodes.common.status_reporter import StatusReporter
from masticator_dynamics.nodes.joint_states.joint_state_input import (
    JointReading,
    JointStateReader,
    UnmeasuredError,
)

# Messages wait while the process is not scheduled for a moment: a second of them at 1 kHz.
_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
_LARGEST = 65536  # bytes; states of a thousand joints, of which ours may be some
_LAG = 1_000_000_000  # ns; when one has waited for longer, all but the newest are skipped
_POLL = 0.1  # s; how soon the thread sees that it should end
_SILENCE = 1.0  # s without messages before there is a warning

Answer = Callable[[Header, JointReading], None]


class JointStateStream:
    """Joint states of a topic as configurations of a mechanism.

    Messages that cannot be read change nothing; they are counted, and the log says why.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    mechanism : Mechanism
        For the stream's thread alone, in which ``answer`` runs, too.
    tolerance : float
        Largest gap of a loop, m.
    answer : callable
        Gets the header, stamped now if it was not, and what was read; may raise `MasticatorError`
        to refuse it.
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
        self.skipped = 0  # messages that were overtaken
        self._node, self._topic, self._answer = node, topic, answer
        self._reader = JointStateReader(mechanism, tolerance)
        self._subscription = DirectSubscription(node, JointState, topic, _QOS, _LARGEST)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._received = self._started = 0.0
        self._residual = 0.0
        self._kind, self._unmeasured = 'none', ''
        # Once what is always right: caches are filled, code is loaded.
        home = mechanism.home
        self._reader.read(mechanism.actuated, home.position.tolist(), home.velocity.tolist())

    @property
    def tolerance(self) -> float:
        """Largest gap of a loop that measured actuated joints may leave, m."""
        return self._reader.tolerance

    @tolerance.setter
    def tolerance(self, value: float) -> None:
        self._reader.tolerance = value

    @property
    def active(self) -> bool:
        """Messages are being answered."""
        return self._thread is not None

    @property
    def silence(self) -> float:
        """Seconds since the latest message, or since the start."""
        return time.monotonic() - max(self._received, self._started)

    @property
    def silent(self) -> bool:
        """Active, but nothing has come for a second, or at all."""
        return self.active and (not self._received or self.silence > _SILENCE)

    def start(self) -> None:
        """Answer what comes from now on; what waited while inactive is out of date."""
        for _ in self._subscription.take():
            pass
        self._ended.clear()
        self._received, self._started = 0.0, time.monotonic()
        self._thread = threading.Thread(target=self._run, name=self._topic, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def destroy(self) -> None:
        """Give topic and thread back."""
        self.stop()
        self._subscription.destroy()

    def status(self, reporter: StatusReporter) -> DiagnosticStatus:
        """How the topic is doing."""
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
            'closure tolerance (m)': self.tolerance,
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
            reading = self._reader.read(message.name, message.position, message.velocity)
            if not (message.header.stamp.sec or message.header.stamp.nanosec):
                message.header.stamp = self._node.get_clock().now().to_msg()
            self._answer(message.header, reading)
        except UnmeasuredError as error:
            # Before the first state that is how things are; later it is an error.
            if self.rejections.accepted:
                self._reject(str(error))
            else:
                self._unmeasured = str(error)
        except MasticatorError as error:
            self._reject(str(error))
        except Exception as error:  # the node survives whatever a message does
            self._reject(f'{type(error).__name__}: {error}')
        else:
            self._kind, self._residual = reading.kind, reading.closure_residual
            self._unmeasured = ''
            self.rejections.accept()

    def _reject(self, reason: str) -> None:
        line = self.rejections.reject(reason)
        if line:
            self._node.get_logger().error(f'{self._topic} rejected: {line}')
