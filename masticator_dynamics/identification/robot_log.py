# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording of a robot: positions and efforts of its motors, and its force sensor, if any.

Refuses recordings from which nothing true can be learnt, and says what was seen in them.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.actuated_fit import forward_kinematics_batch
from masticator_dynamics.errors import InputError, MasticatorError
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
    position, effort = (
        np.array([np.asarray(getattr(s, part))[c] for s, c in zip(states, columns, strict=True)])
        for part in ('position', 'effort')
    )
    missing = np.argwhere(~np.isfinite(position + effort))
    if len(missing):
        row, motor = missing[0]
        raise InputError(
            f'{file}: {len(np.unique(missing[:, 0]))} of {len(states)} messages lack numbers, the '
            f'first after {stamps[row] - stamps[0]:.3f} s those of {mechanism.actuated[motor]}'
        )
    if not stamps.any():
        raise InputError(f'{file}: its messages have no time in their headers')
    return RobotLog(str(file), stamps - stamps[0], position, effort, None)


_SHORTEST = 2.0  # s
_SLOWEST = 60.0  # Hz
_GAP = 3.0  # usual steps
_JITTER = 0.2  # of a step, up to which rows are moved to even times
_CLIPPED = 0.01  # of the rows at one and the same largest effort
_AT_THE_END = 5.0  # times as many as at the effort next to it
_STILL = 1e-3  # rad, or part of the mechanism's size
_OPEN = 0.01  # of the mechanism's size: gap of loops that encoders leave
_POSES = 40
_FULL_TURN = 2.0 * np.pi


def checked(mechanism: Mechanism, log: RobotLog) -> RobotLog:
    """The recording with even steps in time.

    Raises
    ------
    InputError
        Saying what was seen.
    """
    even = _even(log)
    _refuse_still(mechanism, even)
    _refuse_clipped(mechanism, even)
    _refuse_other_robot(mechanism, even)
    return even


def _even(log: RobotLog) -> RobotLog:
    steps = np.diff(log.time)
    length = float(log.time[-1] - log.time[0])
    if length < _SHORTEST:
        raise InputError(f'{log.source}: {length:.4g} s were recorded; {_SHORTEST:g} s are needed')
    usual = float(np.median(steps))
    back = np.flatnonzero(steps <= 0.0)
    if len(back):
        row = int(back[0]) + 1
        raise InputError(
            f'{log.source}: the clock steps back by {-steps[row - 1]:.3g} s in row {row + 1}'
        )
    if 1.0 / usual < _SLOWEST:
        raise InputError(
            f'{log.source}: {1.0 / usual:.3g} rows per second; {_SLOWEST:g} are needed'
        )
    gaps = np.flatnonzero(steps > _GAP * usual)
    if len(gaps):
        row = int(gaps[0])
        raise InputError(
            f'{log.source}: {len(gaps)} gaps, the first of {steps[row]:.3g} s after '
            f'{log.time[row] - log.time[0]:.3f} s, where rows are {usual:.3g} s apart'
        )
    count = round(length / usual) + 1
    time = np.linspace(log.time[0], log.time[-1], count)
    if len(time) == len(log.time) and np.abs(time - log.time).max() < _JITTER * usual:
        return RobotLog(log.source, time, log.position, log.effort, log.wrench)

    def moved(rows: FloatArray) -> FloatArray:
        return np.column_stack([np.interp(time, log.time, column) for column in rows.T])

    wrench = None if log.wrench is None else moved(log.wrench)
    return RobotLog(log.source, time, moved(log.position), moved(log.effort), wrench)


def _units(mechanism: Mechanism) -> FloatArray:
    """Sizes (n_u,) that positions of motors are counted in: rad, or the mechanism's size."""
    joints = [mechanism.structure.tree.joints[k] for k in mechanism.actuated_rows]
    size = mechanism.structure.extent()
    return np.array([size if joint.type == 'prismatic' else 1.0 for joint in joints])


def _refuse_still(mechanism: Mechanism, log: RobotLog) -> None:
    moved = np.ptp(log.position, axis=0)
    if (moved < _STILL * _units(mechanism)).all():
        units = [mechanism.structure.tree.joints[k].unit for k in mechanism.actuated_rows]
        by = ', '.join(
            f'{moved[[u == unit for u in units]].max():.3g} {unit}' for unit in dict.fromkeys(units)
        )
        raise InputError(f'{log.source}: at rest: no motor moves by more than {by}')
    constant = np.ptp(log.effort, axis=0) == 0.0
    if constant.any():
        name = mechanism.actuated[int(np.argmax(constant))]
        raise InputError(f'{log.source}: the effort of {name} never changes: it was not measured')
    stuck = moved < 1e-2 * _STILL * _units(mechanism)
    if stuck.any():
        name = mechanism.actuated[int(np.argmax(stuck))]
        raise InputError(f'{log.source}: {name} never moves, others do: its encoder is not read')


def _refuse_clipped(mechanism: Mechanism, log: RobotLog) -> None:
    for name, effort in zip(mechanism.actuated, log.effort.T, strict=True):
        levels, counts = np.unique(effort, return_counts=True)
        for end, near in ((0, 1), (-1, -2)):
            at = effort == levels[end]
            share, runs = at.mean(), (at[1:] & at[:-1]).mean()
            # A smooth peak in steps of torque is at its last step for a while, too.
            most = counts[end] > _AT_THE_END * counts[near]
            if share > _CLIPPED and runs > 0.5 * share and len(levels) > 8 and most:
                raise InputError(
                    f'{log.source}: the effort of {name} is clipped at {levels[end]:.6g} in '
                    f'{100.0 * share:.1f} % of the rows: what the motor gave there is not known'
                )


def _gap(mechanism: Mechanism, position: FloatArray) -> float:
    """Median gap of the loops, m; infinite where nothing closes."""
    rows = np.linspace(0, len(position) - 1, _POSES).astype(int)
    try:
        found = forward_kinematics_batch(mechanism, position[rows], np.inf)
    except MasticatorError:
        return np.inf
    return float(np.median(found.closure_residual))


def _refuse_other_robot(mechanism: Mechanism, log: RobotLog) -> None:
    """Refuse positions that do not close the loops, with what would explain it."""
    allowed = _OPEN * mechanism.structure.extent()
    turning = np.array([u != 'N' for u in mechanism.effort_units])
    degrees = np.where(turning, np.pi / 180.0, 1.0)
    if turning.any() and np.abs(log.position[:, turning]).max() > _FULL_TURN:
        if _gap(mechanism, log.position * degrees) < allowed:
            raise InputError(
                f'{log.source}: positions reach {np.abs(log.position[:, turning]).max():.4g}: '
                'they seem to be in degrees; rad are needed'
            )
    gap = _gap(mechanism, log.position)
    if gap < allowed:
        return
    said = f'{1e3 * gap:.3g} mm' if np.isfinite(gap) else 'more than can be closed'
    for a, b in itertools.combinations(range(len(mechanism.actuated)), 2):
        order = np.arange(len(mechanism.actuated))
        order[[a, b]] = b, a
        if _gap(mechanism, log.position[:, order]) < min(allowed, 0.2 * gap):
            raise InputError(
                f'{log.source}: the loops stay open by {said}; they close when '
                f'{mechanism.actuated[a]} and {mechanism.actuated[b]} are swapped'
            )
    raise InputError(
        f'{log.source}: the loops stay open by {said}: these are not positions of '
        f'{mechanism.name}, or its encoders are not zeroed'
    )
