# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a run left behind, as arrays."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.mcap_file import Event, read_mcap
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Counts, Health
from masticator_dynamics.robot.recording.stalls import read_stalls, stalls_file

_DIAGNOSTIC_ERROR = 2  # diagnostic_msgs/DiagnosticStatus: 0 OK, 1 WARN, 2 ERROR, 3 STALE


@dataclasses.dataclass(frozen=True)
class JointSeries:
    """Joint states of one topic; times in s from the start of the motion.

    `stamps` (N,) are those of the messages, `received` (N,) when the player's middleware got them;
    `effort` has no columns where the messages have none.
    """

    names: tuple[str, ...]
    stamps: FloatArray
    received: FloatArray
    sequence: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def columns(self, names: Sequence[str]) -> list[int]:
        """Columns of joints, by name."""
        return [self.names.index(name) for name in names]

    def during(self, duration: float) -> JointSeries:
        """The part that belongs to a motion of so many seconds."""
        moving = (self.stamps >= 0.0) & (self.stamps <= duration)
        rows = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del rows['names']
        return JointSeries(self.names, **{name: part[moving] for name, part in rows.items()})


@dataclasses.dataclass(frozen=True)
class ForceSeries:
    """Forces (N, 3) in the axes of `frame`, N; times in s from the start of the motion."""

    frame: str
    stamps: FloatArray
    force: FloatArray


@dataclasses.dataclass(frozen=True)
class Record:
    """A recorded run.

    Attributes
    ----------
    start : float
        Start of the motion, s since 1970.
    state, joints, multipliers : JointSeries
        `feedforward_state`, `joint_states` and `contact_multipliers`.
    effort : (K, n_u) array
        `feedforward_effort`, and `effort_sequence` (K,), its publisher's count.
    bite : ForceSeries
        As sent; `stamps` are the times of sending.
    actuated_trajectory : list
        The `feedforward_trajectory` messages.
    faults : tuple of str
        What diagnostics reported as an error.
    """

    start: float
    state: JointSeries
    joints: JointSeries
    multipliers: JointSeries
    effort: FloatArray
    effort_sequence: FloatArray
    bite: ForceSeries
    actuated_trajectory: list[Any]
    faults: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ClosedLoopRecord:
    """A recorded pass; times in s from the start of the motion.

    Attributes
    ----------
    start : float
        Start of the motion, s since 1970.
    feedforward : JointSeries
        What the dynamics node commands.
    drives : JointSeries
        What the drives measure, stamped with SYNC; efforts are those of their motors.
    truth : JointSeries
        How the simulated mechanism moves, all joints.
    bite : ForceSeries
        Of the food on the mandible.
    delays : Counts
        Counted from before the motion to the end of the record.
    faults : tuple of str
        What diagnostics reported as an error from the start of the motion on.
    stalls : (M, 2) array
        When the computer itself stood still, from and to.
    """

    start: float
    feedforward: JointSeries
    drives: JointSeries
    truth: JointSeries
    bite: ForceSeries
    delays: Counts
    faults: tuple[str, ...]
    stalls: FloatArray


def read_record(file: pathlib.Path, contacts: Sequence[str]) -> Record:
    """Read the MCAP file of a run with the dynamics node alone.

    Raises
    ------
    InputError
        When a topic has no message.
    """
    needed = {**topics.SENT, **topics.received_topics(contacts)}
    needed.pop(topics.ACTUATED_TRAJECTORY)
    events, start, since = _read(file, needed)
    effort = events[topics.EFFORT]
    return Record(
        start=start * 1e-9,
        state=joint_series(events[topics.STATE], since),
        joints=joint_series(events[topics.JOINT_STATES], since),
        multipliers=joint_series(events[topics.CONTACTS], since),
        effort=np.array([event.content.data for event in effort]),
        effort_sequence=_sequence(effort),
        bite=force_series(events[topics.BITE_FORCE], since),
        actuated_trajectory=[e.content for e in events.get(topics.ACTUATED_TRAJECTORY, [])],
        faults=faults_in(events[topics.DIAGNOSTICS]),
    )


def read_closed_loop(file: pathlib.Path) -> ClosedLoopRecord:
    """Read the MCAP file of a pass in closed loop.

    Raises
    ------
    InputError
        When a topic has no message.
    """
    events, start, since = _read(file, (topics.TRAJECTORY, *topics.CLOSED_LOOP))
    sent = events[topics.TRAJECTORY][0].log_time
    health, before = Health(), Counts()
    for event in events[topics.DIAGNOSTICS]:
        health.take(event.content.status)
        if event.log_time < sent:
            before = health.counts
    drives = joint_series(events[topics.DRIVES], since)
    stalls = read_stalls(stalls_file(file.parent, file.stem), start * 1e-9)
    return ClosedLoopRecord(
        start=start * 1e-9,
        feedforward=joint_series(events[topics.STATE], since),
        drives=drives,
        truth=joint_series(events[topics.TRUTH], since),
        bite=force_series(events[topics.BITE_FORCE], since),
        delays=health.counts.since(before),
        faults=faults_in([e for e in events[topics.DIAGNOSTICS] if e.log_time >= sent]),
        stalls=stalls[stalls[:, 1] >= drives.stamps[0]],  # delays before that are not counted
    )


def _read(
    file: pathlib.Path, needed: Iterable[str]
) -> tuple[dict[str, list[Event]], int, Callable[[list[int]], FloatArray]]:
    """Messages by topic, the start of the motion (ns since 1970), and what turns times into s."""
    events = read_mcap(file).events
    silent = [topic for topic in needed if topic not in events]
    if silent:
        raise InputError(f'nothing was received on {", ".join(silent)}')
    start = stamp_of(events[topics.TRAJECTORY][0])
    return events, start, since_start(start)


def since_start(start: int) -> Callable[[list[int]], FloatArray]:
    """Function that turns times into s since the start; both in ns since 1970."""
    # Nanoseconds since 1970 do not fit a float64: subtract first.
    return lambda times: np.array([time - start for time in times], dtype=float) * 1e-9


def stamp_of(event: Event) -> int:
    """Stamp of a message with a header, ns since 1970."""
    stamp = event.content.header.stamp
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def _sequence(events: list[Event]) -> FloatArray:
    return np.array([event.sequence for event in events], dtype=float)


def joint_series(events: list[Event], since: Callable[[list[int]], FloatArray]) -> JointSeries:
    """Joint states as arrays."""
    return JointSeries(
        tuple(events[0].content.name),
        since([stamp_of(event) for event in events]),
        since([event.log_time for event in events]),
        _sequence(events),
        *(
            np.array([getattr(event.content, field) for event in events], dtype=float)
            for field in ('position', 'velocity', 'effort')
        ),
    )


def force_series(events: list[Event], since: Callable[[list[int]], FloatArray]) -> ForceSeries:
    """Forces of wrenches as arrays."""
    forces = [event.content.wrench.force for event in events]
    return ForceSeries(
        events[0].content.header.frame_id,
        since([stamp_of(event) for event in events]),
        np.array([[force.x, force.y, force.z] for force in forces]),
    )


def faults_in(events: list[Event]) -> tuple[str, ...]:
    """Distinct error messages, in order."""
    statuses = [status for event in events for status in event.content.status]
    levels = [(_level(status.level), status) for status in statuses]
    found = {f'{s.name}: {s.message}': None for level, s in levels if level >= _DIAGNOSTIC_ERROR}
    return tuple(found)


def _level(level: int | bytes) -> int:
    return level[0] if isinstance(level, bytes) else level
