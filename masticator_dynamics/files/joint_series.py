# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints and forces of a recording as arrays over time: what every reader of recordings uses.

Joints stand in joint states, and in trajectories, whose points count as messages.
"""

from __future__ import annotations

import array
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.table_dialects import FIELDS
from masticator_dynamics.files.tables import FloatArray

STATES, TRAJECTORIES = 'sensor_msgs/msg/JointState', 'trajectory_msgs/msg/JointTrajectory'
_POINT_FIELDS = 'positions', 'velocities', 'effort'


@dataclasses.dataclass(frozen=True)
class JointSeries:
    """Joints of one topic; times in s from some start.

    `stamps` (N,) are those of the messages, `received` (N,) when the recorder got them, `sequence`
    (N,) the publisher's count. Of `position`, `velocity` and `effort` (N, n) columns are those of
    `names`; there are none where no message has the field, and NaN where one lacks it.
    """

    names: tuple[str, ...]
    stamps: FloatArray
    received: FloatArray
    sequence: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray

    @property
    def time(self) -> FloatArray:
        """The stamps, or when messages arrived where some have none."""
        return self.received if np.isnan(self.stamps).any() else self.stamps

    def columns(self, names: Sequence[str]) -> list[int]:
        """Columns of joints, by name."""
        return [self.names.index(name) for name in names]

    def renamed(self, names: Sequence[str]) -> JointSeries:
        """The same with other names."""
        return dataclasses.replace(self, names=tuple(names))

    def rows(self, chosen: slice | npt.NDArray[Any]) -> JointSeries:
        """Some of the messages."""
        parts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        names = parts.pop('names')
        return JointSeries(names, **{name: part[chosen] for name, part in parts.items()})

    def during(self, duration: float) -> JointSeries:
        """The part that belongs to a motion of so many seconds."""
        return self.rows((self.stamps >= 0.0) & (self.stamps <= duration))


@dataclasses.dataclass(frozen=True)
class ForceSeries:
    """Forces (N, 3) in the axes of `frame`, N; times in s from some start.

    `stamps` (N,) are those of the messages, or when they arrived where they have none.
    """

    frame: str
    stamps: FloatArray
    force: FloatArray


def stamp_of(event: Event) -> int:
    """Stamp of a message with a header, ns since 1970; 0: it has none."""
    return _nanoseconds(event.content.header.stamp)


def _nanoseconds(time: Any) -> int:
    return int(time.sec) * 10**9 + int(time.nanosec)


def seconds_since(start: int, times: Sequence[int]) -> FloatArray:
    """Times in s (N,) of times and a start in ns since 1970."""
    # Nanoseconds since 1970 do not fit a float64: subtract first.
    return np.array([time - start for time in times], dtype=float) * 1e-9


class JointRows:
    """Joints in the messages of one topic, as numbers: a long recording takes little room so.

    Parameters
    ----------
    topic : str
        Name in messages of errors.
    """

    def __init__(self, topic: str):
        self._topic = topic
        self._parts: dict[_Layout, _Part] = {}
        self._times = array.array('q')  # stamp, log time and sequence of every row
        self._messages = 0

    def __len__(self) -> int:
        """Count the messages."""
        return self._messages

    @property
    def names(self) -> tuple[str, ...]:
        """All joints, in the order in which they first come."""
        return tuple(dict.fromkeys(name for layout in self._parts for name in layout.names))

    @property
    def start(self) -> int:
        """When the first message with joints was received, ns since 1970."""
        return int(self._by_row()[:, 1].min())

    def add(self, event: Event) -> None:
        """Take over a message."""
        self._messages += 1
        for sample in _samples(event):
            layout = _Layout(sample.names, tuple(map(len, sample.values)))
            part = self._parts.setdefault(layout, _Part())
            part.rows.append(len(self._times) // 3)
            for values in sample.values:
                part.values.frombytes(values.tobytes())
            self._times.extend((sample.stamp, event.log_time, event.sequence))

    def _by_row(self) -> npt.NDArray[np.int64]:
        return np.asarray(self._times).reshape(-1, 3)

    def series(self, start: int, joints: Sequence[str] | None = None) -> JointSeries:
        """Joints as arrays, in the order in which messages were received.

        Parameters and errors are those of :func:`joint_series`.
        """
        names = tuple(joints if joints is not None else next(iter(self._parts)).names)
        parts = [
            (layout, part) for layout, part in self._parts.items()
            if set(names) <= set(layout.names)
        ]  # fmt: skip
        if not parts:
            raise InputError(f'no message of {self._topic} has {", ".join(names)}')
        for layout, _ in parts:
            layout.refuse(self._topic, names)
        rows = np.concatenate([np.asarray(part.rows) for _, part in parts])
        stamps, received, sequence = (column[rows] for column in self._by_row().T)
        order = np.lexsort((rows, received))
        since = (stamps[order] - start) * 1e-9
        absent = stamps[order] == 0
        if np.count_nonzero(absent) > 1:  # a single one is a clock that starts at zero
            since[absent] = np.nan
        fields = []
        for k in range(len(FIELDS)):
            there = any(layout.lengths[k] for layout, _ in parts)
            values = [part.field(k, layout, names if there else ()) for layout, part in parts]
            fields.append((np.concatenate(values) if len(values) > 1 else values[0])[order])
        arrived = (received[order] - start) * 1e-9
        return JointSeries(names, since, arrived, sequence[order].astype(float), *fields)


class _Layout(NamedTuple):
    """What messages have: names, and numbers of values of each field."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]

    def refuse(self, topic: str, joints: Sequence[str]) -> None:
        """Refuse names that come twice, and other numbers of values than of names."""
        for name in joints:
            if (count := self.names.count(name)) > 1:
                raise InputError(f'{topic}: a message names joint {name} {count} times')
        for field, length in zip(FIELDS, self.lengths, strict=True):
            if length not in (0, len(self.names)):
                raise InputError(
                    f'{topic}: a message has {length} {field} values, {len(self.names)} names'
                )


class _Part:
    """Rows with one layout: their numbers, and values of all fields, row by row."""

    def __init__(self) -> None:
        self.rows, self.values = array.array('q'), array.array('d')

    def field(self, field: int, layout: _Layout, joints: Sequence[str]) -> FloatArray:
        """Values (N, n) of joints; NaN where there are none."""
        if not layout.lengths[field]:
            return np.full((len(self.rows), len(joints)), np.nan)
        values = np.asarray(self.values).reshape(len(self.rows), -1)  # shares its memory
        first = sum(layout.lengths[:field])
        return values[:, [first + layout.names.index(joint) for joint in joints]]


def joint_names(events: Sequence[Event]) -> tuple[str, ...]:
    """Names of all joints in messages of one topic, in the order in which they first come."""
    names: dict[str, None] = {}
    for content in (event.content for event in events):
        there: Sequence[str] = getattr(content, 'joint_names', ()) or getattr(content, 'name', ())
        names.update(dict.fromkeys(there))
    return tuple(names)


def joint_series(
    events: Sequence[Event], start: int, joints: Sequence[str] | None = None
) -> JointSeries:
    """Joints as arrays, in the order in which messages were received.

    Parameters
    ----------
    events : sequence of Event
        Of one topic, with joints.
    start : int
        From which times count, ns since 1970.
    joints : sequence of str, optional
        Messages without all of these are left out; default: the joints of the first message.

    Raises
    ------
    InputError
        If no message has them, or one has another number of values than of names, or a name twice.
    """
    rows = JointRows(events[0].topic)
    for event in events:
        rows.add(event)
    return rows.series(start, joints)


@dataclasses.dataclass(frozen=True)
class _Sample:
    """Joints at one time: stamp in ns, 0 where there is none, and values of each field."""

    stamp: int
    names: tuple[str, ...]
    values: tuple[FloatArray, ...]


def _samples(event: Event) -> Iterator[_Sample]:
    content = event.content
    if hasattr(content, 'points'):
        begin = stamp_of(event) or event.log_time  # without a stamp it begins as it arrives
        names = tuple(content.joint_names)
        for point in content.points:
            values = tuple(np.asarray(getattr(point, f), dtype=float) for f in _POINT_FIELDS)
            yield _Sample(begin + _nanoseconds(point.time_from_start), names, values)
    else:
        values = tuple(np.asarray(getattr(content, f, ()), dtype=float) for f in FIELDS)
        yield _Sample(stamp_of(event), tuple(content.name), values)


def force_series(events: Sequence[Event], start: int) -> ForceSeries:
    """Forces of wrenches as arrays; times count from a start, ns since 1970."""
    forces = [event.content.wrench.force for event in events]
    return ForceSeries(
        events[0].content.header.frame_id,
        seconds_since(start, [stamp_of(event) or event.log_time for event in events]),
        np.array([[force.x, force.y, force.z] for force in forces]),
    )
