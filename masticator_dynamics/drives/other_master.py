# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who else speaks on the bus, and what drives send of themselves.

Other nodes that command the drives or answer in their name, and which drives these altered;
heartbeats, boot-up and emergency messages, whose error codes, also in 0x603F, are in
``config/error_codes.yaml``.
"""

from __future__ import annotations

import collections
import enum
import functools
import threading
import time
from typing import NamedTuple

import can
import canopen
import numpy as np

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Emergency
from masticator_dynamics.drives.objects import NmtState
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.yaml_file import read_mapping

_LATEST = 5.0  # s after its request; an answer that comes even later is taken for another node's
_FRAME = 8  # bytes of every SDO frame
# Command of the answer to each command of a request (CiA 301), and whether both name the object.
_ABORT = 4  # as a request it has no answer; as an answer it fits all requests
_ANSWERS = {
    0: (1, False),  # segment of a download
    1: (3, True),  # download
    2: (2, True),  # upload
    3: (0, False),  # segment of an upload
    5: (6, True),  # upload in blocks
    6: (5, True),  # download in blocks
    7: (_ABORT, True),  # unknown
}


class Answer(enum.Enum):
    """Whose request an answer belongs to."""

    OURS = 'this master asked'
    OTHERS = 'another node asked'
    NOBODYS = 'nobody asked'


class _Request(NamedTuple):
    time: float
    ours: bool
    command: int  # of its answer
    entry: bytes  # index and subindex; empty where the answer has none


class SdoAnswers:
    """Requests to one drive that wait for an answer, this master's and others'.

    One more answer than requests is another node's.
    Used by the threads that send and the one that receives.
    """

    def __init__(self) -> None:
        self._waiting: list[_Request] = []
        self._lock = threading.Lock()

    def requested(self, data: bytes, *, ours: bool) -> None:
        """Note a request, before it is sent or as it came.

        Parameters
        ----------
        data : bytes
            Of the frame.
        ours : bool
            Whether this master sends it.
        """
        if len(data) != _FRAME or data[0] >> 5 not in _ANSWERS:  # which no drive answers
            return
        command, named = _ANSWERS[data[0] >> 5]
        request = _Request(time.monotonic(), ours, command, data[1:4] if named else b'')
        with self._lock:
            self._waiting = [r for r in self._waiting if r.time > request.time - _LATEST]
            self._waiting.append(request)

    def take(self, data: bytes) -> Answer:
        """Whose request this answer is for, of this master's and others' first this master's."""
        if len(data) != _FRAME:
            return Answer.NOBODYS
        command, entry, now = data[0] >> 5, data[1:4], time.monotonic()
        with self._lock:
            fitting = [
                request
                for request in self._waiting
                if request.time > now - _LATEST
                and command in (request.command, _ABORT)
                and request.entry in (entry, b'')
            ]
            if not fitting:
                return Answer.NOBODYS
            request = max(fitting, key=lambda transfer: transfer.ours)
            self._waiting.remove(request)
        return Answer.OURS if request.ours else Answer.OTHERS


class Alterations:
    """Alterations of each drive, counted: one that comes during a set-up outlives it.

    Parameters
    ----------
    count : int
        Number of drives.
    """

    def __init__(self, count: int):
        self._counts, self._settled = [0] * count, [0] * count
        self._reasons = [''] * count

    def note(self, index: int, reason: str) -> None:
        """Note that a drive has been altered, or may have been."""
        if not self.reason(index):  # what follows matters less
            self._reasons[index] = reason
        self._counts[index] += 1

    def reason(self, index: int) -> str:
        """Why a drive is altered; empty if it is not."""
        return self._reasons[index] if self._counts[index] != self._settled[index] else ''

    def counts(self) -> tuple[int, ...]:
        """Alterations of each drive so far: take them before a set-up, and settle them after it."""
        return tuple(self._counts)

    def settle(self, index: int, count: int) -> None:
        """Forget the first ``count`` alterations of a drive, which has been set up since."""
        self._settled[index] = count


# Commands of SDO requests (CiA 301): a segment, the begin of a download, and a block of it.
_SEGMENT, _WRITES, _READ = 0, (0, 1, 6), 0x40
_NMT_RESETS = (objects.Nmt.RESET_NODE, objects.Nmt.RESET_COMMUNICATION)


class OtherMaster:
    """Finds frames of other masters, and of strangers, among those received.

    A bus does not echo one's own frames, so whatever only a master sends is another's.

    Parameters
    ----------
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

    def sent(self, identifier: int, data: bytes) -> None:
        """Look at a frame that this side is about to send; only requests (SDO) matter."""
        index = self._requests.get(identifier)
        if index is not None:
            self._answers[index].requested(data, ours=True)

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
        if not (self._found or self._texts):
            return ''
        identifiers, self._found = self._found, set()
        texts, self._texts = self._texts, {}
        words = dict.fromkeys(self._words[identifier] for identifier in sorted(identifiers))
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


@functools.cache
def _error_words() -> dict[str, dict[int, str]]:
    """Words for ``groups`` of error codes, by their first two digits, and for ``codes``."""
    return read_mapping(share_directory() / 'config' / 'error_codes.yaml')


def emergency_words(code: int) -> str:
    """Meaning of an error code, as precise as the standards: ``following error (0x8611)``.

    Codes not in the tables are named by their group.
    """
    groups, codes = _error_words()['groups'], _error_words()['codes']
    group = groups.get(code >> 8) or groups.get(code >> 8 & 0xF0) or 'unknown error'
    return f'{codes.get(code, group)} (0x{code:04X})'


_NMT_STATES = frozenset(NmtState)


class SignsOfLife:
    """The newest of each drive, by its index.

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
        _error_words()  # read before a cycle needs them
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
            listeners = (
                (objects.EMERGENCY_COB, self._emergency_listener(name)),
                (objects.HEARTBEAT_COB, self._heartbeat_listener(index)),
            )
            for kind, listener in listeners:
                # canopen's own listeners keep all messages forever, and raise for short ones.
                network.unsubscribe(kind + drive.node_id)
                network.subscribe(kind + drive.node_id, listener)

    def _emergency_listener(self, name: str) -> canopen.network.Callback:
        def take(_: int, data: bytearray, __: float) -> None:
            if len(data) < 2:  # too short to say what is wrong
                return
            code, register = int.from_bytes(data[:2], 'little'), (*data, 0)[2]
            self.emergencies.append(Emergency(name, code, register, emergency_words(code)))

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
