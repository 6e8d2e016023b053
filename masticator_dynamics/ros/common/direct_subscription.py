# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions read by a thread of ours: rclpy's executor spends 0.7 ms on each message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from masticator_dynamics.drives import real_time
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.guard import guard_of

# By default rclpy waits for two events of every topic (incompatible publishers), and checks each
# whenever anything arrives.
NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)

_POLL = 0.1  # s; how soon a thread notices that it should end


class _NeverReady(CallbackGroup):
    """Keeps a subscription out of the executor."""

    def can_execute(self, entity: object) -> bool:
        return False


class DirectSubscription:
    """A topic that is read on demand, outside the executor.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
    qos : QoSProfile
        Its depth is how many messages may wait.
    largest : int, optional
        Bytes of a message; converting a larger one would hold up the reader, so it is refused
        first. The node's guard counts and reports it, as it does unreadable messages.
    """

    def __init__(
        self, node: Node, kind: type, topic: str, qos: QoSProfile, largest: int | None = None
    ):
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
        context = node.context.handle
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, context)

    def destroy(self) -> None:
        """Destroy the subscription."""
        self._node.destroy_subscription(self._subscription)

    def wait(self, seconds: float) -> None:
        """Sleep until a message is waiting or the time is over; for one thread only."""
        with self._subscription.handle:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._subscription.handle)
            self._wait_set.wait(round(seconds * 1e9))

    def take(self) -> Iterator[tuple[Any, int]]:
        """Waiting messages, oldest first, and when each was received, ns since 1970."""
        for data, info in self.take_serialized():
            try:
                message = deserialize_message(data, self._kind)
            except Exception as error:  # whatever came, the others still count
                self._refuse(error)
            else:
                yield message, info['received_timestamp']

    def take_serialized(self) -> Iterator[tuple[bytes, dict[str, int]]]:
        """The same as bytes, with all that the middleware knows of each; times in ns since 1970."""
        handle = self._subscription.handle
        with handle:
            for _ in range(self._depth):
                try:
                    taken = handle.take_message(self._kind, True)
                except Exception as error:
                    self._refuse(error)
                    return
                if taken is None:
                    return
                data, info = taken
                if self._is_too_large(data):
                    return  # fetching it took long enough; the rest comes with the next call
                # Not every middleware reports it.
                info['received_timestamp'] = info.get('received_timestamp') or time.time_ns()
                yield data, info

    def _is_too_large(self, data: bytes) -> bool:
        """Whether a message has more bytes than are read; it is refused then."""
        if self._largest is None or len(data) <= self._largest:
            return False
        self._refuse(InputError(f'{len(data)} bytes; at most {self._largest} are read'))
        return True

    def _refuse(self, error: Exception) -> None:
        self._guard.take(self._subscription.topic_name, error)


class ReadTopic(DirectSubscription):
    """A topic that is read by a thread of its own.

    Parameters
    ----------
    node, kind, topic, qos
        As for `DirectSubscription`.
    take : callable
        Called with each message, in that thread.
    largest : int, optional
        As for `DirectSubscription`.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        qos: QoSProfile,
        take: Callable[[Any], None],
        largest: int | None = None,
    ):
        super().__init__(node, kind, topic, qos, largest)
        self._give = take
        # This thread may hold Python's lock when a cycle needs it.
        self._thread = real_time.Worker(topic, self._run, real_time.SERVICE)
        self._thread.start()

    def destroy(self) -> None:
        """End the thread and destroy the subscription."""
        self._thread.stop()
        super().destroy()

    def _run(self) -> None:
        while not self._thread.ended.is_set():
            try:
                self.wait(_POLL)
                for message, _ in self.take():
                    self._give(message)
            except Exception as error:  # whatever it was, the thread survives
                self._refuse(error)
