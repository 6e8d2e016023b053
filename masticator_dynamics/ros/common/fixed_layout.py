# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of which only the numbers change, as bytes: written in place, read without an object.

rclpy makes and converts an object for each message, which takes longer than the middleware does.
Where the numbers are is asked of the middleware itself: a message with a mark in place of each
number is serialised, and the marks are looked for. A message that is not like the one before, in
its names, the length of an array or the order of its bytes, is converted as usual.
"""

from __future__ import annotations

import functools
import struct
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from masticator_dynamics.engine.arrays import FloatArray

_STAMP = struct.Struct('=iI')  # seconds and nanoseconds
_STAMP_MARK = 1_511_506_142_509_061_918  # ns
_FIRST_MARK = 0x2B992DDFA2324901  # bits of the first double's, 1.2e-98; others follow
_PAUSE = 0.5  # s
_KEPT = 4  # layouts of a topic, such as of several publishers


class Numbers(NamedTuple):
    """What a message tells."""

    message: Any  # for its names: one like it, whose numbers may be those of another
    stamp: int  # ns; 0 without a header
    rows: tuple[FloatArray, ...]  # of the fields, read only

    def of_joints(self, joints: Sequence[str]) -> list[FloatArray]:
        """Rows of a joint state for joints by name; NaN where it does not have them."""
        names = self.message.name
        by_name = [dict(zip(names, row.tolist(), strict=False)) for row in self.rows]
        return [np.array([row.get(joint, np.nan) for joint in joints]) for row in by_name]


class FixedLayout:
    """Where a stamp and rows of doubles are in the bytes of all messages that are like one.

    Parameters
    ----------
    message : ROS message
        Its numbers are changed.
    fields : sequence of str
        Of doubles, arrays or messages (``wrench.force``).
    lengths : sequence of int
        Numbers of each field.

    Raises
    ------
    ValueError
        If the middleware does not store them one after another, as this computer does.
    """

    def __init__(self, message: Any, fields: Sequence[str], lengths: Sequence[int]):
        marks = np.arange(_FIRST_MARK, _FIRST_MARK + sum(lengths), dtype=np.uint64)
        rows = np.split(marks.view(np.float64), np.cumsum(lengths)[:-1])
        data = serialize_message(filled(message, _STAMP_MARK, fields, rows))
        self.message, self._header = message, data[:4]
        self._stamp = None
        if hasattr(message, 'header'):
            self._stamp = data.index(_STAMP.pack(*divmod(_STAMP_MARK, 1_000_000_000)))
        self._places = [
            (length, data.index(row.tobytes()) if length else 0)
            for length, row in zip(lengths, rows, strict=True)
        ]
        self.keep(data)

    def keep(self, data: bytes) -> None:
        """Take all but the numbers from a message of this layout: what fills gaps, and follows it.

        Raises
        ------
        ValueError
            If it is too short, or its representation (the first four bytes: order of bytes) is
            another.
        """
        last = max((start + 8 * length for length, start in self._places if length), default=4)
        if len(data) < last or data[:4] != self._header:
            raise ValueError('another layout')
        self._size = len(data)
        gaps = [(start, start + 8 * length) for length, start in self._places if length]
        if self._stamp is not None:
            gaps.append((self._stamp, self._stamp + _STAMP.size))
        ends = [0, *(place for gap in sorted(gaps) for place in gap), self._size]
        self._fixed = [
            (slice(a, b), data[a:b]) for a, b in zip(ends[::2], ends[1::2], strict=True) if b > a
        ]
        self._data = bytearray(data)
        self._views = [np.frombuffer(self._data, np.float64, *place) for place in self._places]

    def write(self, stamp: int, rows: Sequence[FloatArray]) -> bytes:
        """A message with a stamp (ns) and rows of numbers."""
        if self._stamp is not None:
            _STAMP.pack_into(self._data, self._stamp, *divmod(stamp, 1_000_000_000))
        for view, row in zip(self._views, rows, strict=True):
            view[:] = row
        return bytes(self._data)

    def read(self, data: bytes) -> Numbers | None:
        """What a message of this layout tells; None for another one."""
        if len(data) != self._size:
            return None
        for where, fixed in self._fixed:
            if data[where] != fixed:
                return None
        stamp = 0
        if self._stamp is not None:
            seconds, nanoseconds = _STAMP.unpack_from(data, self._stamp)
            stamp = seconds * 1_000_000_000 + nanoseconds
        rows = tuple([np.frombuffer(data, np.float64, *place) for place in self._places])
        return Numbers(self.message, stamp, rows)


class NumbersReader:
    """Reads the numbers of a topic's messages, whose layouts are learnt from them.

    Parameters
    ----------
    kind : type
        Of the messages.
    fields : str
        Of doubles, arrays or messages.

    Attributes
    ----------
    pause : float
        Between two searches for a layout, s: a topic's may never be the same.
    """

    def __init__(self, kind: type, *fields: str):
        self._kind, self._fields = kind, fields
        self._layouts: list[FixedLayout] = []
        self.pause, self._next = _PAUSE, 0.0

    def __call__(self, data: bytes) -> Numbers:
        """What a message tells; raises as rclpy does for bytes that are none."""
        for layout in self._layouts:
            numbers = layout.read(data)
            if numbers is not None:
                return numbers
        message = deserialize_message(data, self._kind)
        numbers = numbers_of(message, self._fields)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self.pause
            self._learn(data, numbers)
        return numbers

    def _learn(self, data: bytes, numbers: Numbers) -> None:
        """Keep a message's layout, if what is read by it is what the middleware reads."""
        try:
            layout = FixedLayout(
                deserialize_message(data, self._kind), self._fields, [len(r) for r in numbers.rows]
            )
            layout.keep(data)
        except ValueError:
            return
        same = layout.read(data)
        assert same is not None
        rows = zip(same.rows, numbers.rows, strict=True)
        if same.stamp == numbers.stamp and all(a.tobytes() == b.tobytes() for a, b in rows):
            self._layouts = [layout, *self._layouts[: _KEPT - 1]]


def numbers_of(message: Any, fields: Sequence[str]) -> Numbers:
    """What a message tells."""
    header, stamp = getattr(message, 'header', None), 0
    if header is not None:
        stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
    parts = (functools.reduce(getattr, field.split('.'), message) for field in fields)
    return Numbers(message, stamp, tuple(np.array(_doubles(part), np.float64) for part in parts))


def _doubles(part: Any) -> list[float]:
    """The numbers of an array, or of a message, one after another."""
    if not hasattr(part, 'get_fields_and_field_types'):
        return list(part) if hasattr(part, '__len__') else [part]
    return [x for name in part.get_fields_and_field_types() for x in _doubles(getattr(part, name))]


def filled(message: Any, stamp: int, fields: Sequence[str], rows: Sequence[FloatArray]) -> Any:
    """A message with a stamp (ns), if it has a header, and its fields set to rows of numbers."""
    header = getattr(message, 'header', None)
    if header is not None:
        header.stamp.sec, header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    for field, row in zip(fields, rows, strict=True):
        *owners, name = field.split('.')
        _set(functools.reduce(getattr, owners, message), name, row.tolist())
    return message


def _set(owner: Any, name: str, numbers: list[float]) -> None:
    """Set an array, a number or a message to the first of some numbers, which are taken away."""
    part = getattr(owner, name)
    if hasattr(part, 'get_fields_and_field_types'):
        for inner in part.get_fields_and_field_types():
            _set(part, inner, numbers)
    elif hasattr(part, '__len__'):
        setattr(owner, name, numbers)
    else:
        setattr(owner, name, numbers.pop(0))
