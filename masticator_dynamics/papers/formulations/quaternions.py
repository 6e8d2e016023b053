# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation by Euler parameters theta = (theta0, theta1, theta2, theta3), in polynomials of them."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.papers.formulations.rotations import skew


def rotation_by_parameters(theta: FloatArray) -> FloatArray:
    """R(theta) (3, 3) for parameters of norm 1 (S1 Eq. 4; Eq. 24 lacks the square)."""
    scalar, vector = theta[0], theta[1:]
    turned = np.outer(vector, vector) + scalar * skew(vector)
    return (2.0 * scalar**2 - 1.0) * np.eye(3) + 2.0 * turned


def angular_map(theta: FloatArray) -> FloatArray:
    """E (3, 4): angular velocity in {S} is 2 E(theta) theta_dot (S1 Eq. 13)."""
    return np.hstack([-theta[1:, None], theta[0] * np.eye(3) + skew(theta[1:])])


def quadratic_form(a: FloatArray, m: FloatArray) -> tuple[FloatArray, float]:
    """Symmetric Q (4, 4) and c with a · R(theta) m = theta^T Q theta - c."""
    Q = np.empty((4, 4))
    Q[0, 0] = 2.0 * a @ m
    Q[0, 1:] = Q[1:, 0] = np.cross(m, a)
    Q[1:, 1:] = np.outer(a, m) + np.outer(m, a)
    return Q, float(a @ m)
