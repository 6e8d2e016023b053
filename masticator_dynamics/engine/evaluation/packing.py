# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Packs callers' arrays into input rows of the engine: y, y_dot, y_ddot, wrench."""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_floats, as_vector
from masticator_dynamics.errors import InputError


def pack_row(count: int, y: Any, y_dot: Any, y_ddot: Any, wrench: Any) -> FloatArray:
    """One row (3 count + 6,) for ``count`` degrees of freedom; None stands for zeros.

    Parameters
    ----------
    count : int
        Degrees of freedom n_y.
    y, y_dot, y_ddot : (n_y,) array_like or None
        Independent positions, velocities and accelerations, m, rad and s.
    wrench : (6,) array_like or None
        Of the environment on the platform, base axes, about the platform's origin, N and N m.

    Raises
    ------
    InputError
        For a wrong shape.
    """
    packed = np.zeros(3 * count + 6)
    parts = (('y', y, count), ('y_dot', y_dot, count), ('y_ddot', y_ddot, count))
    start = 0
    for name, part, length in (*parts, ('wrench', wrench, 6)):
        if part is not None or not start:
            packed[start : start + length] = as_vector(part, name, length)
        start += length
    return packed


def pack_rows(count: int, y: Any, y_dot: Any, y_ddot: Any, wrench: Any) -> FloatArray:
    """Rows (N, 3 count + 6) for ``count`` degrees of freedom; None stands for zeros.

    Parameters
    ----------
    count : int
        Degrees of freedom n_y.
    y, y_dot, y_ddot : (N, n_y) array_like or None
        Independent positions, velocities and accelerations, m, rad and s; positions must be given.
    wrench : (N, 6) array_like or None
        Of the environment on the platform, base axes, about the platform's origin, N and N m.

    Raises
    ------
    InputError
        For a wrong shape.
    """
    if as_floats(y, 'Y').ndim != 2:
        raise InputError(f'Y has shape {as_floats(y, "Y").shape}, needed is (N, {count})')
    rows = len(y)
    packed = np.empty((rows, 3 * count + 6))
    parts = (('Y', y), ('Y_dot', y_dot), ('Y_ddot', y_ddot))
    for index, (name, part) in enumerate((*parts, ('W', wrench))):
        length = count if index < 3 else 6
        values = np.zeros((rows, length)) if part is None else as_floats(part, name)
        if values.shape != (rows, length):
            raise InputError(f'{name} has shape {values.shape}, needed ({rows}, {length})')
        packed[:, index * count : index * count + length] = values
    return packed


def followed(inputs: FloatArray, numbers: FloatArray) -> FloatArray:
    """Input rows (..., k), each followed by the same numbers (n,)."""
    if inputs.ndim == 1:
        return np.concatenate([inputs, numbers])
    return np.hstack([inputs, np.broadcast_to(numbers, (len(inputs), len(numbers)))])
