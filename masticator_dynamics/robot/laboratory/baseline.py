# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a force sensor reads where the plunger touches nothing: offset, drift and noise.

The plunger is free before it touches the sample, and again from where it has let go of it until it
touches it next, the pause included. These rows give the baseline. A recording that begins on the
sample, or whose sample follows the plunger all the way back, has fewer of them, or none.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt
from scipy.ndimage import median_filter

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.laboratory.mouthful_figures import openings

_WINDOWS = 0.03, 0.06, 0.12  # shares of a way, from its open end, that may show a free plunger
_FREE = 1.5  # windows that a free part is long at least
_STANDS = 0.002  # share of a way within which the plunger stands still
_FEWEST = 8  # rows of a window
_LEAVES = 0.01  # share of the peak by which the force leaves a free part
_SMOOTHED = 0.01  # share of a way over which the force is smoothed
_LIKELY, _SURE = 3.0, 5.0  # standard deviations
_TRIMMED = 0.15  # share of a free part, next to the sample, where the force may begin to rise
_ROUNDING = 1e-9
_OF_MEDIANS = math.sqrt(0.5 * math.pi)  # their noise over that of means
_LONG = 1.0 / 3.0  # share of the recording over which free rows tell a drift


@dataclasses.dataclass(frozen=True)
class Baseline:
    """Force without a sample."""

    # (N,), N, at every row: a line through the free parts, bent so that it meets the mean of each.
    force: FloatArray
    drift: float  # N/s, slope of that line; 0 where the free rows are too close together to tell
    noise: float  # N, standard deviation of a reading
    quiet_noise: float  # N, standard deviation of :func:`quieter`
    bend: float  # N, largest distance of a free part from the line
    # (N,), rows of a free plunger; without any the force is taken as it is.
    free: npt.NDArray[np.bool_]


def baseline(time: FloatArray, displacement: FloatArray, force: FloatArray) -> Baseline:
    """The baseline of a recording.

    Parameters
    ----------
    time, displacement, force : array, shape (N,)
        s, increasing; m, towards the sample; N, positive in compression.
    """
    free = _free_rows(displacement, force)
    single, least = scatter(force), _of_median(force, _width(displacement))
    if not free.any():
        return Baseline(np.zeros(len(force)), 0.0, single, least, 0.0, free)
    t, f = time[free], force[free]
    middle = float(t.mean())
    long = np.ptp(t) >= _LONG * np.ptp(time)
    drift = float(np.polyfit(t - middle, f, 1)[0]) if long else 0.0
    line = float(f.mean()) + drift * (time - middle)
    edges = np.flatnonzero(np.diff(free)) + 1
    parts = [rows for rows in np.split(np.arange(len(time)), edges) if free[rows[0]]]
    away = [float(np.mean(force[rows] - line[rows])) for rows in parts]
    level = line + np.interp(time, [float(time[rows].mean()) for rows in parts], away)
    quiet = quieter(force, displacement)
    return Baseline(
        level,
        drift,
        max(_deviation((force - level)[free]), single),  # a plunger that moves has more of it
        max(_deviation((quiet - level)[free]), least),
        max(map(abs, away)),
        free,
    )


def quieter(force: FloatArray, displacement: FloatArray) -> FloatArray:
    """The force (N,) as running median over a short part of a way: spikes do not count."""
    return median_filter(force, _width(displacement), mode='mirror')


def _width(displacement: FloatArray) -> int:
    """Rows of a short part of a way, an odd number."""
    step = np.abs(np.diff(displacement))
    if not step.any():
        return 1
    return 1 + 2 * int(0.5 * _SMOOTHED * np.ptp(displacement) / np.median(step[step > 0.0]))


def _free_rows(displacement: FloatArray, force: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rows (N,) are of a plunger that touches nothing."""
    free = np.zeros(len(force), dtype=bool)
    starts = openings(displacement.max() - displacement)
    if starts and np.ptp(displacement[: starts[0] + 1]) <= _STANDS * np.ptp(displacement):
        starts[0] = 0
    quiet, width = quieter(force, displacement), _width(displacement)
    for start, end in zip(starts, [*starts[1:], len(force) - 1], strict=True):
        deepest = start + int(np.argmax(displacement[start : end + 1]))
        peak = float(np.ptp(force[start : end + 1])) + _ROUNDING * float(np.abs(force).max())
        for way in (np.arange(start, deepest + 1), np.arange(end, deepest, -1)):
            free[way[: _free_part(displacement[way], force[way], quiet[way], width, peak)]] = True
    return free


def _free_part(
    displacement: FloatArray, force: FloatArray, quiet: FloatArray, width: int, peak: float
) -> int:
    """How many rows of a way are free, from its open end.

    The force of a plunger on a sample rises by about as large a share of its peak as the plunger
    has gone of its way. At the open end of a free way it rises by clearly less than that; how much
    of the way must be looked at to tell depends on the noise.
    """
    if len(force) <= _FEWEST:
        return 0
    gone = (displacement - displacement[0]) / np.ptp(displacement)
    moves = int(np.flatnonzero(gone <= _STANDS)[-1])  # a pause belongs to the way
    for share in _WINDOWS:
        end = max(int(np.argmax(gone > share)), moves + _FEWEST)
        rows = np.arange(end - moves) - 0.5 * (end - moves - 1)
        window = force[moves:end][: len(rows)]
        if len(window) < len(rows):
            return 0
        most, error = 0.5 * share * peak, scatter(force) * math.sqrt(12.0 / len(rows))
        if _LIKELY * error > most and share < _WINDOWS[-1]:
            continue
        level = float(np.median(window))
        changes = [abs(float(rows @ window / (rows @ rows))) * len(rows)]
        if moves >= _FEWEST:
            changes.append(abs(level - float(np.median(force[:moves]))))
        if max(changes) > max(most, _LIKELY * error):
            return 0
        away = np.abs(quiet[end:] - level) > max(_LEAVES * peak, _SURE * _of_median(force, width))
        last = end + int(np.argmax(away)) if away.any() else len(force)
        last -= int(_TRIMMED * (last - moves))
        return last if gone[min(last, len(gone) - 1)] >= _FREE * share else 0
    return 0


def scatter(force: FloatArray) -> float:
    """Standard deviation (N) of independent readings, however the force (N,) itself changes."""
    # Second differences of a curve hold little but noise, of six times its variance.
    return _deviation(np.diff(force, 2)) / math.sqrt(6.0) if len(force) > 2 else 0.0


def _of_median(force: FloatArray, rows: int) -> float:
    """Standard deviation (N) of the median of some independent readings."""
    return scatter(force) * (1.0 if rows == 1 else _OF_MEDIANS / math.sqrt(rows))


def _deviation(values: FloatArray) -> float:
    """Standard deviation of a normal distribution of which 95 % spread as widely."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(high - low) / (2.0 * 1.959964)
