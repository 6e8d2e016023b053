# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a trajectory message to a motion that is safe to start, and its effort trajectory."""

from __future__ import annotations

import array
import dataclasses
from collections.abc import Sequence

import numpy as np
from rclpy.duration import Duration
from rclpy.serialization import serialize_message
from rclpy.time import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ClosureError, InputError, MasticatorError
from masticator_dynamics.motion import MotionPath, path_from_state, with_rest_ramp
from masticator_dynamics.ros.dynamics.checked_motion import Samples, checked, expected_samples
from masticator_dynamics.ros.dynamics.cycle import Piece, State
from masticator_dynamics.ros.dynamics.late_trajectories import PastError, join, refuse_over
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings

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
    names, count = message.joint_names, len(message.points)
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
        _rows(what, [getattr(point, what) for point in message.points], names, joints, times)
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


def _rates(mechanism: Mechanism, stated: FloatArray, lower: FloatArray) -> FloatArray:
    """Independent velocity or acceleration that fits the actuated one best.

    Known are the independent position, and for an acceleration the velocity.
    """
    motion, order = mechanism.solve(*lower), len(lower)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    # The motion has no independent acceleration yet, so its actuated one is due to velocity alone.
    wanted = stated - motion.acceleration if order == 2 else stated
    rates = np.linalg.lstsq(jacobian, wanted, rcond=None)[0]
    missed = np.abs(jacobian @ rates - wanted)
    worst = int(np.argmax(missed))
    allowed = _RATE_TOLERANCE * max(float(np.abs(stated).max()), _LARGE_RATE[order - 1])
    if missed[worst] > allowed:
        what = ('velocity', 'acceleration')[order - 1]
        raise ClosureError(
            f'{what} {stated[worst]:.6g} of {mechanism.actuated[worst]} does not fit the loops: '
            f'it is off by {missed[worst]:.3g} (tolerance {allowed:.3g})'
        )
    return np.asarray(rates)


LONGEST = 600.0  # s; a longer one is more likely a wrong unit than a motion


@dataclasses.dataclass(frozen=True)
class JointMotion:
    """All joints of the tree (N, n_q) at times (N,) from the start; m, rad and s."""

    times: FloatArray
    q: FloatArray
    v: FloatArray

    def __call__(self, seconds: float) -> tuple[FloatArray, FloatArray]:
        """Positions and velocities (n_q,) at a time; before and after, at rest at the ends."""
        q, v, times = self.q, self.v, self.times
        if not 0.0 < seconds < times[-1]:
            return q[-1 if seconds > 0.0 else 0], np.zeros_like(q[0])
        k = int(np.searchsorted(times, seconds, side='right')) - 1
        step = times[k + 1] - times[k]
        s, way = (seconds - times[k]) / step, q[k + 1] - q[k]
        begin, end = step * v[k], step * v[k + 1]  # per length of the interval
        square, cube = 3.0 * way - 2.0 * begin - end, begin + end - 2.0 * way
        position = q[k] + s * (begin + s * (square + s * cube))
        return position, (begin + s * (2.0 * square + 3.0 * s * cube)) / step


@dataclasses.dataclass(frozen=True)
class PreparedTrajectory:
    """A motion that has passed every check."""

    # In independent coordinates; times of its path count from the message's stamp; ends at rest.
    piece: Piece
    ramp: float  # duration of the rest ramp that was appended, s; 0 when none was needed
    # Of actuated joints with efforts, at most 20 ms apart, as for a trajectory controller: a
    # serialised JointTrajectory.
    message: bytes
    joints: JointMotion | None  # at the same times, where wanted
    late: float = 0.0  # by how much it begins after its stamp, s
    points: int = 0  # that were asked for
    left_out: int = 0  # of them, those that are over when it has joined the motion that was meant


def prepare(
    mechanism: Mechanism,
    points: TrajectoryPoints,
    at_start: State,
    at_stamp: State | None,
    stamp: int,
    start: int,
    settings: DynamicsSettings,
    *,
    sampled: bool = True,
) -> PreparedTrajectory:
    """Motion through points, from the state of the mechanism at ``start``, checked all the way.

    Parameters
    ----------
    mechanism : Mechanism
        Not used by any other thread: it keeps scratch memory.
    points : TrajectoryPoints
        In independent coordinates; times count from ``stamp``.
    at_start, at_stamp : State
        Where the motion that is followed until then is, at ``start`` and ``stamp``; at the latter,
        None if that is so long ago that nobody knows.
    stamp, start : int
        ns; if ``start`` is later, the motion that was meant is joined.
    settings : DynamicsSettings
        How efforts are chosen and limited, and how fast what comes late may be joined.
    sampled : bool
        Whether the motion of all joints is wanted, too.

    Raises
    ------
    InputError
        When the points are over before the start, when they could only be joined faster than they
        are meant, or when one at time 0 is not where the mechanism is.
    ReachError, SingularityError, LimitError
        For a motion that cannot or must not be made.
    """
    late, end = max(start - stamp, 0) * 1e-9, float(points.times[-1])
    if end > LONGEST:
        raise InputError(f'the trajectory lasts {end:.6g} s; at most {LONGEST:g} s are taken')

    def check(path: MotionPath) -> Samples:
        return checked(mechanism, path, settings)

    left_out = 0
    with np.errstate(all='ignore'):  # absurd numbers become a named error further down
        refuse_over(late, end)
        if at_stamp is None:
            raise PastError(f'late by {late:.3g} s: how the mechanism moved then is not known')
        path, ramp = with_rest_ramp(
            path_from_state(at_stamp, points.times, *points.rows, names=mechanism.independent)
        )
        try:
            samples = check(path)
        except MasticatorError as error:
            if not late:
                raise
            text = f'late by {late:.3g} s, and even in time it would have been refused: {error}'
            raise type(error)(text) from None
        if late > 0.0:
            path, samples, at = join(
                mechanism, path, samples, at_start, late, end, settings.late_scale, check
            )
            left_out = int(np.searchsorted(points.times, at))
    message_samples = samples[samples.in_message]
    after = message_samples.times - message_samples.times[0]
    message = _message(mechanism, start, after, message_samples, settings.trajectory_efforts)
    joints = JointMotion(after, message_samples.q, message_samples.v) if sampled else None
    return PreparedTrajectory(
        Piece(start, path), ramp, message, joints, late, len(points.times), left_out
    )


def _message(
    mechanism: Mechanism, start: int, after: FloatArray, samples: Samples, efforts: bool
) -> bytes:
    """Serialised message of samples, the first of which is at ``start`` (ns)."""
    message = JointTrajectory(joint_names=list(mechanism.actuated))
    message.header.stamp = Time(nanoseconds=start).to_msg()
    actuated = mechanism.actuated_rows
    fields = ['positions', 'velocities', 'accelerations']
    rows = [row[:, actuated] for row in (samples.q, samples.v, samples.a)]
    if efforts:
        fields.append('effort')
        rows.append(samples.effort)
    for time, *values in zip(after, *rows, strict=True):
        begin = Duration(nanoseconds=round(time * 1e9)).to_msg()
        point = JointTrajectoryPoint(time_from_start=begin)
        for field, row in zip(fields, values, strict=True):
            setattr(point, field, array.array('d', row.tobytes()))
        message.points.append(point)
    return bytes(serialize_message(message))


def check_start(stamp: int, now: int, horizon: float) -> None:
    """Refuse a motion that begins later than ``horizon`` (s): by another clock, most likely.

    Parameters
    ----------
    stamp, now : int
        When it begins, and the clock of the node, ns.

    Raises
    ------
    InputError
        With both times.
    """
    ahead = (stamp - now) * 1e-9
    if ahead > horizon:
        raise InputError(
            f'it starts at {stamp * 1e-9:.3f} s, {ahead:.6g} s ahead of the clock of this node, '
            f'which says {now * 1e-9:.3f} s; up to {horizon:g} s (start_horizon) are accepted. '
            'Has the sender another clock (use_sim_time)?'
        )


def expected_duration(points: TrajectoryPoints) -> float:
    """Expected duration of a preparation, s; from measurements on a laptop."""
    return 0.005 + 25e-6 * min(expected_samples(points.times), 1e6)
