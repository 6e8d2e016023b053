# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that a simulated drive sends, and those that it listens to (CiA 301)."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives.objects import CONSUMER_HEARTBEAT, PRODUCER_HEARTBEAT
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary, Value

_CONSUMER, _PRODUCER = CONSUMER_HEARTBEAT.key, PRODUCER_HEARTBEAT.key


class Heartbeats:
    """Produces by 0x1017; consumes one node's by 0x1016:01, starting with its first.

    Parameters
    ----------
    objects : ObjectDictionary
    send : callable
        Sends a heartbeat.
    lost, found : callable
        Called when that heartbeat is lost, and when it is back.
    rerouted : callable
        Called when the node listened to has changed.

    Attributes
    ----------
    node : int
        Node that is listened to; 0: none.
    silent : bool
        Nothing is sent (an injected fault).
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        send: Callable[[], None],
        lost: Callable[[], None],
        found: Callable[[], None],
        rerouted: Callable[[], None],
    ):
        self._objects, self._send, self._rerouted = objects, send, rerouted
        self._lost, self._found = lost, found
        self.silent = False
        self._time, self._next, self._is_lost = 0.0, 0.0, False
        objects.writers[_PRODUCER] = self._set_period
        objects.writers[_CONSUMER] = self._set_consumer
        self.restart()

    def restart(self) -> None:
        """Take the stored settings; no node has been heard."""
        self._set_period(self._objects.get(*_PRODUCER))
        self._listen(self._objects.get(*_CONSUMER))

    def hear(self) -> None:
        """Take a heartbeat."""
        if self._is_lost:
            self._found()
        self._heard, self._is_lost = self._time, False

    def step(self, time: float) -> None:
        """Send and check what is due."""
        self._time = time
        if self._period and time >= self._next:
            self._next = max(self._next + self._period, time)
            if not self.silent:
                self._send()
        if time - self._heard > self._limit:
            self._heard, self._is_lost = math.inf, True
            self._lost()

    def _set_period(self, value: Value) -> None:
        self._period = float(value) * 1e-3
        self._next = self._time

    def _listen(self, value: int) -> None:
        """Listen to a node from its next heartbeat on: node id << 16 | ms."""
        node, milliseconds = value >> 16 & 0x7F, value & 0xFFFF
        self.node = node if milliseconds else 0
        self._limit, self._heard, self._is_lost = milliseconds * 1e-3, math.inf, False

    def _set_consumer(self, value: Value) -> None:
        self._listen(int(value))
        self._rerouted()
