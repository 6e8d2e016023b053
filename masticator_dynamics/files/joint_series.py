# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints and forces of a recording as arrays over time: what every reader of recordings uses.

Joints stand in joint states, and in trajectories, whose points count as messages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

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
    """Joints as arrays.

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
    names = tuple(joints if joints is not None else next(_samples(events[0])).names)
    rows: dict[str, list[FloatArray]] = {field: [] for field in FIELDS}
    stamps, received, sequence = [], [], []
    order: dict[tuple[str, ...], list[int] | None] = {}
    for event in events:
        for sample in _samples(event):
            if sample.names not in order:
                there = set(names) <= set(sample.names)
                _refuse_twice(event.topic, names, sample.names)
                order[sample.names] = [sample.names.index(n) for n in names] if there else None
            columns = order[sample.names]
            if columns is None:
                continue
            for field, values in zip(FIELDS, sample.values, strict=True):
                rows[field].append(_picked(event.topic, field, values, columns, sample.names))
            stamps.append(sample.stamp)
            received.append(event.log_time)
            sequence.append(event.sequence)
    if not stamps:
        raise InputError(f'no message of {events[0].topic} has {", ".join(names)}')
    since = seconds_since(start, stamps)
    absent = np.array(stamps) == 0
    if np.count_nonzero(absent) > 1:  # a single one is a clock that starts at zero
        since[absent] = np.nan
    fields = (_stacked(rows[field], len(names)) for field in FIELDS)
    counts = np.array(sequence, dtype=float)
    return JointSeries(names, since, seconds_since(start, received), counts, *fields)


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


def _refuse_twice(topic: str, names: Sequence[str], present: Sequence[str]) -> None:
    for name in names:
        if present.count(name) > 1:
            raise InputError(f'{topic}: a message names joint {name} {present.count(name)} times')


def _picked(
    topic: str, field: str, values: FloatArray, columns: list[int], names: Sequence[str]
) -> FloatArray:
    if not len(values):
        return values
    if len(values) != len(names):
        raise InputError(f'{topic}: a message has {len(values)} {field} values, {len(names)} names')
    return values[columns]


def _stacked(rows: list[FloatArray], count: int) -> FloatArray:
    if not any(len(row) for row in rows):
        return np.zeros((len(rows), 0))
    return np.array([row if len(row) else np.full(count, np.nan) for row in rows])


def force_series(events: Sequence[Event], start: int) -> ForceSeries:
    """Forces of wrenches as arrays; times count from a start, ns since 1970."""
    forces = [event.content.wrench.force for event in events]
    return ForceSeries(
        events[0].content.header.frame_id,
        seconds_since(start, [stamp_of(event) or event.log_time for event in events]),
        np.array([[force.x, force.y, force.z] for force in forces]),
    )
