# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages without rclpy's executor, which spends 0.2 to 0.5 ms on each."""

from __future__ import annotations

import array
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from masticator_dynamics.drives import real_time
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.fixed_layout import FixedLayout, Numbers, NumbersReader, filled
from masticator_dynamics.ros.common.guard import guard_of

# By default rclpy waits for two events of every topic (incompatible publishers), and checks each
# whenever anything arrives.
NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)

POLL = 0.1  # s; how soon a thread notices that it should end, or that nobody else reads

# All that changes in a joint state: were one left out, each message would have its own layout.
JOINT_FIELDS = 'position', 'velocity', 'effort'


class _NeverReady(CallbackGroup):
    """Keeps a subscription out of the executor."""

    def can_execute(self, entity: object) -> bool:
        return False


class DirectSubscription:
    """A topic that is read on demand, outside the executor.

    Parameters
    ----------
    kind : type
        Of the messages.
    qos : QoSProfile
        Its depth is how many messages may wait.
    largest : int, optional
        Bytes of a message; converting a larger one would hold up the reader, so it is refused
        first. The node's guard counts and reports it, as it does unreadable messages.
    fields : str
        Whose numbers `take_numbers` reads.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        qos: QoSProfile,
        largest: int | None = None,
        *fields: str,
    ):
        self._reader = NumbersReader(kind, *fields)
        self._node, self._kind, self._depth, self._largest = node, kind, qos.depth, largest
        self._guard = guard_of(node)
        self._subscription = node.create_subscription(
            kind,
            topic,
            lambda message: None,
            qos,
            callback_group=_NeverReady(),
            event_callbacks=NO_EVENTS,
        )
        self._handle = self._subscription.handle
        context = node.context.handle
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, context)

    def destroy(self) -> None:
        """Destroy the subscription."""
        self._node.destroy_subscription(self._subscription)

    @property
    def publishers(self) -> int:
        """How many publish to it now."""
        with self._handle:
            return int(self._handle.get_publisher_count())

    def wait(self, seconds: float) -> None:
        """Sleep until a message is waiting or the time is over; for one thread only."""
        with self._handle:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._handle)
            self._wait_set.wait(round(seconds * 1e9))

    def take(self) -> list[tuple[Any, int]]:
        """Waiting messages, oldest first, and when each was received, ns since 1970."""
        waiting = self.take_serialized()
        return self._converted(waiting, self._deserialized) if waiting else []

    def take_numbers(self) -> list[tuple[Numbers, int]]:
        """The same for their numbers alone, without an object for each message."""
        waiting = self.take_serialized()
        return self._converted(waiting, self._reader) if waiting else []

    def _deserialized(self, data: bytes) -> Any:
        return deserialize_message(data, self._kind)

    def _converted(
        self, waiting: list[tuple[bytes, dict[str, int]]], read: Callable[[bytes], Any]
    ) -> list[tuple[Any, int]]:
        messages = []
        for data, info in waiting:
            try:
                messages.append((read(data), info['received_timestamp']))
            except Exception as error:  # whatever came, the others still count
                self._refuse(error)
        return messages

    def take_serialized(self) -> list[tuple[bytes, dict[str, int]]]:
        """Waiting messages as bytes, with all that is known of each; times in ns since 1970."""
        waiting: list[tuple[bytes, dict[str, int]]] = []
        with self._handle:
            for _ in range(self._depth):
                try:
                    taken = self._handle.take_message(self._kind, True)
                except Exception as error:
                    self._refuse(error)
                    break
                if taken is None:
                    break
                data, info = taken
                if self._is_too_large(data):
                    break  # fetching it took long enough; the rest comes with the next call
                # Not every middleware reports it.
                info['received_timestamp'] = info.get('received_timestamp') or time.time_ns()
                waiting.append((data, info))
        return waiting

    def _is_too_large(self, data: bytes) -> bool:
        """Whether a message has more bytes than are read; it is refused then."""
        if self._largest is None or len(data) <= self._largest:
            return False
        self._refuse(InputError(f'{len(data)} bytes; at most {self._largest} are read'))
        return True

    def _refuse(self, error: Exception) -> None:
        self._guard.take(self._subscription.topic_name, error)


class ThreadedSubscription(DirectSubscription):
    """A topic whose numbers a thread of its own reads, or who calls :meth:`read`."""

    def __init__(
        self, node: Node, kind: type, topic: str, qos: QoSProfile, largest: int, *fields: str
    ):
        super().__init__(node, kind, topic, qos, largest, *fields)
        # This thread may hold Python's lock when a cycle needs it.
        self._thread = real_time.Worker(topic, self._run, real_time.SERVICE)
        self._thread.start()

    def destroy(self) -> None:
        """End the thread and destroy the topic."""
        self._thread.stop()
        super().destroy()

    def read(self) -> None:
        """Read what waits; whatever it is, the caller goes on."""
        try:
            for numbers, received in self.take_numbers():
                self._keep(numbers, received)
        except Exception as error:
            self._refuse(error)

    def _run(self) -> None:
        while not self._thread.ended.is_set():
            try:
                if self._wanted():
                    self.wait(POLL)
                    self.read()
            except Exception as error:  # whatever it was, the thread survives
                self._refuse(error)

    def _wanted(self) -> bool:
        """Whether the thread should read; where not, after a moment's wait."""
        return True

    def _keep(self, numbers: Numbers, received: int) -> None:
        """Keep what a message says, received at a time, ns since 1970."""
        raise NotImplementedError


# What is kept for subscribers that do not get to run for a moment; how far a subscriber may fall
# behind is a matter of its own depth.
RELIABLE = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)

# By default rclpy waits for two events of every topic (incompatible subscribers), and checks each
# whenever anything arrives: half a millisecond per bite force, in which no cycle can run.
NO_PUBLISHER_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)


_ASKED = 0.05  # s between two questions who subscribes: one takes as long as filling a message


def doubles(values: FloatArray) -> array.array[float]:
    """Array in the type that messages store: any other is checked item by item when assigned."""
    return array.array('d', values.tobytes())


def publisher(node: LifecycleNode, kind: type, topic: str) -> Any:
    """What publishes messages of a kind on a topic while the node is active.

    Parameters
    ----------
    kind : type
        Of the messages.
    """
    return node.create_lifecycle_publisher(
        kind, topic, RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
    )


class Outgoing:
    """A topic of messages of which only the numbers change.

    Parameters
    ----------
    message : ROS message
        Complete except for the numbers. A stamp is written only if it has a header.
    fields : str
        Of doubles, or vectors (``wrench.force``), in the order in which they are given later.
    """

    def __init__(self, node: LifecycleNode, topic: str, message: Any, *fields: str):
        self._node, self._message, self._fields = node, message, fields
        self.publisher = publisher(node, type(message), topic)
        self._lengths: list[int] = []
        self._layout: FixedLayout | None = None
        self._asks, self._wanted = -math.inf, False

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes, or did when that was last asked, up to 50 ms ago."""
        now = time.monotonic()
        if now >= self._asks:
            self._asks = now + _ASKED
            self._wanted = bool(self.publisher.get_subscription_count())
        return self._wanted

    def set_frame(self, frame: str) -> None:
        """Of the messages' headers, from now on."""
        if frame != self._message.header.frame_id:
            self._message.header.frame_id, self._lengths = frame, []

    def filled(self, time: int, *rows: FloatArray) -> Any:
        """Message, mostly as bytes, with a stamp (ns) and a row of numbers for each field."""
        lengths = list(map(len, rows))
        if lengths != self._lengths:
            self._lengths, self._layout = lengths, None
            with contextlib.suppress(ValueError):  # a middleware that stores them otherwise
                self._layout = FixedLayout(self._message, self._fields, lengths)
        if self._layout is not None:
            return self._layout.write(time, rows)
        return filled(self._message, time, self._fields, rows)

    def publish(self, time: int, *rows: FloatArray) -> None:
        """Publish a message with a stamp (ns) and a row of numbers for each field."""
        self.publisher.publish(self.filled(time, *rows))

    def destroy(self) -> None:
        """Destroy the topic."""
        self._node.destroy_lifecycle_publisher(self.publisher)


def joint_topic(node: LifecycleNode, topic: str, joints: Sequence[str], *fields: str) -> Outgoing:
    """A topic of joint states.

    Parameters
    ----------
    fields : str
        Of position, velocity and effort, those that are published.
    """
    return Outgoing(node, topic, JointState(name=list(joints)), *fields)
