# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of bites at a force: creep under it, and relaxation where the teeth then stay.

Both are told from gap and force alone. The teeth part last: what lies between is known from there
backwards, since hold and relaxation last as long as the protocol says. An exponential is fitted to
each: for the standard linear solid it is the law (a spring in series with a damper, beside a
spring), and its time constant that of retardation under a force, of relaxation at a deformation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
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
_UNTOLD = (math.nan, math.nan, math.nan)

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
    if (fitted := fits(bite, stroke, time, gap, force)) is None:
        return [math.nan] * len(FIGURES)
    creep, relaxation = fitted
    deformation = stroke.height - gap[creep.rows]
    level, error = float(force[creep.rows].mean()), abs(stroke.peak_force - bite.level)
    return [
        error, deformation[-1] / level, deformation[-1] - deformation[0], creep.constant,
        relaxation.constant, 1.0 - relaxation.final / level,
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Fit:
    """An exponential, ``final + change exp(-t / constant)``, t since the first of its rows."""

    rows: npt.NDArray[np.intp]  # (M,): of the bite, to which it was fitted
    constant: float  # s; NaN, like the other two, where it cannot be told
    final: float
    change: float

    @classmethod
    def of(cls, rows: npt.NDArray[np.intp], time: FloatArray, values: FloatArray) -> Fit:
        """To these rows of time and values, (N,)."""
        enough = len(rows) >= _FEWEST
        return cls(rows, *(exponential(time[rows], values[rows]) if enough else _UNTOLD))

    def values(self, time: FloatArray) -> FloatArray:
        """At its rows (M,) of a bite's time (N,), s."""
        t = time[self.rows] - time[self.rows[:1]]
        return self.final + self.change * np.exp(-t / self.constant)


def fits(
    bite: ForceBite, stroke: Stroke, time: FloatArray, gap: FloatArray, force: FloatArray
) -> tuple[Fit, Fit] | None:
    """Of the deformation, m, in the hold, and of the force, N, in the relaxation of one bite.

    None where the level was not held. Time, gap and force, (N,), s, m and N, are those of the bite.
    """
    closed = np.flatnonzero(gap < gap.min() + _PARTED)
    if not len(closed) or not math.isfinite(stroke.height):
        return None
    end = float(time[closed[-1]]) - bite.relaxation
    settled = end - bite.hold + min(_SETTLING, 0.5 * bite.hold)
    held = np.flatnonzero((time >= settled) & (time <= end))
    if len(held) < _FEWEST or force[held].min() < _REACHED * bite.level:
        return None
    stopped = end + min(_STOPPING, 0.1 * bite.relaxation)
    relaxing = np.flatnonzero((time >= stopped) & (time <= end + bite.relaxation))
    return Fit.of(held, time, stroke.height - gap), Fit.of(relaxing, time, force)


def exponential(time: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    """Time constant, s, final value and first change of an exponential, by least squares.

    It is fitted to values (N,) and begins with the final value and the change.

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
        return _UNTOLD
    return math.exp(best.x), float(final), float(change)
