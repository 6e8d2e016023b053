# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object dictionary of a simulated drive, loaded from an EDS file (CiA 301, CiA 306)."""

from __future__ import annotations

import configparser
import dataclasses
import pathlib
import re
import struct
from collections.abc import Callable

from masticator_dynamics.drives.objects import Object
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes

Key = tuple[int, int]
Value = int | float | str

# Codes of the struct module by CiA 301 data type; a string has none.
FORMATS = {
    1: 'B',
    2: 'b',
    3: 'h',
    4: 'i',
    5: 'B',
    6: 'H',
    7: 'I',
    8: 'f',
    9: '',
    0x15: 'q',
    0x1B: 'Q',
}
_REAL32, _STRING = 8, 9
_ARRAY, _RECORD = 8, 9


def key_of(entry: Object) -> Key:
    """Index and subindex."""
    return entry.index, entry.subindex


class AbortError(Exception):
    """Refused access to an object; the code goes to the client (CiA 301, table 22)."""

    def __init__(self, code: int):
        self.code = code
        super().__init__(f'SDO abort 0x{code:08X}')


TOGGLE_BIT, COMMAND_UNKNOWN = 0x05030000, 0x05040001
ONLY_FOR_WRITING, ONLY_FOR_READING = 0x06010001, 0x06010002
NO_OBJECT, NOT_MAPPABLE, PDO_TOO_LONG, INCOMPATIBLE = 0x06020000, 0x06040041, 0x06040042, 0x06040043
TOO_MANY_BYTES, TOO_FEW_BYTES, NO_SUBINDEX = 0x06070012, 0x06070013, 0x06090011
BAD_VALUE, VALUE_TOO_HIGH, VALUE_TOO_LOW = 0x06090030, 0x06090031, 0x06090032
NOT_NOW, NO_DATA = 0x08000022, 0x08000024


@dataclasses.dataclass(frozen=True)
class DictionaryEntry:
    """Description of an object in the EDS."""

    name: str
    data_type: int
    access: str
    default: Value
    low: float | None
    high: float | None
    mappable: bool

    @property
    def format(self) -> str:
        """Code of the struct module; empty for strings."""
        return FORMATS[self.data_type]

    @property
    def size(self) -> int:
        """Bytes; 0 for strings."""
        return struct.calcsize('<' + self.format)

    @property
    def readable(self) -> bool:
        """Whether it may be read by SDO and in a TPDO."""
        return self.access != 'wo'

    @property
    def writable(self) -> bool:
        """Whether it may be written by SDO and in an RPDO."""
        return self.access in ('rw', 'wo', 'rww', 'rwr')


class ObjectDictionary:
    """Values of all objects, and what happens on reading and writing.

    Parameters
    ----------
    entries : dict of DictionaryEntry
        By (index, subindex).

    Attributes
    ----------
    values : dict
        Stored values; unused for objects with a reader.
    readers : dict of callable
        Return the current value of an object.
    writers : dict of callable
        Take a value before it is stored; may raise :class:`AbortError`.
    """

    def __init__(self, entries: dict[Key, DictionaryEntry]):
        self.entries = entries
        self.values: dict[Key, Value] = {key: entry.default for key, entry in entries.items()}
        self.readers: dict[Key, Callable[[], Value]] = {}
        self.writers: dict[Key, Callable[[Value], None]] = {}

    def reset(self, last: int = 0xFFFF) -> None:
        """Restore the defaults of all indices up to ``last``."""
        for key, entry in self.entries.items():
            if key[0] <= last:
                self.values[key] = entry.default

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

    def find(self, key: Key) -> DictionaryEntry:
        """An object's description.

        Raises
        ------
        AbortError
            There is no such object or subindex.
        """
        entry = self.entries.get(key)
        if entry is None:
            known = any(index == key[0] for index, _ in self.entries)
            raise AbortError(NO_SUBINDEX if known else NO_OBJECT)
        return entry

    def reader(self, key: Key) -> Callable[[], Value]:
        """A function that gives an object's value."""
        found = self.readers.get(key)
        return found if found else lambda: self.values[key]

    def read(self, key: Key) -> bytes:
        """An object's value as sent over the bus; raises `AbortError`."""
        entry = self.find(key)
        if not entry.readable:
            raise AbortError(ONLY_FOR_WRITING)
        value = self.reader(key)()
        if isinstance(value, str):
            return value.encode('ascii', 'replace')
        return struct.pack('<' + entry.format, value)

    def write(self, key: Key, data: bytes) -> None:
        """Store data received over the bus; raises `AbortError`."""
        entry = self.find(key)
        if not entry.writable:
            raise AbortError(ONLY_FOR_READING)
        if len(data) != entry.size:
            raise AbortError(TOO_MANY_BYTES if len(data) > entry.size else TOO_FEW_BYTES)
        (value,) = struct.unpack('<' + entry.format, data)
        if value != value:
            raise AbortError(BAD_VALUE)
        if entry.high is not None and value > entry.high:
            raise AbortError(VALUE_TOO_HIGH)
        if entry.low is not None and value < entry.low:
            raise AbortError(VALUE_TOO_LOW)
        self.put(key, value)

    def put(self, key: Key, value: Value) -> None:
        """Store a value of the right type, via the writer; raises `AbortError`."""
        writer = self.writers.get(key)
        if writer:
            writer(value)
        self.values[key] = value


def load_eds(path: pathlib.Path, node_id: int) -> dict[Key, DictionaryEntry]:
    """Read an EDS file.

    Raises
    ------
    DescriptionError
        Naming file, section and reason.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(read_bytes(path, LARGEST_DESCRIPTION).decode('latin-1'))
    except OSError as error:
        raise DescriptionError(path, '', error.strerror or str(error)) from error
    except configparser.Error as error:
        raise DescriptionError(path, '', ' '.join(str(error).split())) from error
    entries = {}
    for name in parser.sections():
        match = re.fullmatch(r'([0-9A-Fa-f]{4})(?:sub([0-9A-Fa-f]{1,2}))?', name)
        if not match:
            continue
        section = parser[name]
        try:
            kind = int(section.get('ObjectType', '7'), 0)
            if match[2] is None and kind in (_ARRAY, _RECORD) and 'DataType' not in section:
                continue
            entries[int(match[1], 16), int(match[2] or '0', 16)] = _entry(section, node_id)
        except (ValueError, KeyError) as error:
            raise DescriptionError(path, f'[{name}]', f'cannot be read: {error}') from error
    if not entries:
        raise DescriptionError(path, '', 'describes no objects')
    return entries


def _entry(section: configparser.SectionProxy, node_id: int) -> DictionaryEntry:
    data_type = int(section['DataType'], 0)
    if data_type not in FORMATS:
        raise ValueError(f'data type {section["DataType"]} is not supported')

    def number(key: str) -> float | None:
        text = section.get(key, '').strip()
        return _number(text, data_type, node_id) if text else None

    text = section.get('DefaultValue', '').strip()
    default: Value = text
    if data_type != _STRING:
        default = _number(text or '0', data_type, node_id)
        try:
            struct.pack('<' + FORMATS[data_type], default)
        except (struct.error, OverflowError):
            raise ValueError(f'DefaultValue {text} does not fit its type') from None
    return DictionaryEntry(
        name=section.get('ParameterName', ''),
        data_type=data_type,
        access=section.get('AccessType', 'rw').strip().lower(),
        default=default,
        low=number('LowLimit'),
        high=number('HighLimit'),
        mappable=section.get('PDOMapping', '0').strip() == '1',
    )


def _number(text: str, data_type: int, node_id: int) -> int | float:
    if data_type == _REAL32:
        return float(text)
    parts = (
        node_id if part.strip().upper() == '$NODEID' else int(part, 0) for part in text.split('+')
    )
    value = sum(parts)
    code = FORMATS[data_type]
    if code.islower() and value >= 1 << (8 * struct.calcsize(code) - 1):
        value -= 1 << 8 * struct.calcsize(code)  # -1 written as 0xFF
    return value
