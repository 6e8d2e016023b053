# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which variable matters for which figure: Sobol indices over the whole box."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from masticator_dynamics.engine.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """Sobol indices (Saltelli 2010)."""

    figures: tuple[str, ...]
    variables: tuple[str, ...]
    # (figures, variables): part of a figure's variance that a variable causes alone, and with
    # others.
    first: FloatArray
    total: FloatArray
    missing: float  # share of the geometries that have no figures; they count as the mean


def sobol_indices(
    variables: tuple[str, ...],
    figures: tuple[str, ...],
    count: int,
    seed: int,
    judged: Callable[[FloatArray], FloatArray],
    usual: tuple[FloatArray, FloatArray],
) -> Sensitivity:
    """Indices from ``count`` times (number of variables + 2) geometries.

    Parameters
    ----------
    count : int
        A power of 2.
    judged : callable
        Gives figures (G, figures) for numbers (G, d) from 0 to 1; NaN where there is none.
    usual : pair of array, shape (figures,)
        What figures beyond count as: near singularities, few geometries have figures whose size
        would decide the variance of all.
    """
    missing: list[Any] = []

    def function(x: FloatArray) -> FloatArray:
        rows = x.reshape(len(x), -1).T
        table = np.clip(judged(rows), *usual)
        none = np.isnan(table)
        missing.append(none.any(axis=1))
        mean = np.nanmean(np.where(none.all(axis=0), 0.0, table), axis=0)
        return np.where(none, mean, table).T.reshape(-1, *x.shape[1:])

    indices = stats.sobol_indices(
        func=function, n=count, dists=[stats.uniform()] * len(variables), random_state=seed
    )
    lost = float(np.concatenate(missing).mean())
    first, total = (
        np.nan_to_num(np.reshape(index, (len(figures), -1)))
        for index in (indices.first_order, indices.total_order)
    )
    return Sensitivity(figures, variables, first, total, lost)
