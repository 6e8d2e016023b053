# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The objects of a simulated drive: what an EDS describes, values, SDO server (CiA 301)."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Callable, Mapping

import canopen
from canopen.objectdictionary import ODVariable, datatypes

from masticator_dynamics.errors import DescriptionError

Key = tuple[int, int]
Value = int | float | str

# Codes of the struct module by data type; a string has none.
_FORMATS: dict[int | None, str] = {
    datatypes.BOOLEAN: 'B', datatypes.VISIBLE_STRING: '', datatypes.REAL32: 'f',
    datatypes.INTEGER8: 'b', datatypes.INTEGER16: 'h', datatypes.INTEGER32: 'i',
    datatypes.INTEGER64: 'q', datatypes.UNSIGNED8: 'B', datatypes.UNSIGNED16: 'H',
    datatypes.UNSIGNED32: 'I', datatypes.UNSIGNED64: 'Q',
}  # fmt: skip


def format_of(entry: ODVariable) -> str:
    """Code of the struct module; empty for strings."""
    return _FORMATS[entry.data_type]


def size_of(entry: ODVariable) -> int:
    """Bytes; 0 for strings."""
    return struct.calcsize('<' + format_of(entry))


def entries_of(eds: canopen.ObjectDictionary, file: pathlib.Path) -> dict[Key, ODVariable]:
    """All variables of an EDS by index and subindex; strings and numbers are supported.

    Raises
    ------
    DescriptionError
        Naming the file, and an object of another type or whose default does not fit its type.
    """
    entries = {}
    for part in eds.values():
        for entry in [part] if isinstance(part, ODVariable) else part.values():
            entries[entry.index, entry.subindex] = entry
            try:
                struct.pack('<' + format_of(entry), *_numbers(entry))
            except (KeyError, struct.error, OverflowError):
                place = f'{entry.index:04X}:{entry.subindex:02X}'
                reason = f'{entry.default} of data type 0x{entry.data_type:02X} is not supported'
                raise DescriptionError(file, place, reason) from None
    if not entries:
        raise DescriptionError(file, '', 'describes no objects')
    return entries


def _numbers(entry: ODVariable) -> tuple[int | float, ...]:
    """The default of a number; nothing for a string."""
    return (entry.default or 0,) if format_of(entry) else ()


class AbortError(Exception):
    """Refused access to an object; the code goes to the client (CiA 301, table 22)."""

    def __init__(self, code: int):
        self.code = code
        super().__init__(f'SDO abort 0x{code:08X}')


TOGGLE_BIT, COMMAND_UNKNOWN = 0x05030000, 0x05040001
ONLY_FOR_WRITING, ONLY_FOR_READING = 0x06010001, 0x06010002
NO_OBJECT, NOT_MAPPABLE, PDO_TOO_LONG = 0x06020000, 0x06040041, 0x06040042
TOO_MANY_BYTES, TOO_FEW_BYTES, NO_SUBINDEX = 0x06070012, 0x06070013, 0x06090011
BAD_VALUE, VALUE_TOO_HIGH, VALUE_TOO_LOW = 0x06090030, 0x06090031, 0x06090032
NOT_NOW = 0x08000022


class ObjectDictionary:
    """Values of all objects, and what happens on reading and writing.

    Parameters
    ----------
    entries : dict of ODVariable
        By (index, subindex).
    defaults : dict
        Values that differ from those of the EDS; objects that it does not have are left out.

    Attributes
    ----------
    values : dict
        Stored values; unused for objects with a reader.
    readers : dict of callable
        Return the current value of an object.
    writers : dict of callable
        Take a value before it is stored; may raise :class:`AbortError`.
    """

    def __init__(self, entries: dict[Key, ODVariable], defaults: Mapping[Key, Value]):
        self.entries = entries
        self._defaults: dict[Key, Value] = {
            key: defaults.get(key, next(iter(_numbers(entry)), entry.default or ''))
            for key, entry in entries.items()
        }
        self.values = self._defaults.copy()
        self.readers: dict[Key, Callable[[], Value]] = {}
        self.writers: dict[Key, Callable[[Value], None]] = {}

    def reset(self, last: int = 0xFFFF) -> None:
        """Restore the defaults of all indices up to ``last``."""
        self.values |= {key: value for key, value in self._defaults.items() if key[0] <= last}

    def get(self, index: int, subindex: int, otherwise: int = 0) -> int:
        """Stored integer of an object that may be absent.

        Parameters
        ----------
        index, subindex : int
            Of the object.
        otherwise : int
            Value to return if it is absent.
        """
        value = self.values.get((index, subindex), otherwise)
        assert isinstance(value, int)
        return value

    def find(self, key: Key) -> ODVariable:
        """An object's description.

        Raises
        ------
        AbortError
            There is no such object or subindex.
        """
        entry = self.entries.get(key)
        if entry is None:
            index_exists = any(index == key[0] for index, _ in self.entries)
            raise AbortError(NO_SUBINDEX if index_exists else NO_OBJECT)
        return entry

    def reader(self, key: Key) -> Callable[[], Value]:
        """A function that gives an object's value."""
        reader = self.readers.get(key)
        return reader if reader else lambda: self.values[key]

    def read(self, key: Key) -> bytes:
        """An object's value as sent over the bus; raises `AbortError`."""
        entry = self.find(key)
        if not entry.readable:
            raise AbortError(ONLY_FOR_WRITING)
        value = self.reader(key)()
        if isinstance(value, str):
            return value.encode('ascii', 'replace')
        return struct.pack('<' + format_of(entry), value)

    def write(self, key: Key, data: bytes) -> None:
        """Store data received over the bus; raises `AbortError`."""
        entry = self.find(key)
        if not entry.writable:
            raise AbortError(ONLY_FOR_READING)
        size = size_of(entry)
        if len(data) != size:
            raise AbortError(TOO_MANY_BYTES if len(data) > size else TOO_FEW_BYTES)
        (value,) = struct.unpack('<' + format_of(entry), data)
        if value != value:
            raise AbortError(BAD_VALUE)
        if entry.max is not None and value > entry.max:
            raise AbortError(VALUE_TOO_HIGH)
        if entry.min is not None and value < entry.min:
            raise AbortError(VALUE_TOO_LOW)
        self.put(key, value)

    def put(self, key: Key, value: Value) -> None:
        """Store a value of the right type, via the writer; raises `AbortError`."""
        writer = self.writers.get(key)
        if writer:
            writer(value)
        self.values[key] = value


class SdoServer:
    """Answers the requests of one client."""

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
