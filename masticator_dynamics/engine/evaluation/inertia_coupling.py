# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia felt by actuators, and how strongly they are coupled by it (S0 Sec. 6).

Where actuators outnumber freedoms, their velocities cannot all be chosen, and "the" inertia in
actuated space needs an extension of the kinetic energy to velocities that the loops forbid. S0
takes the velocities of cranks and platform as independent of one another and lets each coupler
follow its two ends, stretching if it must; that is done here for every limb made of a driven link
and a rod. On velocities that the loops allow it is the true kinetic energy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.failures import in_row
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.evaluation.results import (
    Effort,
    Evaluator,
    Motion,
    check_motion,
    numbers_of,
)
from masticator_dynamics.engine.status import CLOSED
from masticator_dynamics.engine.structure import Block
from masticator_dynamics.engine.traced.actuated_inertia import inertia_code
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.reference import Reference
from masticator_dynamics.errors import ActuationError, SingularityError


class ActuatedInertia:
    """Inertia matrices in actuated space of one mechanism.

    Parameters
    ----------
    mechanism : Mechanism

    Raises
    ------
    ActuationError
        When a redundantly actuated mechanism has a limb that is not a driven link and a rod.
    """

    def __init__(self, mechanism: Evaluator):
        limbs = limbs_of(mechanism)
        self._rods, self._count = rods_of(mechanism, limbs), len(mechanism.actuated)
        self.code = inertia_code(mechanism.kernels, limbs)
        self._reference = Reference(self.code)

    def __call__(self, q: FloatArray) -> FloatArray:
        """Inertia matrices (N, n_u, n_u), kg m^2 or kg; NaN where the actuators lose control.

        Parameters
        ----------
        q : array, shape (N, n_q)
            Tree positions of the closed mechanism, rad or m.

        Raises
        ------
        ActuationError
            When a rod has its centre of mass off the line between its ends.
        """
        outputs = self._reference(q)
        controlled = outputs[:, 0] == CLOSED
        for fault in outputs[controlled, 3]:
            check_rods(self._rods, fault)
        inertia = outputs[:, 4 : 4 + self._count**2].reshape(-1, self._count, self._count)
        inertia[~controlled] = np.nan
        return inertia


def answers(mechanism: Evaluator, *, part: str) -> list[Answer]:
    """Machine code for the inertia at one motion, or for its coupling before the logarithm."""
    count, code = len(mechanism.actuated), mechanism.made(ActuatedInertia).code
    positions = {'motion': [numbers_of(mechanism)['q']]}
    if part == 'matrix':
        return [Answer(code, 5, (count, count), positions)]
    return [Answer(code, 5 + count**2, (count,), positions)]


def actuated_inertia(mechanism: Evaluator, motion: Motion | Effort) -> FloatArray:
    """Inertia matrix M_A (..., n_u, n_u) in actuated space, kg m^2 or kg (S0 Eq. 59).

    Its diagonal is the load inertia of each actuator, at the motor where there is a transmission
    (S4 Sec. 3.2), the rotor's own included. For a batch, one matrix per row.

    Raises
    ------
    ActuationError
        When a redundantly actuated mechanism has a limb that is not a driven link and a rod.
    SingularityError
        Where the actuators lose control.
    """
    check_motion(mechanism, motion)
    many = motion.q.ndim > 1
    inertia = mechanism.made(ActuatedInertia)(motion.q if many else motion.q[None])
    lost = np.flatnonzero(np.isnan(inertia[:, 0, 0]))
    if len(lost):
        row = int(lost[0])
        pose = motion.y[row] if many else motion.y
        error = SingularityError(
            f'actuators {", ".join(mechanism.actuated)} lose control at {pose}'
        )
        raise in_row(error, row, many)
    return inertia if many else inertia[0]


def inertia_coupling(inertia: FloatArray) -> FloatArray:
    """Inertia-coupling index MCI (..., n_u) of each actuator from M_A (S0 Eq. 60); 0 if alone.

    ::

        MCI_i = ln(1 + sum over j != i of |M_ij| / ((n_u - 1) |M_ii|))
    """
    return np.asarray(np.log1p(coupling(inertia)))


def coupling(inertia: FloatArray) -> FloatArray:
    """Exponentials less one of these indices."""
    diagonal = np.abs(np.diagonal(inertia, axis1=-2, axis2=-1))
    others = np.abs(inertia).sum(axis=-1) - diagonal
    return np.asarray(others / (max(diagonal.shape[-1] - 1, 1) * diagonal))


def rods_of(mechanism: Evaluator, limbs: Sequence[Block]) -> list[str]:
    """Closures at the ends of the limbs' rods."""
    return [mechanism.structure.constraints[block.constraints[0]].name for block in limbs]


def check_rods(rods: Sequence[str], fault: float, of: str = '') -> None:
    """Raise for the first rod off its line, if any."""
    if fault >= 0.0:
        raise ActuationError(
            f'{of}{rods[int(fault)]}: the rod has its centre of mass off the line between its ends'
        )


def limbs_of(mechanism: Evaluator) -> list[Block]:
    """Per actuator the limb that it drives, where there are more of them than freedoms; or none.

    Raises
    ------
    ActuationError
        As for :class:`ActuatedInertia`.
    """
    redundant = len(mechanism.actuated) > len(mechanism.independent)
    driven = mechanism.tree_indices(mechanism.actuated) if redundant else []
    return [_limb(mechanism, joint) for joint in driven]


def _limb(mechanism: Evaluator, joint: int) -> Block:
    """The limb that an actuated joint drives: a driven link and a rod closed on the platform."""
    tree, names = mechanism.structure.tree, mechanism.tree_joints
    why = 'it is in no loop'
    for block in mechanism.structure.blocks:
        if joint not in block.joints:
            continue
        first, *between, rod = block.joints
        ends = mechanism.structure.constraints[block.constraints[0]]
        heavy = [names[j] for j in between if tree.inertias[j].mass > 0.0]
        if joint != first:
            why = f'{names[first]} comes before it'
        elif heavy:
            why = f'{", ".join(heavy)} between link and rod carry mass'
        elif len(block.constraints) == 1 and rod in (ends.body_a, ends.body_b):
            return block
        else:
            why = f'{names[rod]} is not a rod that one closure holds at its end'
    motors, freedoms = len(mechanism.actuated), len(mechanism.independent)
    raise ActuationError(
        f'{motors} motors move {freedoms} freedoms: inertia in actuated space is then defined for '
        f'limbs of a driven link and a rod alone, and that of {names[joint]} is none: {why}'
    )


def inertia_units(mechanism: Model) -> tuple[str, ...]:
    """Unit of each actuator's inertia."""
    return tuple('kg' if unit == 'N' else 'kg m^2' for unit in mechanism.effort_units)
