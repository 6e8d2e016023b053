# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation by XYZ Euler angles and its derivatives (S0 Eq. 3), and by ZYX angles (S2 Eq. 4).

By Euler parameters theta = (theta0, theta1, theta2, theta3) too, in polynomials of them (S1 Eq. 4).
"""

from __future__ import annotations

import itertools

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray


def skew(v: FloatArray) -> FloatArray:
    """Cross-product matrix (3, 3): ``skew(v) @ w`` is v × w."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


# For each axis: projection onto it, cross product with it, projection onto the plane normal to it.
_KEPT = np.array([np.diag(e) for e in np.eye(3)])
_CROSS = np.array([skew(e) for e in np.eye(3)])
_MOVED = np.eye(3) - _KEPT


def about_axis(axis: int, angle: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotation about a coordinate axis, and its first and second derivatives by the angle."""
    c, s = np.cos(angle), np.sin(angle)
    turned = c * _MOVED[axis] + s * _CROSS[axis]
    return _KEPT[axis] + turned, c * _CROSS[axis] - s * _MOVED[axis], -turned


def rotation(angles: FloatArray) -> FloatArray:
    """R = Rx(alpha) Ry(beta) Rz(gamma), from {M} to {S} components (S0 Eq. 3)."""
    x, y, z = (about_axis(axis, angle)[0] for axis, angle in enumerate(angles))
    return np.asarray(x @ y @ z)


def rotation_zyx(angles: FloatArray) -> FloatArray:
    """R = Rz(psi) Ry(theta) Rx(phi), from {P} to {B} components (S2 Eq. 4)."""
    z, y, x = (about_axis(axis, angle)[0] for axis, angle in zip((2, 1, 0), angles, strict=True))
    return np.asarray(z @ y @ x)


def rotation_derivatives(angles: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """R (3, 3), R_k (3, 3, 3) and R_kl (3, 3, 3, 3): derivatives by angles, indices k, l first."""
    x, y, z = (about_axis(axis, angle) for axis, angle in enumerate(angles))
    first, second = np.empty((3, 3, 3)), np.empty((3, 3, 3, 3))
    unit = np.eye(3, dtype=int)
    for k in range(3):
        a, b, c = unit[k]
        first[k] = x[a] @ y[b] @ z[c]
    for k, m in itertools.product(range(3), range(3)):
        a, b, c = unit[k] + unit[m]
        second[k, m] = x[a] @ y[b] @ z[c]
    return x[0] @ y[0] @ z[0], first, second


def axial(matrix: FloatArray) -> FloatArray:
    """Vector (..., 3) of the skew part of matrices (..., 3, 3); inverse of :func:`skew`."""
    return 0.5 * np.stack(
        [
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ],
        axis=-1,
    )


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
