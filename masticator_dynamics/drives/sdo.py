# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of one drive, read and written one by one (SDO), with errors that name them."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable

import canopen

from masticator_dynamics.drives.objects import ZERO_AND_SCALE, Object
from masticator_dynamics.errors import DriveError

_ANSWER = 0.5  # s; a drive takes some milliseconds, a simulated one on a busy machine longer
SECOND_ANSWER = 0.02  # s in which it comes if another node answers, too
_SOON = 0.3  # s, for callers that must check again within a second
_ATTEMPTS = 2  # a frame may be lost on udp_multicast
_SEGMENTS = 10  # of 7 bytes; only numbers are read


class _RefusedError(DriveError):
    """The drive refused access to an object."""


class _TooSlowError(canopen.SdoCommunicationError):
    """Segments that would take too long; another attempt would, too."""


class SdoChannel:
    """The SDO server of one drive; may be used from several threads.

    Parameters
    ----------
    strange_answers : callable, optional
        Number of answers in the drive's name so far that nobody had asked for.

    Attributes
    ----------
    title : str
        For messages: ``crank_1 (node 1)``.
    expected : dict of bytes, by Object
        What was written or found at the set-up, and must stay until it is written again.
    found : dict of int, by Object
        What defined zero and scale before the set-up under way; empty at the first.
    changed : str
        What of that the set-up has found to be another.
    """

    def __init__(
        self, name: str, node: canopen.RemoteNode, strange_answers: Callable[[], int] = lambda: 0
    ):
        self.title = f'{name} (node {node.id})'
        self.expected: dict[Object, bytes] = {}
        self.found: dict[Object, int | float] = {}
        self.changed = ''
        self._node, self._strange_answers = node, strange_answers
        self._lock = threading.Lock()

    def has(self, entry: Object) -> bool:
        """Whether the EDS has an object."""
        return self._variable(entry) is not None

    def read(self, entry: Object, *, patient: bool = True) -> int | float:
        """Value of an object; if not ``patient``, with one short attempt.

        Raises
        ------
        DriveError
            No answer, refused, or not in the EDS.
        """
        return self._decode(entry, self._transfer('read', entry, None, patient=patient))

    def read_alone(self, entry: Object, *, patient: bool = True) -> int | float:
        """Value of an object, if no other node answers in the drive's name meanwhile.

        Parameters and errors are those of :meth:`read`.
        """
        before = self._strange_answers()
        value = self.read(entry, patient=patient)
        time.sleep(SECOND_ANSWER)
        if self._strange_answers() != before:
            raise DriveError(self.title, f'{entry}: another node answers, too')
        return value

    def begin_set_up(self) -> None:
        """Expect nothing from now on, but keep what defined zero and scale."""
        scales = {e: self._decode(e, d) for e, d in self.expected.items() if e in ZERO_AND_SCALE}
        self.found, self.changed = self.found | scales, ''
        self.expected.clear()

    def keep_zero_and_scale(self) -> None:
        """Restore what defined zero and scale before, or expect it to stay as it is found now.

        Raises
        ------
        DriveError
            No answer, or a value that has changed cannot be written.
        """
        for entry in filter(self.has, ZERO_AND_SCALE):
            try:
                value = self.read(entry)
            except _RefusedError:
                if entry in self.found:
                    raise
                continue  # not all that an EDS has is in every drive
            if value != self.found.setdefault(entry, value):
                self.changed = self.changed or f'{entry} was {value} instead of {self.found[entry]}'
                self.write(entry, self.found[entry])
            self.expect(entry, self.found[entry])

    def expect(self, entry: Object, value: int | float) -> None:
        """Expect an object to have this value from now on."""
        self.expected[entry] = self._encode(entry, value)

    def difference(self, entry: Object) -> str:
        """How an object differs from what is expected; empty if it does not.

        Raises
        ------
        DriveError
            No answer soon, or refused.
        """
        expected = self.expected.get(entry)
        data = self._transfer('read', entry, None, patient=False)
        changing = expected is None or expected is not self.expected.get(entry)
        if expected is None or changing or data == expected:
            return ''
        value, wanted = self._decode(entry, data), self._decode(entry, expected)
        return f'{entry} is {value}, it was set to {wanted}'

    def write(self, entry: Object, value: int | float) -> None:
        """Set an object and read it back; it is expected to keep the value from now on.

        Parameters
        ----------
        entry : Object
            In the drive's object dictionary.
        value : int or float
            In the object's own unit.

        Raises
        ------
        DriveError
            No answer, refused, not in the EDS, or read back differently.
        """
        data = self._encode(entry, value)
        self.expected.pop(entry, None)
        self._transfer(f'write {value} to', entry, data)
        back = self._transfer('read back', entry, None)
        if back != data:
            read_back = self._decode(entry, back)
            raise DriveError(self.title, f'{entry}: wrote {value}, read back {read_back}')
        self.expected[entry] = data

    def write_where_present(self, entry: Object, value: int | float) -> None:
        """Set an object that not every drive has."""
        if self.has(entry):
            self.write(entry, value)

    def command(self, entry: Object, value: int) -> None:
        """Write without reading back."""
        self._transfer(f'write {value} to', entry, self._encode(entry, value))

    def _variable(self, entry: Object) -> canopen.objectdictionary.ODVariable | None:
        return self._node.object_dictionary.get_variable(entry.index, entry.subindex)

    def _needed(self, entry: Object) -> canopen.objectdictionary.ODVariable:
        variable = self._variable(entry)
        if variable is None:
            raise DriveError(self.title, f'{entry} is not in its EDS')
        return variable

    def _encode(self, entry: Object, value: int | float) -> bytes:
        variable = self._needed(entry)
        try:
            return bytes(variable.encode_raw(value))
        except (ValueError, OverflowError) as error:
            raise DriveError(self.title, f'{entry}: {value} does not fit') from error

    def _decode(self, entry: Object, data: bytes) -> int | float:
        variable = self._needed(entry)
        try:
            value = variable.decode_raw(data)
            if not isinstance(value, int | float):
                raise TypeError
            return value
        except (canopen.ObjectDictionaryError, TypeError, struct.error) as error:
            raise DriveError(
                self.title, f'{entry}: {len(data)} bytes came, other than its EDS says'
            ) from error

    def _transfer(
        self, action: str, entry: Object, data: bytes | None, *, patient: bool = True
    ) -> bytes:
        """Download data, or upload if there is none."""
        reason = ''
        for _ in range(_ATTEMPTS):  # an answer may be late, or to another client's request
            try:
                with self._lock:
                    return self._ask(entry, data, patient)
            except canopen.SdoAbortedError as error:
                reason = str(error).removeprefix('Code ')
                raise _RefusedError(self.title, f'cannot {action} {entry}: {reason}') from error
            except _TooSlowError as error:
                reason = str(error)
                break
            except canopen.SdoCommunicationError as error:
                if 'No SDO response' in str(error):
                    reason = 'no answer'
                    break
                reason = str(error)
            except Exception as error:  # canopen parses whatever bytes came: empty, too short
                reason = f'{error or type(error).__name__}'
        raise DriveError(self.title, f'cannot {action} {entry}: {reason}')

    def _ask(self, entry: Object, data: bytes | None, patient: bool) -> bytes:
        client = self._node.sdo
        client.RESPONSE_TIMEOUT = _ANSWER if patient else _SOON
        client.MAX_RETRIES = _ATTEMPTS if patient else 1
        if data is None:
            return self._upload(entry)
        client.download(entry.index, entry.subindex, data)
        return data

    def _upload(self, entry: Object) -> bytes:
        """Upload as canopen does, but limit the segments, which it would read without end."""
        client = self._node.sdo
        with client.open(entry.index, entry.subindex, buffering=0) as stream:
            data, variable = b'', self._needed(entry)
            end = time.monotonic() + client.RESPONSE_TIMEOUT
            for _ in range(_SEGMENTS):
                segment = stream.read(7)
                data += segment
                if not segment:
                    break
                if time.monotonic() > end:
                    client.abort()
                    raise _TooSlowError(f'segments go on after {client.RESPONSE_TIMEOUT:g} s')
            else:
                client.abort()
                raise canopen.SdoCommunicationError(f'more than {_SEGMENTS} segments came')
            size = len(variable) // 8  # some drives send 32 bits of smaller objects
            cut = variable.fixed_size and (stream.size is None or size < stream.size)
            return bytes(data[:size] if cut else data)
