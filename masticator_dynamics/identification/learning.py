# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What data say about unknowns: robust least squares, and how sure it is.

Directions of the unknowns are looked at one by one, in an order in which the data tell them apart.
Those that the data determine better than what was believed before are learnt, by least squares
without any pull to the old values; the others keep these. Errors of neighbouring rows are alike
(friction that is not quite as described, poses that are a little off), and a motion that repeats
itself repeats them, so standard errors come from leaving out parts of the motion with all their
repetitions, not from the number of rows.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.weighted_equations import Equations

BLOCK = 1.0  # s, of motion that does not repeat itself
_PHASE = 0.1  # s, of a motion that does: longer than errors are alike
_ALIKE = 0.1  # of the size of the motion: by what it may differ from itself a period later
_UNLIKE = 0.5  # of it: what it differs by in between
_LEARNT = 0.35  # standard error, relative to what was believed, up to which a direction is learnt
_PART = 0.02  # of a cause's variance that learnt directions must explain, or it keeps its value
_OUTLIER = 2.5  # robust standard deviations from which on a row counts less (Huber 1964)
_ROUNDS = 6
_ROUNDING = 1e-9  # of what the data see best
_FEWEST_BLOCKS = 8


@dataclasses.dataclass(frozen=True)
class Learnt:
    """Answer of the data.

    Attributes
    ----------
    directions : array, shape (n_x, n_l)
        Orthonormal, those that are learnt.
    amounts : array, shape (n_l,)
        Of each.
    covariance : array, shape (n_l, n_l)
        Of the amounts.
    freedom : int
        Degrees of freedom for intervals (Student's t).
    information : array, shape (n_l, n_l)
        Weighted normal matrix in these directions.
    """

    directions: FloatArray
    amounts: FloatArray
    covariance: FloatArray
    freedom: int
    information: FloatArray

    @property
    def x(self) -> FloatArray:
        """Unknowns (n_x,)."""
        return self.directions @ self.amounts

    def unsure(self, spread: FloatArray) -> FloatArray:
        """Standard deviations (n_p,) of parameters, by the data where they say more."""
        known = spread @ self.directions
        kept = (spread**2).sum(axis=1) - (known**2).sum(axis=1)
        told = np.einsum('ij,jk,ik->i', known, self.covariance, known)
        return np.asarray(np.sqrt(np.maximum(kept, 0.0) + told))


def learn(found: Equations) -> Learnt:
    """Least squares with robust weights.

    Raises
    ------
    InputError
        When there are too few blocks of time.
    """
    length = float(found.time[-1] - found.time[0])
    if length < _FEWEST_BLOCKS * BLOCK:
        raise InputError(
            f'{length:.3g} s of motion are left after filtering; '
            f'{_FEWEST_BLOCKS * BLOCK:g} s are needed'
        )
    blocks = _blocks(found.time, found.pose)
    n_x = found.matrix.shape[-1]
    matrix = found.trust @ found.matrix
    given = (found.trust @ found.given[..., None])[..., 0]
    x = np.zeros(n_x)
    for _ in range(_ROUNDS):
        left = given - matrix @ x
        size = np.median(np.abs(left), axis=0) / 0.6745 + 1e-300
        weights = np.minimum(1.0, _OUTLIER * size / np.maximum(np.abs(left), 1e-300)) / size**2
        weighted = (matrix * weights[..., None]).reshape(-1, n_x)
        normal, right = weighted.T @ matrix.reshape(-1, n_x), weighted.T @ given.reshape(-1)
        # Neighbouring rows repeat one another: here they must not outvote what was believed.
        share = len(found.time) / (blocks.max() + 1.0)
        x = np.linalg.solve(normal / share + np.eye(n_x), right / share)
    scores = (matrix * (weights * (given - matrix @ x))[..., None]).sum(axis=1)
    scores = _summed(scores, blocks)
    directions = _told_apart(normal, scores)
    return _in_directions(matrix, weights, blocks, scores, directions, normal, right)


def _blocks(time: FloatArray, pose: FloatArray) -> np.ndarray:
    """Number of each row's block: of time, or of phase where the motion repeats itself."""
    since, rows = time - time[0], _period(pose)
    if rows is None:
        count = max(1, int(since[-1] / BLOCK))
        return np.minimum((since / since[-1] * count).astype(int), count - 1)
    period = rows * float(since[1])
    count = max(_FEWEST_BLOCKS, round(period / _PHASE))
    return np.minimum((since / period % 1.0 * count).astype(int), count - 1)


def _period(pose: FloatArray) -> float | None:
    """Rows after which most poses (M, n_y) come again; None for a motion that is not periodic."""
    scaled = (pose - pose.mean(axis=0)) / np.maximum(pose.std(axis=0), np.finfo(float).tiny)

    def apart(lag: int) -> float:
        squares = ((scaled[lag:] - scaled[:-lag]) ** 2).mean(axis=1)
        return float(np.sqrt(np.median(squares)))

    lags = np.arange(1, len(pose) // 2)
    found = np.array([apart(int(lag)) for lag in lags])
    away = np.flatnonzero(found > _UNLIKE)
    again = np.flatnonzero((found < _ALIKE) & (lags > (lags[away[0]] if len(away) else np.inf)))
    if not len(again):
        return None
    first = again[0] + int(np.argmin(found[again[0] : lags[again[0]] + again[0]]))
    return float(lags[first])


def _summed(rows: FloatArray, blocks: np.ndarray) -> FloatArray:
    """Sums of rows by block."""
    found = np.zeros((blocks.max() + 1, *rows.shape[1:]))
    np.add.at(found, blocks, rows)
    return found


def _told_apart(normal: FloatArray, scores: FloatArray) -> FloatArray:
    """Directions (n_x, n_l) that the data determine better than what was believed."""
    sizes, axes = np.linalg.eigh(normal)
    errors = np.full(len(sizes), np.inf)
    seen = sizes > _ROUNDING * sizes[-1]
    errors[seen] = np.sqrt(((scores @ axes[:, seen]) ** 2).sum(axis=0)) / sizes[seen]
    chosen = axes[:, errors < _LEARNT]
    if not chosen.shape[1]:
        raise InputError('the data determine nothing better than the file does')
    takes_part = (chosen**2).sum(axis=1) > _PART
    whole, _, _ = np.linalg.svd(chosen * takes_part[:, None], full_matrices=False)
    return np.asarray(whole)


def _in_directions(
    matrix: FloatArray,
    weights: FloatArray,
    blocks: np.ndarray,
    scores: FloatArray,
    directions: FloatArray,
    normal: FloatArray,
    right: FloatArray,
) -> Learnt:
    """Least squares in these directions; its covariance by leaving out block after block.

    To it comes what the directions that keep their values would explain, if they are as wrong as
    was believed.
    """
    told = matrix @ directions
    parts = np.einsum('mik,mi,mil->mkl', told, weights, told)
    by_block = _summed(parts, blocks)
    information = by_block.sum(axis=0)
    amounts = np.linalg.solve(information, directions.T @ right)
    scores = (scores - scores.mean(axis=0)) @ directions
    moved = np.linalg.solve(information - by_block, -scores[..., None])[..., 0]
    count = len(by_block)
    kept = np.eye(len(directions)) - directions @ directions.T
    taken_on = np.linalg.solve(information, directions.T @ normal @ kept)
    covariance = (count - 1.0) / count * moved.T @ moved + taken_on @ taken_on.T
    return Learnt(directions, amounts, covariance, count - 1, information)
