# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a trajectory that comes late is joined: never faster than it was meant, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.limits.between_samples import largest_rates
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.checked_motion import Check, Samples
from masticator_dynamics.ros.dynamics.cycle import State

SHORTEST_JOINING, LONGEST_JOINING = 0.050, 2.0  # s from the start to the motion that was meant
_GROWTH = 1.25  # from one attempt to the next
# Of what the motion itself has, and rad or m per s and s²: what counts as no faster.
_TOLERANCE, _REST = 1e-3, np.array([[1e-6], [1e-3]])


class PastError(InputError):
    """A trajectory comes too late."""


class Joined(NamedTuple):
    """A path, its samples, and the time at which it has joined the motion that was meant, s."""

    path: MotionPath
    samples: Samples
    at: float


class _Excess(NamedTuple):
    """How many times the largest rate of a joint a joining needs, and this in words."""

    factor: float
    text: str


def refuse_over(late: float, end: float) -> None:
    """Refuse a motion that is over, or nearly so, when it could begin (`PastError`).

    Parameters
    ----------
    late, end : float
        When it begins, and when its last point is due, s after its stamp.
    """
    if late > end:
        raise PastError(f'the trajectory ended {late - end:.6g} s ago (it lasts {end:.6g} s)')
    if late > 0.0 and end - late < SHORTEST_JOINING:
        raise PastError(
            f'late by {late:.3g} s: the trajectory (it lasts {end:.6g} s) is over in '
            f'{end - late:.3g} s, and takes {SHORTEST_JOINING:g} s to be joined'
        )


def join(
    mechanism: Mechanism,
    meant: MotionPath,
    samples: Samples,
    at_start: State,
    late: float,
    end: float,
    scale: float,
    check: Check,
) -> Joined:
    """Lead from where the mechanism is to a motion that should have begun, as soon as possible.

    Parameters
    ----------
    meant : MotionPath
        The motion as if it had begun in time.
    samples : Samples
        Of it.
    at_start : State
        Where the mechanism is at ``late``.
    late, end : float
        When the motion begins, and when its last point is due, both in times of ``meant``, s.
    scale : float
        How many times the largest velocity and acceleration of each joint until ``end``, or those
        with which the mechanism moves already, may be used.
    check : callable
        Samples of a path; raises `MasticatorError` for one that must not be followed.

    Raises
    ------
    PastError
        If nothing is left, or joining would take more, naming the joint and what would be needed.
    MasticatorError
        If joining in time would take it out of a range.
    """
    joints = np.union1d(mechanism.independent_rows, mechanism.actuated_rows)
    itself = samples[samples.times <= end]
    rates = largest_rates(itself.times, itself, joints)
    refusals: list[_Excess] = []
    errors: list[MasticatorError] = []
    for index in _ends(samples, late, end):
        at = float(samples.times[index])
        rows = zip(at_start, meant(at), strict=True)
        try:
            way = check(MotionPath.through([late, at], *map(np.vstack, rows), names=meant.names))
        except MasticatorError as error:
            errors.append(error)
            continue
        excess = _excess(mechanism, joints, way, scale * rates)
        if excess.factor <= 1.0 + _TOLERANCE:
            path = _spliced(at_start, late, at, meant)
            return Joined(path, way[:-1].followed_by(samples[index:]), at)
        refusals.append(excess)
    if not refusals:
        raise type(errors[0])(f'late by {late:.3g} s: {errors[0]}')
    least = min(refusals)
    raise PastError(
        f'late by {late:.3g} s: {least.text}, {least.factor * scale:.3g} times as much as it has '
        f'itself (late_scale allows {scale:g} times). Stamp it later, or with 0 to start when it '
        'is checked'
    )


def _ends(samples: Samples, late: float, end: float) -> Iterator[int]:
    """Samples that could be joined, the soonest first."""
    possible = np.flatnonzero(samples.in_message & (samples.times <= end))
    after, before = SHORTEST_JOINING, -1
    while True:
        place = int(np.searchsorted(samples.times[possible], late + min(after, LONGEST_JOINING)))
        index = int(possible[min(place, len(possible) - 1)])
        if index != before:
            yield index
        if after > LONGEST_JOINING or index == possible[-1]:
            return
        before, after = index, after * _GROWTH


def _excess(mechanism: Mechanism, joints: IntArray, way: Samples, allowed: FloatArray) -> _Excess:
    """What a way of joining needs, compared with rates (2, n) of joints (n,)."""
    needed = largest_rates(way.times, way, joints)
    moves = np.abs([way.v[0, joints], way.a[0, joints]])
    factors = needed / (np.maximum(allowed, moves) + _REST)
    order, column = np.unravel_index(np.argmax(factors), factors.shape)
    joint = int(joints[column])
    unit = mechanism.structure.tree.joints[joint].unit + ('/s', '/s²')[order]
    return _Excess(
        float(factors[order, column]),
        f'joining it within {way.times[-1] - way.times[0]:.3g} s takes '
        f'{needed[order, column]:.3g} {unit} of {mechanism.tree_joints[joint]}',
    )


def _spliced(at_start: State, late: float, at: float, meant: MotionPath) -> MotionPath:
    """From the state at ``late`` to the motion that was meant at ``at``, and along it."""
    knots = np.append(at, meant.knots[meant.knots > at])
    rows = zip(at_start, meant.sample(knots), strict=True)
    return MotionPath.through(np.append(late, knots), *map(np.vstack, rows), names=meant.names)
