# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives at knots that a list of points leaves open, chosen for the least jerk."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import solveh_banded

from masticator_dynamics.engine.arrays import FloatArray

BoolArray = npt.NDArray[np.bool_]

# The quintic over one segment, with s = (t - t_k) / h from 0 to 1, has the power coefficients
# QUINTIC @ (p0, h v0, h^2 a0, p1, h v1, h^2 a1).
QUINTIC = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)
# Integrals over 0 <= s <= 1 of products of the third derivatives of s^3, s^4, s^5.
_JERK_GRAM = np.array([[36.0, 72.0, 120.0], [72.0, 192.0, 360.0], [120.0, 360.0, 720.0]])
_JERK_ENERGY = QUINTIC[3:].T @ _JERK_GRAM @ QUINTIC[3:]


def least_jerk_derivatives(
    times: FloatArray, positions: FloatArray, derivatives: FloatArray, known: BoolArray
) -> FloatArray:
    """Fill in the derivatives that are not known.

    Of all C2 motions through the points that honour what is known, the one with the least
    integral of squared jerk is piecewise quintic; its derivatives at the knots solve a
    linear system of half-bandwidth 3. Jerk is continuous wherever the acceleration was free, and
    the motion is C4 wherever the velocity was free too.

    Parameters
    ----------
    times : (N,) array
        s, strictly increasing.
    positions : (N, n) array
    derivatives : (N, 2, n) array
        Velocity and acceleration; what is not known is ignored.
    known : (N, 2) array of bool
        Which of the two to keep, row by row.

    Returns
    -------
    (N, 2, n) array
        Velocities and accelerations at the knots.
    """
    derivatives = np.where(known[:, :, None], derivatives, 0.0)
    if known.all():
        return derivatives
    band, load = _normal_equations(np.diff(times), positions, derivatives)
    _keep_known(band, load, known.ravel())
    # Rows differ by powers of the segment length: bring the diagonal to one first.
    scale = 1.0 / np.sqrt(band[0])
    for offset in range(4):
        band[offset, : len(scale) - offset] *= scale[: len(scale) - offset] * scale[offset:]
    free = scale[:, None] * solveh_banded(band, scale[:, None] * load, lower=True)
    return np.where(known[:, :, None], derivatives, free.reshape(derivatives.shape))


def _normal_equations(
    steps: FloatArray, positions: FloatArray, derivatives: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower band (4, 2N) and right side (2N, n) of the stationarity of the jerk integral."""
    ones = np.ones_like(steps)
    scale = np.stack([ones, steps, steps**2, ones, steps, steps**2], axis=1)
    energy = _JERK_ENERGY * scale[:, :, None] * scale[:, None, :] / steps[:, None, None] ** 5
    # Jerk does not feel an offset; without it nothing is lost to cancellation.
    moved = np.diff(positions, axis=0)[:, None]
    ends = np.concatenate([0.0 * moved, derivatives[:-1], moved, derivatives[1:]], axis=1)
    gradient = energy @ ends
    unknowns = [1, 2, 4, 5]
    hessian = energy[:, unknowns][:, :, unknowns]
    size = 2 * len(positions)
    band = np.zeros((4, size))
    load = np.zeros((size, positions.shape[1]))
    for i in range(4):
        load[i : i + 2 * len(steps) : 2] -= gradient[:, unknowns[i]]
        for j in range(i + 1):
            band[i - j, j : j + 2 * len(steps) : 2] += hessian[:, i, j]
    return band, load


def _keep_known(band: FloatArray, load: FloatArray, known: BoolArray) -> None:
    """Take known unknowns out of the system: their equation becomes increment = 0."""
    for offset in range(1, 4):
        either = known[offset:] | known[: len(known) - offset]
        band[offset, : len(known) - offset][either] = 0.0
    band[0, known] = 1.0
    load[known] = 0.0
