# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of a simulated drive, and heartbeats that it sends and listens to (CiA 301)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.objects import CONSUMER_HEARTBEAT, PRODUCER_HEARTBEAT
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary, Value

_GENERIC = 0x01
# Bits of the error register, by the first digits of a code.
_REGISTER = {0x2: 0x02, 0x3: 0x04, 0x4: 0x08, 0x81: 0x10, 0x82: 0x10, 0x8: 0x20, 0xFF: 0x80}


class ErrorLog:
    """Present errors.

    Parameters
    ----------
    objects : ObjectDictionary
    send : callable
        Takes the eight bytes of an EMCY message.
    """

    def __init__(self, objects: ObjectDictionary, send: Callable[[bytes], None]):
        self._send = send
        self._present: dict[int, None] = {}
        objects.readers[0x1001, 0] = lambda: self.register
        objects.readers[names.ERROR_CODE.key] = lambda: self.code

    @property
    def register(self) -> int:
        """Error register, 0x1001."""
        register = 0
        for code in self._present:
            register |= _GENERIC | _REGISTER.get(code >> 8, _REGISTER.get(code >> 12, 0))
        return register

    @property
    def code(self) -> int:
        """The newest present error; 0: none."""
        return next(reversed(self._present), 0)

    def __contains__(self, code: int) -> bool:
        """Whether an error is present."""
        return code in self._present

    def signal(self, code: int) -> None:
        """Report an error, only once while it is present."""
        if code in self._present:
            return
        self._present[code] = None
        self._send(struct.pack('<HB5x', code, self.register))

    def repeat(self, code: int) -> None:
        """Send an error again that could not be heard."""
        if code in self._present:
            self._send(struct.pack('<HB5x', code, self.register))

    def end(self, *codes: int) -> None:
        """Report that errors are over; all of them if no codes are given."""
        gone = codes or tuple(self._present)
        if not any(code in self._present for code in gone):
            return
        for code in gone:
            self._present.pop(code, None)
        self._send(struct.pack('<HB5x', 0, self.register))

    def forget(self) -> None:
        """Power up: no errors."""
        self._present.clear()


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
