# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Vectors and scalars with their first two time derivatives, propagated exactly.

A position formula written with jets gives velocity and acceleration to rounding, without a
derivative derived by hand; used by the oracles of the planar and the hybrid robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Jet:
    """Value, first and second time derivative of a scalar () or a vector (3,)."""

    value: Array
    dot: Array
    ddot: Array

    @staticmethod
    def of(value: ArrayLike) -> Jet:
        """Return a constant."""
        value = np.asarray(value, dtype=float)
        return Jet(value, np.zeros_like(value), np.zeros_like(value))

    def __add__(self, other: Jet) -> Jet:
        """Return the sum."""
        return Jet(self.value + other.value, self.dot + other.dot, self.ddot + other.ddot)

    def __sub__(self, other: Jet) -> Jet:
        """Return the difference."""
        return Jet(self.value - other.value, self.dot - other.dot, self.ddot - other.ddot)

    def __mul__(self, other: Jet | float) -> Jet:
        """Return the product with a scalar jet or a number."""
        return _product(self, other if isinstance(other, Jet) else Jet.of(other), np.multiply)

    def reciprocal(self) -> Jet:
        """Return one over a scalar."""
        inverse = 1.0 / self.value
        return Jet(
            inverse,
            -self.dot * inverse**2,
            -self.ddot * inverse**2 + 2.0 * self.dot**2 * inverse**3,
        )

    def sqrt(self) -> Jet:
        """Return the square root of a positive scalar."""
        root = np.sqrt(self.value)
        dot = self.dot / (2.0 * root)
        return Jet(root, dot, (self.ddot - 2.0 * dot**2) / (2.0 * root))


def _product(a: Jet, b: Jet, multiply: Any) -> Jet:
    """Return a bilinear product by Leibniz's rule."""
    return Jet(
        multiply(a.value, b.value),
        multiply(a.dot, b.value) + multiply(a.value, b.dot),
        multiply(a.ddot, b.value) + 2.0 * multiply(a.dot, b.dot) + multiply(a.value, b.ddot),
    )


def dot(a: Jet, b: Jet) -> Jet:
    """Return the scalar product of two vectors."""
    return _product(a, b, np.dot)


def cross(a: Jet, b: Jet) -> Jet:
    """Return the vector product of two vectors."""
    return _product(a, b, np.cross)


def norm(a: Jet) -> Jet:
    """Return the length of a vector."""
    return dot(a, a).sqrt()


def unit(a: Jet) -> Jet:
    """Return a vector divided by its length."""
    return a * norm(a).reciprocal()


def angular(axes: tuple[Jet, Jet, Jet]) -> tuple[Array, Array]:
    """Return angular velocity and acceleration (3,) of an orthonormal triad, base axes."""
    # axis_dot = omega × axis for each; summed over a triad, axis × (omega × axis) is 2 omega
    omega = 0.5 * sum((np.cross(a.value, a.dot) for a in axes), np.zeros(3))
    omega_dot = 0.5 * sum((np.cross(a.value, a.ddot) for a in axes), np.zeros(3))
    return omega, omega_dot
