# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fills in derivatives at knots that a list of points leaves open, for the least jerk."""

import numpy as np
import numpy.typing as npt

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
    times: FloatArray, positions: FloatArray, derivatives: FloatArray, prescribed: BoolArray
) -> FloatArray:
    """Fill in the derivatives that are not prescribed.

    Of all C2 motions through the points with the prescribed derivatives, the one with the least
    integral of squared jerk is piecewise quintic; its derivatives at the knots solve a
    linear system of half-bandwidth 3. Jerk is continuous wherever the acceleration was free, and
    the motion is C4 wherever the velocity was free too.

    Parameters
    ----------
    times : (N,) array
        s, strictly increasing.
    positions : (N, n) array
    derivatives : (N, 2, n) array
        Velocity and acceleration; what is not prescribed is ignored.
    prescribed : (N, 2) array of bool
        Which of the two to keep, row by row.

    Returns
    -------
    (N, 2, n) array
        Velocities and accelerations at the knots.
    """
    derivatives = np.where(prescribed[:, :, None], derivatives, 0.0)
    if prescribed.all():
        return derivatives
    diagonal, upper, load = _normal_equations(np.diff(times), positions, derivatives)
    # Known derivatives are taken out of the system: their equation becomes increment = 0.
    free = (~prescribed).astype(float)
    diagonal *= free[:, :, None] * free[:, None, :]
    diagonal[:, [0, 1], [0, 1]] += prescribed
    # Rows differ by powers of the segment length: bring the diagonal to one first.
    scale = 1.0 / np.sqrt(diagonal[:, [0, 1], [0, 1]])
    diagonal *= scale[:, :, None] * scale[:, None, :]
    scale *= free
    upper *= scale[:-1, :, None] * scale[1:, None, :]
    solved = scale[:, :, None] * _solve_blocks(diagonal, upper, scale[:, :, None] * load)
    return np.where(prescribed[:, :, None], derivatives, solved)


def _normal_equations(
    steps: FloatArray, positions: FloatArray, derivatives: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Stationarity of the jerk integral: blocks (N, 2, 2), (N - 1, 2, 2), right side (N, 2, n)."""
    ones = np.ones_like(steps)
    scale = np.stack([ones, steps, steps**2, ones, steps, steps**2], axis=1)
    energy = _JERK_ENERGY * scale[:, :, None] * scale[:, None, :] / steps[:, None, None] ** 5
    # Jerk does not depend on an offset; without it nothing is lost to cancellation.
    moved = np.diff(positions, axis=0)[:, None]
    ends = np.concatenate([0.0 * moved, derivatives[:-1], moved, derivatives[1:]], axis=1)
    gradient = energy @ ends
    diagonal, load = np.zeros((len(positions), 2, 2)), np.zeros_like(derivatives)
    diagonal[:-1] += energy[:, 1:3, 1:3]
    diagonal[1:] += energy[:, 4:6, 4:6]
    load[:-1] -= gradient[:, 1:3]
    load[1:] -= gradient[:, 4:6]
    return diagonal, energy[:, 1:3, 4:6], load


def _solve_blocks(diagonal: FloatArray, upper: FloatArray, load: FloatArray) -> FloatArray:
    """Solution (N, k, n) of a symmetric, positive definite, block tridiagonal system.

    By cyclic reduction: every other unknown is eliminated at once, again and again.

    Parameters
    ----------
    diagonal : (N, k, k) array
    upper : (N - 1, k, k) array
        Right of the diagonal; below it are the transposed blocks.
    load : (N, k, n) array
    """
    count = len(diagonal)
    if count == 1:
        return np.asarray(np.linalg.solve(diagonal, load))
    if count % 2 == 0:  # pad with one on which nothing depends
        diagonal = np.concatenate([diagonal, np.eye(diagonal.shape[1])[None]])
        upper, load = (np.concatenate([x, np.zeros_like(x[:1])]) for x in (upper, load))
    left, right = upper[::2], upper[1::2]  # of those eliminated
    each = np.concatenate([left.transpose(0, 2, 1), right, load[1::2]], axis=2)
    size = diagonal.shape[1]
    by_left, by_right, alone = np.split(np.linalg.solve(diagonal[1::2], each), [size, 2 * size], 2)
    less, rest, below = diagonal[::2].copy(), load[::2].copy(), right.transpose(0, 2, 1)
    less[:-1] -= left @ by_left
    less[1:] -= below @ by_right
    rest[:-1] -= left @ alone
    rest[1:] -= below @ alone
    solution, half = np.zeros_like(load), (count + 1) // 2
    even_rows = solution[::2]
    even_rows[:half] = _solve_blocks(less[:half], -(left @ by_right)[: half - 1], rest[:half])
    solution[1::2] = alone - by_left @ even_rows[:-1] - by_right @ even_rows[1:]
    return solution[:count]
