# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The flat records of friction and goals, beside those of the engine.

Every quantity of the distribution is affine in a few *causes*: the load of the motion itself
(column 0), the efforts that cancel in the motion (columns 1 to d, d = actuators - freedoms) and
the Coulomb friction of each contact per unit of its multiplier (the last c columns).
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.jit import kernel

CONTACT = np.dtype(
    [
        ('constraint', 'i8'),
        ('row', 'i8'),  # among the multipliers
        ('coulomb', 'f8'),  # friction force per unit of multiplier, N
        ('viscous', 'f8'),  # N s/m
        ('transition', 'f8'),  # m/s, 0: jump at zero velocity
    ]
)
SLOT = np.dtype(
    [  # a joint whose transmitted force is needed: first the actuated joints, then the goal's
        ('joint', 'i8'),
        ('coulomb', 'f8'),  # friction effort per newton across the axis
        ('viscous', 'f8'),  # friction effort per velocity
        ('transition', 'f8'),  # rad/s or m/s
    ]
)
TAP = np.dtype(
    [  # a constraint that loads the joint of a slot
        ('slot', 'i8'),
        ('constraint', 'i8'),
        ('sign', 'f8'),
        ('contact', 'i8'),  # index of the contact, -1 for a closure
    ]
)


class Tables(NamedTuple):
    """Friction and goal of a mechanism, and scratch memory, as kernels see them."""

    contacts: Any  # records of CONTACT, and so on
    slots: Any
    taps: Any
    goal: FloatArray  # weights of |effort|^2, |power|^2, |joint force|^2, |contact|^2
    sizes: IntArray  # (3,) free efforts, causes, 1 where friction counts
    stays: IntArray  # (contacts,) patterns whose minimum keeps the contact's sign, as bits
    loads: FloatArray  # (tree, causes)
    efforts: FloatArray  # (actuated, causes)
    multipliers: FloatArray  # (rows, causes)
    forces: FloatArray  # (3 * slots, causes) that joints transmit, base axes
    bearing: FloatArray  # (3 * actuated, causes) the same in the axes of the actuated joints
    contact: FloatArray  # (contacts, 1 + d) multipliers, affine in the free efforts
    terms: FloatArray  # (terms, 1 + d) of the objective: residuals, affine in the free efforts
    bearing_terms: FloatArray  # (3 * actuated, 1 + d) force in each actuated joint's axes
    newton: FloatArray  # (d + contacts, d + contacts + 1)
    free: FloatArray  # (d,) the free efforts
    step: FloatArray  # (d,)
    gradient: FloatArray  # (d,) of one term
    amounts: FloatArray  # (causes,) of the causes at the free efforts
    friction: FloatArray  # (3 * contacts,) N, unit Coulomb force, base axes
    viscous: FloatArray  # (3 * contacts,) N, viscous force, base axes
    signs: FloatArray  # (contacts,) assumed signs of the multipliers
    weights: FloatArray  # (actuated,) of the efforts in the objective
    drag: FloatArray  # (actuated,) effort of viscous friction
    rubbing: FloatArray  # (actuated,) effort of Coulomb friction per newton across the axis


@dataclasses.dataclass(frozen=True)
class Counts:
    """Sizes that shape the scratch memory."""

    tree: int
    actuated: int
    rows: int
    contacts: int
    slots: int
    free: int

    @property
    def causes(self) -> int:
        """Columns of the affine families."""
        return 1 + self.contacts + self.free

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of each scratch matrix, in the order of :class:`Tables`."""
        c, d, k, u = self.contacts, self.free, self.causes, self.actuated
        terms = u + 3 * (self.slots - u) + c
        return {
            'loads': (self.tree, k), 'efforts': (u, k), 'multipliers': (self.rows, k),
            'forces': (3 * self.slots, k), 'bearing': (3 * u, k), 'contact': (c, 1 + d),
            'terms': (terms, 1 + d), 'bearing_terms': (3 * u, 1 + d),
            'newton': (d + c, d + c + 1),
        }  # fmt: skip


SECTIONS = ('contacts', 'slots', 'taps', 'goal', 'sizes', 'stays', 'ends')
_MATRICES = 9
_VECTORS = 10


def scratch(counts: Counts) -> FloatArray:
    """Fresh scratch memory."""
    shapes = counts.shapes().values()
    width = max(max(columns for _, columns in shapes), 3 * counts.contacts, counts.actuated, 1)
    return np.zeros((sum(rows for rows, _ in shapes) + _VECTORS, width))


def row_ends(counts: Counts) -> IntArray:
    """Where the scratch matrices end."""
    return np.cumsum([0, *(rows for rows, _ in counts.shapes().values())]).astype(np.int64)


def views(counts: Counts, memory: FloatArray) -> dict[str, FloatArray]:
    """The scratch matrices and vectors by name, as :class:`Tables` has them."""
    ends = row_ends(counts)
    named = {}
    for (name, (_, columns)), start, end in zip(
        counts.shapes().items(), ends[:-1], ends[1:], strict=True
    ):
        named[name] = memory[start:end, :columns]
    vectors = Tables._fields[-_VECTORS:]
    return named | dict(zip(vectors, memory[ends[-1] :], strict=True))


@kernel
def unpack_tables(block, memory):
    """Named views of a block of bytes with ``SECTIONS`` and of scratch memory."""
    at = block[: 8 * (len(SECTIONS) + 1)].view(np.int64)
    ends = block[at[6] : at[7]].view(np.int64)
    last = ends[_MATRICES]
    return Tables(
        block[at[0] : at[1]].view(CONTACT),
        block[at[1] : at[2]].view(SLOT),
        block[at[2] : at[3]].view(TAP),
        block[at[3] : at[4]].view(np.float64),
        block[at[4] : at[5]].view(np.int64),
        block[at[5] : at[6]].view(np.int64),
        memory[ends[0] : ends[1]],
        memory[ends[1] : ends[2]],
        memory[ends[2] : ends[3]],
        memory[ends[3] : ends[4]],
        memory[ends[4] : ends[5]],
        memory[ends[5] : ends[6]],
        memory[ends[6] : ends[7]],
        memory[ends[7] : ends[8]],
        memory[ends[8] : last],
        memory[last],
        memory[last + 1],
        memory[last + 2],
        memory[last + 3],
        memory[last + 4],
        memory[last + 5],
        memory[last + 6],
        memory[last + 7],
        memory[last + 8],
        memory[last + 9],
    )
