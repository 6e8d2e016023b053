# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closing all loops at once by moving every joint of the tree: slow, but from any start.

It is used while a mechanism is built: to explore its neighbourhood, and to find a home.
"""

import dataclasses
from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.tree import SpanningTree, TreePoses

LARGEST_STEP = 0.3  # rad, or of the mechanism's size for sliding joints
_DAMPING = 0.1  # of the gap: little where a loop is nearly closed, more far from it


@dataclasses.dataclass(frozen=True)
class Loops:
    """Constraints of a tree, dimensionless: gaps and steps of sliding joints per ``extent`` m.

    Joints ``held``, by name, stay where they are.
    """

    tree: SpanningTree
    constraints: tuple[Constraint, ...]
    extent: float
    held: frozenset[str] = frozenset()

    @property
    def joint_units(self) -> FloatArray:
        """Units of the joints (n,): 1 rad for turning ones, the extent (m) for sliding ones.

        0 for those held: they change no gap and take no step.
        """
        units = [(j.name, self.extent if j.slides else 1.0) for j in self.tree.joints]
        return np.array([0.0 if name in self.held else unit for name, unit in units])

    def gaps(self, q: FloatArray) -> FloatArray:
        """Gaps of all equations, as described: m or rad."""
        return self.gaps_of(self.tree.poses(q))

    def gaps_of(self, poses: TreePoses) -> FloatArray:
        """The same of poses."""
        return _stacked([c.gaps(poses) for c in self.constraints])

    def units(self) -> FloatArray:
        """Units of the gaps, per equation: the extent (m), or 1 rad."""
        return _stacked([np.full(c.size, c.unit(self.tree, self.extent)) for c in self.constraints])

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Rates (rows, n) of the gaps per joint velocity, both dimensionless."""
        return self.jacobian_of(self.tree.poses(q))

    def jacobian_of(self, poses: TreePoses) -> FloatArray:
        """The same of poses."""
        rates = [np.zeros((0, len(poses.q))), *(c.rates(poses) for c in self.constraints)]
        return np.vstack(rates) * self.joint_units / self.units()[:, None]


def descend(loops: Loops, q: FloatArray, iterations: int, rank: float = 1e-6) -> FloatArray:
    """Positions (n,) with smaller gaps, by damped Gauss-Newton steps of least length.

    Parameters
    ----------
    q : array, shape (n,)
        Where to start, rad or m.
    rank : float
        Directions in which gaps change less than this, relative to the largest, are left alone:
        equations that follow from others up to rounding must not move joints far.
    """
    q, units, joint_units = q.copy(), loops.units(), loops.joint_units
    poses = loops.tree.poses(q)
    gap = loops.gaps_of(poses) / units
    for _ in range(iterations):
        rates = loops.jacobian_of(poses)
        left, strength, right = np.linalg.svd(rates, full_matrices=False)
        if not len(strength) or not strength[0] > 0.0:
            break
        damping = _DAMPING * min(1.0, float(np.linalg.norm(gap))) ** 2
        strong = strength > rank * strength[0]
        weight = np.zeros(len(strength))
        weight[strong] = strength[strong] / (strength[strong] ** 2 + damping)
        step = -right.T @ (weight * (left.T @ gap))
        longest = float(np.abs(step).max())
        if longest < 1e-14:  # rounding: a pose that is closed stays as it is
            break
        q += joint_units * step * min(1.0, LARGEST_STEP / longest)
        poses = loops.tree.poses(q)
        gap = loops.gaps_of(poses) / units
    return q


def joined_joints(
    count: int, groups: Iterable[Collection[int]], chosen: Iterable[bool]
) -> npt.NDArray[np.bool_]:
    """Joints (count,) of chosen groups, and of all groups that share joints with them, in chains.

    Loops that share no joint with an open one stay closed whatever moves there.
    """
    from scipy.cluster.hierarchy import (
        DisjointSet,
    )  # takes longer to import than a torque to compute

    joined, seeds = DisjointSet(range(count)), list[int]()
    for group, wanted in zip(groups, chosen, strict=True):
        for joint in group:
            joined.merge(next(iter(group)), joint)
        if group and wanted:
            seeds.append(next(iter(group)))
    reached = set[int]().union(*(joined.subset(seed) for seed in seeds))
    return np.isin(np.arange(count), list(reached))


def _stacked(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *parts])
