# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A record as a faultless node would leave it, without ROS."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform
from masticator_dynamics.files.joint_series import ForceSeries, JointSeries
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Counts
from masticator_dynamics.robot.recording.record import Record
from masticator_dynamics.robot.recording.script import Script

RATE = 500.0
DELAY = 0.001  # s, between stamp and reception


def perfect_record(mechanism: Mechanism, script: Script) -> Record:
    """Cycles from 0.1 s before to 0.4 s after the motion; bite forces every 5 ms."""
    stamps = np.arange(-0.1, script.duration + 0.4, 1.0 / RATE)
    sent = np.arange(-0.1, script.duration + 0.4, 0.005) - 0.0004
    force = np.column_stack(
        [np.interp(sent, script.bite_times, f, left=0.0, right=0.0) for f in script.bite_forces.T]
    )
    held = np.searchsorted(sent, stamps) - 1
    wrenches = np.hstack(
        [np.where((held >= 0)[:, None], force[held], 0.0), np.zeros((len(held), 3))]
    )
    rows = script.path.sample(stamps)
    q = mechanism.feedforward_batch(*rows).q
    frame = script.bite_frame
    wrench = wrenches_on_platform(mechanism, q, wrenches, axes=frame, point=frame)
    effort = mechanism.feedforward_batch(*rows, wrench, **script.effort_options)
    visual = slice(None, None, 5)
    count = np.arange(1.0, len(stamps) + 1.0)
    state = JointSeries(
        mechanism.actuated, stamps, stamps + DELAY, count,
        effort.position.copy(), effort.velocity.copy(), effort.actuated.copy(),
    )  # fmt: skip
    joints = JointSeries(
        mechanism.tree_joints, stamps[visual], stamps[visual] + DELAY,
        np.arange(1.0, len(stamps[visual]) + 1.0),
        effort.q[visual].copy(), effort.v[visual].copy(), np.zeros((len(stamps[visual]), 0)),
    )  # fmt: skip
    multipliers = JointSeries(
        mechanism.contacts, stamps, stamps + DELAY, count,
        np.zeros((len(stamps), 0)), np.zeros((len(stamps), 0)), effort.contact.copy(),
    )  # fmt: skip
    return Record(
        start=1.8e9,
        series={
            topics.STATE: state, topics.JOINT_STATES: joints, topics.CONTACTS: multipliers,
        },
        bite=ForceSeries(frame, sent, force),
        delays=Counts(),
        faults=(),
        stalls=np.empty((0, 2)),
        effort=effort.actuated.copy(),
        effort_sequence=count.copy(),
        actuated_trajectory=(_controller_message(mechanism, script),),
    )  # fmt: skip


def with_series(record, topic, **changes):
    """The record with a changed topic."""
    series = dataclasses.replace(record[topic], **changes)
    return dataclasses.replace(record, series={**record.series, topic: series})


def _controller_message(mechanism, script):
    times = np.linspace(0.0, script.duration, int(np.ceil(script.duration / 0.02)) + 1)
    effort = mechanism.feedforward_batch(*script.path.sample(times), **script.effort_options)
    points = [
        SimpleNamespace(
            time_from_start=SimpleNamespace(sec=int(t), nanosec=round((t - int(t)) * 1e9)),
            positions=p, velocities=v, effort=e,
        )
        for t, p, v, e in zip(times, effort.position, effort.velocity, effort.actuated, strict=True)
    ]  # fmt: skip
    return SimpleNamespace(joint_names=list(mechanism.actuated), points=points)
