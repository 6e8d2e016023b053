# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine's status numbers as exceptions that name the limb, the row and the amount."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from masticator_dynamics.engine import status as reasons
from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.universal_limb import limb_of
from masticator_dynamics.errors import (
    ActuationError,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)
from masticator_dynamics.evaluation.loop_block import CLOSED, smallest_gaps
from masticator_dynamics.evaluation.model import Model

_Error = TypeVar('_Error', bound=MasticatorError)


def failure(mechanism: Model, table: FloatArray, given: FloatArray) -> MasticatorError:
    """The exception for the first failed row of a table of results; ``row`` is its index.

    Parameters
    ----------
    mechanism : Model
        For the names of limbs and contacts.
    table : (..., columns) array
        Rows of output, each beginning with status, block and amount; at least one has failed.
    given : (3 n_y + 6,) or (N, 3 n_y + 6) array
        Rows of input; with two dimensions the message names the row.
    """
    table = table.reshape(-1, table.shape[-1])
    row = int(np.flatnonzero(table[:, 0])[0])
    status, block, amount = int(table[row, 0]), int(table[row, 1]), float(table[row, 2])
    values = given.reshape(len(table), -1)[row]
    return in_row(_error(mechanism, status, block, amount, values), row, given.ndim > 1)


def in_row(error: _Error, row: int | None, many: bool) -> _Error:
    """The same error with its row, named in the message where there are many.

    Parameters
    ----------
    error : MasticatorError
        The error raised for one row.
    row : int or None
        Index of the row; None where there is none.
    many : bool
        Whether the caller passed a batch.
    """
    if many and row is not None:
        error = type(error)(f'row {row + 1}: {error}')
    error.row = row
    return error


def pose_text(mechanism: Model, y: FloatArray) -> str:
    """A pose (n_y,), or a row that begins with it, for messages."""
    return ', '.join(
        f'{name} = {value:.6g}' for name, value in zip(mechanism.independent, y, strict=False)
    )


def _error(
    mechanism: Model, status: int, block: int, amount: float, values: FloatArray
) -> MasticatorError:
    if status == reasons.NOT_FINITE:
        return InputError(f'{_input_name(mechanism, block)} is {amount}, not a finite number')
    pose = pose_text(mechanism, values)
    if status == reasons.NOT_ACTUATED:
        names = ', '.join(mechanism.driving) or 'none'
        rank, needed = mechanism.home_rank(), len(mechanism.independent)
        if rank < needed:
            return ActuationError(
                f'actuators {names} control {rank} of {needed} degrees of freedom'
            )
        return SingularityError(f'actuators {names} lose control at {pose}')
    if status == reasons.JAMMED:
        return ActuationError(f'friction of the contacts jams the mechanism at {pose}')
    if status == reasons.OVERFLOW:
        return InputError('velocities, accelerations or wrench are too large to compute with')
    if status == reasons.SINGULAR:
        names = ', '.join(mechanism.block_names(block))
        return SingularityError(
            f'{names} is singular at {pose} (sine of the closest angle {amount:.2g})'
        )
    y = values[: len(mechanism.independent)].copy()
    return ReachError(lambda: _why_open(mechanism, status, block, amount, y, pose))


def _why_open(
    mechanism: Model, status: int, block: int, amount: float, y: FloatArray, pose: str
) -> str:
    """Message that says why loops do not close at a pose (n_y,)."""
    statuses, blocks, amounts = diagnose(
        mechanism, np.array([status]), np.array([block]), np.array([amount]), y[None]
    )
    names = ', '.join(mechanism.block_names(int(blocks[0])))
    if statuses[0] == reasons.OUT_OF_REACH:
        return f'{names} cannot close at {pose}: {float(amounts[0]) * 1e3:.6g} mm are missing'
    return (
        f'{names} can close at {pose}, but the branch continuous with home is lost on the straight '
        'way there'
    )


def diagnose(
    mechanism: Model, status: IntArray, block: IntArray, amount: FloatArray, y: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Status, block and amount (N,) of rows, with open loops distinguished by cause.

    Starting from home, the engine's iteration may stall although a pose (n_y,) beyond can be
    closed, and it stops at the first block that fails. ``OUT_OF_REACH``: this block cannot close
    at all. ``OTHER_BRANCH``: all can, but home's branch is lost on the straight path there.

    Parameters
    ----------
    mechanism : Model
        Whose loops did not close.
    status, block : (N,) array of int
        As the engine reports them for each row.
    amount : (N,) array
        What the status is about, in its unit.
    y : (N, n_y) array
        Independent positions, m and rad.
    """
    structure = mechanism.structure
    at_home = structure.tree.poses(structure.home)
    # A block that closes by a formula never misses a closure.
    limbs = [limb_of(structure, block, at_home) for block in structure.blocks]
    sure = [0, *(b for b, limb in enumerate(limbs, 1) if limb)]
    doubtful = (status == reasons.OTHER_BRANCH) | (
        (status == reasons.OUT_OF_REACH) & ~np.isin(block, sure)
    )
    rows = np.flatnonzero(doubtful)
    if not len(rows):
        return status, block, amount
    status, block, amount = status.copy(), block.copy(), amount.copy()
    gaps = smallest_gaps(mechanism, y[rows])
    too_far = (gaps > CLOSED).any(axis=1)
    status[rows] = np.where(too_far, reasons.OUT_OF_REACH, reasons.OTHER_BRANCH)
    first = np.argmax(gaps > CLOSED, axis=1)
    rows, first, gaps = rows[too_far], first[too_far], gaps[too_far]
    block[rows], amount[rows] = first + 1, gaps[np.arange(len(rows)), first]
    return status, block, amount


def _input_name(mechanism: Model, index: int) -> str:
    count = len(mechanism.independent)
    if index >= 3 * count:
        place, component = divmod(index - 3 * count, 6)
        where = f' on {mechanism.structure.tree.joints[place - 1].child}' if place else ''
        return f'wrench{where} ' + ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')[component]
    return mechanism.independent[index % count] + ('', '_dot', '_ddot')[index // count]
