# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia that actuators feel, and how strongly they feel one another's (S0 Sec. 6).

Where actuators outnumber freedoms, their velocities cannot all be chosen, and "the" inertia in
actuated space needs an extension of the kinetic energy to velocities that the loops forbid. S0
takes the velocities of cranks and platform as independent of one another and lets each coupler
follow its two ends, stretching if it must; that is done here for every limb made of a driven link
and a rod. On velocities that the loops allow it is the true kinetic energy.

Kinetic energy is a sum of squares: the inertia matrix is G^T G with a row of G for every
component of every body's velocity, weighted by the root of its mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.analysis.tree_twists import TreeTwists, point_velocities
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Block
from masticator_dynamics.errors import ActuationError

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.results import Effort, Motion

_ON_THE_LINE = 1e-6  # of a rod's length
_ROWS = 256  # at once; more would leave the processor's cache


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

    def __init__(self, mechanism: Mechanism):
        tree = mechanism.structure.tree
        self._twists = TreeTwists(tree)
        self._actuated = mechanism.tree_indices(mechanism.actuated)
        actuators = mechanism.description.actuators
        self._rotors = np.diag([actuators[name].rotor_inertia for name in mechanism.actuated])
        ratio = mechanism.transmission_ratios
        self._ratios = np.outer(ratio, ratio)
        self._square = len(mechanism.actuated) == len(mechanism.independent)
        # The tree, less the limbs of a redundantly actuated mechanism.
        limbs = [] if self._square else [_limb(mechanism, joint) for joint in self._actuated]
        in_limbs = {j for block in limbs for j in block.joints}
        heavy = [b for b, i in enumerate(tree.inertias) if i.mass > 0.0 or i.about_center.any()]
        self._bodies = _Bodies(mechanism, [b for b in heavy if b not in in_limbs])
        self._driven = _Bodies(mechanism, [block.joints[0] for block in limbs])
        self._rods = _Rods(mechanism, limbs)

    def __call__(self, q: FloatArray, tangent: FloatArray) -> FloatArray:
        """Inertia matrices (N, n_u, n_u), kg m^2 or kg.

        Parameters
        ----------
        q : array, shape (N, n_q)
            Tree positions of the closed mechanism, rad or m.
        tangent : array, shape (N, n_q, n_y)
            Tree velocities per independent velocity there.
        """
        inertia = np.empty((len(q), *self._rotors.shape))
        for start in range(0, len(q), _ROWS):
            part = slice(start, start + _ROWS)
            inertia[part] = self._rows(q[part], tangent[part])
        return inertia

    def _rows(self, q: FloatArray, tangent: FloatArray) -> FloatArray:
        jacobian = tangent[:, self._actuated]
        inverse = np.linalg.inv(jacobian) if self._square else np.linalg.pinv(jacobian)
        poses = self._twists.poses(q)
        screws = self._twists.screws(poses)
        twists = self._twists.twists(screws, tangent @ inverse)
        roots = [*self._bodies.roots(poses, twists[:, self._bodies.indices])]
        if not self._square:
            # Each driven link moves by its own actuator only.
            alone = screws[:, self._actuated, :, None] * np.eye(len(self._actuated))[:, None, :]
            roots += [*self._driven.roots(poses, alone), *self._rods.roots(poses, twists, alone)]
        # One row per component: (N, rows, n_u).
        rows = np.concatenate([r.reshape(len(q), -1, r.shape[-1]) for r in roots], axis=1)
        return rows.transpose(0, 2, 1) @ rows / self._ratios + self._rotors


class _Bodies:
    """Rigid bodies and the roots of their inertia."""

    def __init__(self, mechanism: Mechanism, bodies: list[int]):
        inertias = [mechanism.structure.tree.inertias[b] for b in bodies]
        self.indices = bodies
        self._mass_roots = np.sqrt([i.mass for i in inertias])[:, None, None]
        self._centers = np.array([[*i.center_of_mass, 1.0] for i in inertias]).reshape(-1, 4)
        self._inertia_roots = np.array([_root(i.about_center) for i in inertias]).reshape(-1, 3, 3)

    def roots(self, poses: FloatArray, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted velocities (N, bodies, 3, n_u), linear and angular, from their twists."""
        poses = poses[:, self.indices]
        centers = (poses[..., :3, :] @ self._centers[..., None])[..., 0]
        linear = self._mass_roots * point_velocities(twists, centers)
        to_body = poses[..., :3, :3].swapaxes(-1, -2)
        return linear, self._inertia_roots @ (to_body @ twists[..., 3:, :])


class _Rods:
    """Rods whose feet move with driven links and whose tips with the platform.

    Both velocities are interpolated along the rod: kinetic energy
    m/2 |(1 - k) V_foot + k V_tip|^2 + I/(2 L^2) |V_tip - V_foot|^2.
    """

    def __init__(self, mechanism: Mechanism, limbs: list[Block]):
        structure, inertias = mechanism.structure, mechanism.structure.tree.inertias
        self._foot = [block.joints[1] for block in limbs]
        self._rod = [block.joints[-1] for block in limbs]
        tips, seats, self._names = [], [], []
        for block in limbs:
            constraint = structure.constraints[block.constraints[0]]
            ends = (constraint.body_a, constraint.point_a), (constraint.body_b, constraint.point_b)
            tip, seat = ends if constraint.body_a == block.joints[-1] else ends[::-1]
            tips.append([*tip[1], 1.0])
            seats.append(seat[0])
            self._names.append(constraint.name)
        self._tips, self._seats = np.array(tips).reshape(-1, 4), seats
        # A tip that is held by the base does not move; -1 would be the last body.
        self._free = np.array([seat >= 0 for seat in seats], dtype=float)[:, None, None]
        rods = [inertias[rod] for rod in self._rod]
        self._centers = np.array([[*r.center_of_mass, 1.0] for r in rods]).reshape(-1, 4)
        self._mass_roots = np.sqrt([r.mass for r in rods])[:, None, None]
        transverse = [np.linalg.eigvalsh(r.about_center)[-1] for r in rods]
        self._transverse_roots = np.sqrt(np.maximum(transverse, 0.0))

    def roots(
        self, poses: FloatArray, twists: FloatArray, alone: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Weighted velocities (N, rods, 3, n_u) of the centres and of the stretch."""
        rods = poses[:, self._rod, :3, :]
        foot = poses[:, self._foot][..., :3, 3]
        tip = (rods @ self._tips[..., None])[..., 0]
        along, center = tip - foot, (rods @ self._centers[..., None])[..., 0] - foot
        square = (along * along).sum(axis=-1)
        k, length = (center * along).sum(axis=-1) / square, np.sqrt(square)
        self._check(np.linalg.norm(center - k[..., None] * along, axis=-1) / length)
        velocity_foot = point_velocities(alone, foot)
        velocity_tip = self._free * point_velocities(twists[:, self._seats], tip)
        stretch = velocity_tip - velocity_foot
        centers = velocity_foot + k[..., None, None] * stretch
        weight = (self._transverse_roots / length)[..., None, None]
        return self._mass_roots * centers, weight * stretch

    def _check(self, off: FloatArray) -> None:
        bad = np.argwhere(off > _ON_THE_LINE)
        if len(bad):
            raise ActuationError(
                f'{self._names[bad[0, 1]]}: the rod has its centre of mass off the line between '
                'its ends'
            )


def actuated_inertia(mechanism: Mechanism, motion: Motion | Effort) -> FloatArray:
    """Inertia matrix M_A (..., n_u, n_u) in actuated space, kg m^2 or kg (S0 Eq. 59).

    Its diagonal is the load inertia of each actuator, at the motor where there is a transmission
    (S4 Sec. 3.2), the rotor's own included. For a batch, one matrix per row.

    Raises
    ------
    ActuationError
        When a redundantly actuated mechanism has a limb that is not a driven link and a rod.
    """
    q, tangent = motion.q, motion.tangent
    if q.ndim == 1:
        return mechanism.inertia_model(q[None], tangent[None])[0]
    return mechanism.inertia_model(q, tangent)


def inertia_coupling(inertia: FloatArray) -> FloatArray:
    """Inertia-coupling index MCI (..., n_u) of each actuator from M_A (S0 Eq. 60)."""
    own = np.abs(np.diagonal(inertia, axis1=-2, axis2=-1))
    others = np.abs(inertia).sum(axis=-1) - own
    return np.log1p(others / ((own.shape[-1] - 1) * own))


def _limb(mechanism: Mechanism, joint: int) -> Block:
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
