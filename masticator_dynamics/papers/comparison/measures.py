# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measures of courses over time that stay numbers where nothing moves."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray


def correlation(course: FloatArray, other: FloatArray) -> float:
    """Correlation of two courses (N,); 0 where one does not change."""
    a, b = course - course.mean(), other - other.mean()
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / scale if scale > 0.0 else 0.0


def rms_ratio(above: FloatArray, below: FloatArray) -> float | None:
    """Root mean square of one over that of the other; None where the other is 0."""
    size = float(np.sqrt(np.mean(below**2)))
    return float(np.sqrt(np.mean(above**2))) / size if size > 0.0 else None
