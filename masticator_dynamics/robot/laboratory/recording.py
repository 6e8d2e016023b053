# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of mouthfuls: MCAP files of ROS 2 messages, as PlotJuggler and Foxglove read them.

No ROS installation is needed to write or read them. Stamps count from 1970, as if the mouthful had
begun then. All settings and versions are in the file's metadata ``mouthful``.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.mcap_file import Recording, read_mcap
from masticator_dynamics.files.tables import replacing
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.laboratory.mouthful import Series

SUFFIX = '.mcap'
METADATA = 'mouthful'
# Topics: positions of all joints of the tree; the actuated joints with velocities and the motors'
# efforts; the tooth's gap (m) and the food's force on it (N); the contacts' multipliers (N).
JOINTS, DRIVES, FOOD, CONTACTS = 'joint_states', 'drive_states', 'food', 'contacts'

_SEPARATOR = '=' * 80
_JOINT_STATE = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{_SEPARATOR}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_SEPARATOR}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


def write_recording(
    file: pathlib.Path, series: Series, mechanism: Mechanism, settings: Mapping[str, Any]
) -> None:
    """Write a mouthful; the file appears complete or not at all.

    Parameters
    ----------
    file : pathlib.Path
        The MCAP file.
    series : Series
        The measurements.
    mechanism : Mechanism
        The mechanism that chewed.
    settings : mapping
        JSON-compatible values; read back by :func:`read_settings`.
    """
    from mcap_ros2.writer import Writer

    rows = {
        JOINTS: (mechanism.tree_joints, series.q, None, None),
        DRIVES: (mechanism.actuated, series.position, series.velocity, series.effort),
        FOOD: (('tooth',), series.gap[:, None], None, series.force[:, None]),
        CONTACTS: (mechanism.contacts, None, None, series.contact),
    }
    with replacing(file, binary=True) as stream, Writer(stream) as writer:
        text = json.dumps({**settings, 'end': series.end, 'lifts': series.lifts})
        writer.add_metadata(METADATA, {'json': text})
        schema = writer.register_msgdef('sensor_msgs/msg/JointState', _JOINT_STATE)
        for k, time in enumerate(series.time.tolist()):
            stamp = round(1e9 * time)
            header = {
                'stamp': {'sec': stamp // 10**9, 'nanosec': stamp % 10**9},
                'frame_id': '',
            }
            for topic, (names, *fields) in rows.items():
                position, velocity, effort = (
                    [] if field is None else field[k].tolist() for field in fields
                )
                message = {
                    'header': header, 'name': list(names),
                    'position': position, 'velocity': velocity, 'effort': effort,
                }  # fmt: skip
                writer.write_message(topic, schema, message, log_time=stamp, sequence=k)


def read_settings(file: pathlib.Path) -> dict[str, Any]:
    """Settings, versions and end of a mouthful.

    Raises
    ------
    InputError
        When the file is no whole recording of a mouthful.
    """
    return _whole(file)[0]


def _whole(file: pathlib.Path) -> tuple[dict[str, Any], Recording]:
    found = read_mcap(file)
    if found.cut:
        raise InputError(found.cut)
    try:
        return dict(json.loads(found.metadata[METADATA]['json'])), found
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f'{file}: no recording of a mouthful: it has no metadata {METADATA!r} in JSON'
        ) from error


def read_recording(file: pathlib.Path) -> Series:
    """Read a mouthful back; raises as :func:`read_settings` does."""
    settings, found = _whole(file)

    def rows(topic: str, field: str) -> np.ndarray:
        return np.array([getattr(e.content, field) for e in found.events[topic]], dtype=float)

    try:
        series = Series(
            np.array([1e-9 * event.log_time for event in found.events[JOINTS]]),
            rows(FOOD, 'position')[:, 0],
            rows(FOOD, 'effort')[:, 0],
            rows(JOINTS, 'position'),
            rows(DRIVES, 'position'),
            rows(DRIVES, 'velocity'),
            rows(DRIVES, 'effort'),
            rows(CONTACTS, 'effort'),
            tuple(settings['lifts']),
            str(settings['end']),
        )
        columns = np.column_stack([v for v in vars(series).values() if isinstance(v, np.ndarray)])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f'{file}: no recording of a mouthful: {error}') from error
    if not np.isfinite(columns).all():
        raise InputError(f'{file}: no recording of a mouthful: it has numbers that are not finite')
    return series
