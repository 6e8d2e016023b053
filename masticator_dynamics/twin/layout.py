# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Packed numbers of the twin, beside those of the engine."""

from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.jit import kernel

# Columns of the stops of points: a point of a body may not leave a range along an axis of the base.
BODY, POINT, AXIS, LOWER, UPPER, STIFFNESS, DAMPING, RAMP, POINT_WIDTH = 0, 1, 4, 5, 6, 7, 8, 9, 10
# Of the stops of joints: tree index; then the range and the law as above, from this column on.
JOINT, JOINT_LOWER, JOINT_WIDTH = 0, 1, 6
# Of the stops of limbs before their dead points: a driven link, a rod that pivots on its end.
FIRST, ROD, TIP, SIGN, LEAST, LIMB_LAW, LIMB_WIDTH = 0, 1, 2, 5, 6, 7, 10


class Results(NamedTuple):
    """What the last evaluation found, in the order of the packed row."""

    report: FloatArray  # (3,) kinetic and potential energy (J), largest generalised imbalance
    y_ddot: FloatArray  # (independent,)
    wrench: FloatArray  # (6,) food on platform, base axes, about the platform's origin
    food_force: FloatArray  # (3,) food on the tooth, N, base axes
    joint_friction: FloatArray  # (actuated,) effort that friction takes
    contact_friction: FloatArray  # (3 * contacts,) N, base axes, on the contact's body


class Scratch(NamedTuple):
    """Scratch memory of one evaluation; f freedoms, z unknown amounts of friction."""

    v: Any  # (tree,) velocities of one pass over the tree
    a: Any  # (tree,) accelerations
    base: Any  # (f,) positions at the start of a step
    base_rate: Any  # (f,)
    sum: Any  # (f,) weighted velocities of the stages
    sum_rate: Any  # (f,)
    amounts: Any  # (z,) of friction: efforts of the joints, multipliers of the contacts
    mass: Any  # (f, f)
    right: Any  # (f, 1 + z) accelerations: of the loads, of each unit of friction
    forces: Any  # (3 * actuated, f) that joints transmit per independent acceleration, base axes
    response: Any  # (contacts + 2 * actuated, 1 + z) loads that friction depends on


def result_slices(freedoms: int, actuated: int, contacts: int) -> dict[str, slice]:
    """Where each field of :class:`Results` stands in the packed row."""
    ends = np.cumsum([0, 3, freedoms, 6, 3, actuated, 3 * contacts]).tolist()
    return dict(zip(Results._fields, map(slice, ends[:-1], ends[1:]), strict=True))


def scratch(tree: int, freedoms: int, actuated: int, contacts: int) -> FloatArray:
    """Fresh scratch memory."""
    unknown = actuated + contacts
    return np.zeros(
        (7 + 2 * freedoms + 3 * actuated + contacts + 2 * actuated, max(tree, 1 + unknown))
    )


@kernel
def scratch_of(memory, freedoms, actuated):
    """Named views of scratch memory."""
    mass, right = 7, 7 + freedoms
    forces = right + freedoms
    response = forces + 3 * actuated
    return Scratch(
        memory[0],
        memory[1],
        memory[2],
        memory[3],
        memory[4],
        memory[5],
        memory[6],
        memory[mass:right],
        memory[right:forces],
        memory[forces:response],
        memory[response:],
    )


@kernel
def results_of(row, freedoms, actuated):
    """Named views of the packed row of results."""
    wrench = 3 + freedoms
    friction = wrench + 9
    return Results(
        row[:3],
        row[3:wrench],
        row[wrench : wrench + 6],
        row[wrench + 6 : friction],
        row[friction : friction + actuated],
        row[friction + actuated :],
    )
