# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measures of curves over time that remain defined when nothing moves."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, rms


def correlation(course: FloatArray, other: FloatArray) -> float:
    """Correlation of two curves (N,); 0 if one of them is constant."""
    a, b = course - course.mean(), other - other.mean()
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / scale if scale > 0.0 else 0.0


def column_rms(rows: FloatArray) -> FloatArray:
    """Root mean square of each column."""
    return np.asarray(np.sqrt(np.mean(rows**2, axis=0)))


def rms_ratio(above: FloatArray, below: FloatArray) -> float | None:
    """Root mean square of the first over that of the second; None if the second is 0."""
    size = rms(below)
    return rms(above) / size if size > 0.0 else None
