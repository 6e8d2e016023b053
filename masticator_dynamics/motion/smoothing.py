# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smoothing of recorded positions: the calmest curve that stays within a tolerance of the samples.

A recording that was rounded to a step must not be differentiated as it is, and a single smoothing
parameter for all of it either leaves the rounding in or smooths the tooth contact away (speed drops
from 0.4 m/s to nothing within two samples). A bound on the deviation of every sample suits both: it
smooths widely where the motion is slow, and little where it is sudden.
"""

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

_PADDING = 3  # samples that fix velocity and acceleration at an end at rest
_SETTLING = 100  # iterations in which weights may fall again
_ITERATIONS = 400


def smooth_within(
    times: FloatArray,
    values: FloatArray,
    tolerance: npt.ArrayLike,
    *,
    rest_start: bool = False,
    rest_end: bool = False,
) -> FloatArray:
    """Curve of nearly least squared jerk that moves no sample by more than `tolerance`.

    Least squares with a penalty on third divided differences (Whittaker 1923). The weights of the
    samples are multiplied by how far each lies outside the tolerance until none does; the fixed
    point satisfies the optimality conditions of the constrained minimum.

    Parameters
    ----------
    times : (N,) array
        s, strictly increasing.
    values : (N, k) array
        Recorded positions, m or rad; columns are smoothed one by one.
    tolerance : float or (N,) array
        Largest deviation of all samples or of each, in the unit of the values; where it is 0
        throughout, or for one sample, the values are returned as they are.
    rest_start, rest_end : bool
        Whether the smoothed recording starts (ends) at rest.

    Returns
    -------
    (N, k) array

    Raises
    ------
    InputError
        When the tolerance is too small to be met in floating point.
    """
    before, after = _PADDING * rest_start, _PADDING * rest_end
    bounds = np.broadcast_to(np.asarray(tolerance, dtype=float), times.shape)
    if not bounds.any() or len(times) < 2 or len(times) + before + after < 4:
        return values.copy()
    t = np.concatenate(
        [
            times[0] - (times[1] - times[0]) * np.arange(before, 0, -1.0),
            times,
            times[-1] + (times[-1] - times[-2]) * np.arange(1.0, after + 1.0),
        ]
    )
    padded = np.pad(values, ((before, after), (0, 0)), mode='edge')
    inner = slice(before, before + len(times))
    penalty = _jerk_penalty(t / np.median(np.diff(t)))
    columns = [_smooth_column(penalty, x, inner, bounds) for x in padded.T]
    return np.stack(columns, axis=1)


def _smooth_column(
    penalty: FloatArray, values: FloatArray, inner: slice, tolerance: FloatArray
) -> FloatArray:
    from scipy.linalg import solveh_banded  # only here: it takes long to import

    weights = np.full(len(values), 1e-4)
    pinned = np.ones(len(values), dtype=bool)
    pinned[inner] = False
    weights[pinned] = 1e6
    for iteration in range(_ITERATIONS):
        band = penalty.copy()
        band[0] += weights
        smoothed = solveh_banded(band, weights * values, lower=True)
        deviation = np.abs(smoothed - values)[inner]
        if iteration >= 10 and np.all(deviation <= tolerance):
            result: FloatArray = smoothed[inner]
            return result
        # A little inside the tolerance, so that the bound is reached in finitely many steps;
        # weights that can only grow end the rare case where they keep oscillating.
        excess = np.maximum(deviation / (0.95 * tolerance), 0.3 if iteration < _SETTLING else 1.0)
        weights[inner] = np.clip(weights[inner] * excess**1.5, 1e-9, 1e9)
    raise InputError(
        f'the recording cannot be smoothed to within {tolerance.min():.3g}: a sample stays '
        f'{deviation.max():.3g} away; use a larger tolerance, or 0 for none'
    )


def _jerk_penalty(t: FloatArray) -> FloatArray:
    """Lower band (4, N) of the integral of the squared third derivative, by differences."""
    n = len(t) - 3
    differences = np.empty((n, 4))
    for i in range(4):
        others = [t[i : n + i] - t[j : n + j] for j in range(4) if j != i]
        differences[:, i] = 6.0 / np.prod(others, axis=0)
    differences *= np.sqrt((t[3:] - t[:-3]) / 3.0)[:, None]
    band = np.zeros((4, len(t)))
    for i in range(4):
        for j in range(i + 1):
            band[i - j, j : j + n] += differences[:, i] * differences[:, j]
    return band
