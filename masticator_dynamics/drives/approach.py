# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A slow way to commanded positions that are too far to be followed at once, all loops closed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.drives.loop_closure import CommandedClosure, opening
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.mechanism import Mechanism

_SHORTEST = 0.5  # s
_LOOK = 100  # samples searched for the fastest joint


class Approach(NamedTuple):
    """Of the joints, a row for each cycle (N, n_u): rad, rad/s, N m of the motion, without bite."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


def checked_approach(
    mechanism: Mechanism,
    limits: DriveJointLimits,
    tolerance: float,
    start: FloatArray,
    target: FloatArray,
    velocity: float,
) -> Approach:
    """:func:`plan_approach` to positions that drives may hold, within the ranges of the joints.

    Parameters
    ----------
    tolerance : float
        By how much the target may fail to close the loops, rad or m of each joint.

    Raises
    ------
    InputError
        Why there is no such way, in a sentence.
    """
    for finding in limits.command(target, target, None, target, np.inf):
        raise InputError(str(finding))
    closure = CommandedClosure(mechanism)
    try:
        closure.begin(target)
        if np.abs(closure.error(target)).max() > tolerance:
            raise InputError(str(opening(limits, closure, tolerance)))
        path = plan_approach(mechanism, start, target, limits.period, velocity)
    except InputError:
        raise
    except MasticatorError as error:
        raise InputError(f'no way to what is commanded: {error}') from None
    if reason := limits.leaves_range(path.position):
        raise InputError(f'no way to what is commanded: {reason}')
    return path


def plan_approach(
    mechanism: Mechanism,
    measured: FloatArray,
    target: FloatArray,
    period: float,
    velocity: float,
) -> Approach:
    """Plan a rest-to-rest motion, straight and of fifth order in independent coordinates.

    Parameters
    ----------
    measured, target : float arrays (n_u,)
        Actuated positions, rad; the loops may be open by encoder error. The motion begins exactly
        at ``measured`` and ends exactly at ``target``.
    period : float
        Time between rows, s.
    velocity : float
        Maximum speed of any actuated joint, rad/s.

    Raises
    ------
    ReachError, SingularityError
        A pose on the path cannot be reached.
    """
    start = mechanism.forward_kinematics(measured, math.inf)
    end = mechanism.forward_kinematics(target, math.inf)
    # First over one second: the peak speed of the fastest joint then gives the duration needed.
    look = _rest_to_rest(start, end, 1.0, _LOOK)
    fastest = np.abs(mechanism.feedforward_batch(*look).velocity).max()
    count = math.ceil(max(1.05 * fastest / velocity, _SHORTEST) / period)
    motion = mechanism.feedforward_batch(*_rest_to_rest(start, end, count * period, count + 1))
    # The encoder error at the two ends is spread over the path.
    share = np.linspace(0.0, 1.0, count + 1)[:, None]
    open_by = (1.0 - share) * (measured - motion.position[0])
    open_by = open_by + share * (target - motion.position[-1])
    return Approach(motion.position + open_by, motion.velocity, motion.actuated)


def _rest_to_rest(
    start: FloatArray, end: FloatArray, duration: float, count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions, velocities, accelerations (count, n_y) of a straight quintic between rests."""
    s = np.linspace(0.0, 1.0, count)[:, None]
    distance = end - start
    return (
        start + distance * s**3 * (10.0 - 15.0 * s + 6.0 * s**2),
        distance * 30.0 * (s * (1.0 - s)) ** 2 / duration,
        distance * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2,
    )
