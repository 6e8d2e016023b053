# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine's status numbers as exceptions that name the limb, the row and the amount.

Machine code closes loops on the branch continuous with home, or reports only that it failed. For
the message, each block of constraints (``engine/structure.py``) is examined on its own, in numpy,
many poses at a time: can it close at all?
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from masticator_dynamics.engine import status as reasons
from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.frames import tree_poses
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.formula_limb import limb_of
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.tree import TreePoses
from masticator_dynamics.errors import (
    ActuationError,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)

CLOSED = 1e-9  # m
_STARTS, _ITERATIONS = 3, 40
_STANDSTILL = 1e-4  # rad; the gap differs from the smallest by about its square
_LARGEST_TURN = 0.5  # rad in one step; for sliding joints, that fraction of the mechanism's size
_DAMPING = 1e-4  # of the largest curvature; where a limb is stretched, there is none


class LoopBlock:
    """One block: constraints that determine an equal number of joints, given earlier blocks.

    Attributes
    ----------
    joints : tuple of int
        Tree indices of the joints that it determines.
    """

    def __init__(self, structure: Structure, index: int):
        block = structure.blocks[index]
        self.joints = block.joints
        self._constraints = [structure.constraints[c] for c in block.constraints]

    def jacobian(self, poses: TreePoses) -> FloatArray:
        """Rates (N, m, m) of the constraints, m, per velocity of the block's joints."""
        rates = [constraint.rates(poses) for constraint in self._constraints]
        return np.concatenate(rates, axis=1)[:, :, list(self.joints)]

    def gaps(self, poses: TreePoses) -> FloatArray:
        """Gaps (N, m) of the constraints, m."""
        return np.hstack([constraint.gaps(poses) for constraint in self._constraints])


def smallest_gaps(mechanism: Model, y: FloatArray) -> FloatArray:
    """Smallest gaps (N, n_blocks) of the blocks on any branch, m.

    Searched from several starts, block by block; with a gap up to :data:`CLOSED` a block can close.
    Blocks after the first that cannot are skipped, with gaps of 0. For a gap with several
    components, the largest counts.

    Parameters
    ----------
    y : array, shape (N, n_y)
        Independent positions.
    """
    q = np.tile(mechanism.structure.home, (len(y), 1))
    q[:, mechanism.tree_indices(mechanism.independent)] = y
    gaps = np.zeros((len(y), len(mechanism.structure.blocks)))
    rows = np.arange(len(y))
    with np.errstate(all='ignore'):  # poses may be too large to compute with: gaps are infinite
        for b in range(gaps.shape[1]):
            q[rows], gaps[rows, b] = _closest(mechanism, LoopBlock(mechanism.structure, b), q[rows])
            rows = rows[gaps[rows, b] <= CLOSED]
    return gaps


def _closest(mechanism: Model, block: LoopBlock, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Positions (N, n_q) with the smallest gaps of a block found, and these gaps (N,)."""
    joints = list(block.joints)
    slides = [mechanism.structure.tree.joints[j].slides for j in joints]
    unit = np.where(slides, mechanism.structure.extent(), 1.0)
    away = np.random.default_rng(0).uniform(-2.0, 2.0, (_STARTS, len(joints))) * unit
    away[0] = 0.0
    best, smallest = q.copy(), np.full(len(q), np.inf)
    for start in away:
        rows = np.flatnonzero(smallest > CLOSED)
        if not len(rows):
            break
        trial = q[rows].copy()
        trial[:, joints] += start
        gap = _descend(mechanism, block, trial, unit)
        better = gap < smallest[rows]
        best[rows[better]], smallest[rows[better]] = trial[better], gap[better]
    return best, smallest


def _descend(mechanism: Model, block: LoopBlock, q: FloatArray, unit: FloatArray) -> FloatArray:
    """Take Levenberg steps on the gaps, in place; return the last gap's largest component (N,)."""
    joints, rows = list(block.joints), np.arange(len(q))
    gaps = block.gaps(tree_poses(mechanism, q))
    gap = np.abs(gaps).max(axis=1)
    for _ in range(_ITERATIONS):
        rows = rows[gap[rows] > 1e-3 * CLOSED]
        if not len(rows):
            break
        jacobian = block.jacobian(tree_poses(mechanism, q[rows])) * unit
        slope = np.einsum('nij,ni->nj', jacobian, gaps[rows])
        curvature = np.einsum('nki,nkj->nij', jacobian, jacobian)
        largest = np.einsum('nii->n', curvature)
        far = np.minimum(1.0, gap[rows] / np.sqrt(np.maximum(largest, 1e-300)))
        damping = np.maximum(_DAMPING * far * largest, 1e-300)
        curvature += damping[:, None, None] * np.eye(len(joints))
        step = -np.linalg.solve(curvature, slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1)
        q[np.ix_(rows, joints)] += unit * step / np.maximum(longest / _LARGEST_TURN, 1.0)[:, None]
        gaps[rows] = block.gaps(tree_poses(mechanism, q[rows]))
        gap[rows] = np.abs(gaps[rows]).max(axis=1)
        rows = rows[longest > _STANDSTILL]
    return gap


_Error = TypeVar('_Error', bound=MasticatorError)


def failure(mechanism: Model, table: FloatArray, inputs: FloatArray) -> MasticatorError:
    """The exception for the first failed row of a table of results; ``row`` is its index.

    Parameters
    ----------
    mechanism : Model
        For the names of limbs and contacts.
    table : (..., columns) array
        Rows of output, each beginning with status, block and amount; at least one has failed.
    inputs : (3 n_y + 6,) or (N, 3 n_y + 6) array
        Rows of input; with two dimensions the message names the row.
    """
    table = table.reshape(-1, table.shape[-1])
    row = int(np.flatnonzero(table[:, 0])[0])
    status, block, amount = int(table[row, 0]), int(table[row, 1]), float(table[row, 2])
    values = inputs.reshape(len(table), -1)[row]
    return in_row(_error(mechanism, status, block, amount, values), row, inputs.ndim > 1)


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
        said, kind = error, type(error)
        # What a search has to find out is found out when the message is read, with its row, too.
        later = isinstance(error, ReachError)
        error = kind(lambda: f'row {row + 1}: {said}') if later else kind(f'row {row + 1}: {said}')
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
