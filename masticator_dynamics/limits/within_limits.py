# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts that keep limits: the best that do, else those for the nearest motion.

An optimum that keeps all limits by itself is the best within them. Only rows where it does not
are solved again, one by one.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.effort_goals import GoalKind
from masticator_dynamics.engine.evaluation.failures import pose_text
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator
from masticator_dynamics.errors import LimitError
from masticator_dynamics.limits.limited_patterns import (
    Problem,
    least_excess,
    limit_efforts,
    scratch,
)
from masticator_dynamics.limits.load_limits import LoadLimits, load_ranges
from masticator_dynamics.limits.ranges import half_width

TOLERANCE = 1e-9  # of a limit
# Of a limit. Only the nearest motion keeps the limits, and rounding must not exclude it. An excess
# of up to the first is not reported.
NEAR = 0.5 * TOLERANCE, 5e-9
SMALLEST_SCALE = 1e-3  # N; ranges of contacts may be narrower, rounding is not
STEP_WEIGHT = 1e-8  # of steps in the free efforts, relative to the shortfall


def keep_limits(
    mechanism: Evaluator,
    distribution: GoalKind,
    given: FloatArray,
    rows: FloatArray,
    limits: LoadLimits,
    nearest: bool,
) -> None:
    """Replace, in rows of output (N, ...), efforts that do not keep limits.

    Parameters
    ----------
    mechanism : Evaluator
        For names, in messages.
    distribution : GoalKind
        Distributes the efforts.
    given : (N, 3 n_y + 6) array
        Rows of input.
    rows : (N, ...) array
        Rows of output; those that exceed limits are replaced.
    limits : LoadLimits
        The limits to keep.
    nearest : bool
        Where limits cannot be met, change the motion as little as possible instead of raising.

    Raises
    ------
    LimitError
        Without ``nearest``, for the first row (index in ``row``) whose limits cannot be met;
        names those in the way, and the least by which they are exceeded.
    """
    batch = Effort(mechanism, given.copy(), rows.copy(), distribution.slices)
    outside = np.zeros(len(rows), dtype=bool)
    for group in load_ranges(mechanism, batch, limits):
        outside |= (group.signed_excess() > TOLERANCE).any(axis=-1)
    for row in np.flatnonzero(outside):
        one = _OneRow(mechanism, distribution, given[row], rows[row], limits)
        if one.keep() or (nearest and one.approach()):
            continue
        error = LimitError(one.obstacle())
        error.row = int(row)
        raise error


class _OneRow:
    """A row of input whose loads are outside limits, and its row of output."""

    def __init__(
        self,
        mechanism: Evaluator,
        distribution: GoalKind,
        given: FloatArray,
        row: FloatArray,
        limits: LoadLimits,
    ):
        self._mechanism, self._distribution, self._limits = mechanism, distribution, limits
        self._given, self._row = given, row
        self._slices = distribution.slices

    def keep(self, slack: float = 0.0) -> bool:
        """Find the best efforts within limits; return whether there are any."""
        self._evaluate(self._given)
        problem = self._problem()
        amounts = np.zeros(problem.cases.shape[1])
        value, slope = limit_efforts(problem, scratch(problem), slack, amounts)
        if value < np.inf:
            self._report(amounts, slope)
        return bool(value < np.inf)

    def approach(self) -> bool:
        """Find efforts for the motion within limits with the acceleration nearest to the desired.

        Nearest in the measure of Gauss's principle of least constraint, the kinetic energy of the
        difference.
        """
        given, freedoms = self._given.copy(), len(self._mechanism.independent)
        accelerations = slice(2 * freedoms, 3 * freedoms)
        problem = self._problem_with_accelerations(given, accelerations)
        amounts = np.zeros(problem.cases.shape[1])
        value, _ = limit_efforts(problem, scratch(problem), 0.0, amounts)
        if not value < np.inf:
            return False
        free = int(problem.sizes[1]) - freedoms
        shortfall = -amounts[1 + free : 1 + free + freedoms]
        self._given = given.copy()
        self._given[accelerations] -= shortfall
        q = self._row[self._slices['q']]
        self._row[:] = self._distribution.reference.at(self._given[None], q[None])[0]
        if not any(self.keep(slack) for slack in NEAR):
            # Nothing is left to choose.
            self._report(np.delete(amounts, slice(1 + free, 1 + free + freedoms)), 0.0)
        self._row[self._slices['shortfall']] = shortfall
        return True

    def obstacle(self) -> str:
        """Which limits are in the way of the motion, and the least by which they are exceeded."""
        mechanism = self._mechanism
        pose = pose_text(mechanism, self._given)
        self._evaluate(self._given)
        problem = self._problem()
        amounts = np.zeros(problem.cases.shape[1])
        excess = least_excess(problem, scratch(problem), amounts)
        if not excess < np.inf:
            return f'no efforts keep the limits at {pose}'
        self._report(amounts, 0.0)
        effort = Effort(mechanism, self._given.copy(), self._row.copy(), self._slices)
        beyond = [
            str(group.violation(int(i)))
            for group in load_ranges(mechanism, effort, self._limits)
            for i in np.flatnonzero(group.signed_excess() > 0.999 * excess)
        ]
        return (
            f'no efforts keep the limits at {pose}; at the least, {excess:.3g} of a limit too '
            f'much: {"; ".join(beyond)}'
        )

    def _evaluate(self, given: FloatArray) -> None:
        """Compute the effect of each load case, at the pose of the row."""
        self._tables = self._distribution.tables(given, self._row[self._slices['q']])

    def _problem(self) -> Problem:
        """The problem for the row evaluated last, from its tables."""
        mechanism, tables, limits = self._mechanism, self._tables, self._limits
        actuators, contacts = len(mechanism.actuated), len(mechanism.contacts)
        free = tables['efforts'].shape[1] - 1 - contacts
        joint_forces = tables['forces']
        cases = np.vstack(
            [
                tables['efforts'], tables['bearing'], joint_forces,
                tables['multipliers'][mechanism.contact_rows],
            ]
        )  # fmt: skip
        velocity = self._row[self._slices['v']][mechanism.actuated_part]
        velocity = velocity * mechanism.transmission_ratios
        lowest, highest = limits.effort_bounds(velocity)
        at_actuators = np.vstack(
            [
                tables['weights'], tables['drag'], tables['per_newton'], highest, -lowest,
                half_width(lowest, highest), limits.axial_force, limits.radial_force,
            ]
        )  # fmt: skip
        slides = tables['friction'].any(axis=1)
        low, high = limits.contact_low, limits.contact_high
        scale = np.maximum(half_width(low, high), SMALLEST_SCALE)
        at_contacts = np.vstack([slides.astype(float), low, high, scale])
        sizes = np.array([actuators, free, contacts, len(joint_forces)])
        goal = np.array([*self._distribution.force_weights, 0.0])
        return Problem(sizes, cases, at_actuators, at_contacts, goal)

    def _problem_with_accelerations(self, given: FloatArray, where: slice) -> Problem:
        """The same with free accelerations; the goal is to stay near the desired ones."""
        freedoms = where.stop - where.start
        self._evaluate(given)
        base = self._problem()
        free = int(base.sizes[1])
        columns = []
        for f in range(where.start, where.stop):
            moved, step = given.copy(), max(1.0, abs(given[f]))  # rounding is that of the motion
            moved[f] += step
            self._evaluate(moved)
            columns.append((self._problem().cases[:, 0] - base.cases[:, 0]) / step)
        gained = np.transpose(columns)
        cases = np.hstack([base.cases[:, : 1 + free], gained, base.cases[:, 1 + free :]])
        actuators = int(base.sizes[0])
        tangent = self._row[self._slices['tangent']].reshape(-1, freedoms)
        mechanism = self._mechanism
        driven = tangent[mechanism.tree_indices(mechanism.actuated)]
        motors = mechanism.transmission_ratios[:, None] * driven
        # Kinetic energy of the freedoms: generalised force per acceleration.
        inertia = motors.T @ gained[:actuators]
        root = np.linalg.cholesky(0.5 * (inertia + inertia.T)).T
        distance = np.zeros((freedoms, cases.shape[1]))
        distance[:, 1 + free : 1 + free + freedoms] = root
        kept = np.vstack([cases[: 4 * actuators], distance, cases[len(cases) - base.sizes[2] :]])
        sizes = np.array([actuators, free + freedoms, base.sizes[2], freedoms])
        # Efforts per unit of distance scale free efforts against accelerations.
        driven = np.linalg.solve(root.T, gained[:actuators].T)
        weight = STEP_WEIGHT * actuators / float(np.sum(driven**2))
        unweighted = np.vstack([np.zeros(actuators), base.actuators[1:]])
        self._evaluate(given)
        return Problem(sizes, kept, unweighted, base.contacts, np.array([1.0, 0.0, weight]))

    def _report(self, amounts: FloatArray, slope: float) -> None:
        """Write efforts and forces for amounts of the load cases into the row of output."""
        tables, slices, row = self._tables, self._slices, self._row
        mechanism = self._mechanism
        contacts = len(mechanism.contacts)
        bearing = tables['bearing'] @ amounts
        across = np.hypot(bearing[0::3], bearing[1::3])
        friction = tables['drag'] + tables['per_newton'] * across
        row[slices['effort']] = tables['efforts'] @ amounts + friction
        row[slices['friction']] = friction
        row[slices['bearing_force']] = bearing
        row[slices['multipliers']] = tables['multipliers'] @ amounts
        loads = amounts[len(amounts) - contacts :, None]
        pull = loads * tables['friction'] + tables['viscous']
        row[slices['contact_friction']] = -pull.ravel()
        row[slices['optimality']] = slope
        left = float(np.abs(tables['loads'] @ amounts).max(initial=0.0))
        row[slices['report']][4] = max(row[slices['report']][4], left)
