# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion as rows over time."""

from __future__ import annotations

import dataclasses

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
