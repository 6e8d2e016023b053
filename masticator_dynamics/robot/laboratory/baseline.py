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

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.laboratory.mouthful_figures import openings

_WINDOW = 0.03  # share of a way, from its open end, that shows whether the plunger is free there
_FREE = 0.045  # share of a way below which its free part tells nothing
_STANDS = 0.002  # share of a way within which the plunger stands still
_FEWEST = 8  # rows of a window
_LEAVES = 0.01  # share of the peak by which the force leaves a free part, or rises in a window
_SURE = 5.0  # standard deviations
_TRIMMED = 0.15  # share of a free part, next to the sample, where the force may begin to rise
_ROUNDING = 1e-9
_LONG = 1.0 / 3.0  # share of the recording over which free rows tell a drift


@dataclasses.dataclass(frozen=True)
class Baseline:
    """Force without a sample.

    Attributes
    ----------
    force : array, shape (N,)
        N, at every row: a line through the free parts, bent so that it meets the mean of each.
    drift : float
        N/s, slope of that line; 0 where the free rows are too close together to tell.
    bend : float
        N, largest distance of a free part from the line.
    free : array of bool, shape (N,)
        Rows of a free plunger; without any the force is taken as it is.
    """

    force: FloatArray
    drift: float
    bend: float
    free: npt.NDArray[np.bool_]


def baseline(time: FloatArray, displacement: FloatArray, force: FloatArray) -> Baseline:
    """The baseline of a recording.

    Parameters
    ----------
    time, displacement, force : array, shape (N,)
        s, increasing; m, towards the sample; N, positive in compression.
    """
    free = _free_rows(displacement, force)
    if not free.any():
        return Baseline(np.zeros(len(force)), 0.0, 0.0, free)
    t, f = time[free], force[free]
    middle = float(t.mean())
    long = np.ptp(t) >= _LONG * np.ptp(time)
    drift = float(np.polyfit(t - middle, f, 1)[0]) if long else 0.0
    line = float(f.mean()) + drift * (time - middle)
    edges = np.flatnonzero(np.diff(free)) + 1
    parts = [rows for rows in np.split(np.arange(len(time)), edges) if free[rows[0]]]
    away = [float(np.mean(force[rows] - line[rows])) for rows in parts]
    level = line + np.interp(time, [float(time[rows].mean()) for rows in parts], away)
    return Baseline(level, drift, max(map(abs, away)), free)


def noise(force: FloatArray, zero: Baseline) -> float:
    """Standard deviation (N) of a force (N,) about its baseline, by the middle of its spread.

    Spikes do not count. Without free rows it is that of second differences, which hold little but
    noise, and of independent readings six times its variance.
    """
    if zero.free.any():
        return _deviation((force - zero.force)[zero.free])
    return _deviation(np.diff(force, 2)) / math.sqrt(6.0) if len(force) > 2 else 0.0


def _free_rows(displacement: FloatArray, force: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rows (N,) are of a plunger that touches nothing."""
    free = np.zeros(len(force), dtype=bool)
    starts = openings(displacement.max() - displacement)
    for start, end in zip(starts, [*starts[1:], len(force) - 1], strict=True):
        deepest = start + int(np.argmax(displacement[start : end + 1]))
        peak = float(np.ptp(force[start : end + 1])) + _ROUNDING * float(np.abs(force).max())
        for way in (np.arange(start, deepest + 1), np.arange(end, deepest, -1)):
            free[way[: _free_part(displacement[way], force[way], peak)]] = True
    return free


def _free_part(displacement: FloatArray, force: FloatArray, peak: float) -> int:
    """How many rows of a way are free, from its open end.

    The force of a plunger on a sample rises by about as large a share of its peak as the plunger
    has gone of its way; a force that hardly changes at the open end is that of a free plunger.
    """
    if len(force) <= _FEWEST:
        return 0
    gone = (displacement - displacement[0]) / np.ptp(displacement)
    moves = int(np.flatnonzero(gone <= _STANDS)[-1])  # a pause belongs to the way
    end = max(int(np.argmax(gone > _WINDOW)), moves + _FEWEST)
    window = force[moves:end]
    slope, level = np.polyfit(np.arange(len(window)) - 0.5 * (len(window) - 1), window, 1)
    rest = window - level - slope * (np.arange(len(window)) - 0.5 * (len(window) - 1))
    scatter = float(rest.std())
    rise, error = abs(slope) * len(window), scatter * np.sqrt(12.0 / len(window))
    if rise > max(_LEAVES * peak, _SURE * error):
        return 0
    away = np.abs(force[end:] - level) > max(_LEAVES * peak, _SURE * scatter)
    last = end + int(np.argmax(away)) if away.any() else len(force)
    last -= int(_TRIMMED * (last - moves))
    return last if gone[min(last, len(gone) - 1)] >= _FREE else 0


def _deviation(values: FloatArray) -> float:
    """Standard deviation of a normal distribution of which 95 % spread as widely."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(high - low) / (2.0 * 1.959964)
