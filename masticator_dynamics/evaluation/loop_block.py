# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops seen from Python, many poses at a time: their Jacobians, and whether they can close at all.

Machine code closes loops on the branch continuous with home, or reports only that it
failed. Here each block of constraints (``engine/structure.py``) is examined on its own.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import Constraint, jacobian, moving_joints, residual
from masticator_dynamics.evaluation.frames import FrameChain
from masticator_dynamics.evaluation.model import Model

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

    def __init__(self, mechanism: Model, index: int):
        structure = mechanism.structure
        block = structure.blocks[index]
        self.joints = block.joints
        self._tree = structure.tree
        description = mechanism.description
        frames = {c.name: c.frames for c in description.closures} | {
            c.name: (description.base, c.frame) for c in description.contacts
        }
        self._parts = []
        for c in block.constraints:
            constraint = structure.constraints[c]
            moving = moving_joints(structure.tree, constraint)
            ends = frames[constraint.name] if _in_base(constraint) else ()
            chains = [FrameChain(mechanism, frame) for frame in ends]
            self._parts.append((constraint, chains, moving))

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Rates (N, m, m) of the constraints, m, per velocity of the block's joints."""
        square = np.zeros((len(q), len(self.joints), len(self.joints)))
        first = 0
        for constraint, chains, moving in self._parts:
            last = first + constraint.size
            if not chains:
                single = [jacobian(self._tree.poses(row), constraint) for row in q]
                square[:, first:last] = np.array(single)[:, :, self.joints]
                first = last
                continue
            for chain, side in zip(chains, (-1.0, 1.0), strict=True):
                own = [j for j in self.joints if moving.get(j) == side]
                rates = chain.joint_rates(q)[1] if own else {}
                for j in own:
                    column = side * rates[j] @ constraint.rows.T
                    square[:, first:last, self.joints.index(j)] = column
            first = last
        return square

    def gaps(self, q: FloatArray) -> FloatArray:
        """Gaps (N, m) of the constraints, m."""
        parts = []
        for constraint, chains, _ in self._parts:
            if not chains:
                rows = [residual(self._tree.poses(row), constraint) for row in q]
                parts.append(np.array(rows).reshape(len(q), constraint.size))
                continue
            first, second = chains
            between = second.poses(q)[0] - first.poses(q)[0]
            parts.append(between @ constraint.rows.T + constraint.offset)
        return np.hstack(parts)


def _in_base(constraint: Constraint) -> bool:
    """Whether a constraint measures the difference of two points in constant directions."""
    return constraint.kind == 'point' and not constraint.carried


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
            q[rows], gaps[rows, b] = _closest(mechanism, LoopBlock(mechanism, b), q[rows])
            rows = rows[gaps[rows, b] <= CLOSED]
    return gaps


def _closest(mechanism: Model, block: LoopBlock, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Positions (N, n_q) with the smallest gaps of a block found, and these gaps (N,)."""
    joints = list(block.joints)
    slides = [mechanism.structure.tree.joints[j].type == 'prismatic' for j in joints]
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
        gap = _descend(block, trial, unit)
        better = gap < smallest[rows]
        best[rows[better]], smallest[rows[better]] = trial[better], gap[better]
    return best, smallest


def _descend(block: LoopBlock, q: FloatArray, unit: FloatArray) -> FloatArray:
    """Take Levenberg steps on the gaps, in place; return the last gap's largest component (N,)."""
    joints, rows = list(block.joints), np.arange(len(q))
    gap = np.abs(block.gaps(q)).max(axis=1)
    for _ in range(_ITERATIONS):
        rows = rows[gap[rows] > 1e-3 * CLOSED]
        if not len(rows):
            break
        jacobian = block.jacobian(q[rows]) * unit
        slope = np.einsum('nij,ni->nj', jacobian, block.gaps(q[rows]))
        curvature = np.einsum('nki,nkj->nij', jacobian, jacobian)
        largest = np.einsum('nii->n', curvature)
        far = np.minimum(1.0, gap[rows] / np.sqrt(np.maximum(largest, 1e-300)))
        damping = np.maximum(_DAMPING * far * largest, 1e-300)
        curvature += damping[:, None, None] * np.eye(len(joints))
        step = -np.linalg.solve(curvature, slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1)
        q[np.ix_(rows, joints)] += unit * step / np.maximum(longest / _LARGEST_TURN, 1.0)[:, None]
        gap[rows] = np.abs(block.gaps(q[rows])).max(axis=1)
        rows = rows[longest > _STANDSTILL]
    return gap
