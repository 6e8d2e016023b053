# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The SDO server of CiA 301: expedited downloads, expedited and segmented uploads."""

from __future__ import annotations

import struct

from masticator_dynamics.drives.simulator.simulated_dictionary import (
    COMMAND_UNKNOWN,
    TOGGLE_BIT,
    AbortError,
    Key,
    ObjectDictionary,
    size_of,
)


class SdoServer:
    """Answers the requests of one client.

    Parameters
    ----------
    objects : ObjectDictionary
    """

    def __init__(self, objects: ObjectDictionary):
        self._objects = objects
        self._key: Key = (0, 0)
        self._end()

    def answer(self, request: bytes) -> bytes | None:
        """Response to a request of 8 bytes; None if there is none."""
        if len(request) != 8:
            return None
        command = request[0] >> 5
        try:
            if command == 1:
                return self._download(request)
            if command == 2:
                return self._begin_upload(request)
            if command == 3:
                return self._give_segment(request)
            if command == 4:  # the client gives up
                self._end()
                return None
            if command:  # a segment, command 0, names no object
                self._key = struct.unpack_from('<HB', request, 1)
            raise AbortError(COMMAND_UNKNOWN)
        except AbortError as abort:
            self._end()
            return struct.pack('<BHBI', 0x80, *self._key, abort.code)

    def _end(self) -> None:
        self._outgoing: bytes | None = None
        self._toggle = 0

    def _download(self, request: bytes) -> bytes:
        self._end()
        head = request[0]
        self._key = struct.unpack_from('<HB', request, 1)
        expedited, sized = head & 2, head & 1
        if not expedited:
            raise AbortError(COMMAND_UNKNOWN)
        # Without a size, the object's own size applies.
        size = 4 - (head >> 2 & 3) if sized else min(4, size_of(self._objects.find(self._key)))
        self._objects.write(self._key, request[4 : 4 + size])
        return struct.pack('<BHB4x', 0x60, *self._key)

    def _begin_upload(self, request: bytes) -> bytes:
        self._end()
        self._key = struct.unpack_from('<HB', request, 1)
        data = self._objects.read(self._key)
        if len(data) <= 4:
            head = 0x43 | (4 - len(data)) << 2
            return struct.pack('<BHB4s', head, *self._key, data)
        self._outgoing = data
        return struct.pack('<BHBI', 0x41, *self._key, len(data))

    def _give_segment(self, request: bytes) -> bytes:
        if self._outgoing is None:
            raise AbortError(COMMAND_UNKNOWN)
        if request[0] >> 4 & 1 != self._toggle:
            raise AbortError(TOGGLE_BIT)
        part, self._outgoing = self._outgoing[:7], self._outgoing[7:]
        last = not self._outgoing
        head = self._toggle << 4 | (7 - len(part)) << 1 | last
        self._toggle ^= 1
        if last:
            self._end()
        return struct.pack('<B7s', head, part)
