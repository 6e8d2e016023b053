# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object files of generated code loaded into memory, without a linker and without LLVM.

LLVM takes longer to load than the code that it made, and seventy megabytes. Generated code calls
only itself and reads only its own constants, at relative addresses; so only these distances have to
be filled in. Everything else is left to LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from typing import Any

import numpy as np

# Of the ELF specification: 64 bits, little-endian.
_SECTION = np.dtype(
    [
        ('name', '<u4'),
        ('type', '<u4'),
        ('flags', '<i8'),
        ('address', '<i8'),
        ('offset', '<i8'),
        ('size', '<i8'),
        ('link', '<u4'),
        ('info', '<u4'),
        ('alignment', '<i8'),
        ('entry_size', '<i8'),
    ]
)
_SYMBOL = np.dtype(
    [
        ('name', '<u4'),
        ('info', 'u1'),
        ('other', 'u1'),
        ('section', '<u2'),
        ('value', '<i8'),
        ('size', '<i8'),
    ]
)
_RELOCATION = np.dtype([('place', '<i8'), ('kind', '<u4'), ('symbol', '<u4'), ('addend', '<i8')])
_SECTIONS_AT, _SECTIONS_COUNT = 40, 60  # bytes before the fields that describe the sections
_SYMBOLS, _RELOCATIONS, _ZEROS = 2, 4, 8  # types of sections
_WRITABLE, _LOADED = 1, 2  # flags of sections
_GLOBAL = 1  # binding of symbols
_DISTANCES = (2, 4)  # R_X86_64_PC32 and R_X86_64_PLT32: symbol + addend - place, in 32 bits
_READ_EXECUTE = 5  # of mprotect(2)


def supported() -> bool:
    """Whether this computer's object files are of the kind supported here."""
    return sys.platform == 'linux' and platform.machine() == 'x86_64' and sys.maxsize > 2**32


class Image:
    """Machine code in memory that is executable and not writable.

    Parameters
    ----------
    code : bytes
        A relocatable object file of the small code model.

    Attributes
    ----------
    addresses : dict of int
        Of its functions, by name; valid as long as this is kept.

    Raises
    ------
    ValueError
        For an object file that is not supported here.
    OSError
        If the system does not allow such memory.
    """

    def __init__(self, code: bytes):
        image, places = linked(code)
        self._memory = mmap.mmap(-1, len(image), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory[:] = image
        self._held = ctypes.c_char.from_buffer(self._memory)
        start = ctypes.addressof(self._held)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        if protect(ctypes.c_void_p(start), ctypes.c_size_t(len(image)), _READ_EXECUTE):
            raise OSError(ctypes.get_errno(), 'memory cannot be made executable')
        self.addresses = {name: start + place for name, place in places.items()}


def linked(code: bytes) -> tuple[bytes, dict[str, int]]:
    """The bytes to load from an object file, at any address, and where its functions begin.

    Raises
    ------
    ValueError
        For variables, for symbols from elsewhere, and for relocations of other kinds.
    """

    def table(kind: Any, at: int, size: int) -> Any:
        return np.frombuffer(code, kind, size // np.dtype(kind).itemsize, at)

    count = int.from_bytes(code[_SECTIONS_COUNT : _SECTIONS_COUNT + 2], 'little')
    start = int.from_bytes(code[_SECTIONS_AT : _SECTIONS_AT + 8], 'little')
    sections = table(_SECTION, start, count * _SECTION.itemsize)
    image = bytearray()
    begins = np.full(2**16, -1)  # of sections in the image; -1 for what is not in it
    for k, section in enumerate(sections):
        if section['flags'] & _LOADED and section['size']:
            if section['flags'] & _WRITABLE or section['type'] == _ZEROS:
                raise ValueError('there are variables')
            image += bytes(-len(image) % int(section['alignment']))
            begins[k] = len(image)
            image += table('u1', section['offset'], section['size']).tobytes()
    [of_symbols] = sections[sections['type'] == _SYMBOLS]
    symbols = table(_SYMBOL, of_symbols['offset'], of_symbols['size'])
    placed = begins[symbols['section']] >= 0
    values = np.where(placed, begins[symbols['section']] + symbols['value'], -1)
    for section in sections[sections['type'] == _RELOCATIONS]:
        relocations = table(_RELOCATION, section['offset'], section['size'])
        _put_distances(image, begins[section['info']], relocations, values)
    names = sections[of_symbols['link']]['offset']
    exported = np.flatnonzero(placed & (symbols['info'] >> 4 == _GLOBAL))
    texts = [code[names + symbols['name'][k] :].partition(b'\0')[0].decode() for k in exported]
    return bytes(image), dict(zip(texts, values[exported].tolist(), strict=True))


def _put_distances(image: bytearray, begin: int, relocations: Any, values: Any) -> None:
    """Write into a section of an image how far symbols are from where they are used."""
    targets = values[relocations['symbol']]
    if not np.isin(relocations['kind'], _DISTANCES).all() or begin < 0 or (targets < 0).any():
        raise ValueError('a relocation of another kind, or a symbol from elsewhere')
    places = begin + relocations['place']
    distances = (targets + relocations['addend'] - places).astype('<i4')
    bytes_of = np.frombuffer(image, np.uint8)
    bytes_of[places[:, None] + np.arange(4)] = distances[:, None].view(np.uint8)
