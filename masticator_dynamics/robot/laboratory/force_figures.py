# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of bites at a force: creep under it, and relaxation where the teeth then stay.

Both are told from gap and force alone. The teeth part last: what lies between is known from there
backwards, since hold and relaxation last as long as the protocol says. An exponential is fitted to
each: for the standard linear solid it is the law (a spring in series with a damper, beside a
spring), and its time constant that of retardation under a force, of relaxation at a deformation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.laboratory.mouthful_figures import Stroke
from masticator_dynamics.robot.laboratory.protocol import ForceBite

_PARTED = 5e-5  # m, by which the teeth have parted when a bite is over
_REACHED = 0.9  # of the level, without which a bite has no figures: it broke before
_SETTLING = 0.15  # s at the start of the hold in which the force may still settle
_STOPPING = 0.1  # s after which the teeth stand still
_FEWEST = 10  # rows
_LEAST = 0.01  # share of the value by which it must change for a time constant
_SPAN = (0.02, 5.0)  # of the time that is looked at: time constants that it can tell

FIGURES = (
    'peak_error', 'creep_compliance', 'creep', 'retardation_time', 'relaxation_time',
    'relaxed_share',
)  # fmt: skip


def figures(
    bite: ForceBite,
    strokes: Sequence[Stroke],
    time: FloatArray,
    gap: FloatArray,
    force: FloatArray,
) -> dict[str, float]:
    """Means over the bites of a mouthful, SI units; NaN for those that are not defined.

    Parameters
    ----------
    bite : ForceBite
        What was asked.
    strokes : sequence of Stroke
        The bites.
    time, gap, force : arrays, shape (N,)
        s; m; N.

    Returns
    -------
    dict
        ``peak_error``: of the largest force, N, whatever its sign; ``creep_compliance``:
        deformation at the end of the hold over the force, m/N; ``creep``: what the hold added to
        it, m; ``retardation_time``, ``relaxation_time``: s; ``relaxed_share``: of the force, that
        would be lost in the end.
    """
    rows = []
    for stroke in strokes:
        inside = (time >= stroke.start) & (time <= stroke.end)
        rows.append(_bite(bite, stroke, time[inside], gap[inside], force[inside]))
    columns = np.array(rows).reshape(-1, len(FIGURES)).T
    finite = (column[np.isfinite(column)] for column in columns)
    means = (float(values.mean()) if len(values) else math.nan for values in finite)
    return dict(zip(FIGURES, means, strict=True))


def _bite(
    bite: ForceBite, stroke: Stroke, time: FloatArray, gap: FloatArray, force: FloatArray
) -> list[float]:
    """Figures of one bite, in order."""
    nothing = [math.nan] * len(FIGURES)
    closed = np.flatnonzero(gap < gap.min() + _PARTED)
    if not len(closed) or not math.isfinite(stroke.height):
        return nothing
    end = float(time[closed[-1]]) - bite.relaxation
    settled = end - bite.hold + min(_SETTLING, 0.5 * bite.hold)
    held = (time >= settled) & (time <= end)
    if np.count_nonzero(held) < _FEWEST or force[held].min() < _REACHED * bite.level:
        return nothing
    deformation = stroke.height - gap
    first, last = np.flatnonzero(held)[[0, -1]]
    level, error = float(force[held].mean()), abs(stroke.peak_force - bite.level)
    retardation, _ = exponential(time[held], deformation[held])
    creep = [error, deformation[last] / level, deformation[last] - deformation[first], retardation]
    stopped = end + min(_STOPPING, 0.1 * bite.relaxation)
    relaxing = (time >= stopped) & (time <= end + bite.relaxation)
    if np.count_nonzero(relaxing) < _FEWEST:
        return [*creep, math.nan, math.nan]
    constant, final = exponential(time[relaxing], force[relaxing])
    share = 1.0 - final / level if math.isfinite(constant) else math.nan
    return [*creep, constant, share]


def exponential(time: FloatArray, values: FloatArray) -> tuple[float, float]:
    """Time constant, s, and final value of an exponential fitted to values (N,) by least squares.

    NaN where they hardly change, or where the time, (N,), s, is too short or too long to tell.
    """
    t = time - time[0]

    def fitted(logarithm: float) -> tuple[FloatArray, float]:
        shape = np.column_stack([np.ones_like(t), np.exp(-t / math.exp(logarithm))])
        parts, *_ = np.linalg.lstsq(shape, values, rcond=None)
        return parts, float(np.sum((shape @ parts - values) ** 2))

    low, high = (math.log(share * t[-1]) for share in _SPAN)
    best = minimize_scalar(lambda x: fitted(x)[1], bounds=(low, high), method='bounded')
    (final, change), _ = fitted(best.x)
    inside = low + 0.05 < best.x < high - 0.05
    if not inside or abs(change) < _LEAST * abs(values).max():
        return math.nan, math.nan
    return math.exp(best.x), float(final)
