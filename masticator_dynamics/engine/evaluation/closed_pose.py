# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A closed pose of a mechanism whose home is missing or open, found by numerical search."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.block_form import ROUNDED_HOME
from masticator_dynamics.engine.closed_home import extent, opposed_axis
from masticator_dynamics.engine.closure_equations import all_constraints
from masticator_dynamics.engine.descent import Loops, descend, joined_joints
from masticator_dynamics.engine.redundant_equations import ROUNDING
from masticator_dynamics.engine.tree import spanning_tree
from masticator_dynamics.errors import InputError

STARTS = 40
_ITERATIONS = 80
_CLOSED = 1e-10  # m or rad
BRANCH_STARTS = 20
_APART = 1e-3  # of the mechanism's size, between places of a link in two branches
_CLOSED_TRIED = 8  # starts, before a pose that is singular or outside ranges is accepted


@dataclasses.dataclass(frozen=True)
class ClosedPose:
    """Result of a search."""

    # Positions of all moving joints, rad or m: a closed pose or, if none was found, the one whose
    # largest gap is smallest.
    home: dict[str, float]
    gaps: dict[str, float]  # gap there of each closure and contact, m or rad
    starts: int  # number of starts tried
    outside: dict[str, float]  # joints outside their ranges, and by how much
    # Other ways in which the loops close at the same independent joints, as far as starts led to
    # them.
    branches: int = 0
    units: dict[str, str] = dataclasses.field(default_factory=dict)  # which of the two each gap has

    @property
    def closed(self) -> bool:
        """Whether all closures and contacts hold, up to the rounding of CAD programs."""
        return max(self.gaps.values(), default=0.0) <= ROUNDED_HOME


class _ClosureSearch:
    def __init__(self, description: MechanismDescription, held: Set[str]):
        self._description = description
        self.tree = spanning_tree(description.tree)
        constraints = all_constraints(description, self.tree)
        still = np.zeros(len(self.tree.joints))
        size = extent(self.tree, constraints, still)
        self.loops = Loops(self.tree, tuple(constraints), size)
        self._search = dataclasses.replace(self.loops, held=frozenset(held))
        self.lower = np.array([joint.lower for joint in self.tree.joints])
        self.upper = np.array([joint.upper for joint in self.tree.joints])
        self._groups = [[*c.moving_joints(self.tree)] for c in constraints]
        self._count = len(self.tree.joints)
        every = [True] * len(constraints)
        self.looped = joined_joints(self._count, self._groups, every)
        independent = description.independent
        self._dependent = [i for i, j in enumerate(self.tree.joints) if j.name not in independent]
        free = [j.turns and j.name not in held for j in self.tree.joints]
        self._turning = np.array(free, dtype=bool)  # joints that may be turned by whole turns

    def open_joints(self, q: FloatArray) -> npt.NDArray[np.bool_]:
        """Joints (n,) of loops that are open or out of range, and of loops that share joints.

        All that are in loops, where none is open: it may be singular.
        """
        gaps, outside = self.gaps(q), self._outside(q) > 0.0
        wanted = [
            gaps[constraint.name] > _CLOSED or bool(outside[group].any())
            for constraint, group in zip(self.loops.constraints, self._groups, strict=True)
        ]
        return joined_joints(self._count, self._groups, wanted) if any(wanted) else self.looped

    def hold(self, free: npt.NDArray[np.bool_]) -> None:
        """Let the search move no other joints than some (n,)."""
        held = {
            joint.name for joint, moves in zip(self.tree.joints, free, strict=True) if not moves
        }
        self._search = dataclasses.replace(self._search, held=frozenset(held))
        self._turning &= free

    def branches(self, q: FloatArray) -> int:
        """Other closed poses with the same independent joints, as far as starts lead to them.

        Poses are the same where all links have their origins in the same places: a universal joint
        reaches each direction of its rod by two pairs of angles.
        """
        dependent = np.isin(np.arange(self._count), self._dependent) & self.looped
        self.hold(dependent)
        rng, far = np.random.default_rng(2), np.where(self._turning, 1.0, 0.3) * dependent
        seen = [self._origins(q)]
        for _ in range(BRANCH_STARTS):
            away = rng.uniform(-np.pi, np.pi, self._count) * self.loops.joint_units
            other = self.settle(q + far * away)
            if max(self.gaps(other).values(), default=0.0) <= ROUNDED_HOME:
                origins = self._origins(other)
                if all(np.abs(origins - o).max() > _APART * self.loops.extent for o in seen):
                    seen.append(origins)
        return len(seen) - 1

    def _origins(self, q: FloatArray) -> FloatArray:
        """Origins (links, 3) of all links in the base, m."""
        poses = self.tree.poses(q)
        return np.array([poses.point(f.body, f.position) for f in self.tree.frames.values()])

    def settle(self, q: FloatArray) -> FloatArray:
        """Pose where the descent from a start ends, angles wrapped into their ranges."""
        q = descend(self._search, q, _ITERATIONS, 0.1 * ROUNDING)
        turns = np.round(q / (2.0 * np.pi)) * self._turning
        near = q - 2.0 * np.pi * turns
        for whole in (2.0 * np.pi, -2.0 * np.pi):
            other = near + whole * self._turning
            better = self._outside(other) < self._outside(near)
            near = np.where(better, other, near)
        return np.where((self._outside(q) > 0.0) | (np.abs(q) > np.pi), near, q)

    def gaps(self, q: FloatArray) -> dict[str, float]:
        """Largest gap of each closure and contact."""
        poses = self.tree.poses(q)
        sizes: dict[str, float] = {}
        for constraint in self.loops.constraints:
            sizes[constraint.name] = max(
                sizes.get(constraint.name, 0.0), constraint.largest_gap(poses)
            )
        for closure in self._description.closures:
            if opposed_axis(closure, self.tree, poses):
                sizes[closure.name] = np.pi
        return sizes

    def units(self, q: FloatArray) -> dict[str, str]:
        """Unit of the largest gap of each closure and contact."""
        poses = self.tree.poses(q)
        largest = sorted(
            self.loops.constraints, key=lambda constraint: constraint.largest_gap(poses)
        )
        units = {constraint.name: constraint.unit_name(self.tree) for constraint in largest}
        opposed = {
            c.name: 'rad' for c in self._description.closures if opposed_axis(c, self.tree, poses)
        }
        return {**units, **opposed}

    def merit(self, q: FloatArray) -> tuple[bool, float, bool, float]:
        """Sort key, best pose first: open, by how much, singular, outside ranges."""
        open_by = max(self.gaps(q).values(), default=0.0)
        if open_by > ROUNDED_HOME:
            return True, open_by, True, np.inf
        return False, 0.0, self._singular(q), sum(self.outside(q).values())

    def _singular(self, q: FloatArray) -> bool:
        """Whether the Jacobian of all or of the dependent joints has less rank than nearby."""
        away = np.random.default_rng(1).uniform(-0.2, 0.2, len(q)) * self.loops.joint_units
        nearby = descend(self.loops, q + away, _ITERATIONS, 0.1 * ROUNDING)
        here, there = self.loops.jacobian(q), self.loops.jacobian(nearby)
        return any(
            np.linalg.matrix_rank(here[:, joints], tol=ROUNDING)
            < np.linalg.matrix_rank(there[:, joints], tol=ROUNDING)
            for joints in (slice(None), self._dependent)
        )

    def outside(self, q: FloatArray) -> dict[str, float]:
        """Joints outside their ranges, and by how much."""
        far = self._outside(q)
        return {
            joint.name: float(x) for joint, x in zip(self.tree.joints, far, strict=True) if x > 0.0
        }

    def _outside(self, q: FloatArray) -> FloatArray:
        return np.maximum(np.maximum(self.lower - q, q - self.upper), 0.0)


def closed_pose(
    description: MechanismDescription,
    guess: Mapping[str, float] | None = None,
    held: Mapping[str, float] | None = None,
) -> ClosedPose:
    """Search for a closed pose from home as described, or a guess, and then farther around it.

    All joints of open loops may move, whether independent, driven or neither, and of loops that
    share joints with these.
    Poses that are not singular are preferred, and among them those within the joints' ranges.

    Parameters
    ----------
    guess : mapping of str to float, optional
        Joint positions, rad or m, that replace those of home at the start.
    held : mapping of str to float, optional
        Joint positions, rad or m, that do not change.

    Raises
    ------
    InputError
        For a joint that does not exist.
    """
    guess, held = {**(guess or {}), **(held or {})}, held or {}
    search = _ClosureSearch(description, held.keys())
    names = [joint.name for joint in search.tree.joints]
    for name in guess:
        if name not in names:
            raise InputError(f'no moving joint {name!r}; there are: {", ".join(names)}')
    first = search.tree.start({**description.home, **guess})
    likely = np.array([name in guess for name in names], dtype=bool)
    free = search.open_joints(first) & np.array([name not in held for name in names], dtype=bool)
    search.hold(free)
    rng = np.random.default_rng(0)
    best, least = first, (True, np.inf, True, np.inf)
    for attempt in range(STARTS):
        away = rng.uniform(-1.0, 1.0, len(names)) * min(3.0, 0.25 * attempt)
        far = np.where(likely, 0.2, 1.0) * free  # others stay where they are
        q = search.settle(first + far * away * search.loops.joint_units)
        merit = search.merit(q)
        if merit < least:
            best, least = q, merit
        still_open, _, singular, outside = least
        if not still_open and (attempt >= _CLOSED_TRIED or not (singular or outside)):
            break
    best = np.where(search.looped, best, first)
    home = {name: float(value) for name, value in zip(names, best, strict=True)}
    pose = ClosedPose(
        home, search.gaps(best), attempt + 1, search.outside(best), units=search.units(best)
    )
    return dataclasses.replace(pose, branches=search.branches(best)) if pose.closed else pose
