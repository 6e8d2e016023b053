# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames that only a master sends: another one on the bus is noticed by them."""

from __future__ import annotations

import threading

import can

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drives

_IN_FLIGHT = 32  # own frames that may still come back: NMT goes to all drives in a row


class OtherMaster:
    """Tells frames of this side, where the bus gives them back, from those of another master.

    Parameters
    ----------
    drives : Drives
    """

    def __init__(self, drives: Drives):
        master = drives.heartbeat.master
        self._words = {
            objects.SYNC_COB: 'SYNC (0x080)',
            objects.NMT_COB: 'NMT commands (0x000)',
            objects.HEARTBEAT_COB
            + master: f'the heartbeat of node {master} (0x{0x700 + master:03X})',
        }
        self._echoed = drives.bus.interface == 'udp_multicast'
        self._lock = threading.Lock()
        self._awaited = dict.fromkeys(self._words, 0)
        self._found: dict[int, int] = {}

    def sent(self, identifier: int) -> None:
        """Count a frame of this side before it is sent."""
        if self._echoed and identifier in self._awaited:
            with self._lock:
                self._awaited[identifier] = min(self._awaited[identifier] + 1, _IN_FLIGHT)

    def take(self, message: can.Message) -> None:
        """Look at a frame that came."""
        identifier = message.arbitration_id
        if identifier not in self._awaited or message.is_extended_id or message.is_error_frame:
            return
        with self._lock:
            if self._awaited[identifier]:
                self._awaited[identifier] -= 1
            else:
                self._found[identifier] = self._found.get(identifier, 0) + 1

    def found(self) -> str:
        """What came from another master since the last time, in words; empty when nothing did."""
        if not self._found:
            return ''
        found, self._found = self._found, {}
        frames = ' and '.join(self._words[identifier] for identifier in sorted(found))
        return f'another master is on the bus: it sends {frames}'
