# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of mouthfuls: MCAP files of ROS 2, as rosbag2, PlotJuggler and Foxglove read them.

No ROS installation is needed to write or read them. Stamps count from 1970, as if the mouthful had
begun then. All settings and versions are in the file's metadata ``mouthful``.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event, Recording, read_bag
from masticator_dynamics.files.bag_writer import write_mcap
from masticator_dynamics.files.joint_series import JointSeries, joint_series
from masticator_dynamics.files.message_types import message_type
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.laboratory.mouthful import Series

SUFFIX = '.mcap'
METADATA = 'mouthful'
# Topics: positions of all joints of the tree; the actuated joints with velocities and the motors'
# efforts; the tooth's gap (m) and the food's force on it (N); the contacts' multipliers (N).
JOINTS, DRIVES, FOOD, CONTACTS = 'joint_states', 'drive_states', 'food', 'contacts'
_DATATYPE = 'sensor_msgs/msg/JointState'
_PARTS = 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time'


def write_recording(
    file: pathlib.Path, series: Series, mechanism: Mechanism, settings: Mapping[str, Any]
) -> None:
    """Write a mouthful; the file appears complete or not at all.

    Parameters
    ----------
    series : Series
        The measurements.
    mechanism : Mechanism
        The mechanism that chewed.
    settings : mapping
        JSON-compatible values; read back by :func:`read_settings`.
    """
    rows = {
        JOINTS: (mechanism.tree_joints, series.q, None, None),
        DRIVES: (mechanism.actuated, series.position, series.velocity, series.effort),
        FOOD: (('tooth',), series.gap[:, None], None, series.force[:, None]),
        CONTACTS: (mechanism.contacts, None, None, series.contact),
    }
    text = json.dumps({**settings, 'end': series.end, 'lifts': series.lifts})
    events = [
        event for topic, (names, *fields) in rows.items()
        for event in _events(topic, series.time, list(names), fields)
    ]  # fmt: skip
    write_mcap(file, dict.fromkeys(rows, _DATATYPE), events, {METADATA: {'json': text}})


def _events(
    topic: str, times: FloatArray, names: list[str], fields: Sequence[FloatArray | None]
) -> Iterator[Event]:
    """A joint state for each time (s): position, velocity and effort, None if there are none."""
    state, header, stamp = map(message_type, (_DATATYPE, *_PARTS))
    nothing = np.zeros(0)
    for k, time in enumerate(times.tolist()):
        now = round(1e9 * time)
        values = (
            nothing if field is None else np.ascontiguousarray(field[k], float) for field in fields
        )
        message = state(header(stamp(*divmod(now, 10**9)), ''), names, *values)
        yield Event(topic, now, now, k, message)


def read_settings(file: pathlib.Path) -> dict[str, Any]:
    """Settings, versions and end of a mouthful.

    Raises
    ------
    InputError
        When the file is no whole recording of a mouthful.
    """
    return _whole(file)[0]


def _whole(file: pathlib.Path) -> tuple[dict[str, Any], Recording]:
    recording = read_bag(file)
    if recording.cut:
        raise InputError(recording.cut)
    try:
        return dict(json.loads(recording.metadata[METADATA]['json'])), recording
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f'{file}: no recording of a mouthful: it has no metadata {METADATA!r} in JSON'
        ) from error


def read_recording(file: pathlib.Path) -> Series:
    """Read a mouthful back; raises as :func:`read_settings` does."""
    settings, recording = _whole(file)

    def joints(topic: str) -> JointSeries:
        return joint_series(recording.events[topic], 0)

    try:
        moved, drives, food = joints(JOINTS), joints(DRIVES), joints(FOOD)
        series = Series(
            moved.received, food.position[:, 0], food.effort[:, 0], moved.position,
            drives.position, drives.velocity, drives.effort, joints(CONTACTS).effort,
            tuple(settings['lifts']), str(settings['end']),
        )  # fmt: skip
        columns = np.column_stack([v for v in vars(series).values() if isinstance(v, np.ndarray)])
    except (AttributeError, IndexError, InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(f'{file}: no recording of a mouthful: {error}') from error
    if not np.isfinite(columns).all():
        raise InputError(f'{file}: no recording of a mouthful: it has numbers that are not finite')
    return series
