# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best efforts within limits of motors, bearings and contacts.

As in ``sign_pattern.py`` there is one smooth problem per pattern of contact signs, now with the
signs and the limits as bounds (``bounded_program.py``); the lowest minimum is the answer. With the
fraction by which all limits are exceeded as one more unknown, the same problems give the least such
fraction, and with accelerations as unknowns the nearest motion (``nearest_motion.py``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from masticator_dynamics.engine.status import JAMMED, RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.best_pattern import NOTHING
from masticator_dynamics.engine.traced.bounded_program import Bound, Minimum, minimum
from masticator_dynamics.engine.traced.control_flow import call, graph_of
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.load_bounds import LoadBounds, infinite
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greatest,
    is_known,
    lane_pack,
    lane_pick,
    reciprocal,
    select,
    sign_of,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.sign_pattern import (
    PatternGoal,
    Row,
    SignPattern,
    Terms,
    mapped,
)

STEP_WEIGHT = 1e-3  # of the length of steps, relative to the excess or the distance
# Such weights cost digits of bounds, and make multipliers large.
LOOSE = {'met': 2e-10, 'contradicted': 1e13}
SLACK = 1e-9  # of a limit; what is exceeded by no more is kept
TOGETHER = 4  # patterns in lanes, at most
_UNSET = 1e300


class LimitedChoice:
    """The best free efforts within limits, as ``best_pattern.best_of`` finds those without.

    Parameters
    ----------
    thorough : bool
        On floats only: where a search failed, begin it again where limits are exceeded least.
    excess : bool
        Exceed limits as little as possible, whatever the goal; the remaining slope is the part by
        which they are exceeded.
    """

    contradicted: Any = 0.0  # positive where it is certain that nothing keeps the limits

    def __init__(
        self,
        run: InverseDynamics,
        bounds: LoadBounds,
        *,
        thorough: bool = False,
        excess: bool = False,
    ):
        self._run, self._bounds = run, bounds
        self._solve = Pattern.least_excess if excess else Pattern.thorough
        if not (thorough or excess):
            self._solve = Pattern.best

    def __call__(
        self, cases: LoadCases, goal: PatternGoal, conditions: list[Any], *_: bool
    ) -> tuple[Row, Row, Any]:
        """See :func:`best_of`."""
        terms = Terms.of(cases, goal)
        chosen, self.contradicted = over_patterns(
            terms.limb_by_limb, cases.axial, self._bounds.limb_by_limb(self._run), self._solve,
            conditions,
        )  # fmt: skip
        return chosen[: terms.free], chosen[terms.free : -1], chosen[-1]


def over_patterns(
    terms: Terms,
    axial: list[Row],
    bounds: LoadBounds,
    solve: Callable[..., tuple[Any, Any, Row]],
    conditions: list[Any],
    *more: Any,
) -> tuple[Row, Any]:
    """The results of the best pattern of contact signs; positive where certainly none has any.

    Parameters
    ----------
    terms, axial, bounds
        Limb by limb; forces along the axes of the actuated joints are rows by load cases.
    solve : callable
        Status as of :class:`Minimum`, value and results of a pattern.
    conditions : list
        Appended to: numbers that must be positive for the answer to be valid.
    more
        Further arguments of ``solve``, nested lists of numbers.

    Raises
    ------
    RefusedError
        On floats, if no pattern has an answer.
    """
    nested = [terms.parts(), axial, bounds.parts(), list(more)]
    numbers: list[Number] = []
    mapped(nested, lambda x: numbers.append(x) if isinstance(x, Number) else None)
    contacts = len(terms.contacts)

    rubs = [not is_known(sliding, 0.0) for sliding in terms.sliding]
    patterns = [*itertools.product(*((1.0, -1.0) if rub else (1.0,) for rub in rubs))]
    graph = graph_of(numbers)
    together = min(len(patterns), TOGETHER) if graph else 1
    signs = contacts * together

    def of_patterns(inputs: Row) -> Row:
        rest = iter(inputs[signs:])
        inner = mapped(nested, lambda x: next(rest) if isinstance(x, Number) else x)
        columns = [lane_pack(inputs[c:signs:contacts]) for c in range(contacts)]
        pattern = Pattern(terms.with_parts(inner[0]), inner[1], LoadBounds(*inner[2]), columns)
        status, value, results = solve(pattern, *inner[3])
        end = [select(pattern.possible(), status, -1.0), value, *results]
        return [lane_pick(x, lane) for lane in range(together) for x in end]

    ends: Row = []
    for first in range(0, len(patterns), together):
        group = itertools.chain(*patterns[first : first + together])
        ends += call(graph, solve.__name__, of_patterns, [*group, *numbers])
    size = len(ends) // len(patterns)
    return _best_end(
        [ends[first : first + size] for first in range(0, len(ends), size)], conditions
    )


def _best_end(ends: list[Row], conditions: list[Any]) -> tuple[Row, Any]:
    """What :func:`over_patterns` gives, from status, value and results of each pattern."""
    best: Any = _UNSET
    undecided: Any = 0.0
    chosen: Row = []
    for status, value, *results in ends:
        value = select(status - 0.5, value, _UNSET)
        undecided = select(0.5 - absolute(status), 1.0, undecided)
        better = best - value
        chosen = [select(better, a, b) for a, b in zip(results, chosen or results, strict=True)]
        best = select(better, value, best)
    conditions.append(0.5 - undecided)
    if is_known(best, _UNSET):
        raise RefusedError(JAMMED)
    return chosen, select(_UNSET / 2.0 - best, 0.0, 1.0)


class Pattern:
    """The problems of one pattern of contact signs; arguments as of :func:`over_patterns`."""

    def __init__(self, terms: Terms, axial: list[Row], bounds: LoadBounds, signs: Row):
        self._terms, self._axial, self._bounds, self._signs = terms, axial, bounds, signs
        self.pattern = SignPattern(terms, signs)

    def possible(self) -> Any:
        """Positive where the signs are: a contact that does not slide has only one."""
        possible: Any = 1.0
        for sign, sliding in zip(self._signs, self._terms.sliding, strict=True):
            possible = select(sign, possible, select(sliding, possible, 0.0))
        return possible

    def bounds(self, more: int = 0) -> list[Bound]:
        """Limits and signs; of so many further unknowns, of which an excess is the last."""
        limits = [*self._of_actuators(), *self._of_contacts()]
        nothing = [0.0] * (more - 1)
        excess = [*nothing, -1.0] if more else []
        return [self._widened(b, excess) for b in limits] + [
            self._widened(b, [0.0] * more) for b in self._of_signs()
        ]

    def _widened(self, bound: Bound, more: Row) -> Bound:
        none = [0.0] * len(more)
        row = [*bound.row, *more]
        return Bound(row, bound.bend, [[*part, *none] for part in bound.across])

    def _of_actuators(self) -> list[Bound]:
        goal, limits, bounds = self._terms.goal, self._bounds, []
        for i, across in enumerate(self._terms.across):
            effort = self.pattern.combined(self._terms.efforts[i])
            axial = self.pattern.combined(self._axial[i])
            along = [self.pattern.combined(row) for row in across]
            drag, per_newton = goal.drag[i], goal.per_newton[i]
            high, low = limits.effort[i], limits.effort_low[i]
            most, least = (self._with_gear(effort, i, end) for end in (high, low))
            limited = [
                (most, 1.0, drag, per_newton, high, limits.per_effort[i]),
                (least, -1.0, -drag, -per_newton, -low, limits.per_effort[i]),
                (axial, 1.0, 0.0, 0.0, limits.axial_force[i], None),
                (axial, -1.0, 0.0, 0.0, limits.axial_force[i], None),
                ([0.0] * len(axial), 1.0, 0.0, 1.0, limits.radial_force[i], None),
            ]
            for row, sign, constant, bend, most, per_unit in limited:
                if not infinite(most):
                    part = reciprocal(most) if per_unit is None else per_unit
                    slopes = [sign * part * x for x in row[1:]]
                    start = part * (sign * row[0] + constant - most) - limits.slack
                    bounds.append(Bound([start, *slopes], part * bend, along))
        return bounds

    def _with_gear(self, effort: Row, i: int, end: Any) -> Row:
        """A motor's effort and what the gear takes of it, where both together are at an end."""
        loss = self._terms.goal.gear_loss[i]
        if is_known(loss, 0.0) or infinite(end):
            return effort
        both = 1.0 + loss * sign_of(end - self._terms.goal.drag[i])
        return [both * x for x in effort]

    def _of_contacts(self) -> list[Bound]:
        limits, bounds = self._bounds, []
        for row, high, low, part in zip(
            self.pattern.multipliers, limits.contact_high, limits.contact_low, limits.per_contact,
            strict=True,
        ):  # fmt: skip
            for sign, most in ((1.0, high), (-1.0, -low)):
                if not infinite(most):
                    start = part * (sign * row[0] - most) - limits.slack
                    bounds.append(Bound([start, *(sign * part * x for x in row[1:])], 0.0, []))
        return bounds

    def _of_signs(self) -> list[Bound]:
        bounds = []
        for row, sign, sliding, per_unit in zip(
            self.pattern.multipliers, self._signs, self._terms.sliding, self._bounds.per_contact,
            strict=True,
        ):  # fmt: skip
            if not is_known(sliding, 0.0):
                part = select(sliding, sign * per_unit, 0.0)
                bounds.append(Bound([-(part * x) for x in row], 0.0, []))
        return bounds

    # Problems

    def best(self) -> tuple[Any, Any, Row]:
        """The least of the goal within limits."""
        return self._of(self._minimum([0.0] * self._terms.free))

    def _minimum(self, start: Row, slack: float = 0.0) -> Minimum:
        bounds = self.bounds()
        for bound in bounds if slack else []:
            bound.row = [bound.row[0] - slack, *bound.row[1:]]
        floor = 2.0 * self._terms.typical
        return minimum(start, bounds, lambda x: self.pattern.derivatives(x, True), floor)

    def _of(self, solution: Minimum) -> tuple[Any, Any, Row]:
        value = self.pattern.value(solution.x)
        slope = square_root(solution.square * reciprocal(2.0 * value))
        slope = select(value - NOTHING * self._terms.typical, slope, 0.0)
        return solution.status, value, [*solution.x, *self.pattern.contacts(solution.x), slope]

    def least_excess(self) -> tuple[Any, Any, Row]:
        """The least part by which all limits are exceeded; with the slope in its place."""
        free = self._terms.free
        bounds = self.bounds(1)

        def derivatives(z: Row) -> tuple[Row, list[Row]]:
            rows = [bound.at(z)[1] for bound in bounds]
            squares = [greatest([row[m] * row[m] for row in rows]) for m in range(free)]
            weights = [select(square, STEP_WEIGHT * square, 1.0) for square in squares]
            diagonal = [*weights, 1.0]
            hessian = [[x if m == n else 0.0 for n in range(free + 1)]
                       for m, x in enumerate(diagonal)]  # fmt: skip
            return [0.0] * free + [z[-1]], hessian

        solution = minimum([0.0] * (free + 1), bounds, derivatives, 1e-8, **LOOSE)
        *x, excess = solution.x
        return solution.status, excess, [*x, *self.pattern.contacts(x), excess]

    def thorough(self) -> tuple[Any, Any, Row]:
        """:meth:`best`, from where limits are exceeded least if necessary."""
        solution = self._minimum([0.0] * self._terms.free)
        if solution.status != 1.0:
            status, excess, least = self.least_excess()
            x = least[: self._terms.free]
            if status != 1.0 or excess > SLACK:
                return -1.0, _UNSET, [*x, *self.pattern.contacts(x), 0.0]
            again = self._minimum(x, SLACK)
            # Else only this one point keeps the limits.
            solution = again if again.status == 1.0 else Minimum(1.0, x, 0.0)
        return self._of(solution)

    def nearest(self, inertia: list[Row]) -> tuple[Any, Any, Row]:
        """The least distance of accelerations, which are the last unknowns.

        Parameters
        ----------
        inertia : matrix
            In whose measure distances are.
        """
        size = self._terms.free
        free = size - len(inertia)
        solution = self._nearest_from([0.0] * size, inertia, 1.0, 0.0)
        if not isinstance(solution.status, Number) and solution.status not in (-1.0, 1.0):
            # On floats, for it takes more digits: longer steps, also of what has no inertia.
            start = solution.x if all(map(math.isfinite, solution.x)) else [0.0] * size
            solution = self._nearest_from(start, inertia, 1e-3, 1e-6)
        away = solution.x[free:]
        return solution.status, vec.dot(away, vec.apply(inertia, away)), away

    def _nearest_from(self, start: Row, inertia: list[Row], part: float, more: float) -> Minimum:
        """The search from a point; ``part`` of the weight of steps, ``more`` of the inertia."""
        count, size = len(inertia), self._terms.free
        free = size - count
        rows = [row[1 + free : 1 + size] for row in self._terms.efforts]
        squares = [total(row[f] * row[f] for row in rows) for f in range(count)]
        per_effort = total(
            select(square, inertia[f][f] * reciprocal(square), 0.0)
            for f, square in enumerate(squares)
        )
        weight = per_effort * (part * STEP_WEIGHT / count)
        further = more * greatest([inertia[f][f] for f in range(count)]) if more else 0.0
        hessian = [
            [weight if m == n and m < free else
             inertia[m - free][n - free] + (further if m == n else 0.0) if min(m, n) >= free
             else 0.0 for n in range(size)]
            for m in range(size)
        ]  # fmt: skip

        def derivatives(z: Row) -> tuple[Row, list[Row]]:
            return [0.0] * free + vec.apply(inertia, z[free:]), hessian

        return minimum(start, self.bounds(), derivatives, weight * size, **LOOSE)
