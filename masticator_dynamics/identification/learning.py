# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What data say about unknowns: Bayesian least squares that judges its own beliefs.

How far the file errs (one number for each group of unknowns) and how much each motor's efforts are
off are found from the recording: the most likely ones, by the fixed-point steps of MacKay (1992,
Neural Computation 4, 415), with a belief that counts as one more unknown. Rows that stand out count
less (Huber 1964).

Errors of neighbouring rows are alike (friction that is not quite as described, poses that are a
little off), and a motion that repeats itself repeats them. Rows therefore count as what they are
worth by the spread of sums over blocks of time (Chandler and Bate 2007, Biometrika 94, 167), and
standard errors come from leaving out parts of the motion with all their repetitions. From few parts
these vary and come out too small as often as not: they are never taken as less than what the rows
themselves say (Angrist and Pischke 2009, Mostly Harmless Econometrics, 8.2), and where few of the
parts tell a direction, it has fewer degrees of freedom (Bell and McCaffrey 2002, Survey Methodology
28, 169): as many fewer as the parts' share of its variance asks for, since what belief adds is not
estimated from them (Satterthwaite 1946, Biometrics Bulletin 2, 110).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.unknowns import Unknowns
from masticator_dynamics.identification.weighted_equations import Equations

BLOCK = 1.0  # s, of motion that does not repeat itself
_PHASE = 0.1  # s, of a motion that does: longer than errors are alike
_ALIKE = 0.1  # of the size of the motion: by what it may differ from itself a period later
_UNLIKE = 0.5  # of it: what it differs by in between
_LEARNT = 0.5  # standard error, relative to what is believed, up to which a direction is learnt
_PART = 0.02  # of a cause's variance that data must explain, or it keeps its value
_OUTLIER = 2.5  # standard deviations from which on a row counts less
_ROUNDS = 25
_WIDE = 10.0  # times what is believed: to begin with
_ROUNDING = 1e-12  # of eigenvalues
_FEWEST_BLOCKS = 8
_SHORTEST = 4.0  # s: half of what blocks should be long
_LEAST_NOISE = 1e-7  # of what is usual
_CONFIDENT = 0.975  # on one side, of the intervals that are wanted
_PRIOR = 4.0  # unknowns that what is believed counts as, in each group
_SETTLED = 0.01  # of sizes and noise, from one round to the next


@dataclasses.dataclass(frozen=True)
class Learnt:
    """Answer of the data, for unknowns that are counted in what turned out to be their size."""

    # (n_x, n_l), orthonormal, those that the data tell better than what was believed.
    directions: FloatArray
    amounts: FloatArray  # (n_l,), of each
    covariance: FloatArray  # (n_l, n_l), of the amounts
    freedom: int  # degrees of freedom for intervals (Student's t)
    # (n_l, n_l), how steeply the likelihood falls off in these directions, belief included.
    information: FloatArray
    # (n_x,), all unknowns, as is likeliest by data and belief. Those that the data do not see are
    # zero.
    x: FloatArray
    seen: npt.NDArray[np.bool_]  # (n_x,), unknowns of which the data say something
    precision: FloatArray  # (n_x, n_x), information on all of them
    uncertainty: FloatArray  # (n_x, n_x), covariance of all of them
    sizes: FloatArray  # (n_x,), how far the file errs, in units of what was believed before
    noise: FloatArray  # (n_u,), standard deviation of each motor's efforts, N m or N

    def unsure(self, spread: FloatArray) -> FloatArray:
        """Standard deviations (n_p,) of parameters."""
        variance = np.einsum('ij,jk,ik->i', spread, self.uncertainty, spread)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _noise(equations: Equations, x: FloatArray, noise: FloatArray) -> FloatArray:
    """Standard deviation (n_u,) of each motor's errors that unknowns x leave, outliers cut off."""
    gain, _ = _gain(equations, noise)
    errors = (gain @ equations.left(x)[..., None])[..., 0]
    unseen = 1.0 - np.einsum('muy,myu->mu', gain, equations.rates)  # moves nothing
    squares = errors**2 + np.maximum(unseen, 0.0) * noise**2
    squares = np.minimum(squares, _OUTLIER * noise * np.sqrt(squares))
    return np.asarray(np.sqrt(squares.mean(axis=0)) + _LEAST_NOISE * equations.usual)


def _gain(equations: Equations, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Likeliest efforts (M, n_u, n_y) for a generalised force; its covariance (M, n_y, n_y)."""
    sized = equations.rates * noise**2
    covariance = sized @ np.swapaxes(equations.rates, -1, -2)
    return np.swapaxes(sized, -1, -2) @ np.linalg.inv(covariance), covariance


def _white(equations: Equations, x: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Matrix (M n_y, n_x) and right side (M n_y,) of rows whose errors are about one in size."""
    _, covariance = _gain(equations, noise)
    whitening = np.linalg.inv(np.linalg.cholesky(covariance))
    white = np.abs((whitening @ equations.left(x)[..., None])[..., 0])
    root = np.sqrt(np.minimum(1.0, _OUTLIER / np.maximum(white, 1e-12)))[..., None]
    matrix = root * (whitening @ equations.matrix)
    force = root * (whitening @ equations.force[..., None])
    return matrix.reshape(-1, matrix.shape[-1]), force.reshape(-1)


def learn(equations: Equations, unknowns: Unknowns) -> Learnt:
    """What data and belief say.

    Raises
    ------
    InputError
        When there are too few blocks of time.
    """
    length = float(equations.time[-1] - equations.time[0])
    if length < _SHORTEST:
        raise InputError(
            f'{length:.3g} s of motion are left after filtering; {_SHORTEST:g} s are needed'
        )
    blocks = _blocks(equations.time, equations.pose)
    groups, n_x = unknowns.groups, len(unknowns.causes)
    members = np.eye(blocks.max() + 1)[np.repeat(blocks, equations.force.shape[1])].T
    sizes, x, worth = np.full(n_x, _WIDE), np.zeros(n_x), 1.0
    noise = np.sqrt((equations.errors(x) ** 2).mean(axis=0)) + _LEAST_NOISE * equations.usual
    for _ in range(_ROUNDS):
        matrix, force = _white(equations, x, noise)
        normal = matrix.T @ matrix
        covariance = _inverse(worth * normal + np.diag(sizes**-2.0))
        x = worth * covariance @ (matrix.T @ force)
        worth = _worth(normal, covariance, members @ (matrix * (force - matrix @ x)[:, None]))
        before, sizes = np.r_[sizes, noise], _sizes(x, covariance, sizes, groups)
        noise = _noise(equations, x, noise)
        if np.abs(np.log(np.r_[sizes, noise] / before)).max() < _SETTLED:
            break
    return _answer(equations.scaled(sizes), x / sizes, noise, members, sizes, worth)


def _sizes(
    x: FloatArray, covariance: FloatArray, sizes: FloatArray, groups: npt.NDArray[np.int_]
) -> FloatArray:
    """Most likely sizes (n_x,), the same for all unknowns of a group."""
    learnt = 1.0 - np.diag(covariance) / sizes**2
    squares, numbers = np.bincount(groups, x**2), np.bincount(groups, np.maximum(learnt, 0.0))
    return np.asarray(np.sqrt((_PRIOR + squares) / (_PRIOR + numbers))[groups])


def _inverse(matrix: FloatArray) -> FloatArray:
    """Of a symmetric positive matrix whose columns differ much in size; rounding is cut off."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    values, axes = np.linalg.eigh(matrix * np.outer(scale, scale))
    return np.asarray((axes / np.maximum(values, _ROUNDING)) @ axes.T * np.outer(scale, scale))


def _worth(normal: FloatArray, covariance: FloatArray, scores: FloatArray) -> float:
    """What a row is worth, if sums over blocks (n_b, n_x) vary more than those of single rows."""
    alone = float((covariance * normal).sum())
    together = float(((scores @ covariance) * scores).sum())
    return alone / together if together > alone else 1.0


def _answer(
    equations: Equations,
    x: FloatArray,
    noise: FloatArray,
    members: FloatArray,
    sizes: FloatArray,
    worth: float,
) -> Learnt:
    """Least squares in units of these sizes; its covariance by leaving out block after block.

    To it comes what belief pulls, and what unknowns that keep their values would explain, if they
    are as wrong as is believed. It is widened so that intervals hold with Student's t of one number
    of degrees of freedom for all directions.
    """
    matrix, force = _white(equations, x, noise)
    n_x = matrix.shape[1]
    parts = [matrix[rows > 0.0] for rows in members]
    by_block = worth * np.array([part.T @ part for part in parts])
    normal = by_block.sum(axis=0)
    everything = _inverse(normal + np.eye(n_x))
    seen = 1.0 - np.diag(everything) > _PART
    if not seen.any():
        raise InputError('the data determine nothing')
    precision = normal + np.eye(n_x)
    part = np.ix_(seen, seen)
    inverse = _inverse(precision[part])
    x = np.zeros(n_x)
    x[seen] = worth * inverse @ (matrix[:, seen].T @ force)
    scores = worth * members @ (matrix[:, seen] * (force - matrix @ x)[:, None])
    scores -= scores.mean(axis=0)
    taken_on = inverse @ normal[np.ix_(seen, ~seen)]
    pulled = inverse @ inverse + taken_on @ taken_on.T
    variances, axes = np.linalg.eigh(inverse)
    learnt = variances < _LEARNT**2
    spread = _spread(by_block[:, seen][:, :, seen], scores, precision[part], pulled, axes)
    covariance = np.eye(n_x)
    covariance[part] = axes @ spread @ axes.T
    directions = np.zeros((n_x, int(learnt.sum())))
    directions[seen] = axes[:, learnt]
    count = len(by_block)
    return Learnt(
        directions, directions.T @ x, directions.T @ covariance @ directions, count - 1,
        directions.T @ precision @ directions, x, seen, precision, covariance, sizes, noise,
    )  # fmt: skip


def _spread(
    by_block: FloatArray,
    scores: FloatArray,
    precision: FloatArray,
    pulled: FloatArray,
    axes: FloatArray,
) -> FloatArray:
    """Covariance (n, n) along the principal axes of what data and belief leave open.

    From information (n_b, n, n) and scores (n_b, n) of blocks, the precision with belief, and the
    covariance of what else is wrong (n, n).
    """
    count = len(by_block)
    moved = np.linalg.solve(precision - by_block, -scores[..., None])[..., 0]
    by_blocks = axes.T @ ((count - 1.0) / count * moved.T @ moved) @ axes
    spread = by_blocks + axes.T @ pulled @ axes
    remaining = 1.0 / np.einsum('ik,ij,jk->k', axes, precision, axes)
    shares = np.einsum('ik,bij,jk->bk', axes, by_block, axes)
    equal = shares.sum(axis=0) ** 2 / (shares**2).sum(axis=0)  # as many blocks with equal shares
    freedoms = (equal - 1.0) * (np.diag(spread) / np.diag(by_blocks)) ** 2
    wider = np.where(remaining < _LEARNT**2, _wider(freedoms, count - 1), 1.0)
    grown = wider * np.sqrt(np.maximum(1.0, remaining / np.diag(spread)))
    return np.asarray(spread * np.outer(grown, grown))


def _wider(freedoms: FloatArray, freedom: int) -> FloatArray:
    """Factors by which intervals are wider with degrees of freedom of their own than with these."""
    from scipy import stats

    quantiles = stats.t.ppf(_CONFIDENT, np.clip(freedoms, 2.0, freedom))
    return np.asarray(quantiles / stats.t.ppf(_CONFIDENT, freedom))


def _blocks(time: FloatArray, pose: FloatArray) -> np.ndarray:
    """Number of each row's block: of time, or of phase where the motion repeats itself."""
    since, rows = time - time[0], _period(pose)
    if rows is None:
        count = max(_FEWEST_BLOCKS, int(since[-1] / BLOCK))
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
    distance = np.array([apart(int(lag)) for lag in lags])
    away = np.flatnonzero(distance > _UNLIKE)
    again = np.flatnonzero((distance < _ALIKE) & (lags > (lags[away[0]] if len(away) else np.inf)))
    if not len(again):
        return None
    first = again[0] + int(np.argmin(distance[again[0] : lags[again[0]] + again[0]]))
    return float(lags[first])
