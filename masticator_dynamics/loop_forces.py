# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces and torques in the closures from the engine's multipliers; off the hot path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import Constraint, points, wrenches
from masticator_dynamics.engine.descent import Loops
from masticator_dynamics.engine.redundancy import ROUNDING
from masticator_dynamics.engine.tree import TreePoses

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


class LoopForces:
    """The closures of a mechanism.

    Attributes
    ----------
    unique : array of bool, shape (n_closures,)
        Whether the motion determines the force of each closure.
    """

    def __init__(self, mechanism: Mechanism):
        self._structure = structure = mechanism.structure
        self._names = mechanism.closures
        tree = structure.tree
        self._second = [
            tree.frames[closure.frames[1]] for closure in mechanism.description.closures
        ]
        self.unique: npt.NDArray[np.bool_] = np.array(
            [name not in structure.shared for name in self._names], dtype=bool
        )
        self._parts = structure.ordered()
        self._constant = structure.least_norm and all(
            c.kind == 'point' and not c.carried for c, _ in self._parts
        )
        self._kept = Loops(tree, tuple(c for c, _ in self._parts), structure.extent())
        self._described = Loops(tree, structure.described, structure.extent())

    def forces(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Forces (..., n_closures, 3) on the second frames' bodies, N, base axes."""
        if not self._constant:
            return self.wrenches(q, multipliers)[..., :3]
        forces, zero = [], np.zeros((*multipliers.shape[:-1], 3))
        for name in self._names:
            # Summed term by term: a matrix product may round differently for one row and many.
            own = [(c, rows) for c, rows in self._parts if c.name == name]
            terms = [term for c, rows in own for term in zip(rows, c.rows, strict=True)]
            forces.append(sum((multipliers[..., r, None] * row for r, row in terms), zero))
        if not forces:
            return np.zeros((*multipliers.shape[:-1], 0, 3))
        return np.stack(forces, axis=-2)

    def wrenches(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Wrenches (..., n_closures, 6) on the second frames' bodies about their origins."""
        shape = (*multipliers.shape[:-1], len(self._names), 6)
        positions, given = q.reshape(-1, q.shape[-1]), multipliers.reshape(-1, self._rows())
        single = [self._wrenches(*row) for row in zip(positions, given, strict=True)]
        return np.array(single).reshape(shape)

    def _rows(self) -> int:
        return sum(c.size for c, _ in self._parts)

    def _wrenches(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Wrenches (n_closures, 6) of one state."""
        poses = self._structure.tree.poses(q)
        found = np.zeros((len(self._names), 6))
        shares = self._parts
        if not self._structure.least_norm:
            shares, multipliers = self._least_norm(q, multipliers)
        for constraint, rows in shares:
            if constraint.name in self._names:
                k = self._names.index(constraint.name)
                wrench = multipliers[rows.start : rows.stop] @ wrenches(poses, constraint)
                found[k] += self._on_second(k, poses, constraint, wrench)
        return found

    def _on_second(
        self, k: int, poses: TreePoses, constraint: Constraint, wrench: FloatArray
    ) -> FloatArray:
        """A wrench on body b about its point, as one on the second frame's body and origin."""
        frame = self._second[k]
        sign = 1.0 if frame.body == constraint.body_b else -1.0
        arm = points(poses, constraint)[1] - poses.point(frame.body, frame.position)
        force = sign * wrench[:3]
        return np.concatenate([force, sign * wrench[3:] + np.cross(arm, force)])

    def _least_norm(
        self, q: FloatArray, multipliers: FloatArray
    ) -> tuple[list[tuple[Constraint, range]], FloatArray]:
        """Multipliers of all described equations that load the joints like those kept.

        Of least norm, with torques per size of the mechanism.
        """
        kept, full = self._kept, self._described
        load = kept.jacobian(q).T @ (multipliers * kept.units())
        shares = np.linalg.lstsq(full.jacobian(q).T, load, rcond=ROUNDING)[0]
        ends = np.cumsum([0, *(c.size for c in full.constraints)])
        ranges = [range(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        return list(zip(full.constraints, ranges, strict=True)), shares / full.units()
