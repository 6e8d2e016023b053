# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory message as arrays, in independent or in actuated coordinates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ClosureError, InputError, MasticatorError

MOST_POINTS = 60_000  # 600 s at 100 Hz
_SECOND = 1_000_000_000  # ns
# Fraction of the largest actuated rate by which given rates may miss what the loops allow, and the
# least that counts as large (rad/s or m/s, and per s more). Planners differentiate numerically.
_RATE_TOLERANCE = 0.01
_LARGE_RATE = (0.5, 5.0)


class JointsError(InputError):
    """The joints of a trajectory are not the ones needed."""


@dataclasses.dataclass(frozen=True)
class TrajectoryPoints:
    """Points in the order of ``joints``: ``times`` (N,) in s from the start.

    ``rows`` (N, n) are positions and, as far as they are given, velocities and accelerations.
    """

    joints: tuple[str, ...]
    times: FloatArray
    rows: tuple[FloatArray, ...]


def read_points(message: JointTrajectory, mechanism: Mechanism) -> tuple[int, TrajectoryPoints]:
    """Stamp (ns) and points of a trajectory message, in the mechanism's order of joints.

    Efforts in the message are ignored: the node computes them.

    Raises
    ------
    InputError
        For joints that are neither all independent coordinates nor all actuated joints, for no or
        too many points, wrong lengths, and unusable numbers or times, naming joint and time.
    """
    stamp = message.header.stamp
    if stamp.nanosec >= _SECOND:  # with the last of the seconds it would fit into no message
        raise InputError(f'the stamp has {stamp.nanosec} ns beyond its seconds')
    joints = _joints(message.joint_names, mechanism)
    given, count = message.joint_names, len(message.points)
    if not count:
        raise InputError('the trajectory has no points')
    if count > MOST_POINTS:
        raise InputError(f'there are {count} points; at most {MOST_POINTS} are read')
    after = [point.time_from_start for point in message.points]
    times = np.array([time.sec + time.nanosec * 1e-9 for time in after])
    if times[0] < 0.0:
        raise InputError(f'point 1 is {-times[0]:.9g} s before the start')
    for k in np.flatnonzero(np.diff(times) <= 0.0):
        raise InputError(
            f'time does not increase: point {k + 2} at {times[k + 1]:.9g} s follows point {k + 1} '
            f'at {times[k]:.9g} s'
        )
    positions, velocities, accelerations, _ = (
        _rows(what, [getattr(point, what) for point in message.points], given, joints, times)
        for what in ('positions', 'velocities', 'accelerations', 'effort')
    )
    if positions is None:
        raise InputError('the trajectory has no positions')
    if velocities is None and accelerations is not None:
        raise InputError('the trajectory has accelerations but no velocities')
    rows = (positions, velocities, accelerations)
    points = TrajectoryPoints(joints, times, tuple(row for row in rows if row is not None))
    return stamp.sec * _SECOND + stamp.nanosec, points


def to_independent(
    points: TrajectoryPoints, mechanism: Mechanism, tolerance: float
) -> TrajectoryPoints:
    """Points in independent coordinates, by forward kinematics from actuated ones.

    Parameters
    ----------
    tolerance : float
        Largest gap of a loop, m.

    Raises
    ------
    ClosureError, ReachError
        Where actuated positions open a loop, or given rates do not fit it, naming the time.
    """
    if points.joints == mechanism.independent:
        return points
    rows = np.empty((len(points.rows), len(points.times), len(mechanism.independent)))
    for k, time in enumerate(points.times):
        try:
            rows[0, k] = mechanism.forward_kinematics(points.rows[0][k], tolerance)
            for order in range(1, len(rows)):
                rows[order, k] = _rates(mechanism, points.rows[order][k], rows[:order, k])
        except MasticatorError as error:
            raise type(error)(f'at {time:.9g} s: {error}') from None
    return TrajectoryPoints(mechanism.independent, points.times, tuple(rows))


def _joints(names: Sequence[str], mechanism: Mechanism) -> tuple[str, ...]:
    """Return the complete set of coordinates that the names stand for, in mechanism order."""
    either = (
        f'independent ({", ".join(mechanism.independent)}) '
        f'or actuated joints ({", ".join(mechanism.actuated)})'
    )
    if not names:
        raise JointsError(f'joint_names is empty; needed are all {either}')
    for name in names:
        if name not in mechanism.independent and name not in mechanism.actuated:
            raise JointsError(f'unknown joint {name!r}; there are {either}')
        if list(names).count(name) > 1:
            raise JointsError(f'joint {name!r} is named {list(names).count(name)} times')
    wanted = mechanism.independent if names[0] in mechanism.independent else mechanism.actuated
    for name in names:
        if name not in wanted:
            raise JointsError(
                f'joint {name!r} and {names[0]!r} are of different kinds: all {either}'
            )
    missing = [name for name in wanted if name not in names]
    if missing:
        raise JointsError(f'joint {missing[0]!r} is missing; needed are all {either}')
    return wanted


def _rows(
    what: str,
    rows: Sequence[Sequence[float]],
    names: Sequence[str],
    joints: tuple[str, ...],
    times: FloatArray,
) -> FloatArray | None:
    """Rows (N, n) of one quantity, reordered from names to joints; None if no point has it."""
    counts = np.array([len(row) for row in rows])
    if not counts.any():
        return None
    for k in np.flatnonzero(counts != len(names)):
        count = counts[k]
        raise InputError(
            f'point {k + 1} at {times[k]:.9g} s has {count} {what}, needed are {len(names)}'
            + ('' if count else ' (in all points or in none)')
        )
    values = np.array(rows)
    for k, i in np.argwhere(~np.isfinite(values)):
        raise InputError(
            f'{what} of {names[i]} at {times[k]:.9g} s is {values[k, i]}, not a finite number'
        )
    return values[:, [names.index(joint) for joint in joints]]


def _rates(mechanism: Mechanism, given: FloatArray, known: FloatArray) -> FloatArray:
    """Independent velocity or acceleration that fits the actuated one best.

    Known are the independent position, and for an acceleration the velocity.
    """
    motion, order = mechanism.solve(*known), len(known)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    # The motion has no independent acceleration yet, so its actuated one is due to velocity alone.
    wanted = given - motion.acceleration if order == 2 else given
    rates = np.linalg.lstsq(jacobian, wanted, rcond=None)[0]
    missed = np.abs(jacobian @ rates - wanted)
    worst = int(np.argmax(missed))
    allowed = _RATE_TOLERANCE * max(float(np.abs(given).max()), _LARGE_RATE[order - 1])
    if missed[worst] > allowed:
        what = ('velocity', 'acceleration')[order - 1]
        raise ClosureError(
            f'{what} {given[worst]:.6g} of {mechanism.actuated[worst]} does not fit the loops: '
            f'it is off by {missed[worst]:.3g} (tolerance {allowed:.3g})'
        )
    return np.asarray(rates)
