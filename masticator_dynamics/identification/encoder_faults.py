# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How well encoders can be read, and readings from which no zeros can be learnt."""

from __future__ import annotations

import math

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

_SMALLEST = 1e-12  # rad or m, that rounding leaves between equal readings
_FINEST = 1e-9  # rad or m, to which anything is taken to be read
_WHOLE = 0.02  # of a count, by which steps of quantised readings may differ from whole ones
_ORDER = 6  # of the differences that a smooth motion leaves less of than noise
_SMOOTH = 0.02  # of its range, that such differences of a smooth motion stay below
_NORMAL = 1.4826  # standard deviation over the median of the size, of a normal distribution


def rounding_noise(readings: FloatArray) -> FloatArray:
    """What rounding leaves (n_u,) in readings (N, n_u): a count over the square root of 12."""
    return np.array([_rounding(column) for column in readings.T])


def shaking_noise(readings: FloatArray) -> FloatArray:
    """Standard deviation (n_u,) of noise from one reading (N, n_u) to the next.

    High differences of a smooth motion are noise alone. NaN where poses are not those of one.
    """
    return np.array([_shaking(column) for column in readings.T])


def _rounding(column: FloatArray) -> float:
    """The smallest step tells the count, if all steps are multiples of it."""
    steps = np.diff(np.unique(column))
    steps = steps[steps > _SMALLEST]
    if not len(steps):
        return _FINEST
    count = float(steps.min())
    off = np.abs(steps / count - np.round(steps / count))
    return max(count / np.sqrt(12.0), _FINEST) if (off < _WHOLE).all() else _FINEST


def _shaking(column: FloatArray) -> float:
    if len(column) < 4 * _ORDER:
        return np.nan
    gain = math.sqrt(math.comb(2 * _ORDER, _ORDER))  # of white noise
    noise = _NORMAL * float(np.median(np.abs(np.diff(column, _ORDER)))) / gain
    return noise if noise <= _SMOOTH * np.ptp(column) else np.nan


_LARGEST = 1e4  # rad or m; encoders of many turns show less
_STUCK = 0.1  # of the rows, at least, in which a reading that should change does not
_OUTLIER = 20.0  # usual steps, by which a wrong reading leaves those beside it
_RETURNS = 0.1  # of that, to which those beside it agree
_FAR = 0.4  # of the range of the others, by which it does so
_MOVES = 0.1  # of what the others move, that a joint moves which is not at rest
_COUNTS = 10.0  # standard deviations, likewise


def refuse_faulty_encoders(mechanism: Mechanism, readings: FloatArray, noise: FloatArray) -> None:
    """Refuse readings (N, n_u) of encoders that are not read, or wrong for a moment.

    Raises
    ------
    InputError
        Naming the encoder and the row.
    """
    for name, column in zip(mechanism.actuated, readings.T, strict=True):
        worst = int(np.argmax(np.abs(column)))
        if abs(column[worst]) > _LARGEST:
            raise InputError(f'row {worst + 1}: {name} reads {column[worst]:.6g}: no encoder does')
        row = _outlier(column)
        if row is not None:
            raise InputError(
                f'row {row + 1}: {name} reads {column[row]:.6g}, beside {column[row - 1]:.6g} and '
                f'{column[row + 1]:.6g}: a reading that is wrong'
            )
    for k, name in enumerate(mechanism.actuated):
        first, end = _longest_rest(readings[:, k])
        if end - first > _STUCK * len(readings) and _should_move(
            mechanism, readings[first:end], k, noise
        ):
            where = f'in rows {first + 1} to {end}' if end - first < len(readings) else 'in any row'
            raise InputError(
                f'{name} does not move {where}, where the others say that it does: its encoder is '
                'stuck or not read'
            )


def _outlier(column: FloatArray) -> int | None:
    """A single reading that is far from those before and after it, which agree."""
    if len(column) < 3:
        return None
    usual = float(np.median(np.abs(np.diff(column))))
    off = np.abs(column[1:-1] - 0.5 * (column[:-2] + column[2:]))
    apart = np.abs(column[2:] - column[:-2])
    rows = np.flatnonzero((off > _OUTLIER * usual) & (off > 0.0) & (apart < _RETURNS * off))
    far = rows[off[rows] > _FAR * np.ptp(np.delete(column, rows + 1))]
    return int(far[0]) + 1 if len(far) else None


def _longest_rest(column: FloatArray) -> tuple[int, int]:
    """The longest run of equal readings: first row and end."""
    changes = np.flatnonzero(np.diff(column) != 0.0) + 1
    edges = np.concatenate([[0], changes, [len(column)]])
    longest = int(np.argmax(np.diff(edges)))
    return int(edges[longest]), int(edges[longest + 1])


def _should_move(mechanism: Mechanism, readings: FloatArray, joint: int, noise: FloatArray) -> bool:
    """Whether the other encoders say that a joint moves in some rows; about home, to first order.

    They say nothing of a joint that is free when they are held.
    """
    others = np.arange(readings.shape[1]) != joint
    rates = mechanism.jacobian_actuated_from_independent(mechanism.home)
    if np.linalg.matrix_rank(rates[others]) < rates.shape[1]:
        return False
    moved = readings[:, others] - readings[0, others]
    expected = moved @ np.linalg.pinv(rates[others]).T @ rates[joint]
    scale = np.abs(moved) @ np.abs(np.linalg.pinv(rates[others]).T @ rates[joint])
    return bool(np.abs(expected).max() > max(_MOVES * scale.max(), _COUNTS * noise[joint]))
