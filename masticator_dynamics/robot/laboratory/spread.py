# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How conditions vary: whether equally, as pooling takes for granted, and a test if they do not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from masticator_dynamics.engine.arrays import FloatArray, IntArray

# Bartlett's p below which variances are not pooled. Higher than usual, since here it is the error
# of the second kind that does harm: unequal variances that pass make the tests that follow too
# liberal, equal ones that do not pass cost a little power. Levene's test, which does not take the
# values for normal, has no power with three repetitions.
SUSPECT = 0.2
_SAME = 1e-12  # of the largest value: rounding


@dataclasses.dataclass(frozen=True)
class Spread:
    """How a figure varies within conditions."""

    conditions: int  # with two or more values
    ratio: float  # largest over smallest standard deviation of a condition
    # P that all conditions vary equally (Levene 1960, about means; Bartlett 1937); NaN where it
    # cannot be tested.
    levene: float
    bartlett: float
    # The same of the logarithms; NaN unless all values are positive.
    log_ratio: float
    log_levene: float
    log_bartlett: float

    @property
    def logarithms(self) -> bool:
        """Whether logarithms are analysed: they vary equally, and the values do not."""
        return self.bartlett < SUSPECT <= self.log_bartlett

    @property
    def separate(self) -> bool:
        """Whether every condition keeps its own variance: neither varies equally."""
        return self.bartlett < SUSPECT and not self.logarithms

    @property
    def method(self) -> str:
        """What is analysed, and how: 'pooled', 'logarithms' (pooled) or 'separate variances'."""
        if self.logarithms:
            return 'logarithms'
        return 'separate variances' if self.separate else 'pooled'


def conditions_of(levels: Sequence[npt.ArrayLike]) -> IntArray:
    """Number of the condition of each of N values, by their levels (N) of every factor."""
    return np.unique(np.array(levels), axis=1, return_inverse=True)[1].ravel()


def compare_spreads(values: FloatArray, cells: IntArray) -> Spread:
    """Compare the variances of conditions.

    Parameters
    ----------
    values : array, shape (N,)
    cells : array, shape (N,)
        Number of the condition of each value.
    """
    natural = _compared(values, cells)
    logs = _compared(np.log(values), cells) if values.min() > 0.0 else 3 * (math.nan,)
    counts = np.bincount(cells)
    return Spread(int(np.sum(counts > 1)), *natural, *logs)


def _compared(values: FloatArray, cells: IntArray) -> tuple[float, float, float]:
    """Ratio of standard deviations; p by Levene and by Bartlett."""
    groups = [values[cells == k] for k in np.unique(cells)]
    groups = [group for group in groups if len(group) > 1]
    if len(groups) < 2:
        return math.nan, math.nan, math.nan
    deviations = np.array([group.std(ddof=1) for group in groups])
    rounding = _SAME * float(np.abs(values).max())
    if deviations.max() <= rounding:
        return math.nan, math.nan, math.nan
    if deviations.min() <= rounding:  # some conditions do not vary at all
        return math.inf, 0.0, 0.0
    ratio = float(deviations.max() / deviations.min())
    bartlett = float(stats.bartlett(*groups).pvalue)
    if max(map(len, groups)) < 3:  # both values of a pair are as far from their mean
        return ratio, math.nan, bartlett
    return ratio, float(stats.levene(*groups, center='mean').pvalue), bartlett


def variances_within(values: FloatArray, cells: IntArray) -> tuple[FloatArray, FloatArray]:
    """Variance of each condition, and its degrees of freedom.

    A condition with a single value gets the mean of the others, and their degrees of freedom.
    """
    counts = np.bincount(cells)
    means = np.bincount(cells, values) / counts
    squares = np.bincount(cells, (values - means[cells]) ** 2)
    freedoms = counts - 1.0
    pooled = squares.sum() / freedoms.sum()
    single = freedoms == 0.0
    variances = np.where(single, pooled, squares / np.where(single, 1.0, freedoms))
    return variances, np.where(single, freedoms.sum(), freedoms)


def standardised_residuals(values: FloatArray, cells: IntArray, spread: Spread) -> FloatArray:
    """Residuals from the means of conditions with more than one value, in standard deviations.

    Of the logarithms if these are analysed, by the deviation of all or of each condition as pooled.
    """
    scaled = np.log(values) if spread.logarithms else values
    counts = np.bincount(cells)
    variances, freedoms = variances_within(scaled, cells)
    if not spread.separate:
        variances = np.full(len(counts), float(variances @ freedoms / freedoms.sum()))
    scale = np.sqrt(variances * (1.0 - 1.0 / counts))[cells]
    residuals = scaled - (np.bincount(cells, scaled) / counts)[cells]
    return residuals[scale > 0.0] / scale[scale > 0.0]


def box_test(
    hypothesis: FloatArray, values: FloatArray, cells: IntArray
) -> tuple[float, float, float]:
    """F and its two degrees of freedom for a sum of squares, when conditions vary differently.

    For the sum of squares ``y' M y`` of values with variances ``s_i^2`` in conditions i, the mean
    under the null hypothesis is ``sum(h_i s_i^2)`` with ``h_i`` the trace of the block of M: F is
    the ratio of the two. Both are distributed nearly as multiples of chi squared whose degrees of
    freedom follow from their variances (Box 1954; Brunner, Dette and Munk 1997). In a balanced
    table F is that of the analysis of variance; for two conditions the test is Welch's.

    Parameters
    ----------
    hypothesis : array, shape (N, N)
        M, a projection.
    values : array, shape (N,)
    cells : array, shape (N,)
        Number of the condition of each value.
    """
    variances, freedoms = variances_within(values, cells)
    shares = np.bincount(cells, np.diag(hypothesis), len(variances))
    expected = shares @ variances
    by_value = variances[cells]
    df = expected**2 / (by_value @ hypothesis**2 @ by_value)
    df_error = expected**2 / np.sum((shares * variances) ** 2 / freedoms)
    return float(values @ hypothesis @ values / expected), float(df), float(df_error)
