# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detection of other nodes that command the drives, or answer in their name."""

from __future__ import annotations

import can

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.alterations import Alterations
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.sdo_answers import Answer, SdoAnswers

# Commands of SDO requests (CiA 301): a segment, the begin of a download, and a block of it.
_SEGMENT, _WRITES, _READ = 0, (0, 1, 6), 0x40
_NMT_RESETS = (objects.Nmt.RESET_NODE, objects.Nmt.RESET_COMMUNICATION)


class OtherMaster:
    """Finds frames of other masters, and of strangers, among those received.

    A bus does not echo one's own frames, so whatever only a master sends is another's.

    Parameters
    ----------
    drives : Drives
    alterations : Alterations, optional
        Where drives are noted that may no longer be as they were set up.

    Attributes
    ----------
    homing : bool
        Whether drives are in homing mode, in which a setpoint can move their zero.
    strange_answers : list of int
        SDO answers in each drive's name so far that nobody had asked for.
    """

    def __init__(self, drives: Drives, alterations: Alterations | None = None):
        self._names = tuple(drives.drives)
        node_ids = [drive.node_id for drive in drives.drives.values()]
        self._node_ids, everybody = node_ids, range(len(node_ids))
        self._alterations = alterations or Alterations(len(node_ids))
        self._answers = [SdoAnswers() for _ in everybody]
        self.homing, self.strange_answers = False, [0 for _ in everybody]
        master = drives.heartbeat.master
        self._words = {
            objects.SYNC_COB: 'SYNC (0x080)',
            objects.NMT_COB: 'NMT commands (0x000)',
            objects.LSS_COB: 'LSS commands (0x7E5)',
            objects.HEARTBEAT_COB
            + master: f'the heartbeat of node {master} (0x{0x700 + master:03X})',
        }
        self._setpoints = {objects.RPDO1_COB + n: i for i, n in enumerate(node_ids)}
        self._requests = {objects.SDO_TO_DRIVE_COB + n: i for i, n in enumerate(node_ids)}
        self._replies = {objects.SDO_TO_MASTER_COB + n: i for i, n in enumerate(node_ids)}
        self._words |= dict.fromkeys(self._setpoints, 'setpoints for drives (0x200 + node id)')
        self._words |= dict.fromkeys(self._requests, 'SDO writes to drives (0x600 + node id)')
        self._found: set[int] = set()
        self._texts: dict[str, None] = {}

    def sent(self, message: can.Message) -> None:
        """Look at a frame that this side is about to send."""
        index = self._requests.get(message.arbitration_id)
        if index is not None:
            self._answers[index].requested(bytes(message.data), ours=True)

    def take(self, message: can.Message) -> bool:
        """Look at a frame that came; return whether it may be believed.

        An SDO answer may be, if this side has asked for it and has had no answer yet.
        """
        identifier = message.arbitration_id
        if message.is_extended_id or message.is_error_frame:
            return True
        if identifier in self._replies:
            return self._take_answer(self._replies[identifier], message)
        if identifier not in self._words or self._only_reads(identifier, message):
            return True
        self._found.add(identifier)
        for index, reason in self._altered_by(identifier, bytes(message.data)):
            self._alterations.note(index, reason)
        return True

    def found(self) -> str:
        """What came from other nodes since the last time, in words; empty when nothing did."""
        found, self._found = self._found, set()
        texts, self._texts = self._texts, {}
        words = dict.fromkeys(self._words[identifier] for identifier in sorted(found))
        masters = [f'another master is on the bus: it sends {" and ".join(words)}'] if words else []
        return '; '.join((*masters, *texts))

    def report(self, text: str) -> None:
        """Say this, too, when asked for what was found."""
        self._texts[text] = None

    def _take_answer(self, index: int, message: can.Message) -> bool:
        answer = self._answers[index].take(bytes(message.data))
        if answer is Answer.NOBODYS:
            self.strange_answers[index] += 1
            place = f'(0x{message.arbitration_id:03X}, SDO)'
            self.report(f'another node answers as {self._names[index]} {place}')
            self._alterations.note(index, f'another node answers in its name {place}')
        return answer is Answer.OURS

    def _only_reads(self, identifier: int, message: can.Message) -> bool:
        """Whether a frame is an SDO request that alters nothing."""
        index = self._requests.get(identifier)
        if index is None:
            return False
        self._answers[index].requested(bytes(message.data), ours=False)
        return (*message.data, _READ)[0] >> 5 not in _WRITES

    def _altered_by(self, identifier: int, data: bytes) -> list[tuple[int, str]]:
        """Which drives a frame may have altered, and why."""
        if identifier in self._requests:
            named = data[0] >> 5 != _SEGMENT and len(data) > 3
            where = f'0x{data[2]:02X}{data[1]:02X}:{data[3]:02X}' if named else 'a segment'
            return [(self._requests[identifier], f'another node wrote {where} by SDO')]
        if identifier in self._setpoints and self.homing:
            return [(self._setpoints[identifier], 'another node commanded it during homing')]
        if identifier == objects.LSS_COB:
            return [(index, 'another node sent LSS commands') for index in range(len(self._names))]
        if identifier == objects.NMT_COB and len(data) > 1 and data[0] in _NMT_RESETS:
            return [
                (index, 'another node reset it by NMT')
                for index, node_id in enumerate(self._node_ids)
                if data[1] in (0, node_id)
            ]
        return []
