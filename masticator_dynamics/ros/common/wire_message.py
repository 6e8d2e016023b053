# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of which only the numbers change, as the bytes that go out and come in (CDR).

rclpy converts a message field by field, which costs more than the arithmetic of a cycle; names and
frames are the same every time.
"""

from __future__ import annotations

import array
import functools
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.serialization import deserialize_message, serialize_message

from masticator_dynamics.engine.arrays import FloatArray

_STAMP = 4  # bytes before the first field; a header begins with its stamp
_TIME = struct.Struct('=iI')
_SELDOM = 100  # of so many messages unlike the one before, one is learnt


class WireMessage:
    """The bytes of a message, with numbers filled in.

    Parameters
    ----------
    message : ROS message
        Complete except for the numbers. A stamp is written only if it has a header.
    blocks : dict of int
        How many doubles each field holds (an array, or the components of a vector), by its name
        (``wrench.force`` for a nested one), in the order in which :meth:`filled` takes them.

    Attributes
    ----------
    data : bytearray
        The bytes as last filled.
    places : list of int
        Where the numbers of each block begin.
    """

    def __init__(self, message: Any, blocks: dict[str, int]):
        marks = _marks(blocks)
        for name, mark in marks.items():
            _put(message, name, mark)
        self.data = bytearray(serialize_message(message))
        self.places = [self.data.index(mark.tobytes()) for mark in marks.values()]
        self._rows = [
            np.frombuffer(self.data, np.float64, len(mark), at)
            for mark, at in zip(marks.values(), self.places, strict=True)
        ]
        self._stamp = (
            np.frombuffer(self.data, np.int32, 2, _STAMP) if hasattr(message, 'header') else None
        )

    def filled(self, time: int, *blocks: npt.ArrayLike) -> bytes:
        """The bytes with a stamp (ns) and a row of numbers for each block."""
        if self._stamp is not None:
            self._stamp[:] = divmod(time, 1_000_000_000)
        for row, numbers in zip(self._rows, blocks, strict=True):
            row[:] = numbers
        return bytes(self.data)


class WireReader:
    """Stamp and numbers of messages; those like the one before are not converted.

    Parameters
    ----------
    kind : type
        Of the messages, which have a header.
    fields : tuple of str
        Fields of doubles, as for :class:`WireMessage`.

    Attributes
    ----------
    message : ROS message
        Everything in it except stamp and numbers is that of the message read last.
    """

    def __init__(self, kind: type, fields: tuple[str, ...]):
        self._kind, self._fields = kind, fields
        self.message: Any = kind()
        self._learnt = self.message
        self._constant: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._bytes = b''
        self._places: list[tuple[int, int]] = []  # where numbers begin, and how many
        self._unlike = 0

    def read(self, data: bytes) -> tuple[int, list[FloatArray]]:
        """Stamp, ns, and a row of numbers for each field.

        Raises
        ------
        Exception
            What rclpy raises for data that are not a message.
        """
        if len(data) == len(self._constant):
            found = np.frombuffer(data, np.uint8)
            if found[self._constant].tobytes() == self._bytes:
                seconds, nanoseconds = _TIME.unpack_from(data, _STAMP)
                rows = [np.frombuffer(data, float, n, at) for at, n in self._places]
                self.message = self._learnt
                return seconds * 1_000_000_000 + nanoseconds, rows
        self.message = deserialize_message(data, self._kind)
        stamp = self.message.header.stamp
        rows = [_numbers(self.message, field) for field in self._fields]
        if self._unlike % _SELDOM == 0:
            self._learn(data, [len(row) for row in rows])
        self._unlike += 1
        return stamp.sec * 1_000_000_000 + stamp.nanosec, rows

    def _learn(self, data: bytes, counts: list[int]) -> None:
        """Note which bytes are neither stamp nor numbers, in this machine's encoding."""
        like = WireMessage(
            deserialize_message(data, self._kind), dict(zip(self._fields, counts, strict=True))
        )
        constant = np.ones(len(like.data), dtype=bool)
        constant[_STAMP : _STAMP + 8] = False
        for at, count in zip(like.places, counts, strict=True):
            constant[at : at + 8 * count] = False
        self._places = list(zip(like.places, counts, strict=True))
        self._bytes = np.frombuffer(like.data, np.uint8)[constant].tobytes()
        self._constant, self._learnt = constant, self.message


def _marks(fields: dict[str, int]) -> dict[str, npt.NDArray[np.float64]]:
    """Marker numbers for each block, to be found again among the bytes."""
    ends = np.cumsum([0, *fields.values()])
    unlikely = -np.pi * (1.0 + np.arange(ends[-1]))
    return {
        name: unlikely[start : start + size]
        for (name, size), start in zip(fields.items(), ends, strict=False)
    }


def _put(message: Any, name: str, mark: npt.NDArray[np.float64]) -> None:
    *way, last = name.split('.')
    owner = functools.reduce(getattr, way, message)
    if hasattr(getattr(owner, last), 'x'):
        vector = getattr(owner, last)
        vector.x, vector.y, vector.z = mark.tolist()
    else:
        setattr(owner, last, array.array('d', mark.tobytes()))


def _numbers(message: Any, name: str) -> FloatArray:
    found = functools.reduce(getattr, name.split('.'), message)
    return np.array((found.x, found.y, found.z) if hasattr(found, 'x') else found, dtype=float)
