# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a pass left behind, as arrays."""

from __future__ import annotations

import dataclasses
import pathlib

from masticator_dynamics.demo import topics
from masticator_dynamics.demo.closed_loop.health import Counts, Health
from masticator_dynamics.demo.mcap_file import read_mcap
from masticator_dynamics.demo.record import (
    ForceSeries,
    JointSeries,
    faults_in,
    force_series,
    joint_series,
    since_start,
    stamp_of,
)
from masticator_dynamics.errors import InputError


@dataclasses.dataclass(frozen=True)
class ClosedLoopRecord:
    """A recorded pass; times in s from the start of the motion.

    Attributes
    ----------
    start : float
        Of the motion, s since 1970.
    feedforward : JointSeries
        What the dynamics node commands.
    drives : JointSeries
        What the drives measure, stamped with SYNC; efforts are those of their motors.
    truth : JointSeries
        How the simulated mechanism moves, all joints.
    bite : ForceSeries
        Of the food on the mandible.
    delays : Counts
        From before the motion to the end of the record.
    faults : tuple of str
        What diagnostics called an error from the start of the motion on.
    """

    start: float
    feedforward: JointSeries
    drives: JointSeries
    truth: JointSeries
    bite: ForceSeries
    delays: Counts
    faults: tuple[str, ...]


def read_closed_loop(file: pathlib.Path) -> ClosedLoopRecord:
    """Read the MCAP file of a pass.

    Raises
    ------
    InputError
        When a topic has no message.
    """
    events = read_mcap(file)
    silent = [topic for topic in (topics.TRAJECTORY, *topics.CLOSED_LOOP) if topic not in events]
    if silent:
        raise InputError(f'nothing was received on {", ".join(silent)}')
    start = stamp_of(events[topics.TRAJECTORY][0])
    since = since_start(start)
    sent = events[topics.TRAJECTORY][0].log_time
    health = Health()
    before = Counts()
    for event in events[topics.DIAGNOSTICS]:
        health.take(event.content.status)
        if event.log_time < sent:
            before = health.counts
    return ClosedLoopRecord(
        start=start * 1e-9,
        feedforward=joint_series(events[topics.STATE], since),
        drives=joint_series(events[topics.DRIVES], since),
        truth=joint_series(events[topics.TRUTH], since),
        bite=force_series(events[topics.BITE_FORCE], since),
        delays=health.counts.since(before),
        faults=faults_in([e for e in events[topics.DIAGNOSTICS] if e.log_time >= sent]),
    )
