# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Packs callers' arrays into input rows of the engine: y, y_dot, y_ddot, wrench."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.errors import InputError


def packed(parts: Mapping[str, tuple[npt.ArrayLike | None, int]], many: bool) -> FloatArray:
    """Vectors one behind the other, (k,), or rows (N, k) of them; None stands for zeros.

    Parameters
    ----------
    parts : mapping of str to (array_like, int)
        By name, for messages: numbers, shape (n,) or (N, n), and n. The first must be given.
    many : bool
        Whether these are rows.

    Raises
    ------
    InputError
        For a wrong shape, and where the first is not given.
    """
    first, (positions, _) = next(iter(parts.items()))
    if positions is None:
        raise InputError(f'{first} is not given')
    rows = as_floats(positions, first).shape[:1] if many else ()
    vectors = []
    for name, (numbers, length) in parts.items():
        shape = (*rows, length)
        vector = np.zeros(shape) if numbers is None else as_floats(numbers, name)
        if vector.shape != shape or (many and not rows):
            needed = f'(N, {length})' if many and name == first else shape
            raise InputError(f'{name} has shape {vector.shape}, needed is {needed}')
        vectors.append(vector)
    return np.concatenate(vectors, axis=-1)


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
    lengths = (count, count, count, 6)
    return packed(dict(zip(names, zip(state, lengths, strict=True), strict=True)), many)


def followed(inputs: FloatArray, numbers: FloatArray) -> FloatArray:
    """Input rows (..., k), each followed by the same numbers (n,)."""
    if inputs.ndim == 1:
        return np.concatenate([inputs, numbers])
    return np.hstack([inputs, np.broadcast_to(numbers, (len(inputs), len(numbers)))])
