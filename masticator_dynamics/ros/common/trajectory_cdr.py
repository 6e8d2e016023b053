# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""trajectory_msgs/JointTrajectory from and to its serialised form (CDR), point by point.

rclpy converts a message in one go and holds Python's lock meanwhile: 14 ms for 500 points, seven
control cycles. Here other threads get their turn between points, and what cannot be right is
refused before it is read. Points do not become objects: to free many at once, or to look through
them for garbage, holds the lock for as long.
"""

from __future__ import annotations

import array
import dataclasses
import struct
from collections.abc import Iterable, Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.errors import InputError

MOST_POINTS = 60_000  # 600 s at 100 Hz
_LARGEST = 16_000_000  # bytes; that many points with every field filled
_LONGEST_TEXT = 1000  # bytes of a name
# Plain CDR version 1; padding counts from the end of the header.
_LITTLE_ENDIAN, _BIG_ENDIAN = b'\x00\x01', b'\x00\x00'
_HEADER = 4


@dataclasses.dataclass(frozen=True)
class Rows:
    """One quantity of all points: how many ``numbers`` each has (N,), and all of them in turn."""

    counts: IntArray
    numbers: FloatArray


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """A trajectory message.

    Attributes
    ----------
    stamp : int
        ns.
    joint_names : tuple of str
        In the order of the points' numbers.
    times : (N,) array
        Of the points, s from the stamp.
    positions, velocities, accelerations, effort : Rows
    """

    stamp: int
    joint_names: tuple[str, ...]
    times: FloatArray
    positions: Rows
    velocities: Rows
    accelerations: Rows
    effort: Rows


def decode(data: bytes | memoryview, most_names: int) -> Trajectory:
    """Trajectory from a serialised message.

    Parameters
    ----------
    data : bytes or memoryview
    most_names : int
        Largest number of joints, and of numbers in a row.

    Raises
    ------
    InputError
        For data that are cut off, too large, or in an encoding other than plain CDR, which all
        middleware of ROS 2 Jazzy uses.
    """
    if len(data) > _LARGEST:
        raise InputError(f'the message has {len(data)} bytes; at most {_LARGEST} are read')
    reader = _Reader(data)
    seconds, nanoseconds = reader.pair()
    if nanoseconds >= 1_000_000_000:  # with the last of the seconds it would fit into no message
        raise InputError(f'the stamp has {nanoseconds} ns beyond its seconds')
    reader.text('frame_id')  # means nothing for joints
    count = reader.count('joint names', most_names)
    names = tuple(reader.text('joint name') for _ in range(count))
    times = np.empty(reader.count('points', MOST_POINTS))
    parts = [(array.array('q'), bytearray()) for _ in range(4)]
    for k in range(len(times)):
        for counts, numbers in parts:
            row = reader.doubles(most_names)
            counts.append(len(row) // 8)
            numbers += row
        sec, nanosec = reader.pair()
        times[k] = sec + nanosec * 1e-9
    rows = [Rows(np.array(c, dtype=np.int64), reader.floats(n)) for c, n in parts]
    return Trajectory(seconds * 1_000_000_000 + nanoseconds, names, times, *rows)


def encode(
    stamp: int,
    joint_names: Sequence[str],
    times: Iterable[float],
    rows: Sequence[FloatArray],
) -> bytes:
    """Serialised message of points with positions, velocities, accelerations and effort.

    Parameters
    ----------
    stamp : int
        ns.
    times : (N,) iterable
        s from the stamp.
    rows : four (N, n) arrays
        Positions, velocities, accelerations, efforts.
    """
    count, joints = rows[0].shape
    out = bytearray(_LITTLE_ENDIAN + b'\x00\x00')
    out += struct.pack('<iI', *divmod(stamp, 1_000_000_000))
    _add_text(out, '')
    _align(out, 4)
    out += struct.pack('<I', len(joint_names))
    for name in joint_names:
        _add_text(out, name)
    _align(out, 4)
    out += struct.pack('<I', count)
    for k, time in enumerate(times):
        for row in rows:
            _align(out, 4)
            out += struct.pack('<I', joints)
            _align(out, 8)
            out += row[k].astype('<f8').tobytes()
        out += struct.pack('<iI', *divmod(round(time * 1e9), 1_000_000_000))
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes | memoryview):
        if data[:2] not in (_LITTLE_ENDIAN, _BIG_ENDIAN):
            raise InputError(f'the message is not plain CDR: it begins with {data[:2].hex()}')
        self._data, self._at = data, _HEADER
        self._order = '<' if data[:2] == _LITTLE_ENDIAN else '>'

    def _take(self, size: int, alignment: int) -> int:
        start = self._at + (_HEADER - self._at) % alignment
        self._at = start + size
        if self._at > len(self._data):
            raise InputError('the message is cut off')
        return start

    def count(self, what: str, most: int) -> int:
        start = self._take(4, 4)
        count = int(struct.unpack_from(f'{self._order}I', self._data, start)[0])
        if count > most:
            raise InputError(f'there are {count} {what}; at most {most} are read')
        return count

    def pair(self) -> tuple[int, int]:
        start = self._take(8, 4)
        first, second = struct.unpack_from(f'{self._order}iI', self._data, start)
        return first, second

    def text(self, what: str) -> str:
        size = self.count(f'characters in a {what}', _LONGEST_TEXT)
        start = self._take(size, 1)
        return str(self._data[start : start + max(size - 1, 0)], 'utf-8', 'replace')

    def doubles(self, most: int) -> bytes | memoryview:
        size = 8 * self.count('numbers in a row', most)
        start = self._take(size, 8) if size else self._at
        return self._data[start : start + size]

    def floats(self, data: bytearray) -> FloatArray:
        return np.frombuffer(data, f'{self._order}f8').astype(float, copy=False)


def _align(out: bytearray, alignment: int) -> None:
    out += bytes((_HEADER - len(out)) % alignment)


def _add_text(out: bytearray, text: str) -> None:
    _align(out, 4)
    encoded = text.encode()
    out += struct.pack('<I', len(encoded) + 1) + encoded + b'\x00'
