# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The flat records that kernels read and write.

A mechanism is one block of bytes and one matrix of scratch memory, because every array argument of
a compiled function costs more than much of the arithmetic. The block starts with a directory of
its sections; ``assemble`` writes it, ``unpack`` gives kernels named views of it.

Engine frames: each moving joint carries one body; its frame sits on the joint with Z along the
joint axis, so that a joint is a constant placement followed by a turn about, or a slide along, Z.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.jit import kernel

JOINT = np.dtype(
    [
        ('parent', 'i8'),  # index of the parent joint, -1: base
        ('prismatic', 'i8'),  # 1 slides along Z, 0 turns about Z
        ('rotation', 'f8', (3, 3)),  # joint frame at zero to parent frame
        ('position', 'f8', 3),  # its origin in the parent frame, m
        ('largest_step', 'f8'),  # of one Newton step, rad or m
        ('home', 'f8'),  # rad or m
    ]
)
CONSTRAINT = np.dtype(
    [
        # engine/constraint.py has the equations
        ('kind', 'i8'),  # see seen.py; 0: rows @ (point_b - point_a) + offset in base axes
        ('body_a', 'i8'),  # joint index, -1: base
        ('body_b', 'i8'),
        ('point_a', 'f8', 3),  # in the frame of body_a, m
        ('point_b', 'f8', 3),
        ('rows', 'f8', (3, 3)),  # the first `size` rows count
        ('offset', 'f8', 3),  # m
        ('partners', 'f8', (3, 3)),  # of turns in axes of body b; of surfaces x, y, z in a's
        ('length', 'f8'),  # of rods, m
        ('first_number', 'i8'),  # of surfaces, among the numbers
        ('size', 'i8'),
        ('whole', 'i8'),  # 1: rows are the base axes and need no multiplication
        ('first_row', 'i8'),  # in the constraint Jacobian
        ('first_entry', 'i8'),  # range in the list of entries, the block's own joints first
        ('last_unknown', 'i8'),
        ('last_entry', 'i8'),
    ]
)
ENTRY = np.dtype(
    [  # a joint that moves a constraint
        ('joint', 'i8'),
        ('sign', 'f8'),  # +1: it moves point b, -1: it moves point a
        ('first_number', 'i8'),  # of couplings: its polynomial, among the numbers
    ]
)
BLOCK = np.dtype(
    [  # constraints that determine as many joints, given the blocks before
        ('first_row', 'i8'),  # rows of the constraint Jacobian; also range of dependent joints
        ('last_row', 'i8'),
        ('first_constraint', 'i8'),
        ('last_constraint', 'i8'),
        ('first_body', 'i8'),  # bodies whose pose this block settles
        ('last_body', 'i8'),
        ('home_sign', 'f8'),  # of the determinant of the block's Jacobian
        ('limb', 'f8'),  # 0: no formula; the rest is explained in universal_limb.py
        ('rod_x', 'f8', 3),
        ('rod_y', 'f8', 3),
        ('first_root', 'f8'),
        ('second_root', 'f8'),
    ]
)
BODY = np.dtype(
    [  # scratch: state of a body, base axes
        ('rotation', 'f8', (3, 3)),  # body to base
        ('position', 'f8', 3),  # origin, m
        ('angular_velocity', 'f8', 3),
        ('angular_acceleration', 'f8', 3),
        ('acceleration', 'f8', 3),  # of the origin
    ]
)


class Parts(NamedTuple):
    """A mechanism and its scratch memory as kernels see them."""

    joints: Any  # records of JOINT, and so on
    constraints: Any
    entries: Any
    blocks: Any
    bodies: Any  # scratch; the last one is the base
    independent: IntArray  # joint index per independent coordinate
    actuated: IntArray  # joint index per actuator
    dependent: IntArray  # joint index per constraint row, in block order
    answer: IntArray  # first index of each quantity in a row of output
    numbers: FloatArray  # of surfaces and couplings, see seen.py
    jacobian: FloatArray  # (rows, tree) of the constraints; structural zeros stay zero
    tangent: FloatArray  # (tree, independent) joint velocities per independent velocity
    inverse: FloatArray  # (rows, rows) inverses of the blocks, left-aligned
    square: FloatArray  # (rows, rows)
    projected: FloatArray  # (rows, independent)
    wrenches: FloatArray  # (rows, 6) of unit multipliers on body b, where kinds leave them
    curvature: FloatArray  # (rows, tree) of couplings; of surfaces the first three
    gap: FloatArray  # (rows,) m
    step: FloatArray  # (rows,)
    scale: FloatArray  # (rows,)
    previous: FloatArray  # (tree,)


SECTIONS = Parts._fields[: Parts._fields.index('jacobian')]


class Answer(NamedTuple):
    """Quantities of one row of output, in the order of the row."""

    report: FloatArray  # status, block, amount, closure residual (m), balance residual (N, N m)
    q: FloatArray  # (tree,)
    v: FloatArray
    a: FloatArray
    position: FloatArray  # (actuated,)
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray
    multipliers: FloatArray  # (rows,) N
    tangent: FloatArray  # (tree * independent,)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How many coordinates of each space, and how many scalar constraint equations."""

    tree: int
    independent: int
    actuated: int
    rows: int

    def answer_slices(self) -> dict[str, slice]:
        """Where each field of :class:`Answer` stands in a row of output."""
        n, k, u, m = self.tree, self.independent, self.actuated, self.rows
        slices, start = {}, 0
        for name, length in zip(Answer._fields, (5, n, n, n, u, u, u, u, m, n * k), strict=True):
            slices[name] = slice(start, start + length)
            start += length
        return slices

    def scratch(self) -> FloatArray:
        """Fresh scratch memory, as many rows as :func:`unpack` hands out."""
        n, k, u, m = self.tree, self.independent, self.actuated, self.rows
        return np.zeros((6 * m + n + 4, max(n, m, k, u, 6)))


_DIRECTORY_BYTES = 8 * (len(SECTIONS) + 1)  # first byte of each section, and the end


def assemble(sections: Mapping[str, np.ndarray], names: Sequence[str] = SECTIONS) -> np.ndarray:
    """One block of bytes from named arrays, a directory of their first bytes in front."""
    chunks = [np.ascontiguousarray(sections[name]).view(np.uint8) for name in names]
    ends = 8 * (len(names) + 1) + np.cumsum([0, *(len(chunk) for chunk in chunks)])
    return np.concatenate([ends.astype(np.int64).view(np.uint8), *chunks])


@kernel
def unpack(memory, scratch):
    """Named views of a block written by :func:`assemble` and of scratch memory."""
    at = memory[:_DIRECTORY_BYTES].view(np.int64)
    independent = memory[at[5] : at[6]].view(np.int64)
    actuated = memory[at[6] : at[7]].view(np.int64)
    dependent = memory[at[7] : at[8]].view(np.int64)
    joints = memory[at[0] : at[1]].view(JOINT)
    n, m = len(joints), len(dependent)
    vectors = 6 * m + n
    return Parts(
        joints,
        memory[at[1] : at[2]].view(CONSTRAINT),
        memory[at[2] : at[3]].view(ENTRY),
        memory[at[3] : at[4]].view(BLOCK),
        memory[at[4] : at[5]].view(BODY),
        independent,
        actuated,
        dependent,
        memory[at[8] : at[9]].view(np.int64),
        memory[at[9] : at[10]].view(np.float64),
        scratch[:m],
        scratch[m : m + n],
        scratch[m + n : 2 * m + n],
        scratch[2 * m + n : 3 * m + n],
        scratch[3 * m + n : 4 * m + n],
        scratch[4 * m + n : 5 * m + n],
        scratch[5 * m + n : vectors],
        scratch[vectors],
        scratch[vectors + 1],
        scratch[vectors + 2],
        scratch[vectors + 3],
    )


@kernel
def answer_of(row, at):
    """Named views of a row of output; ``at`` holds the first index of each field."""
    return Answer(
        row[: at[1]],
        row[at[1] : at[2]],
        row[at[2] : at[3]],
        row[at[3] : at[4]],
        row[at[4] : at[5]],
        row[at[5] : at[6]],
        row[at[6] : at[7]],
        row[at[7] : at[8]],
        row[at[8] : at[9]],
        row[at[9] : at[10]],
    )
