# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of arrays of times and points before they become a motion."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

MOST = 1e100  # in any unit; beyond, quotients and squares overflow


def shown(array: FloatArray) -> str:
    """Short text of an array for a message."""
    return np.array2string(array, threshold=8, precision=6)


def checked_times(times: npt.ArrayLike) -> FloatArray:
    """Return times (N,) in s as a new array: at least one, finite, strictly increasing."""
    t = np.array(times, dtype=float)
    if t.ndim != 1 or len(t) == 0:
        raise InputError(f'times of shape {t.shape}, expected (N,) with at least one')
    if not np.isfinite(t).all():
        raise InputError(f'time {int(np.argmin(np.isfinite(t)))} is not finite')
    late = np.flatnonzero(np.diff(t) <= 0.0)
    if len(late):
        k = int(late[0])
        raise InputError(
            f'times must increase: time {k + 1} is {t[k + 1]:.9g} s after {t[k]:.9g} s'
        )
    return t


def checked_rows(
    rows: npt.ArrayLike,
    what: str,
    times: FloatArray,
    names: Sequence[str] = (),
    columns: int | None = None,
) -> FloatArray:
    """Return rows (N, n) that belong to times (N,) as a new array: right shape, finite, not huge.

    Parameters
    ----------
    rows : array_like, shape (N, n)
        The rows to check.
    what : str
        'position', 'velocity' or 'acceleration'.
    times : array, shape (N,)
        s.
    names : sequence of str
        The n coordinates; without them messages count from 0.
    columns : int, optional
        n, where it is known.
    """
    r = np.array(rows, dtype=float)
    n = columns if columns is not None else len(names) or None
    if r.ndim != 2 or len(r) != len(times) or r.shape[1] != (n or r.shape[1]):
        raise InputError(f'{what} of shape {r.shape}, expected ({len(times)}, {n or "n"})')
    for k, i in np.argwhere(~(np.abs(r) <= MOST)):
        name = names[i] if names else f'coordinate {i}'
        finite = np.isfinite(r[k, i])
        why = ', too large to compute with' if finite else ', no finite number'
        raise InputError(f'{what} of {name} at {times[k]:.9g} s is {r[k, i]}{why}')
    return r


def checked_end(value: npt.ArrayLike, what: str, n: int) -> FloatArray:
    """Return the derivative (n,) given for an end, checked to be finite.

    Parameters
    ----------
    value : (n,) array_like
        Velocity or acceleration.
    what : str
        Which of them, for the message.
    n : int
        Number of coordinates.
    """
    v = np.asarray(value, dtype=float)
    if v.shape != (n,) or not np.isfinite(v).all():
        raise InputError(f'{what} at an end must be {n} finite numbers, not {shown(v)}')
    return v
