# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of one drive, read and written one by one (SDO), with errors that name them."""

from __future__ import annotations

import threading

import canopen

from masticator_dynamics.drives.objects import Object
from masticator_dynamics.drives.receiver import BUS_ERRORS
from masticator_dynamics.errors import DriveError

_ANSWER = 0.5  # s; a drive takes some milliseconds, a simulated one on a busy machine longer
_ATTEMPTS = 2  # a frame may be lost on udp_multicast


class SdoChannel:
    """The SDO server of one drive; may be used from several threads.

    Parameters
    ----------
    name : str
        Of the drive.
    node : canopen.RemoteNode

    Attributes
    ----------
    title : str
        For messages: ``crank_1 (node 1)``.
    """

    def __init__(self, name: str, node: canopen.RemoteNode):
        self.title = f'{name} (node {node.id})'
        self._node = node
        self._lock = threading.Lock()
        node.sdo.RESPONSE_TIMEOUT = _ANSWER
        node.sdo.MAX_RETRIES = _ATTEMPTS

    def has(self, entry: Object) -> bool:
        """Whether the EDS has an object."""
        return self._variable(entry) is not None

    def read(self, entry: Object) -> int | float:
        """Value of an object.

        Raises
        ------
        DriveError
            No answer, refused, or not in the EDS.
        """
        return self._decode(entry, self._transfer('read', entry, None))

    def write(self, entry: Object, value: int | float) -> None:
        """Set an object, and read it back.

        Raises
        ------
        DriveError
            No answer, refused, not in the EDS, or read back differently.
        """
        data = self._encode(entry, value)
        self._transfer(f'write {value} to', entry, data)
        back = self._transfer('read back', entry, None)
        if back != data:
            found = self._decode(entry, back)
            raise DriveError(self.title, f'{entry}: wrote {value}, read back {found}')

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
        try:
            return bytes(self._needed(entry).encode_raw(value))
        except (ValueError, OverflowError) as error:
            raise DriveError(self.title, f'{entry}: {value} does not fit') from error

    def _decode(self, entry: Object, data: bytes) -> int | float:
        try:
            value = self._needed(entry).decode_raw(data)
            assert isinstance(value, int | float)
            return value
        except canopen.ObjectDictionaryError as error:
            raise DriveError(
                self.title, f'{entry}: {len(data)} bytes came, other than its EDS says'
            ) from error

    def _transfer(self, action: str, entry: Object, data: bytes | None) -> bytes:
        """Download data, or upload without any."""
        try:
            with self._lock:
                if data is None:
                    return bytes(self._node.sdo.upload(entry.index, entry.subindex))
                self._node.sdo.download(entry.index, entry.subindex, data)
                return data
        except canopen.SdoAbortedError as error:
            reason = str(error).removeprefix('Code ')
        except canopen.SdoCommunicationError as error:
            reason = 'no answer' if 'No SDO response' in str(error) else str(error)
        except (*BUS_ERRORS, RuntimeError) as error:
            reason = str(error)
        raise DriveError(self.title, f'cannot {action} {entry}: {reason}')
