# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzy estimates with S4's weights exactly as printed: five points (Eq. 23), circles (Eq. 24)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.estimation.maps import CircleMap

# In units of the radius (S4 Fig. 7a).
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def five_point_weights(scaled: FloatArray) -> FloatArray:
    """Weights (N, 5) at points (N, 2) in units of the radius: 1 - d_k / R, but not below 0."""
    distance = np.linalg.norm(scaled[:, None] - POINTS, axis=2)
    return np.asarray(np.maximum(1.0 - distance, 0.0))


def five_point_estimate(scaled: FloatArray, levels: FloatArray, *, normalised: bool) -> FloatArray:
    """Inertia (N, E) at points (N, 2) from the inertia at the five points.

    Parameters
    ----------
    scaled : (N, 2) array
        Points relative to the circle's centre, in units of its radius.
    levels : (5, E) array
        Inertias at the five points.
    normalised : bool
        Whether weights are divided by their sum; S4 prints no such division.
    """
    weights = five_point_weights(scaled)
    if normalised:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(weights @ levels)


def circle_estimate(circles: CircleMap, points: FloatArray) -> FloatArray:
    """Inertia (N, E) at points (N, 2) with the weights of Eq. 24 as printed, not normalised."""
    columns = []
    for centre, (first, second), levels in zip(
        circles.centers, circles.radii, circles.levels, strict=True
    ):
        distance = np.linalg.norm(points - centre, axis=1)
        gap = second - first
        weights = 1.0 - np.abs([distance / first, (first - distance) / gap,
                                (second - distance) / gap])  # fmt: skip
        columns.append(levels @ np.maximum(weights, 0.0))
    return np.column_stack(columns)
