# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether friction of another kind than constant and viscous is worth its number, by motor.

Two kinds are tried beside all that is identified: friction that is other near zero velocity
(Armstrong-Helouvry, Dupont and Canudas de Wit 1994, Automatica 30, 1083: Stribeck's; efforts that
were filtered look so, too), and friction that grows with the load that a gear passes on. They are
judged by least squares on blocks of time that nothing was learnt from.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.identification.weighted_equations import Equations

_BLOCKS = 6
_SIGN = 0.02  # of the usual velocity, over which friction turns round
_NEAR = (0.1, 0.3)  # likewise, up to which it is other near zero
_NEAR_REST = 'is other near rest (efforts that were filtered look so, too)'
_WORTH = 0.9  # of a motor's error, by which another kind leaves less where it is worth it
_ANY = 1e-3  # of a motor's efforts: less is not worth a word
_ROUNDING = 1e-10


def friction_of_other_kinds(
    equations: Equations, x: FloatArray, bodies: FloatArray, names: tuple[str, ...]
) -> Iterator[str]:
    """Sentences, each of which begins with the motor that it is about.

    Parameters
    ----------
    equations : Equations
        That were learnt from.
    x : array, shape (n_x,)
        Unknowns found.
    bodies : array of bool, shape (n_x,)
        Those that are not friction, rotors or offsets.
    names : tuple of str, length n_u
        Of the motors.
    """
    effort = np.sqrt((equations.effort**2).mean(axis=0))
    before = _held_out(equations, np.empty((len(equations.time), len(names), 0)))
    kinds = [
        (kind, _held_out(equations, _columns(equations, rows)))
        for kind, rows in _kinds(equations, x, bodies)
    ]
    for k, name in enumerate(names):
        kind, after = min(kinds, key=lambda pair: pair[1][k])
        if after[k] < _WORTH * before[k] and before[k] > _ANY * effort[k]:
            shares = 100.0 * after[k] / effort[k], 100.0 * before[k] / effort[k]
            yield (
                f'{name}: friction that {kind} would leave {shares[0]:.2g} % of its efforts where '
                f'constant and viscous friction leave {shares[1]:.2g} %'
            )


def _kinds(
    equations: Equations, x: FloatArray, bodies: FloatArray
) -> Iterator[tuple[str, FloatArray]]:
    """Words for a kind of friction, and its rows (M, n_u)."""
    usual = np.sqrt((equations.velocity**2).mean(axis=0)) + np.finfo(float).tiny
    speed = equations.velocity / usual
    sign = np.tanh(speed / _SIGN)
    for near in _NEAR:
        yield _NEAR_REST, sign * np.exp(-((speed / near) ** 2))
    change = (equations.back @ (equations.matrix[..., bodies] @ x[bodies])[..., None])[..., 0]
    load = equations.effort - equations.errors(0.0) + change
    yield 'grows with the load', sign * np.abs(load)


def _columns(equations: Equations, rows: FloatArray) -> FloatArray:
    """What moves the mechanism (M, n_u, n_u) of an effort of each motor."""
    return np.asarray(equations.back @ (equations.rates * rows[:, None, :]))


def _held_out(equations: Equations, more: FloatArray) -> FloatArray:
    """RMS error (n_u,) of each motor on blocks that least squares saw not.

    Of more columns (M, n_u, n), one for each motor or none, each motor has its own.
    """
    target, matrix = equations.errors(0.0), equations.back @ equations.matrix
    count, motors = matrix.shape[-1], target.shape[1]
    usual = np.sqrt((target**2).mean(axis=0)) + np.finfo(float).tiny
    target, matrix = target / usual, np.concatenate([matrix, more], axis=-1) / usual[:, None]
    size = np.linalg.norm(matrix, axis=(0, 1))
    matrix /= np.where(size > 0.0, size, 1.0)
    parts = np.array_split(np.arange(len(target)), _BLOCKS)
    flat = [(matrix[part].reshape(-1, len(size)), target[part].reshape(-1)) for part in parts]
    normals = np.array([rows.T @ rows for rows, _ in flat])
    sides = np.array([rows.T @ right for rows, right in flat])
    squares = np.zeros_like(target)
    for part, normal, side in zip(parts, normals, sides, strict=True):
        others, right = normals.sum(axis=0) - normal, sides.sum(axis=0) - side
        others += _ROUNDING * np.trace(others) * np.eye(len(others))
        for k in range(motors):
            used = [*range(count), count + k][: count + min(1, more.shape[-1])]
            x = np.linalg.solve(others[np.ix_(used, used)], right[used])
            squares[part, k] = (target[part, k] - matrix[part][:, k, used] @ x) ** 2
    return np.asarray(usual * np.sqrt(squares.mean(axis=0)))
