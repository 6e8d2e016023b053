# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Packs callers' arrays into input rows of the engine: y, y_dot, y_ddot, wrench."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.errors import InputError

Part = tuple[str, npt.ArrayLike | None, int]


def packed(parts: Iterable[Part], many: bool) -> FloatArray:
    """Vectors one behind the other, (k,), or rows (N, k) of them; None stands for zeros.

    Parameters
    ----------
    parts : iterable of (str, array_like, int)
        Names for messages, numbers, shape (n,) or (N, n), and n. The first must be given.
    many : bool
        Whether these are rows.

    Raises
    ------
    InputError
        For a wrong shape, and where the first is not given.
    """
    parts = [*parts]
    first, positions, _ = parts[0]
    if positions is None:
        raise InputError(f'{first} is not given')
    rows = as_floats(positions, first).shape[:1] if many else ()
    table, end = np.zeros((*rows, sum([part[2] for part in parts]))), 0
    for name, numbers, length in parts:
        start, end = end, end + length
        if numbers is not None:
            vectors, shape = as_floats(numbers, name), (*rows, length)
            if vectors.shape != shape or (many and not rows):
                needed = f'(N, {length})' if many and name == first else shape
                raise InputError(f'{name} has shape {vectors.shape}, needed is {needed}')
            table[..., start:end] = vectors
    return table


def pack_state(count: int, *state: npt.ArrayLike | None, many: bool = False) -> FloatArray:
    """An input row (3 count + 6,) for ``count`` degrees of freedom, or rows; as :func:`packed`.

    Parameters
    ----------
    count : int
        Degrees of freedom n_y.
    state : array_like or None
        y, y_dot and y_ddot, shape (..., n_y), m, rad and s, and the wrench (..., 6) of the
        environment on the platform, base axes, about the platform's origin, N and N m.
    many : bool
        Whether these are rows (N, ...).
    """
    names = ('Y', 'Y_dot', 'Y_ddot', 'W') if many else ('y', 'y_dot', 'y_ddot', 'wrench')
    return packed(zip(names, state, (count, count, count, 6), strict=True), many)


def followed(inputs: FloatArray, numbers: FloatArray) -> FloatArray:
    """Input rows (..., k), each followed by the same numbers (n,)."""
    if inputs.ndim == 1:
        return np.concatenate([inputs, numbers])
    return np.hstack([inputs, np.broadcast_to(numbers, (len(inputs), len(numbers)))])
