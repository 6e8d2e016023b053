# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mode shapes of a uniform Euler-Bernoulli beam for the supported boundary conditions.

Shapes are dimensionless functions of xi = s / L from 0 to 1, normalised so that the mean of
their squares is 1; modal coordinates are then lengths (m), every modal mass is that of the beam,
and modal stiffness is E I beta^4 / L^3. Source: Rao, Vibration of Continuous Systems, Table 8.1;
S3 Eq. 3 has the fixed-free shapes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.optimize

from masticator_dynamics.engine.arrays import FloatArray

QUADRATURE_POINTS = 60  # integrals of shapes up to MOST_MODES are exact to rounding
MOST_MODES = 12


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Values of n shapes at points: ``value``, ``slope``, ``curvature``, (n, points).

    Slope and curvature are derivatives with respect to xi.
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray


def frequency_roots(boundary: str, modes: int) -> FloatArray:
    """Roots beta (n,) of the frequency equation; omega = beta^2 sqrt(E I / (rho A)) / L^2."""
    number: FloatArray = np.arange(1.0, modes + 1.0)
    if boundary == 'pinned-pinned':
        return np.asarray(number * np.pi)
    if boundary == 'fixed-free':
        return _roots(lambda b: np.cos(b) + 1.0 / np.cosh(b), (number - 0.5) * np.pi)
    if boundary == 'clamped-pinned':
        return _roots(lambda b: np.sin(b) - np.cos(b) * np.tanh(b), (number + 0.25) * np.pi)
    raise ValueError(boundary)


def shapes(boundary: str, modes: int, xi: FloatArray) -> Shapes:
    """Shapes of the first modes at positions ``xi`` (points,) between 0 and 1.

    Parameters
    ----------
    boundary : str
        How the ends are held, e.g. 'pinned-pinned'.
    modes : int
        Number of modes, the lowest frequency first.
    xi : (points,) array
        Positions in lengths of the beam, 0 to 1.
    """
    beta = frequency_roots(boundary, modes)[:, None]
    sine, cosine = np.sin(beta * xi), np.cos(beta * xi)
    if boundary == 'pinned-pinned':
        root = np.sqrt(2.0)
        return Shapes(root * sine, root * beta * cosine, -root * beta**2 * sine)
    growing, sigma = _coefficients(boundary, beta)
    # cosh - sigma sinh, without the difference of two large numbers
    up, down = growing * np.exp(beta * xi), (1.0 - growing) * np.exp(-beta * xi)
    return Shapes(
        up + down - cosine + sigma * sine,
        beta * (up - down + sine + sigma * cosine),
        beta**2 * (up + down + cosine - sigma * sine),
    )


def quadrature() -> tuple[FloatArray, FloatArray]:
    """Points and weights for integrals over xi from 0 to 1 (Gauss-Legendre)."""
    points, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
    return 0.5 * (points + 1.0), 0.5 * weights


def _coefficients(boundary: str, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half of 1 - sigma, and sigma, of ``cosh - cos - sigma (sinh - sin)``.

    The frequency equation is substituted where terms would cancel.
    """
    decay = np.exp(-beta)
    if boundary == 'fixed-free':
        sign = np.sign(np.sin(beta))
        sine, cosine = sign * np.tanh(beta), -1.0 / np.cosh(beta)
        rest = (sine - cosine - decay) / (np.sinh(beta) + sine)
    else:
        cosine = np.cos(beta)
        difference = cosine * 2.0 * decay**2 / (1.0 + decay**2)  # cos - sin
        rest = (difference - decay) / (np.sinh(beta) - np.sin(beta))
    return 0.5 * rest, 1.0 - rest


def _roots(function: Callable[[float], float], guesses: FloatArray) -> FloatArray:
    return np.array(
        [scipy.optimize.brentq(function, g - 0.5, g + 0.5, xtol=1e-14, rtol=1e-15) for g in guesses]
    )
