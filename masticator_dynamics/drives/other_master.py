# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detection of another master on the bus by frames that only a master sends."""

from __future__ import annotations

import can

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drives

# Commands of SDO requests (CiA 301): a segment, the begin of a download, and a block of it.
_WRITES = 0, 1, 6
_READ = 0x40


class OtherMaster:
    """Finds a master's frames among those received; a bus does not echo one's own.

    Parameters
    ----------
    drives : Drives
    """

    def __init__(self, drives: Drives):
        master = drives.heartbeat.master
        self._words = {
            objects.SYNC_COB: 'SYNC (0x080)',
            objects.NMT_COB: 'NMT commands (0x000)',
            objects.LSS_COB: 'LSS commands (0x7E5)',
            objects.HEARTBEAT_COB
            + master: f'the heartbeat of node {master} (0x{0x700 + master:03X})',
        }
        self._requests: set[int] = set()
        for drive in drives.drives.values():
            setpoints, request = objects.RPDO1_COB, objects.SDO_TO_DRIVE_COB
            self._words[setpoints + drive.node_id] = 'setpoints for drives (0x200 + node id)'
            self._words[request + drive.node_id] = 'SDO writes to drives (0x600 + node id)'
            self._requests.add(request + drive.node_id)
        self._found: set[int] = set()

    def take(self, message: can.Message) -> None:
        """Look at a frame that came."""
        identifier = message.arbitration_id
        if identifier not in self._words or message.is_extended_id or message.is_error_frame:
            return
        command = (*message.data, _READ)[0] >> 5
        reads = identifier in self._requests and command not in _WRITES
        if reads:  # which alters nothing
            return
        self._found.add(identifier)

    def found(self) -> str:
        """What came from another master since the last time, in words; empty when nothing did."""
        if not self._found:
            return ''
        found, self._found = self._found, set()
        words = dict.fromkeys(self._words[identifier] for identifier in sorted(found))
        frames = ' and '.join(words)
        return f'another master is on the bus: it sends {frames}'
