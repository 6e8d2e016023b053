# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording of a robot: positions and efforts of its motors, and its force sensor, if any.

Refuses recordings from which nothing true can be learnt, and says what was seen in them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.bag import Progress
from masticator_dynamics.files.recorded_joints import read_joints, times_in_doubt
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import WRENCH, actuated_positions
from masticator_dynamics.motion.motion_rows import rows_at


@dataclasses.dataclass(frozen=True)
class RobotLog:
    """Rows with even steps in time."""

    source: str  # name in messages
    time: FloatArray  # (N,): s
    # (N, n_u) of the motors, in the order of the mechanism's actuated joints: of joints in rad or
    # m, and N m or N.
    position: FloatArray
    effort: FloatArray
    wrench: FloatArray | None  # (N, 6), or None: on the platform, base axes, about its origin
    # (N,), or None: false where rows were lost and others stand in, from which nothing is to be
    # learnt; None: all were measured.
    measured: npt.NDArray[np.bool_] | None = None
    doubts: tuple[str, ...] = ()  # sentences on what a person should know of it

    @property
    def rate(self) -> float:
        """Rows per second."""
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    def part(self, rows: slice) -> RobotLog:
        """Some of the rows."""
        parts = ('time', 'position', 'effort', 'wrench', 'measured')
        values = {name: getattr(self, name) for name in parts}
        chosen: dict[str, Any] = {
            name: None if v is None else v[rows] for name, v in values.items()
        }
        return dataclasses.replace(self, **chosen)


def read_log(
    source: str,
    mechanism: Mechanism,
    topic: str | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress = lambda done, size: None,
) -> RobotLog:
    """Read a recording, as it is.

    Parameters
    ----------
    source : str
        CSV with ``time``, ``position_J`` (or ``J``) and ``effort_J`` of every actuated joint J, and
        ``fx fy fz tx ty tz`` or none of these; or a bag, or a file of one, with joint states or
        trajectories that have efforts.
    mechanism : Mechanism
        What was recorded.
    topic : str, optional
        Of the joints; default: the one that has positions and efforts of all motors.
    names : mapping, optional
        How the recording calls joints, by their names in the mechanism.
    progress : callable
        Called now and then with what was read of a bag and what there is, in any unit.

    Raises
    ------
    InputError
        When it cannot be read, or something is missing.
    """
    motors = mechanism.actuated
    table = read_joints(source, [motors], ('position', 'effort'), topic, names, progress)
    position = actuated_positions(table, mechanism)
    effort = table.numbers([f'effort_{joint}' for joint in motors])
    time = table.times()
    if doubt := times_in_doubt(table, time):
        raise InputError(f'{table.source}: {doubt}')
    return RobotLog(
        table.source, time, position, effort, table.all_or_none(WRENCH), doubts=table.doubts
    )


_SHORTEST = 2.0  # s
# Usual steps, and s, up to which a curve through the rows stands in for those that are lost.
_GAP, _BRIDGED = 3.0, 0.015
_LOST = 0.1  # part of the time that may be lost in longer gaps
_JITTER = 0.2  # of a step, up to which rows are moved to even times
_LATE = 0.05  # s, or a step, by which the clock of a recorder may come later than rows
_SMOOTHER = 0.5  # of the roughness of positions
_NEARLY_ALL = 0.95  # of the rows
_BEYOND = 1e3  # times what nearly all rows stay below: no reading
_NOTHING = 1e3  # rad, m, N m or N: less may stand out from a rest
# A step of a position, rad or of the mechanism's size: no less, so many times all steps near it but
# the next ones (a glitch goes back), and more than such an acceleration explains, 1/s^2.
_JUMP, _ALONE, _ACCELERATION = 0.1, 8.0, 1000.0
_WHOLE_TURN = 0.3  # rad, by which a step may differ from it
_CLIPPED = 0.01  # of the rows at one and the same largest effort
_AT_THE_END = 5.0  # times as many as at the effort next to it
_STILL = 1e-3  # rad, or part of the mechanism's size
_OPEN = 0.01  # of the mechanism's size: gap of loops that encoders leave
_FAR_BETTER = 0.6  # of the gap
_POSES = 40
_FULL_TURN = 2.0 * np.pi
_TURNS = 3.0


def parted(log: RobotLog, share: float) -> tuple[RobotLog, RobotLog]:
    """The recording without its end, and its end: a share of it, to judge by.

    Raises
    ------
    InputError
        If that is too short.
    """
    length = float(log.time[-1] - log.time[0])
    if length * share < _SHORTEST:
        raise InputError(
            f'{log.source}: {length:.4g} s were recorded; the last {100.0 * share:g} %, to judge '
            f'by, should be {_SHORTEST:g} s or more: record {_SHORTEST / share:g} s, or give '
            'another recording with --held-out'
        )
    latest = np.searchsorted(log.time, log.time[-1] - _SHORTEST, side='right') - 1
    end = min(round((1.0 - share) * len(log.time)), max(int(latest), 0))
    return log.part(slice(0, end)), log.part(slice(end, None))


def checked(mechanism: Mechanism, log: RobotLog) -> RobotLog:
    """The recording with even steps in time.

    Raises
    ------
    InputError
        Saying what was seen.
    """
    even = _even(log)
    _refuse_jumps(mechanism, log)
    _refuse_impossible(mechanism, even)
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
    if told := _times_apart(log):
        even = np.linspace(log.time[0], log.time[-1], len(log.time))
        return dataclasses.replace(log, time=even, doubts=(*log.doubts, told))
    lost, doubts = _lost(log, usual), log.doubts
    count = round(length / usual) + 1
    time = np.linspace(log.time[0], log.time[-1], count)
    if len(time) == len(log.time) and np.abs(time - log.time).max() < _JITTER * usual:
        return dataclasses.replace(log, time=time)
    measured = None
    if len(lost):
        doubts += (f'{_gaps_told(log, lost, usual)}: left out',)
        measured = ~_within(time, lost)
    wrench = None if log.wrench is None else _moved(log.time, log.wrench, time, measured)
    position, effort = (_moved(log.time, x, time, measured) for x in (log.position, log.effort))
    return RobotLog(log.source, time, position, effort, wrench, measured, doubts)


def _times_apart(log: RobotLog) -> str:
    """A sentence where rows are even in time and only their times are not; else empty.

    As of a program that took the time when it came to it: positions are then clearly smoother from
    row to row than over these times.
    """
    step = float(log.time[-1] - log.time[0]) / (len(log.time) - 1)
    even = np.linspace(log.time[0], log.time[-1], len(log.time))
    apart = float(np.abs(log.time - even).max())
    if not _JITTER * step < apart < max(step, _LATE):
        return ''
    rough, smooth = (
        np.sqrt((np.diff(rows, 3, axis=0) ** 2).mean(axis=0))
        for rows in (_moved(log.time, log.position, even, None), log.position)
    )
    if not (smooth < _SMOOTHER * rough).any() or (smooth > rough).any():
        return ''
    return (
        f'{log.source}: times differ from even ones by up to {1e3 * apart:.3g} ms, and positions '
        f'are smooth only without that: rows are taken as {1e3 * step:.4g} ms apart'
    )


def _lost(log: RobotLog, usual: float) -> FloatArray:
    """Gaps (K, 2), from and to, s; raises InputError if they are much of the recording."""
    after = np.flatnonzero(np.diff(log.time) > max(_GAP * usual, _BRIDGED))
    gaps = np.column_stack([log.time[after], log.time[after + 1]])
    if np.diff(gaps).sum() > _LOST * (log.time[-1] - log.time[0]):
        raise InputError(_gaps_told(log, gaps, usual))
    return gaps


def _gaps_told(log: RobotLog, gaps: FloatArray, usual: float) -> str:
    share = np.diff(gaps).sum() / (log.time[-1] - log.time[0])
    first, end = gaps[0]
    return (
        f'{log.source}: {len(gaps)} gaps, the first of {end - first:.3g} s after '
        f'{first - log.time[0]:.3f} s, where rows are {usual:.3g} s apart; together '
        f'{100.0 * share:.1f} % of the time'
    )


def _within(time: FloatArray, gaps: FloatArray) -> npt.NDArray[np.bool_]:
    """Which times are inside of a gap."""
    begun = np.searchsorted(gaps[:, 0], time)
    return np.asarray(begun > np.searchsorted(gaps[:, 1], time, 'right'))


def _moved(
    before: FloatArray, rows: FloatArray, time: FloatArray, measured: npt.NDArray[np.bool_] | None
) -> FloatArray:
    """Rows at other times, on a curve through them; on straight lines through what was lost."""
    from scipy.interpolate import CubicSpline

    moved = np.asarray(CubicSpline(before, rows)(time))
    if measured is not None:  # curves would swing out there, to where no pose is
        straight = rows_at(time, before, rows)
        moved[~measured] = straight[~measured]
    return moved


def _units(mechanism: Mechanism) -> FloatArray:
    """Sizes (n_u,) that positions of motors are counted in: rad, or the mechanism's size."""
    joints = [mechanism.structure.tree.joints[k] for k in mechanism.actuated_rows]
    size = mechanism.structure.extent()
    return np.array([size if joint.slides else 1.0 for joint in joints])


def _refuse_impossible(mechanism: Mechanism, log: RobotLog) -> None:
    """Refuse single readings that are far beyond all others."""
    for kind, rows in (('position', log.position), ('effort', log.effort)):
        usual = np.quantile(np.abs(rows), _NEARLY_ALL, axis=0)
        beyond = np.argwhere(np.abs(rows) > np.maximum(_BEYOND * usual, _NOTHING))
        if len(beyond):
            row, motor = beyond[0]
            raise InputError(
                f'{log.source}: {mechanism.actuated[motor]}: its {kind} is '
                f'{rows[row, motor]:.3g} after {log.time[row] - log.time[0]:.3f} s, where '
                f'{100.0 * _NEARLY_ALL:g} % are below {usual[motor]:.3g}: leave such rows out'
            )


def _refuse_jumps(mechanism: Mechanism, log: RobotLog) -> None:
    """Refuse positions that jump: turns that are cut off, glitches, rows that were cut out."""
    steps = np.abs(np.diff(log.position, axis=0)) / _units(mechanism)
    times = np.diff(log.time)
    near = np.zeros_like(steps)
    for k in (2, 3):
        near[k:] = np.maximum(near[k:], steps[:-k])
        near[:-k] = np.maximum(near[:-k], steps[k:])
    least = np.maximum(_JUMP, _ACCELERATION * times**2)[:, None]
    jumps = (steps > np.maximum(least, _ALONE * near)) & (times < _GAP * np.median(times))[:, None]
    if not jumps.any():
        return
    row, motor = np.argwhere(jumps)[0]
    step = float(log.position[row + 1, motor] - log.position[row, motor])
    joint = mechanism.structure.tree.joints[mechanism.actuated_rows[motor]]
    turn = not joint.slides and abs(abs(step) - _FULL_TURN) < _WHOLE_TURN
    remedy = (
        'whole turns are cut off; count them on (numpy.unwrap)' if turn
        else 'a reading that is none, or rows that were cut out'
    )  # fmt: skip
    raise InputError(
        f'{log.source}: the position of {mechanism.actuated[motor]} jumps by {step:.3g} '
        f'{joint.unit} in {1e3 * times[row]:.3g} ms after {log.time[row] - log.time[0]:.3f} s: '
        f'{remedy}'
    )


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
        fitted = mechanism.forward_kinematics_batch(position[rows], np.inf)
    except MasticatorError:
        return np.inf
    return float(np.median(fitted.closure_residual))


def _reach(mechanism: Mechanism) -> FloatArray:
    """How far each motor (n_u,) can turn, rad; as if to some turns where nothing limits it."""
    joints = [mechanism.structure.tree.joints[k] for k in mechanism.actuated_rows]
    limits = np.array([max(abs(joint.lower), abs(joint.upper)) for joint in joints])
    return np.asarray(
        np.where(np.isfinite(limits), np.maximum(1.1 * limits, _FULL_TURN), _TURNS * _FULL_TURN)
    )


def _refuse_other_robot(mechanism: Mechanism, log: RobotLog) -> None:
    """Refuse positions that do not close the loops, with what would explain it."""
    allowed = _OPEN * mechanism.structure.extent()
    turning = np.array([u != 'N' for u in mechanism.effort_units])
    degrees = np.where(turning, np.pi / 180.0, 1.0)
    if (np.abs(log.position) > _reach(mechanism))[:, turning].any():
        if _gap(mechanism, log.position * degrees) < allowed:
            raise InputError(
                f'{log.source}: positions reach {np.abs(log.position[:, turning]).max():.4g}: '
                'they seem to be in degrees, or of motors before their gears; rad of joints are '
                "needed (a column 'position_J [deg]' may be in degrees)"
            )
    gap = _gap(mechanism, log.position)
    if gap < allowed:
        return
    said = f'{1e3 * gap:.3g} mm' if np.isfinite(gap) else 'more than can be closed'
    if pair := exchanged_joints(mechanism, log.position, allowed):
        raise InputError(
            f'{log.source}: the loops stay open by {said}; they close when {pair[0]} and {pair[1]} '
            'are swapped'
        )
    raise InputError(
        f'{log.source}: the loops stay open by {said}: these are not positions of '
        f'{mechanism.name}, or its encoders are not zeroed'
    )


def exchanged_joints(
    mechanism: Mechanism, position: FloatArray, allowed: float = np.inf
) -> tuple[str, str] | None:
    """Two motors whose columns (N, n_u), exchanged, close the loops far better, to so many m."""
    gaps = {}
    for pair in itertools.combinations(range(len(mechanism.actuated)), 2):
        order = np.arange(len(mechanism.actuated))
        order[list(pair)] = pair[::-1]
        gaps[pair] = _gap(mechanism, position[:, order])
    if not gaps:
        return None
    (first, second), smallest = min(gaps.items(), key=lambda item: item[1])
    if not smallest < min(allowed, _FAR_BETTER * _gap(mechanism, position)):
        return None
    return mechanism.actuated[first], mechanism.actuated[second]
