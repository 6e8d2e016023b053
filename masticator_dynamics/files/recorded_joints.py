# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints of any recording as columns: CSV, a bag of ROS 2, or a file of one.

Columns are ``time`` (s), and ``position_J``, ``velocity_J`` and ``effort_J`` of joints J.
"""

from __future__ import annotations

import os.path
import pathlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event, Progress, is_bag, read_messages
from masticator_dynamics.files.joint_series import (
    STATES,
    TRAJECTORIES,
    JointRows,
    JointSeries,
)
from masticator_dynamics.files.table_dialects import FIELDS, TIME
from masticator_dynamics.files.tables import Columns, FloatArray, Table, listed_names, read_table

_NO_TIME = 1e-3  # s: messages that arrived within that have no times
_MANY, _SLOW = 20, 1.0  # rows, and s between them, from which times may be milliseconds


class RecordedJoints(Columns):
    """Joints of a topic.

    Parameters
    ----------
    source : str
        Name of the recording in messages.
    cut : str
        A sentence on a recording that is truncated or damaged; empty for a whole one.

    Attributes
    ----------
    series : JointSeries
        Its messages, without those that came twice; row by row those of the columns.
    """

    def __init__(self, source: str, topic: str, series: JointSeries, cut: str = ''):
        self._topic = topic
        fields = [field for field in FIELDS if getattr(series, field).shape[1]]
        names = [f'{field}_{name}' for name in series.names for field in fields]
        super().__init__(source, [TIME, *names])
        time = series.time
        late = 'messages have no time in their headers: taken is when they arrived'
        has_stamps = not np.isnan(series.stamps).any()
        self.doubts = tuple(
            sentence for sentence in (cut, '' if has_stamps else f'{source}: {late}') if sentence
        )
        if not has_stamps and np.ptp(time) < _NO_TIME and len(time) > 1:
            raise InputError(
                f'{source}: {topic}: its messages have no time in their headers, and arrived '
                f'within {np.ptp(time):.2g} s'
            )
        again = np.diff(time, prepend=-np.inf) == 0.0  # a message may come twice
        rows = np.flatnonzero(~again)
        self.series = series.rows(rows) if again.any() else series
        self._time = time[rows] - time[0]
        before, after = series.position[:-1], series.position[1:]
        moved = (after < before) | (after > before)  # NaN where a message lacks it
        others = np.count_nonzero(moved[again[1:]].any(axis=1))
        if others:
            self.doubts += (
                f'{source}: {others} messages of {topic} have the time of the one before and other '
                'positions, and are left out: does more than one robot publish there?',
            )
        for name, column in zip(self.series.names, self.series.position.T, strict=False):
            if there := _back_and_forth(column):
                self.doubts += (
                    f'{source}: from message to message of {topic}, {name} goes back and forth, by '
                    f'{there:.2g} rad or m: does more than one robot publish there?',
                )
                break

    def __len__(self) -> int:
        """Count the messages."""
        return len(self._time)

    def place(self, row: int) -> str:
        """Name a message for a message, counted from 1."""
        return f'{self.source}: message {row + 1} of {self._topic}'

    def _column(self, name: str) -> FloatArray:
        if name == TIME:
            return self._time
        field, _, joint = name.partition('_')
        values = np.asarray(getattr(self.series, field)[:, self.series.names.index(joint)])
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise InputError(
                f'{self.source}: {len(bad)} of {len(values)} messages of {self._topic} lack '
                f'numbers, the first after {self._time[bad[0]]:.3f} s the {field} of {joint}'
            )
        return values


_TURNS, _APART, _SAME = 12, 1e-3, 0.25  # messages in a row, rad or m, and part of that


def _back_and_forth(position: FloatArray) -> float:
    """By how much positions (N,) alternate between two places for a while; 0: they do not.

    Noise as large as that would do so for `_TURNS` messages in a row once in 10^9 rows.
    """
    place = np.where(np.isfinite(position), position, np.nan)
    step, double = np.abs(np.diff(place))[:-1], np.abs(place[2:] - place[:-2])
    alternates = (step > _APART) & (double < _SAME * step)  # never, with NaN
    ends = np.flatnonzero(~alternates)
    longest = np.diff(np.concatenate([[-1], ends, [len(alternates)]])).max(initial=0) - 1
    return float(np.median(step[alternates])) if longest >= _TURNS else 0.0


def read_joints(
    source: str,
    joints: Sequence[Sequence[str]],
    fields: Sequence[str] = FIELDS[:1],
    topic: str | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress = lambda done, size: None,
) -> Columns:
    """Read a recording of joints.

    Parameters
    ----------
    source : str
        CSV (``-``: standard input), a bag's folder, or a file of one.
    joints : sequence of sequences of str
        Which are needed: all of the first, or else all of the next.
    fields : sequence of str
        What is needed of them: position, velocity, effort.
    topic : str, optional
        Where they are; by default the topic that has them.
    names : mapping, optional
        How the recording calls joints, by their names here.
    progress : callable
        Called now and then with what was read of a bag and what there is, in any unit.

    Raises
    ------
    InputError
        When it cannot be read, or no topic or several have what is needed.
    """
    recorded = {there: here for here, there in (names or {}).items()}
    recording = _opened(source, topic, recorded, progress)
    if isinstance(recording, Table):
        _refuse_other_joints(recording, joints)
        return recording
    for needed in joints:
        fitting = _topics_with(recording, needed, fields, topic, recorded)
        if fitting:
            break
    else:
        raise InputError(_lacking(recording, joints[-1], fields, topic, recorded))
    if len(fitting) > 1:
        raise InputError(
            f'{source}: several topics have {_wanted(fields)} of {", ".join(needed)}: '
            f'{", ".join(fitting)}; --topic chooses one'
        )
    ((name, series),) = fitting.items()
    return RecordedJoints(source, name, series, recording.cut)


class _Topics(NamedTuple):
    """What topics of a recording have."""

    source: str
    joints: dict[str, JointRows]
    datatypes: dict[str, str]  # of all topics
    cut: str  # a sentence where it is truncated or damaged


def _opened(
    source: str, topic: str | None, recorded: Mapping[str, str], progress: Progress
) -> Table | _Topics:
    """A table whose joints are called as here, or a recording that has those that are named."""
    if not (is_bag(source) or pathlib.Path(source).is_dir()):
        table = read_table(source, topic)
        table.rename_joints(recorded)
        return table
    joints: dict[str, JointRows] = {}

    def take(event: Event) -> None:
        if event.topic not in joints:
            joints[event.topic] = JointRows(event.topic)
        joints[event.topic].add(event)

    whole = read_messages(pathlib.Path(source), take, (STATES, TRAJECTORIES), progress)
    recording = _Topics(source, joints, whole.datatypes, whole.cut)
    present = {name for rows in joints.values() for name in rows.names}
    for there in recorded:
        if there not in present:
            raise InputError(
                f'{source}: no joint {there} in it; there are: {listed_names(sorted(present))}'
            )
    return recording


def _refuse_other_joints(table: Columns, joints: Sequence[Sequence[str]]) -> None:
    """Say which joints a table has, where it has positions of others instead."""
    prefix = f'{FIELDS[0]}_'
    present = [name.removeprefix(prefix) for name in table.columns if name.startswith(prefix)]
    lacking = [
        [joint for joint in needed if joint not in {*present, *table.columns}]
        for needed in reversed(joints)
    ]
    missing = min(lacking, key=len)
    others = [name for name in present if not any(name in needed for needed in joints)]
    if missing and others:
        raise InputError(
            f'{table.source}: no joints {listed_names(missing)}; it has positions of '
            f'{listed_names(others)}{_mapping(missing, others)}'
        )


def recorded_ranges(
    source: str, topic: str | None = None, names: Mapping[str, str] | None = None
) -> dict[str, tuple[float, float]]:
    """Least and greatest position of every joint in a recording, rad or m, by name.

    Parameters
    ----------
    source, topic, names
        As for :func:`read_joints`; of a CSV file, joints are what columns ``position_J`` name, or
        columns ``J`` where there are none.

    Raises
    ------
    InputError
        When it cannot be read, or has no positions.
    """
    recorded = {there: here for here, there in (names or {}).items()}
    prefix = f'{FIELDS[0]}_'
    ranges: dict[str, tuple[float, float]] = {}
    recording = _opened(source, topic, recorded, lambda done, size: None)
    if isinstance(recording, Table):
        columns = [column for column in recording.columns if column.startswith(prefix)]
        others = (TIME, *(f'{field}_' for field in FIELDS))
        for column in columns or [c for c in recording.columns if not c.startswith(others)]:
            (values,) = recording.numbers([column]).T
            ranges[column.removeprefix(prefix)] = float(values.min()), float(values.max())
    else:
        for name, rows in recording.joints.items():
            for joint in rows.names if _is_meant(name, topic) else ():
                series = _series(rows, [joint])  # one by one: messages may have some of them
                if not isinstance(series, str) and np.isfinite(series.position).any():
                    low, high = np.nanmin(series.position), np.nanmax(series.position)
                    here = recorded.get(joint, joint)
                    before = ranges.get(here, (np.inf, -np.inf))
                    ranges[here] = min(before[0], float(low)), max(before[1], float(high))
    if not ranges:
        raise InputError(f'{source}: no positions of joints are in it')
    return ranges


def times_in_doubt(table: Columns, time: FloatArray) -> str:
    """A sentence on times (s) that may be milliseconds; empty where a unit is said or they fit."""
    if not isinstance(table, Table) or table.states_unit or len(time) < _MANY:
        return ''
    step = float(np.median(np.diff(time)))
    if step < _SLOW:
        return ''
    return (
        f"rows are {step:.3g} s apart: if times are milliseconds, call their column 'time [ms]', "
        "otherwise 'time [s]'"
    )


def _topics_with(
    recording: _Topics,
    joints: Sequence[str],
    fields: Sequence[str],
    topic: str | None,
    recorded: Mapping[str, str],
) -> dict[str, JointSeries]:
    """Topics that have what is needed; of trajectories only where no joint states have it."""
    wanted = _names_there(joints, recorded)
    fitting: dict[str, dict[str, JointSeries]] = {STATES: {}, TRAJECTORIES: {}}
    for name, rows in recording.joints.items():
        if not _is_meant(name, topic):
            continue
        series = _series(rows, wanted)
        if isinstance(series, str):
            continue
        if all(getattr(series, field).shape[1] for field in fields):
            fitting[recording.datatypes[name]][name] = series.renamed(joints)
    return fitting[STATES] or fitting[TRAJECTORIES]


def _names_there(joints: Sequence[str], recorded: Mapping[str, str]) -> list[str]:
    """How the recording calls joints."""
    there = {here: name for name, here in recorded.items()}
    return [there.get(joint, joint) for joint in joints]


def _is_meant(topic: str, chosen: str | None) -> bool:
    return chosen is None or topic.strip('/') == chosen.strip('/')


def _series(rows: JointRows, joints: Sequence[str]) -> JointSeries | str:
    """Joints of a topic, or why its messages do not give them."""
    if not set(joints) <= set(rows.names):
        return f'no message has {listed_names(joints)}'
    try:
        return rows.series(rows.start, joints)
    except InputError as error:
        return str(error)


def _wanted(fields: Sequence[str]) -> str:
    return ' and '.join(f'{field}s' if field != 'velocity' else 'velocities' for field in fields)


def _lacking(
    recording: _Topics,
    joints: Sequence[str],
    fields: Sequence[str],
    topic: str | None,
    recorded: Mapping[str, str],
) -> str:
    """What each topic lacks, and the option that would map names."""
    wanted = _names_there(joints, recorded)
    topics = [name for name in sorted(recording.datatypes) if _is_meant(name, topic)]
    others = [n for n in topics if recording.datatypes[n] not in (STATES, TRAJECTORIES)]
    sentences, hint = [], ''
    for name in (name for name in topics if name not in others):
        rows = recording.joints.get(name, JointRows(name))
        present, series = rows.names, _series(rows, wanted)
        missing = [joint for joint in wanted if joint not in present]
        if not len(rows):
            sentences.append(f'{name} has no message')
        elif missing:
            sentences.append(f'{name} has no {listed_names(missing)} but {listed_names(present)}')
            hint = hint or _mapping(missing, [n for n in present if n not in wanted])
            if len(missing) < len(wanted):
                hint += '; `masticator import --recording` holds joints that it does not have'
        elif isinstance(series, str):
            sentences.append(series)
        else:
            lacks = [field for field in fields if not getattr(series, field).shape[1]]
            sentences.append(f'{name} has no {_wanted(lacks)}')
    if others or not topics:
        those = listed_names(others or sorted(recording.datatypes))
        sentences.append(f'no joints are in {those}' if others else f'there are: {those}')
    needed = f'{_wanted(fields)} of {listed_names(joints)}'
    return f'{recording.source}: no topic has {needed}: {"; ".join(sentences)}{hint}'


_ELSEWHERE = ' (--names where --joints is a file)'


def _mapping(missing: Sequence[str], present: Sequence[str]) -> str:
    """The option that maps missing names to those that end alike."""
    pairs = []
    for joint in missing:
        ends = [(len(os.path.commonprefix([joint[::-1], name[::-1]])), name) for name in present]
        best = max(ends, default=(0, ''))
        if not best[0] or [length for length, _ in ends].count(best[0]) > 1:
            return f'; --joints NAME=NAME_IN_THE_RECORDING maps names{_ELSEWHERE}'
        pairs.append(f'{joint}={best[1]}')
    return f'; if these are the same joints: --joints {",".join(pairs)}{_ELSEWHERE}'
