# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of which only numbers change, as the bytes that go out (CDR).

rclpy converts a message field by field, which costs more than a cycle's arithmetic; names and
frames are the same every time.
"""

from __future__ import annotations

import array
import functools
from typing import Any

import numpy as np
import numpy.typing as npt
from rclpy.serialization import serialize_message

_STAMP = 4  # bytes: what comes before the first field; a header begins with its stamp


class WireMessage:
    """The bytes of a message, with numbers put in place.

    Parameters
    ----------
    message : ROS message
        Filled in but for the numbers. A stamp is written only where it has a header.
    blocks : dict of int
        By name of a field of doubles (``wrench.force`` for one in a field), how many it holds: an
        array, or the components of a vector. In the order in which :meth:`filled` takes them.
    """

    def __init__(self, message: Any, blocks: dict[str, int]):
        marks = _marks(blocks)
        for name, mark in marks.items():
            _put(message, name, mark)
        self._data = bytearray(serialize_message(message))
        self._places = [self._place(mark) for mark in marks.values()]
        self._stamp = (
            np.frombuffer(self._data, np.int32, 2, _STAMP) if hasattr(message, 'header') else None
        )

    def filled(self, time: int, *blocks: npt.ArrayLike) -> bytes:
        """The bytes with a stamp (ns) and a row of numbers for each block."""
        if self._stamp is not None:
            self._stamp[:] = divmod(time, 1_000_000_000)
        for place, numbers in zip(self._places, blocks, strict=True):
            place[:] = numbers
        return bytes(self._data)

    def _place(self, mark: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.frombuffer(self._data, np.float64, len(mark), self._data.index(mark.tobytes()))


def _marks(fields: dict[str, int]) -> dict[str, npt.NDArray[np.float64]]:
    """Numbers for each block that are found again among the bytes."""
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
