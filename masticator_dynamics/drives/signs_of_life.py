# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What drives send of themselves: heartbeats, boot-up and emergency messages."""

from __future__ import annotations

import collections
import time

import canopen
import numpy as np

from masticator_dynamics.drives import emergency, objects
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Emergency
from masticator_dynamics.drives.objects import NmtState
from masticator_dynamics.engine.arrays import FloatArray

_NMT_STATES = frozenset(NmtState)


class SignsOfLife:
    """The newest of each drive, by its index.

    Parameters
    ----------
    drives : Drives

    Attributes
    ----------
    emergencies : deque of Emergency
        Newest last; the reader removes them.
    heard : array (n,)
        Time of each drive's last heartbeat, s of ``time.monotonic()``; -inf before the first.
    nmt_states : list of int
        The state it reported (`objects.NmtState`); -1 before the first.
    booted : set of int
        Indices of drives that have restarted since they were set up.
    """

    def __init__(self, drives: Drives):
        self._drives = drives.drives
        self.emergencies: collections.deque[Emergency] = collections.deque(maxlen=1000)
        self.heard: FloatArray = np.full(len(self._drives), -np.inf)
        self.nmt_states = [-1] * len(self._drives)
        self.booted: set[int] = set()

    def listen(self, network: canopen.Network) -> None:
        """Begin anew, on a bus."""
        self.heard[:] = -np.inf
        self.emergencies.clear()
        self.booted.clear()
        for index, (name, drive) in enumerate(self._drives.items()):
            # canopen's own listener keeps all messages forever, and raises for short ones.
            network.unsubscribe(objects.EMERGENCY_COB + drive.node_id)
            network.subscribe(objects.EMERGENCY_COB + drive.node_id, self._emergency_listener(name))
            network.subscribe(
                objects.HEARTBEAT_COB + drive.node_id, self._heartbeat_listener(index)
            )

    def _emergency_listener(self, name: str) -> canopen.network.Callback:
        def take(_: int, data: bytearray, __: float) -> None:
            if len(data) < 2:  # too short to say what is wrong
                return
            code, register = int.from_bytes(data[:2], 'little'), (*data, 0)[2]
            self.emergencies.append(Emergency(name, code, register, emergency.words(code)))

        return take

    def _heartbeat_listener(self, index: int) -> canopen.network.Callback:
        def take(_: int, data: bytearray, __: float) -> None:
            state = data[0] & 0x7F if len(data) == 1 else -1
            if state not in _NMT_STATES:  # no heartbeat, and no sign of life
                return
            self.heard[index] = time.monotonic()
            self.nmt_states[index] = state
            if state == NmtState.BOOT_UP:
                self.booted.add(index)

        return take
