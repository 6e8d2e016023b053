# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""trajectory_msgs/JointTrajectory from and to its serialised form (CDR), point by point.

rclpy converts a message in one go and keeps Python's lock meanwhile: 14 ms for 500 points, seven
control cycles. Here other threads get their turn between points.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

_LITTLE_ENDIAN = b'\x00\x01'  # plain CDR version 1; padding counts from the end of the header
_HEADER = 4


@dataclasses.dataclass(frozen=True)
class Point:
    """One point: s and rows of numbers, empty where not given."""

    time: float
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray
    effort: FloatArray


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """A trajectory message: ``stamp`` in ns, names in the order of the points' numbers."""

    stamp: int
    joint_names: tuple[str, ...]
    points: tuple[Point, ...]


def is_plain(data: bytes) -> bool:
    """Whether `decode` knows the encoding; other middleware may use another."""
    return data[:2] == _LITTLE_ENDIAN


def decode(data: bytes) -> Trajectory:
    """Trajectory from a serialised message.

    Raises
    ------
    ValueError
        For data that is cut off.
    """
    reader = _Reader(data)
    seconds, nanoseconds = reader.pair()
    reader.text()  # frame_id means nothing for joints
    names = tuple(reader.text() for _ in range(reader.count()))
    points = []
    for _ in range(reader.count()):
        rows = [reader.doubles() for _ in range(4)]
        sec, nanosec = reader.pair()
        points.append(Point(sec + nanosec * 1e-9, *rows))
    return Trajectory(seconds * 1_000_000_000 + nanoseconds, names, tuple(points))


def from_message(message: Any) -> Trajectory:
    """Trajectory from a trajectory_msgs/JointTrajectory."""
    points = []
    for p in message.points:
        rows = [np.array(r) for r in (p.positions, p.velocities, p.accelerations, p.effort)]
        points.append(Point(p.time_from_start.sec + p.time_from_start.nanosec * 1e-9, *rows))
    stamp = message.header.stamp
    return Trajectory(
        stamp.sec * 1_000_000_000 + stamp.nanosec, tuple(message.joint_names), tuple(points)
    )


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
    def __init__(self, data: bytes):
        self._data, self._at = data, _HEADER

    def _take(self, size: int, alignment: int) -> int:
        start = self._at + (_HEADER - self._at) % alignment
        self._at = start + size
        if self._at > len(self._data):
            raise ValueError('the message is cut off')
        return start

    def count(self) -> int:
        return int(struct.unpack_from('<I', self._data, self._take(4, 4))[0])

    def pair(self) -> tuple[int, int]:
        first, second = struct.unpack_from('<iI', self._data, self._take(8, 4))
        return first, second

    def text(self) -> str:
        size = self.count()
        start = self._take(size, 1)
        return self._data[start : start + max(size - 1, 0)].decode('utf-8', 'replace')

    def doubles(self) -> FloatArray:
        size = self.count()
        if size == 0:
            return np.empty(0)
        return np.frombuffer(self._data, '<f8', size, self._take(8 * size, 8))


def _align(out: bytearray, alignment: int) -> None:
    out += bytes((_HEADER - len(out)) % alignment)


def _add_text(out: bytearray, text: str) -> None:
    _align(out, 4)
    encoded = text.encode()
    out += struct.pack('<I', len(encoded) + 1) + encoded + b'\x00'
