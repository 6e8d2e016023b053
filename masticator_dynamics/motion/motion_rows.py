# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion as rows over time, and rows at other times."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class MotionRows:
    """Independent coordinates with two derivatives, N rows; others add what goes with them."""

    time: FloatArray  # (N,), s, increasing
    y: FloatArray  # (N, n_y), rad or m
    y_dot: FloatArray  # (N, n_y), rad/s or m/s
    y_ddot: FloatArray  # (N, n_y), rad/s^2 or m/s^2

    @property
    def rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coordinates and their derivatives, as mechanisms take them."""
        return self.y, self.y_dot, self.y_ddot

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.time)


def rows_at(
    instants: FloatArray,
    time: FloatArray,
    rows: FloatArray,
    before: float | None = None,
    after: float | None = None,
) -> FloatArray:
    """Rows (N, k) at some instants (N,), linear between those (M, k) at times (M,).

    Outside they are the first and the last, or the value ``before`` and ``after``.
    """
    values = np.empty((len(instants), rows.shape[1]))
    for k, column in enumerate(rows.T):
        values[:, k] = np.interp(instants, time, column, before, after)
    return values
