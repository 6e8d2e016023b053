# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces and torques in closures, and in joints of the tree, from the engine's multipliers.

E.g. for sizing bearings; not on the fast path.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.descent import Loops
from masticator_dynamics.engine.evaluation.frames import shifted
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.redundant_equations import ROUNDING
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.tree import TreePoses


class LoopForces:
    """The closures of a mechanism.

    Attributes
    ----------
    unique : array of bool, shape (n_closures,)
        Whether the motion determines the force of each closure.
    """

    def __init__(self, mechanism: Model):
        self._structure = structure = mechanism.structure
        self._names, self._contacts = mechanism.closures, mechanism.contacts
        tree = structure.tree
        self._second = {
            closure.name: tree.frames[closure.frames[1]]
            for closure in mechanism.description.closures
            if closure.frames
        }
        self.unique: npt.NDArray[np.bool_] = np.array(
            [name not in structure.shared for name in self._names], dtype=bool
        )
        self._parts = structure.ordered()
        self._constant = structure.least_norm and all(c.in_base for c, _ in self._parts)
        self._kept = Loops(tree, tuple(c for c, _ in self._parts), structure.extent())
        self._described = Loops(tree, structure.described, structure.extent())

    def forces(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Forces (..., n_closures, 3) on the second frames' bodies, N, base axes."""
        if not self._constant:
            return self.actions(q, multipliers)[..., :3]
        forces, zero = [], np.zeros((*multipliers.shape[:-1], 3))
        for name in self._names:
            # Summed term by term: a matrix product may round differently for one row and for many.
            parts = [(c, rows) for c, rows in self._parts if c.name == name]
            terms = [term for c, rows in parts for term in zip(rows, c.rows, strict=True)]
            forces.append(sum((multipliers[..., r, None] * row for r, row in terms), zero))
        if not forces:
            return np.zeros((*multipliers.shape[:-1], 0, 3))
        return np.stack(forces, axis=-2)

    def actions(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """What closures do (..., n_closures, 7): wrenches, and efforts of couplings.

        The wrenches are on the second frames' bodies, about their origins; the efforts on the
        joints that couplings move.
        """
        actions = np.zeros((*q.shape[:-1], len(self._names), 7))
        for row in np.ndindex(q.shape[:-1]):
            poses = self._structure.tree.poses(q[row])
            shares, numbers = self._shares(q[row], multipliers[row])
            for constraint, rows in shares:
                multipliers_of_it = numbers[rows.start : rows.stop]
                if constraint.of_joints:
                    actions[row][self._names.index(constraint.name), 6] = multipliers_of_it[0]
                elif frame := self._second.get(constraint.name):
                    sign = 1.0 if frame.body == constraint.body_b else -1.0
                    wrench = sign * multipliers_of_it @ constraint.wrenches(poses)
                    arm = constraint.points(poses)[1] - poses.point(frame.body, frame.position)
                    actions[row][self._names.index(constraint.name), :6] += shifted(wrench, arm)
        return actions

    def contact_forces(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Forces (..., n_contacts, 3) of planes and surfaces from multipliers (..., n_contacts)."""
        contacts = {c.name: c for c, _ in self._parts if c.contact}
        if all(c.in_base for c in contacts.values()):
            normals = [contacts[name].rows[0] for name in self._contacts]
            return multipliers[..., None] * np.array(normals).reshape(-1, 3)
        forces = np.zeros((*q.shape[:-1], len(self._contacts), 3))
        for row in np.ndindex(q.shape[:-1]):
            poses = self._structure.tree.poses(q[row])
            for k, name in enumerate(self._contacts):
                force = contacts[name].wrenches(poses)[0, :3]
                forces[(*row, k)] = multipliers[(*row, k)] * force
        return forces

    def _shares(
        self, q: FloatArray, multipliers: FloatArray
    ) -> tuple[list[tuple[Constraint, range]], FloatArray]:
        """Constraints, their rows among the multipliers, and multipliers of least norm.

        Where equations were left out: multipliers of all described equations that load the joints
        like those of the kept ones, torques per size of the mechanism.
        """
        if self._structure.least_norm:
            return self._parts, multipliers
        independent, full = self._kept, self._described
        load = independent.jacobian(q).T @ (multipliers * independent.units())
        shares = np.linalg.lstsq(full.jacobian(q).T, load, rcond=ROUNDING)[0]
        ends = np.cumsum([0, *(c.size for c in full.constraints)])
        ranges = [range(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        return list(zip(full.constraints, ranges, strict=True)), shares / full.units()


def joint_reactions(
    structure: Structure,
    q: FloatArray,
    bodies: FloatArray,
    multipliers: FloatArray,
    friction: Mapping[str, FloatArray],
) -> FloatArray:
    """Wrenches (n, 6) that joints transmit at positions (n,).

    Force and torque on the child from the parent, base axes, torque about the joint's origin.
    Couplings of joints act along the axes of these joints and between no bodies that the
    description names: they are not among the wrenches.

    Parameters
    ----------
    bodies : array, shape (n, 18)
        Rotation, origin, and the force and moment that each body needs by itself, about its origin.
    multipliers : array, shape (rows,)
        Of the constraints, in block order.
    friction : mapping of str to array, shape (3,)
        Friction force, N, base axes, on the body of each contact.
    """
    rotations = np.concatenate([bodies[:, :9].reshape(-1, 3, 3), np.eye(3)[None]])
    poses = TreePoses(structure.tree, q, rotations, np.vstack([bodies[:, 9:12], np.zeros(3)]))
    origins = poses.origins[:-1]
    # Bodies and the wrenches of the constraints on them, about the base's origin.
    at: list[int] = []
    applied: list[FloatArray] = []
    for constraint, rows in structure.ordered():
        unit = constraint.wrenches(poses)
        wrench = multipliers[rows.start : rows.stop] @ unit
        wrench[:3] += friction.get(constraint.name, 0.0)
        a, b = constraint.points(poses)
        for body, point, sign in (
            (constraint.body_a, a if constraint.in_base else b, -1.0),
            (constraint.body_b, b, 1.0),
        ):
            if body >= 0:
                at.append(body)
                torque = wrench[3:] + np.cross(point, wrench[:3])
                applied.append(sign * np.concatenate([wrench[:3], torque]))
    # What joints transmit, about the base's origin.
    borne = bodies[:, 12:].copy()
    borne[:, 3:] += np.cross(origins, borne[:, :3])
    if at:
        np.subtract.at(borne, at, applied)
    # A parent also bears what its child bears; parents come before children.
    for j in range(len(borne) - 1, -1, -1):
        parent = structure.tree.placements[j].body
        if parent >= 0:
            borne[parent] += borne[j]
    borne[:, 3:] -= np.cross(origins, borne[:, :3])
    return borne
