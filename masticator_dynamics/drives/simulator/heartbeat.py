# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that a simulated drive sends, and those that it listens to (CiA 301)."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives.objects import PRODUCER_HEARTBEAT
from masticator_dynamics.drives.simulator.dictionary import (
    INCOMPATIBLE,
    AbortError,
    ObjectDictionary,
    Value,
)

_CONSUMER = 0x1016
_PRODUCER = PRODUCER_HEARTBEAT.key


class Heartbeats:
    """Produces by 0x1017; consumes by 0x1016, starting with a node's first heartbeat.

    Parameters
    ----------
    objects : ObjectDictionary
    send : callable
        Sends a heartbeat.
    lost, found : callable
        Called when a node's heartbeat is lost, and when it is back.
    rerouted : callable
        Called when the nodes listened to have changed.

    Attributes
    ----------
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
        self._time, self._next = 0.0, 0.0
        self._keys = [key for key in objects.entries if key[0] == _CONSUMER and key[1]]
        objects.writers[_PRODUCER] = self._set_period
        for key in self._keys:
            objects.writers[key] = lambda value, key=key: self._set_consumer(key, value)  # type: ignore[misc]
        self.restart()

    def restart(self) -> None:
        """Take the stored settings; no node has been heard."""
        self._set_period(self._objects.get(*_PRODUCER))
        self._limits = self._stored()
        self._heard: dict[int, float] = {}

    @property
    def nodes(self) -> list[int]:
        """Nodes that are listened to."""
        return list(self._limits)

    def hear(self, node: int) -> None:
        """Take a heartbeat."""
        if math.isinf(self._heard.get(node, 0.0)):
            self._found()
        self._heard[node] = self._time

    def step(self, time: float) -> None:
        """Send and check what is due."""
        self._time = time
        if self._period and time >= self._next:
            self._next = max(self._next + self._period, time)
            if not self.silent:
                self._send()
        for node, since in self._heard.items():
            if time - since > self._limits.get(node, math.inf):
                self._heard[node] = math.inf
                self._lost()

    def _set_period(self, value: Value) -> None:
        self._period = float(value) * 1e-3
        self._next = self._time

    def _stored(self) -> dict[int, float]:
        """Time limits, s, by node."""
        limits = {}
        for key in self._keys:
            value = self._objects.get(*key)
            if value & 0xFFFF and 1 <= value >> 16 & 0x7F:
                limits[value >> 16 & 0x7F] = (value & 0xFFFF) * 1e-3
        return limits

    def _set_consumer(self, key: tuple[int, int], value: Value) -> None:
        assert isinstance(value, int)
        node = value >> 16 & 0x7F
        others = (self._objects.get(*other) for other in self._keys if other != key)
        if value & 0xFFFF and any(o & 0xFFFF and o >> 16 & 0x7F == node for o in others):
            raise AbortError(INCOMPATIBLE)
        self._objects.values[key] = value
        self._limits = self._stored()
        self._heard = {n: t for n, t in self._heard.items() if n in self._limits}
        self._rerouted()
