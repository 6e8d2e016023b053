# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From the points of a message to a motion that is safe to start, and its effort trajectory."""

from __future__ import annotations

import array
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.goals import Goal
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.limits.ranges import refuse_outside
from masticator_dynamics.motion import MotionPath, path_from_state, with_rest_ramp
from masticator_dynamics.ros.dynamics.executed_motion import Piece, State
from masticator_dynamics.ros.dynamics.trajectory_points import TrajectoryPoints

LONGEST = 600.0  # s; a longer one is more likely a wrong unit than a motion
_MESSAGE_STEP = 0.020  # s; crank-space interpolation over longer gaps opens the loops
_CHECK_STEP = 0.005  # s
_JOIN = 0.050  # s; a late message is joined no sooner than this after the start


class PastError(InputError):
    """A trajectory is over before it can begin."""


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
    """A motion that has passed every check.

    Attributes
    ----------
    piece : Piece
        In independent coordinates; times of its path count from the message's stamp; ends at rest.
    ramp : float
        Duration of the rest ramp that was appended, s; 0 when none was needed.
    message : bytes
        Of actuated joints with efforts, at most 20 ms apart, as for a trajectory controller:
        a serialised JointTrajectory.
    joints : JointMotion or None
        At the same times, where wanted.
    """

    piece: Piece
    ramp: float
    message: bytes
    joints: JointMotion | None


def prepare(
    mechanism: Mechanism,
    points: TrajectoryPoints,
    at_start: State,
    at_stamp: State,
    stamp: int,
    start: int,
    effort_limit_scale: float,
    *,
    goal: Goal = 'torque',
    friction: bool = False,
    limits: bool = False,
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
        Where the motion that is followed until then is, at ``start`` and ``stamp``.
    stamp, start : int
        ns; if ``start`` is later, points that are past or too close are left out.
    effort_limit_scale : float
        Part of the effort limits that may be used.
    goal, friction
        As for `Mechanism.feedforward`.
    limits : bool
        Whether efforts are chosen within the limits of all loads; otherwise only their own limits
        are checked, afterwards.
    sampled : bool
        Whether the motion of all joints is wanted, too.

    Raises
    ------
    InputError
        When the points are over before the start, or one at time 0 is not where the mechanism is.
    ReachError, SingularityError, LimitError
        For a motion that cannot or must not be made.
    """
    names = mechanism.independent
    late = max(start - stamp, 0) * 1e-9
    if points.times[-1] > LONGEST:
        raise InputError(
            f'the trajectory lasts {points.times[-1]:.6g} s; at most {LONGEST:g} s are taken'
        )
    if points.times[-1] < late:
        raise PastError(
            f'the trajectory ended {late - points.times[-1]:.6g} s ago '
            f'(it lasts {points.times[-1]:.6g} s)'
        )
    first = 0
    if late > 0.0:
        if points.times[0] == 0.0:
            path_from_state(at_stamp, [0.0], points.rows[0][:1], names=names)
        first = int(np.searchsorted(points.times, min(late + _JOIN, points.times[-1])))
    with np.errstate(all='ignore'):  # absurd numbers become a named error further down
        path = path_from_state(
            at_start,
            points.times[first:] - late,
            *(rows[first:] for rows in points.rows),
            start=late,
            names=names,
        )
        path, ramp = with_rest_ramp(path)
        times, told = _sample_times(path)
        batch = _evaluated(
            mechanism,
            path,
            times,
            goal=goal,
            friction=friction,
            limits=limits and mechanism.load_limits.scaled(effort_limit_scale),
        )
        # Efforts chosen within limits already keep to them, up to numerical error.
        refuse_outside(mechanism, times, batch, None if limits else effort_limit_scale)
    after = times[told] - times[0]
    message = _message(mechanism.actuated, start, after, batch, told)
    joints = JointMotion(after, batch.q[told], batch.v[told]) if sampled else None
    return PreparedTrajectory(Piece(start, path), ramp, message, joints)


def _evaluated(mechanism: Mechanism, path: MotionPath, times: FloatArray, **wanted: Any) -> Effort:
    """Efforts along a path at times (N,), s; errors name the time."""
    try:
        return mechanism.feedforward_batch(*path.sample(times), **wanted)
    except MasticatorError as error:
        raise type(error)(f'at {times[error.row or 0]:.6g} s: {error.without_row}') from None


def _message(
    joints: Sequence[str], start: int, after: FloatArray, batch: Effort, told: IntArray
) -> bytes:
    """Serialised message of some rows of a batch, which begins at ``start`` (ns)."""
    message = JointTrajectory(joint_names=list(joints))
    message.header.stamp = Time(**_parts(start))
    fields = ('positions', 'velocities', 'accelerations', 'effort')
    rows = (batch.position, batch.velocity, batch.acceleration, batch.actuated)
    for time, *values in zip(after, *(row[told] for row in rows), strict=True):
        point = JointTrajectoryPoint(time_from_start=Duration(**_parts(round(time * 1e9))))
        for field, row in zip(fields, values, strict=True):
            setattr(point, field, array.array('d', row.tobytes()))
        message.points.append(point)
    return bytes(serialize_message(message))


def _parts(time: int) -> dict[str, int]:
    """A time or duration, ns, as fields of a message."""
    return dict(zip(('sec', 'nanosec'), divmod(time, 1_000_000_000), strict=True))


def check_start(stamp: int, now: int, horizon: float) -> None:
    """Refuse a motion that begins later than ``horizon`` (s): by another clock, most likely.

    Parameters
    ----------
    stamp, now : int
        When it begins, and the clock of the node, ns.
    horizon : float

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
    samples = points.times[-1] / _CHECK_STEP + 2.0 * len(points.times)
    return 0.005 + 25e-6 * min(samples, 1e6)


def _sample_times(path: MotionPath) -> tuple[FloatArray, IntArray]:
    """Times of the checks, and which of them go into the message; knots are in both."""
    if path.end == path.start:
        return np.array([path.start]), np.array([0])
    gaps = np.diff(path.knots)
    coarse = np.maximum(np.ceil(gaps / _MESSAGE_STEP * (1.0 - 1e-9)), 1.0).astype(int)
    finer = np.maximum(np.ceil(gaps / (coarse * _CHECK_STEP) * (1.0 - 1e-9)), 1.0).astype(int)
    pieces = coarse * finer
    segment = np.repeat(np.arange(len(gaps)), pieces)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    times = path.knots[segment] + gaps[segment] * (within / pieces[segment])
    in_message = np.flatnonzero(within % finer[segment] == 0)
    return np.append(times, path.end), np.append(in_message, len(times))
