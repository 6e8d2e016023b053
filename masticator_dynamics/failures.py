# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine's status numbers as exceptions that name the limb, the row and the amount."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from masticator_dynamics.actuation import distribute
from masticator_dynamics.engine import closure, evaluate
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import (
    ActuationError,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

_Error = TypeVar('_Error', bound=MasticatorError)


def failure(mechanism: Mechanism, table: FloatArray, given: FloatArray) -> MasticatorError:
    """The exception for the first failed row of a table of answers; ``row`` is its index."""
    table = table.reshape(-1, table.shape[-1])
    row = int(np.flatnonzero(table[:, 0])[0])
    status, block, amount = int(table[row, 0]), int(table[row, 1]), float(table[row, 2])
    values = given.reshape(len(table), -1)[row]
    return in_row(_error(mechanism, status, block, amount, values), row, given.ndim > 1)


def in_row(error: _Error, row: int | None, many: bool) -> _Error:
    """The same error with its row, named in the message where there are many."""
    if many and row is not None:
        error = type(error)(f'row {row + 1}: {error}')
    error.row = row
    return error


def _error(
    mechanism: Mechanism, status: int, block: int, amount: float, values: FloatArray
) -> MasticatorError:
    if status == evaluate.NOT_FINITE:
        return InputError(f'{_input_name(mechanism, block)} is {amount}, not a finite number')
    pose = ', '.join(
        f'{name} = {value:.6g}' for name, value in zip(mechanism.independent, values, strict=False)
    )
    if status == evaluate.NOT_ACTUATED:
        names = ', '.join(mechanism.driving) or 'none'
        rank, needed = mechanism.actuation_rank(), len(mechanism.independent)
        if rank < needed:
            return ActuationError(
                f'actuators {names} control {rank} of {needed} degrees of freedom'
            )
        return SingularityError(f'actuators {names} lose control at {pose}')
    if status == distribute.JAMMED:
        return ActuationError(f'friction of the contacts jams the mechanism at {pose}')
    if status == evaluate.OVERFLOW:
        return InputError('velocities, accelerations or wrench are too large to compute with')
    names = ', '.join(mechanism.block_names(block))
    if status == closure.SINGULAR:
        return SingularityError(
            f'{names} is singular at {pose} (sine of the closest angle {amount:.2g})'
        )
    if status == closure.OUT_OF_REACH:
        return ReachError(f'{names} cannot close at {pose}: {amount * 1e3:.6g} mm are missing')
    return ReachError(
        f'{names} closes at {pose} only on another branch than the one continuous with home'
    )


def _input_name(mechanism: Mechanism, index: int) -> str:
    count = len(mechanism.independent)
    if index >= 3 * count:
        return 'wrench ' + ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')[index - 3 * count]
    return mechanism.independent[index % count] + ('', '_dot', '_ddot')[index // count]
