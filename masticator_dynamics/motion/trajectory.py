# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories that start from a moving mechanism and end at rest."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.motion.array_checks import checked_rows, checked_times
from masticator_dynamics.motion.path import MotionPath

State = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

_STOPPING_TIME = 0.1  # s; no stop has to be gentler than speed / _STOPPING_TIME
_REST = 1e-6, 1e-3  # what still counts as rest, in units of the coordinates per s and s^2
_RAMP_DURATIONS = np.geomspace(0.02, 0.25, 40)


def path_from_state(
    state: State,
    times_from_start: npt.ArrayLike,
    positions: npt.ArrayLike,
    velocities: npt.ArrayLike | None = None,
    accelerations: npt.ArrayLike | None = None,
    *,
    start: float = 0.0,
    tolerance: npt.ArrayLike = 1e-3,
    names: Sequence[str] = (),
) -> MotionPath:
    """Path that takes over a moving mechanism and goes through new points.

    A quintic leads from the state to the first point, over that point's time from start.
    Derivatives that the points leave open are chosen for least jerk (`MotionPath.through`); a
    last point without velocity, or with zero velocity, is reached at rest. A first point at time 0
    only says where the mechanism should be: the motion starts from the state, without a jump.

    Parameters
    ----------
    state : tuple of three (n,) arrays
        Position, velocity and acceleration at `start`.
    times_from_start : (N,) array
        s, not negative, strictly increasing.
    positions, velocities, accelerations : (N, n) array
        At these times; derivatives are optional.
    start : float
        Time of the path from which the points' times count, s.
    tolerance : float or (n,) array
        How far a first point at time 0 may be from the mechanism's position, m or rad.
    names : sequence of str
        Coordinates in order, for messages.

    Returns
    -------
    MotionPath
        From `start`; may end in motion, see `with_rest_ramp`.

    Raises
    ------
    InputError
        For malformed points, negative times, or a first point at time 0 away from the mechanism's
        position, naming coordinate and amount.
    """
    t = checked_times(times_from_start)
    points = [checked_rows(positions, 'position', t, names)]
    for rows, what in ((velocities, 'velocity'), (accelerations, 'acceleration')):
        if rows is not None:
            points.append(checked_rows(rows, what, t, names, points[0].shape[1]))
    if accelerations is not None and velocities is None:
        raise InputError('accelerations are given without velocities')
    if t[0] < 0.0:
        raise InputError(f'first point is {-t[0]:.6g} s before the start')
    now = [
        checked_rows(np.array([row]), what, np.array([start]), names, points[0].shape[1])[0]
        for row, what in zip(state, ('position', 'velocity', 'acceleration'), strict=True)
    ]
    position, velocity, acceleration = now
    if t[0] == 0.0:
        _check_start(points[0][0], position, tolerance, names)
        t, points = t[1:], [rows[1:] for rows in points]
    zero = np.zeros(len(position))
    if len(t) == 0:
        held = MotionPath.constant(position, time=start, names=names)
        return held if _at_rest(velocity, acceleration) else _rest_ramp(start, now, zero, names)
    rows = [np.vstack([first, rest]) for first, rest in zip(now, points, strict=False)]
    stops = len(points) == 1 or (len(points) == 2 and not points[1][-1].any())
    return MotionPath.through(
        np.concatenate([[0.0], t]) + start,
        *rows,
        start=(velocity, acceleration),
        end=(zero, zero) if stops else None,
        names=names,
    )


def with_rest_ramp(path: MotionPath) -> tuple[MotionPath, float]:
    """Let a path that ends in motion come to rest.

    The ramp is C2 (velocity a cubic from the end's velocity and acceleration to zero). It is as
    short as possible while every coordinate stays below the largest of: the acceleration that
    the path itself stays below for 95 % of its time, the end's own acceleration, and the speed
    divided by 0.1 s. That takes 20 to 250 ms and, for constant speed v, v/2 per second of ramp.

    Parameters
    ----------
    path : MotionPath

    Returns
    -------
    path : MotionPath
        Ends at rest; the same object when it already did.
    duration : float
        Of the ramp, s; 0 when none was needed.
    """
    end = path(path.end)
    _, velocity, acceleration = end
    if _at_rest(velocity, acceleration):
        return path, 0.0
    samples = path.sample(np.linspace(path.start, path.end, 401))[2]
    usual = np.percentile(np.abs(samples), 95.0, axis=0)
    ramp = _rest_ramp(path.end, end, usual, path.names)
    return MotionPath.joined([path, ramp]), ramp.end - ramp.start


def _check_start(
    point: FloatArray, position: FloatArray, tolerance: npt.ArrayLike, names: Sequence[str]
) -> None:
    excess = np.abs(point - position) / np.broadcast_to(tolerance, point.shape)
    worst = int(np.argmax(excess))
    if excess[worst] > 1.0:
        name = names[worst] if names else f'coordinate {worst}'
        raise InputError(
            f'first point at time 0 has {name} {point[worst]:.6g}, but the mechanism is at '
            f'{position[worst]:.6g} (difference {point[worst] - position[worst]:.3g})'
        )


def _at_rest(velocity: FloatArray, acceleration: FloatArray) -> bool:
    return bool(np.abs(velocity).max() <= _REST[0] and np.abs(acceleration).max() <= _REST[1])


def _rest_ramp(
    start: float, state: Sequence[FloatArray], usual: FloatArray, names: Sequence[str]
) -> MotionPath:
    """Shortest of the allowed ramps whose accelerations stay within the bound."""
    position, velocity, acceleration = state
    limit = np.maximum(
        np.maximum(usual, 1.001 * np.abs(acceleration)), np.abs(velocity) / _STOPPING_TIME
    )
    s = np.linspace(0.0, 1.0, 21)[:, None]
    duration = _RAMP_DURATIONS[-1]
    for candidate in _RAMP_DURATIONS:
        course = (
            6.0 * (s * s - s) * velocity / candidate + (3.0 * s * s - 4.0 * s + 1.0) * acceleration
        )
        if np.all(np.abs(course).max(axis=0) <= limit):
            duration = candidate
            break
    end = position + velocity * duration / 2.0 + acceleration * duration**2 / 12.0
    zero = np.zeros_like(position)
    return MotionPath.through(
        [start, start + duration],
        [position, end],
        [velocity, zero],
        [acceleration, zero],
        names=names,
    )
