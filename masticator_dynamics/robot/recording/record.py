# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a pass left behind, as arrays."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event, read_bag
from masticator_dynamics.files.joint_series import (
    ForceSeries,
    JointSeries,
    force_series,
    joint_series,
    stamp_of,
)
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Counts, Health
from masticator_dynamics.robot.recording.stalls import read_stalls, stalls_file

_DIAGNOSTIC_ERROR = 2  # diagnostic_msgs/DiagnosticStatus: 0 OK, 1 WARN, 2 ERROR, 3 STALE


@dataclasses.dataclass(frozen=True)
class Record:
    """A recorded pass; times in s from the start of the motion."""

    start: float  # start of the motion, s since 1970
    # Joint states by topic; ``record[topic]`` is short for ``record.series[topic]``.
    series: Mapping[str, JointSeries]
    bite: ForceSeries  # of the food on the mandible; `stamps` are the times of sending
    delays: Counts  # counted from before the motion to the end of the record
    faults: tuple[str, ...]  # what diagnostics reported as an error from the start of the motion on
    stalls: FloatArray  # (M, 2), when the computer itself stood still, from and to
    # (K, n_u), `feedforward_effort`, and `effort_sequence` (K,), its publisher's count.
    effort: FloatArray
    effort_sequence: FloatArray
    actuated_trajectory: tuple[Any, ...]  # the `feedforward_trajectory` messages

    def __getitem__(self, topic: str) -> JointSeries:
        """Joint states of a topic."""
        return self.series[topic]


def read_record(file: pathlib.Path, needed: Iterable[str]) -> Record:
    """Read the MCAP file of a pass.

    Raises
    ------
    InputError
        When a needed topic has no message, or efforts of another robot came as well.
    """
    events = read_bag(file).events
    silent = [topic for topic in needed if topic not in events]
    if silent:
        raise InputError(f'nothing was received on {", ".join(silent)}')
    trajectory, diagnostics = events[topics.TRAJECTORY][0], events[topics.DIAGNOSTICS]
    start, health, before = stamp_of(trajectory), Health(), Counts()
    for event in diagnostics:
        health.take(event.content.status)
        if event.log_time < trajectory.log_time:
            before = health.counts
    series = {
        topic: joint_series(messages, start)
        for topic, messages in events.items() if topic in topics.JOINT_TOPICS
    }  # fmt: skip
    stalls = read_stalls(stalls_file(file.parent, file.stem), start * 1e-9)
    effort = events.get(topics.EFFORT, [])
    return Record(
        start=start * 1e-9,
        series=series,
        bite=force_series(events[topics.BITE_FORCE], start),
        delays=health.counts.since(before),
        faults=_faults_in([e for e in diagnostics if e.log_time >= trajectory.log_time]),
        # Delays before the record are not counted.
        stalls=stalls[stalls[:, 1] >= series[topics.STATE].stamps[0]],
        effort=_efforts(effort),
        effort_sequence=_sequence(effort),
        actuated_trajectory=tuple(e.content for e in events.get(topics.ACTUATED_TRAJECTORY, [])),
    )


def _efforts(events: list[Event]) -> FloatArray:
    rows = [event.content.data for event in events]
    sizes = sorted(set(map(len, rows)))
    if len(sizes) > 1:
        raise InputError(
            f'messages of {topics.EFFORT} have {" and ".join(map(str, sizes))} numbers: another '
            'robot publishes there, too; ROS_DOMAIN_ID keeps robots apart'
        )
    return np.array(rows)


def _sequence(events: list[Event]) -> FloatArray:
    return np.array([event.sequence for event in events], dtype=float)


def _faults_in(events: list[Event]) -> tuple[str, ...]:
    """Distinct error messages, in order."""
    statuses = [status for event in events for status in event.content.status]
    levels = [(_level(status.level), status) for status in statuses]
    faults = {f'{s.name}: {s.message}': None for level, s in levels if level >= _DIAGNOSTIC_ERROR}
    return tuple(faults)


def _level(level: int | bytes) -> int:
    return level[0] if isinstance(level, bytes) else level
