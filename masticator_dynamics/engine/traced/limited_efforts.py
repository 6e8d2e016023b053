# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best efforts within limits of motors, bearings and contacts.

As in ``sign_pattern.py`` there is one smooth problem per pattern of contact signs, now with the
signs and the limits as bounds (``bounded_program.py``); the lowest minimum is the answer. With the
fraction by which all limits are exceeded as one more unknown, the same problems give the least such
fraction, and with accelerations as unknowns, the nearest motion that can be driven.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from masticator_dynamics.engine.status import JAMMED, RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.best_pattern import NOTHING
from masticator_dynamics.engine.traced.bounded_program import Bound, Minimum, minimum
from masticator_dynamics.engine.traced.control_flow import call, graph_of
from masticator_dynamics.engine.traced.effort_distribution import goal_of
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    greatest,
    is_known,
    lane_pack,
    lane_pick,
    lesser,
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

FAR = 1e30  # N or N m; a limit by power where nothing moves
STEP_WEIGHT = 1e-3  # of the length of steps, relative to the excess or the distance
# Such weights cost digits of bounds, and make multipliers large.
LOOSE = {'met': 2e-10, 'contradicted': 1e13}
FIELDS = (
    'effort_low', 'effort', 'per_effort', 'power', 'axial_force', 'radial_force',
    'contact_low', 'contact_high', 'per_contact',
)  # fmt: skip
SLACK = 1e-9  # of a limit; what is exceeded by no more is kept
# Of a limit. Only the nearest motion keeps the limits, and rounding must not exclude it: it is
# found a little further inside than the best efforts.
INSIDE = -7e-10
TOGETHER = 4  # patterns in lanes, at most
_UNSET = 1e300


@dataclasses.dataclass
class LoadBounds:
    """Limits of the loads, infinite where there are none; per actuator, and per contact."""

    effort_low: list[Any]
    effort: list[Any]
    per_effort: list[Any]  # one over what an excess is a part of: half the width of a range
    power: list[Any]
    axial_force: list[Any]
    radial_force: list[Any]
    contact_low: list[Any]
    contact_high: list[Any]
    per_contact: list[Any]  # one over what an excess is a part of: half the width of a range
    slack: Any  # number: part by which all may be exceeded

    @classmethod
    def of(cls, finite: str, numbers: Sequence[Any], actuators: int, contacts: int) -> LoadBounds:
        """From the finite ones.

        Parameters
        ----------
        finite : str
            For each limit, in the order of ``FIELDS``: 1, or - and + for infinite ones.
        numbers : sequence of number
            The finite ones, and the slack.
        actuators, contacts : int
            How many there are.
        """
        rest, infinite = iter(numbers), {'-': -math.inf, '+': math.inf}
        every = [infinite[mark] if mark in infinite else next(rest) for mark in finite]
        lengths = [contacts if name.startswith('contact') else actuators for name in FIELDS]
        ends = list(itertools.accumulate(lengths))
        parts = [every[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        return cls(**dict(zip(FIELDS, parts, strict=True)), slack=next(rest))

    @property
    def on_bearings(self) -> bool:
        """Whether forces of the actuated joints are limited."""
        return not all(_infinite(x) for x in (*self.axial_force, *self.radial_force))

    def excesses(
        self, efforts: Row, rates: Row, contacts: Row, axial: Row, radial: Row
    ) -> list[Any]:
        """How far loads are beyond their limits, as parts of these; negative within.

        Parameters
        ----------
        efforts, rates : list of number
            Of the motors.
        contacts : list of number
            Multipliers.
        axial, radial : list of number
            Forces of the actuated joints; empty where they are not limited.
        """
        ends = [(efforts, self.effort, self.effort_low, self.per_effort),
                (contacts, self.contact_high, self.contact_low, self.per_contact)]  # fmt: skip
        excesses = []
        for loads, high, low, parts in ends:
            for x, most, least, part in zip(loads, high, low, parts, strict=True):
                if not (_infinite(most) or _infinite(least)):
                    middle = 0.5 * (most + least)
                    excesses.append((absolute(x - middle) - (most - middle)) * part)
                elif not _infinite(most):
                    excesses.append((x - most) * part)
                elif not _infinite(least):
                    excesses.append((least - x) * part)
        powers = [e * rate for e, rate in zip(efforts, rates, strict=True)]
        for sizes, limits in (
            (powers, self.power), (axial, self.axial_force), (radial, self.radial_force),
        ):  # fmt: skip
            for x, most in zip(sizes, limits, strict=False):
                excesses += [absolute(x) * reciprocal(most) - 1.0] if not _infinite(most) else []
        return excesses


def _infinite(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)


@dataclasses.dataclass
class _Loads:
    """What is limited, and how far, limb by limb."""

    axial: list[Row]  # force along the axis of each actuated joint, by load cases
    highest: list[Any]  # of the efforts; infinite where there is no limit
    lowest: list[Any]  # of the efforts; infinite where there is no limit
    per_effort: list[Any]
    axial_force: list[Any]
    radial_force: list[Any]
    contact_high: list[Any]
    contact_low: list[Any]
    per_contact: list[Any]
    slack: Any  # number

    @classmethod
    def of(cls, run: InverseDynamics, cases: LoadCases, bounds: LoadBounds) -> _Loads:
        """Of an evaluation."""
        columns, motors = [cases.load, *cases.free, *cases.coulomb], run.forces.motors
        axial: list[Any] = []
        high: list[Any] = []
        low: list[Any] = []
        parts: list[Any] = []
        along: list[Any] = []
        across: list[Any] = []
        for i, m in enumerate(motors):
            for lane, actuator in enumerate(m.joint.actuator):
                axial.append([lane_pick(c.bearing[i][2], lane) for c in columns])
                rate = lane_pick(m.ratio * m.joint.velocity, lane)
                ends = _with_power(bounds, actuator, rate)
                for into, x in zip((high, low, parts), ends, strict=True):
                    into.append(x)
                along.append(bounds.axial_force[actuator])
                across.append(bounds.radial_force[actuator])
        return cls(
            axial, high, low, parts, along, across,
            bounds.contact_high, bounds.contact_low, bounds.per_contact, bounds.slack,
        )  # fmt: skip

    def parts(self) -> list[Any]:
        """All numbers, nested."""
        return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _with_power(bounds: LoadBounds, i: int, rate: Any) -> tuple[Any, Any, Any]:
    """Highest and lowest effort by range and power, and one over what an excess is a part of."""
    high, low, part, power = (
        getattr(bounds, name)[i] for name in ('effort', 'effort_low', 'per_effort', 'power')
    )
    if _infinite(power):
        return high, low, part
    speed = absolute(rate)
    most = select(speed, power * reciprocal(speed), FAR)
    if _infinite(high) and _infinite(low):
        return most, -most, reciprocal(most)
    return (
        most if _infinite(high) else lesser(high, most),
        -most if _infinite(low) else greater(low, -most),
        greater(part, reciprocal(most)),
    )


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
        self._solve = _Pattern.least_excess if excess else _Pattern.thorough
        if not (thorough or excess):
            self._solve = _Pattern.best

    def __call__(
        self, cases: LoadCases, goal: PatternGoal, conditions: list[Any], *_: bool
    ) -> tuple[Row, Row, Any]:
        """See :func:`best_of`."""
        terms, loads = Terms.of(cases, goal), _Loads.of(self._run, cases, self._bounds)
        chosen, self.contradicted = over_patterns(
            terms.limb_by_limb, loads, self._solve, conditions
        )
        return chosen[: terms.free], chosen[terms.free : -1], chosen[-1]


def over_patterns(
    terms: Terms,
    loads: _Loads,
    solve: Callable[..., tuple[Any, Any, Row]],
    conditions: list[Any],
    *more: Any,
) -> tuple[Row, Any]:
    """The results of the best pattern of contact signs; positive where certainly none has any.

    Parameters
    ----------
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
    nested = [terms.parts(), loads.parts(), list(more)]
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
        pattern = _Pattern(terms.with_parts(inner[0]), _Loads(*inner[1]), columns)
        status, value, results = solve(pattern, *inner[2])
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


class _Pattern:
    """The problems of one pattern of contact signs."""

    def __init__(self, terms: Terms, loads: _Loads, signs: Row):
        self._terms, self._loads, self._signs = terms, loads, signs
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
        goal, loads, bounds = self._terms.goal, self._loads, []
        for i, across in enumerate(self._terms.across):
            effort = self.pattern.combined(self._terms.efforts[i])
            axial = self.pattern.combined(loads.axial[i])
            along = [self.pattern.combined(row) for row in across]
            drag, per_newton = goal.drag[i], goal.per_newton[i]
            high, low = loads.highest[i], loads.lowest[i]
            most, least = (self._with_gear(effort, i, end) for end in (high, low))
            limited = [
                (most, 1.0, drag, per_newton, high, loads.per_effort[i]),
                (least, -1.0, -drag, -per_newton, -low, loads.per_effort[i]),
                (axial, 1.0, 0.0, 0.0, loads.axial_force[i], None),
                (axial, -1.0, 0.0, 0.0, loads.axial_force[i], None),
                ([0.0] * len(axial), 1.0, 0.0, 1.0, loads.radial_force[i], None),
            ]
            for row, sign, constant, bend, most, per_unit in limited:
                if not _infinite(most):
                    part = reciprocal(most) if per_unit is None else per_unit
                    slopes = [sign * part * x for x in row[1:]]
                    start = part * (sign * row[0] + constant - most) - loads.slack
                    bounds.append(Bound([start, *slopes], part * bend, along))
        return bounds

    def _with_gear(self, effort: Row, i: int, end: Any) -> Row:
        """A motor's effort and what the gear takes of it, where both together are at an end."""
        loss = self._terms.goal.gear_loss[i]
        if is_known(loss, 0.0) or _infinite(end):
            return effort
        both = 1.0 + loss * sign_of(end - self._terms.goal.drag[i])
        return [both * x for x in effort]

    def _of_contacts(self) -> list[Bound]:
        loads, bounds = self._loads, []
        for row, high, low, part in zip(
            self.pattern.multipliers, loads.contact_high, loads.contact_low, loads.per_contact,
            strict=True,
        ):  # fmt: skip
            for sign, most in ((1.0, high), (-1.0, -low)):
                if not _infinite(most):
                    start = part * (sign * row[0] - most) - loads.slack
                    bounds.append(Bound([start, *(sign * part * x for x in row[1:])], 0.0, []))
        return bounds

    def _of_signs(self) -> list[Bound]:
        bounds = []
        for row, sign, sliding, per_unit in zip(
            self.pattern.multipliers, self._signs, self._terms.sliding, self._loads.per_contact,
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


def shortfall(
    run: InverseDynamics, others: Sequence[tuple[InverseDynamics, Any]], bounds: LoadBounds,
    friction: bool,
) -> Row:  # fmt: skip
    """By what the desired accelerations (n_y,) differ from the nearest that are possible.

    Nearest in the measure of Gauss's principle of least constraint, the kinetic energy of the
    difference.

    Parameters
    ----------
    run : InverseDynamics
        The evaluation; its conditions are appended to.
    others : sequence of (InverseDynamics, number)
        With each acceleration of an independent joint greater by a number.
    friction : bool
        Whether joints and contacts have friction.
    """
    parts = [reciprocal(step) for _, step in others]
    evaluations = [
        (each, LoadCases(each, friction, ())) for each in (run, *(other for other, _ in others))
    ]
    tables = [
        (Terms.of(cases, goal_of(each, {}, friction)), _Loads.of(each, cases, bounds))
        for each, cases in evaluations
    ]
    (first, loads), *more = [(terms.limb_by_limb, loads) for terms, loads in tables]
    free = first.free

    def joined(of: Callable[[Any], list[Row]], base: list[Row], sources: list[Any]) -> list[Row]:
        return [
            [
                *row[: 1 + free],
                *(part * (other[0] - row[0]) for other, part in zip(rows, parts, strict=True)),
                *row[1 + free :],
            ]
            for row, *rows in zip(base, *map(of, sources), strict=True)
        ]

    with_them = [terms for terms, _ in more]
    terms = dataclasses.replace(
        first,
        free=free + len(others),
        efforts=joined(lambda t: t.efforts, first.efforts, with_them),
        aside=[
            joined(operator.itemgetter(i), rows, [terms.aside for terms in with_them])
            for i, rows in enumerate(first.aside)
        ],
        contacts=joined(lambda t: t.contacts, first.contacts, with_them),
    )
    loads.axial = joined(lambda x: x.axial, loads.axial, [x for _, x in more])
    inertia = _inertia(run, [cases.load.efforts for _, cases in evaluations], parts)
    away, contradicted = over_patterns(
        terms, loads, _Pattern.nearest, run.forces.conditions, inertia
    )
    run.forces.conditions.append(1.0 - contradicted)
    return [-x for x in away]


def _inertia(run: InverseDynamics, efforts: Sequence[Row], parts: Row) -> list[Row]:
    """Generalised forces per acceleration, from the efforts without and with some of each."""
    load, *others = efforts
    gained = [
        vec.scale(vec.subtract(other, load), part)
        for other, part in zip(others, parts, strict=True)
    ]
    rates = [[m.rates[f] for m in run.forces.motors] for f in range(len(others))]
    forces = [[run.forces.inner(rate, g) for g in gained] for rate in rates]
    count = range(len(others))
    return [[0.5 * (forces[f][g] + forces[g][f]) for g in count] for f in count]
