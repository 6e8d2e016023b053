# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia felt by actuators, and how strongly they are coupled by it (S0 Sec. 6).

Where actuators outnumber freedoms, their velocities cannot all be chosen, and "the" inertia in
actuated space needs an extension of the kinetic energy to velocities that the loops forbid. S0
takes the velocities of cranks and platform as independent of one another and lets each coupler
follow its two ends, stretching if it must; that is done here for every limb made of a driven link
and a rod. On velocities that the loops allow it is the true kinetic energy.

Each body's contribution is in :mod:`masticator_dynamics.analysis.actuated_kernels`.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.analysis import actuated_kernels as kernels
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Block
from masticator_dynamics.errors import ActuationError, SingularityError
from masticator_dynamics.failures import in_row
from masticator_dynamics.results import Effort, Evaluator, Motion


class ActuatedInertia:
    """Inertia matrices in actuated space of one mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory, as this does: for one thread only.

    Raises
    ------
    ActuationError
        When a redundantly actuated mechanism has a limb that is not a driven link and a rod.
    """

    def __init__(self, mechanism: Evaluator):
        self._actuated = np.array(mechanism.tree_indices(mechanism.actuated))
        actuators = [mechanism.description.actuators[name] for name in mechanism.actuated]
        rotors = [actuator.rotor_inertia for actuator in actuators]
        self._motors = np.array([mechanism.transmission_ratios, rotors])
        at_home = mechanism.jacobian_actuated_from_independent(mechanism.home)
        self._usual = np.linalg.norm(at_home, axis=0)
        # The tree, less the limbs of a redundantly actuated mechanism.
        redundant = len(mechanism.actuated) > len(mechanism.independent)
        limbs = [_limb(mechanism, joint) for joint in self._actuated] if redundant else []
        self._links = _links(mechanism, limbs)
        self._rods, self._names = _rods(mechanism, limbs)
        sizes = len(self._links), len(self._actuated), len(mechanism.independent)
        self._scratch = np.zeros(kernels.scratch_shape(*sizes))

    def __call__(self, q: FloatArray, tangent: FloatArray) -> FloatArray:
        """Inertia matrices (N, n_u, n_u), kg m^2 or kg; NaN where the actuators lose control.

        Parameters
        ----------
        q : array, shape (N, n_q)
            Tree positions of the closed mechanism, rad or m.
        tangent : array, shape (N, n_q, n_y)
            Tree velocities per independent velocity there.

        Raises
        ------
        ActuationError
            When a rod has its centre of mass off the line between its ends.
        """
        inertia = np.empty((len(q), len(self._actuated), len(self._actuated)))
        fault = kernels.actuated_inertia(
            self._links,
            self._rods,
            self._actuated,
            self._motors,
            self._usual,
            self._scratch,
            q,
            tangent,
            inertia,
        )
        if fault >= 0:
            raise ActuationError(
                f'{self._names[fault]}: the rod has its centre of mass off the line between its '
                'ends'
            )
        return inertia


def _links(mechanism: Evaluator, limbs: list[Block]) -> np.ndarray:
    """Records of all bodies; those of limbs count separately or as rods."""
    tree = mechanism.structure.tree
    in_limbs = {j for block in limbs for j in block.joints}
    driven = {block.joints[0]: k for k, block in enumerate(limbs)}
    records = np.zeros(len(tree.joints), kernels.LINK)
    for j, (record, joint) in enumerate(zip(records, tree.joints, strict=True)):
        placement, inertia = tree.placements[j], tree.inertias[j]
        record['parent'], record['prismatic'] = placement.body, joint.type == 'prismatic'
        record['rotation'], record['position'] = placement.rotation, placement.position
        record['mass'], record['center'] = inertia.mass, inertia.center_of_mass
        record['root'] = _root(inertia.about_center)
        if j in driven:
            record['counts'], record['actuator'] = kernels.WITH_ITS_ACTUATOR, driven[j]
        elif j not in in_limbs and (inertia.mass > 0.0 or inertia.about_center.any()):
            record['counts'] = kernels.WITH_ALL
    return records


def _rods(mechanism: Evaluator, limbs: list[Block]) -> tuple[np.ndarray, list[str]]:
    """Records of the rods of limbs, and the names of the closures at their tips."""
    structure = mechanism.structure
    records, names = np.zeros(len(limbs), kernels.ROD), []
    for record, block in zip(records, limbs, strict=True):
        rod = block.joints[-1]
        inertia = structure.tree.inertias[rod]
        constraint = structure.constraints[block.constraints[0]]
        ends = (constraint.body_a, constraint.point_a), (constraint.body_b, constraint.point_b)
        tip, seat = ends if constraint.body_a == rod else ends[::-1]
        record['driving'], record['foot'], record['rod'] = *block.joints[:2], rod
        record['seat'], record['tip'] = seat[0], tip[1]
        record['mass'], record['center'] = inertia.mass, inertia.center_of_mass
        record['transverse'] = max(np.linalg.eigvalsh(inertia.about_center)[-1], 0.0)
        names.append(constraint.name)
    return records, names


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
    q, tangent = motion.q, motion.tangent
    many = q.ndim > 1
    inertia = mechanism.made(ActuatedInertia)(*((q, tangent) if many else (q[None], tangent[None])))
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
    """Inertia-coupling index MCI (..., n_u) of each actuator from M_A (S0 Eq. 60); 0 if alone."""
    own = np.abs(np.diagonal(inertia, axis1=-2, axis2=-1))
    others = np.abs(inertia).sum(axis=-1) - own
    return np.log1p(others / (max(own.shape[-1] - 1, 1) * own))


def _limb(mechanism: Evaluator, joint: int) -> Block:
    """The limb that an actuated joint drives: a driven link and a rod closed on the platform."""
    tree = mechanism.structure.tree
    for block in mechanism.structure.blocks:
        if joint not in block.joints:
            continue
        first, *between, rod = block.joints
        light = all(tree.inertias[j].mass == 0.0 for j in between)
        ends = mechanism.structure.constraints[block.constraints[0]]
        closed = len(block.constraints) == 1 and rod in (ends.body_a, ends.body_b)
        if joint == first and light and closed:
            return block
    raise ActuationError(
        f'{mechanism.tree_joints[joint]}: inertia in actuated space is defined for redundantly '
        'actuated mechanisms whose limbs are a driven link and a rod'
    )


def _root(inertia: FloatArray) -> FloatArray:
    """A matrix F (3, 3) with F^T F = inertia."""
    values, vectors = np.linalg.eigh(inertia)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
