# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which constraint determines which joint; found once per mechanism (``analysis.py``)."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closed_home import extent
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.tree import SpanningTree, TreePoses


@dataclasses.dataclass(frozen=True)
class Block:
    """Constraints (by index) that determine as many dependent joints (by index)."""

    constraints: tuple[int, ...]
    joints: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Structure:
    """What is known of a mechanism: tree in block order, constraints, blocks, home."""

    tree: SpanningTree
    constraints: tuple[Constraint, ...]
    blocks: tuple[Block, ...]
    stages: tuple[int, ...]  # per joint: number of blocks to close before its body is placed
    home: FloatArray
    described: tuple[Constraint, ...] = ()  # all equations, those that follow from others included
    redundant: tuple[Redundancy, ...] = ()  # closures of which some equations were left out
    shared: frozenset[str] = frozenset()  # closures whose forces are not unique
    least_norm: bool = True  # what is kept of these carries forces of least norm
    numeric: Structure | None = None  # in floats, where others are recorded (``rebuilt.py``)

    @property
    def in_floats(self) -> Structure:
        """The structure by which decisions are made that depend on numbers."""
        return self.numeric or self

    def at_home(self) -> TreePoses:
        """Poses of all bodies at home, in floats."""
        return self.in_floats.tree.poses(self.in_floats.home)

    def index(self, joint: str) -> int:
        """Tree index of a joint."""
        return [j.name for j in self.tree.joints].index(joint)

    def ordered(self) -> list[tuple[Constraint, range]]:
        """Constraints in block order, and their rows among the multipliers."""
        parts, start = [], 0
        for block in self.blocks:
            for c in block.constraints:
                stop = start + self.constraints[c].size
                parts.append((self.constraints[c], range(start, stop)))
                start = stop
        return parts

    def rows(self, name: str) -> list[int]:
        """Rows of a closure or contact among the multipliers."""
        return [row for c, rows in self.ordered() if c.name == name for row in rows]

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Rates of all constraints (rows, n) per joint velocity, in block order."""
        poses = self.tree.poses(q)
        return np.vstack([c.rates(poses) for c, _ in self.ordered()])

    def largest_gap(self, q: FloatArray) -> float:
        """Of all constraints, m."""
        poses = self.tree.poses(q)
        return max((float(np.abs(c.gaps(poses)).max()) for c in self.constraints), default=0.0)

    def home_tangent(self, independent: list[int]) -> FloatArray:
        """Joint velocities (n, k) at home per velocity of each independent joint."""
        if self.numeric:
            return self.numeric.home_tangent(independent)
        dependent = [j for block in self.blocks for j in block.joints]
        tangent = np.zeros((len(self.home), len(independent)))
        tangent[independent] = np.eye(len(independent))
        if dependent:
            rates = self.jacobian(self.home)
            tangent[dependent] = -np.linalg.solve(rates[:, dependent], rates[:, independent])
        return tangent

    def extent(self) -> float:
        """Size of the mechanism at home, m: the scale for steps of sliding joints."""
        structure = self.in_floats
        return extent(structure.tree, list(structure.constraints), structure.home)


@dataclasses.dataclass(frozen=True)
class Redundancy:
    """A closure of which some equations follow from others."""

    name: str
    equations: int
    independent: int
    gap: float  # that rounding leaves in it nearby where all others close, m or rad
