# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording of a robot: positions and efforts of its motors, and its force sensor, if any."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.mcap_file import read_mcap
from masticator_dynamics.files.tables import Table, read_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import WRENCH, actuated_positions


@dataclasses.dataclass(frozen=True)
class RobotLog:
    """Rows with even steps in time.

    Attributes
    ----------
    source : str
        Name in messages.
    time : array, shape (N,)
        s.
    position, effort : array, shape (N, n_u)
        Of the motors, in the order of the mechanism's actuated joints: of joints in rad or m, and
        N m or N.
    wrench : array, shape (N, 6), or None
        On the platform, base axes, about its origin.
    """

    source: str
    time: FloatArray
    position: FloatArray
    effort: FloatArray
    wrench: FloatArray | None

    @property
    def rate(self) -> float:
        """Rows per second."""
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    def part(self, rows: slice) -> RobotLog:
        """Some of the rows."""
        wrench = None if self.wrench is None else self.wrench[rows]
        return RobotLog(
            self.source, self.time[rows], self.position[rows], self.effort[rows], wrench
        )


def read_log(source: str, mechanism: Mechanism, topic: str | None = None) -> RobotLog:
    """Read a recording, as it is.

    Parameters
    ----------
    source : str
        CSV with ``time``, ``position_J`` (or ``J``) and ``effort_J`` of every actuated joint J, and
        ``fx fy fz tx ty tz`` or none of these; or MCAP with messages of joint states.
    mechanism : Mechanism
        What was recorded.
    topic : str, optional
        Of the joint states; default: the one that has positions and efforts of all motors.

    Raises
    ------
    InputError
        When it cannot be read, or something is missing.
    """
    if pathlib.Path(source).suffix == '.mcap':
        return _of_mcap(pathlib.Path(source), mechanism, topic)
    return _of_table(read_table(source), mechanism)


def _of_table(table: Table, mechanism: Mechanism) -> RobotLog:
    position = actuated_positions(table, mechanism)
    effort = table.numbers([f'effort_{joint}' for joint in mechanism.actuated])
    return RobotLog(table.source, table.times(), position, effort, table.all_or_none(WRENCH))


def _of_mcap(file: pathlib.Path, mechanism: Mechanism, topic: str | None) -> RobotLog:
    events = read_mcap(file).events
    needed, found = set(mechanism.actuated), {}
    for name, messages in events.items():
        states = [m.content for m in messages if hasattr(m.content, 'effort')]
        states = [s for s in states if len(s.effort) == len(s.position) == len(s.name)]
        states = [s for s in states if needed <= {*s.name}]
        if states and topic in (None, name):
            found[name] = states
    if len(found) != 1:
        there = ', '.join(sorted(found or events))
        what = 'no topic has' if not found else 'several topics have'
        raise InputError(
            f'{file}: {what} positions and efforts of {", ".join(mechanism.actuated)}; '
            f'there are: {there}'
        )
    (states,) = found.values()
    stamps = np.array([s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in states])
    columns = [[list(s.name).index(j) for j in mechanism.actuated] for s in states]
    position = np.array([np.asarray(s.position)[c] for s, c in zip(states, columns, strict=True)])
    effort = np.array([np.asarray(s.effort)[c] for s, c in zip(states, columns, strict=True)])
    return RobotLog(str(file), stamps - stamps[0], position, effort, None)
