# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of joints between the samples of a motion, where no pose is computed.

From one sample to the next, a joint is taken to follow the quintic through its positions,
velocities and accelerations at both. A polynomial lies between the least and the largest of its
Bernstein coefficients, which for an interval h are

    q0, q0 + h v0/5, q0 + 2 h v0/5 + h² a0/20, q1 - 2 h v1/5 + h² a1/20, q1 - h v1/5, q1

and, for the derivative of a polynomial of degree n, n/h times their differences.

Independent coordinates are quintics themselves. A joint that depends on them misses its quintic by
O(h⁶): if the quintic across two intervals misses the sample in the middle by e, one across a single
interval misses the positions by e/64, and the velocities by e/(19 h). Here e/h is added to these.
Positions are left at that: a motion may end where its range does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.errors import LimitError
from masticator_dynamics.limits.ranges import SLACK, RangeViolation

_TOGETHER = 4000  # intervals, an even number: arrays stay small
_PARTS = 32  # of an interval that may leave a range, to see whether it does


class Sampled(Protocol):
    """Positions, velocities and accelerations of all joints of the tree, (N, n_q) each."""

    @property
    def q(self) -> FloatArray:
        """Positions, m or rad."""

    @property
    def v(self) -> FloatArray:
        """Velocities."""

    @property
    def a(self) -> FloatArray:
        """Accelerations."""


class Knots(NamedTuple):
    """Positions, velocities and accelerations, each (N, ...), m or rad, at ends of intervals."""

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    def enclosing(self, step: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bernstein coefficients of the quintics and their derivatives.

        Parameters
        ----------
        step : array, broadcast to (N - 1, ...)
            Lengths of the intervals, s.

        Returns
        -------
        (6, N - 1, ...), (5, N - 1, ...) and (4, N - 1, ...) array
            Of position, velocity and acceleration.
        """
        q, bend = self.position, 0.05 * step**2
        begin, end = 0.2 * step * self.velocity[:-1], 0.2 * step * self.velocity[1:]
        first = q[:-1], q[:-1] + begin, q[:-1] + 2.0 * begin + bend * self.acceleration[:-1]
        last = q[1:] - 2.0 * end + bend * self.acceleration[1:], q[1:] - end, q[1:]
        position = np.stack([*first, *last])
        velocity = 5.0 / step * np.diff(position, axis=0)
        return position, velocity, 4.0 / step * np.diff(velocity, axis=0)


def refuse_between(mechanism: Model, times: FloatArray, motion: Sampled) -> None:
    """Refuse a motion in which a joint leaves a range between samples that are within.

    Parameters
    ----------
    mechanism : Model
        Whose ranges of positions and velocities are checked.
    times : (N,) array
        s; N is odd, and samples 2k, 2k + 1 and 2k + 2 are equally far apart. In between, the
        independent coordinates are quintics.
    motion : Sampled
        At these times.

    Raises
    ------
    LimitError
        Naming the joint, what it may reach, and the time.
    """
    joints = np.arange(len(mechanism.tree_joints))
    for part, knots in _parts(times, motion, joints):
        double = 2.0 * np.diff(times[part])[::2, None]
        across = Knots(*(rows[::2] for rows in knots)).enclosing(double)[0]
        middle = np.tensordot(_basis(5, np.array([0.5])), across, 1)[0]
        missed = np.repeat(np.abs(knots.position[1::2] - middle), 2, axis=0)
        _refuse(mechanism, joints, times[part], knots, missed)


def refuse_interpolated(mechanism: Model, times: FloatArray, motion: Sampled) -> None:
    """Refuse the motion that a trajectory controller makes of samples if a motor leaves a range.

    The controller interpolates actuated joints by quintics.

    Parameters
    ----------
    mechanism, times, motion
        As for :func:`refuse_between`, at any times.

    Raises
    ------
    LimitError
        Likewise.
    """
    for part, knots in _parts(times, motion, mechanism.actuated_rows):
        missed = np.zeros_like(knots.position[1:])
        _refuse(mechanism, mechanism.actuated_rows, times[part], knots, missed)


def largest_rates(times: FloatArray, motion: Sampled, joints: IntArray) -> FloatArray:
    """Largest velocity and acceleration (2, n) of some joints (n,), in and between samples (N,).

    Parameters
    ----------
    times : (N,) array
        s.
    motion : Sampled
        At these times.
    joints : (n,) array of int
        Rows of joints of the tree.

    Returns
    -------
    (2, n) array
        rad or m per s, and per s².
    """
    largest = np.stack([np.abs(rows[:, joints]).max(axis=0) for rows in (motion.v, motion.a)])
    for part, knots in _parts(times, motion, joints):
        step = np.diff(times[part])
        coefficients = knots.enclosing(step[:, None])
        for order, most in enumerate(largest, 1):
            doubtful = np.nonzero(np.abs(coefficients[order]).max(axis=0) > most)
            if len(doubtful[0]):
                fine = _divided(coefficients, doubtful).enclosing(step[doubtful[0]] / _PARTS)
                np.maximum.at(most, doubtful[1], np.abs(fine[order]).max(axis=(0, 1)))
    return largest


def _parts(times: FloatArray, motion: Sampled, joints: IntArray) -> Iterator[tuple[slice, Knots]]:
    """Samples of some joints, in parts that share their ends."""
    for first in range(0, len(times) - 1, _TOGETHER):
        part = slice(first, first + _TOGETHER + 1)
        yield part, Knots(*(rows[part][:, joints] for rows in (motion.q, motion.v, motion.a)))


def _refuse(
    mechanism: Model, joints: IntArray, times: FloatArray, knots: Knots, missed: FloatArray
) -> None:
    """Raise `LimitError` if joints leave ranges; they miss their quintics (N - 1, n) by so much."""
    limits, step = mechanism.limits, np.diff(times)[:, None]
    coefficients, fastest = knots.enclosing(step), limits.velocity[joints]
    velocity = -fastest, fastest, missed / step
    position = limits.lower[joints], limits.upper[joints], np.zeros_like(missed)
    for order, (low, high, margin) in ((1, velocity), (0, position)):
        doubtful = np.nonzero(_beyond(coefficients[order], low, high, margin) > SLACK)
        interval, column = doubtful
        if not len(interval):
            continue
        finer = _divided(coefficients, doubtful).enclosing(step[interval, 0] / _PARTS)[order]
        low, high, margin = low[column], high[column], margin[doubtful]
        beyond = _beyond(finer, low, high, margin)
        part, row = np.unravel_index(np.argmax(beyond), beyond.shape)
        if beyond[part, row] > SLACK:
            joint, values = int(joints[column[row]]), finer[:, part, row]
            least, most = values.min() - margin[row], values.max() + margin[row]
            unit = mechanism.structure.tree.joints[joint].unit
            violation = RangeViolation(
                mechanism.tree_joints[joint], ('position', 'velocity')[order],
                float(most if most - high[row] > low[row] - least else least),
                float(low[row]), float(high[row]), (unit, f'{unit}/s')[order],
            )  # fmt: skip
            time = times[interval[row]] + step[interval[row], 0] * part / _PARTS
            raise LimitError(f'at {time:.6g} s: {violation}')


def _beyond(
    coefficients: FloatArray, low: FloatArray, high: FloatArray, margin: FloatArray
) -> FloatArray:
    """How far polynomials (..., n) may be outside ranges (n,); negative inside."""
    outside = np.maximum(low - coefficients.min(axis=0), coefficients.max(axis=0) - high)
    return np.asarray(outside + margin)


def _divided(coefficients: Sequence[FloatArray], which: tuple[IntArray, ...]) -> Knots:
    """Some quintics (K) at the ends of parts (P + 1, K), which enclose them more closely."""
    ends = np.linspace(0.0, 1.0, _PARTS + 1)
    at, of = which
    rows = (np.tensordot(_basis(len(c) - 1, ends), c[:, at, of], 1) for c in coefficients)
    return Knots(*rows)


def _basis(degree: int, s: FloatArray) -> FloatArray:
    """Bernstein polynomials (S, degree + 1) at s (S,)."""
    powers = np.arange(degree + 1)
    binomial = [math.comb(degree, k) for k in range(degree + 1)]
    return np.asarray(binomial * s[:, None] ** powers * (1.0 - s[:, None]) ** (degree - powers))
