# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts over all patterns of contact signs that are consistent.

Two Newton steps per pattern show whether it can be the best and roughly how good it is; only the
best is iterated to convergence. If another might still be better, the row is handed over, and every
pattern is iterated to convergence, with steps that never increase the objective.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.status import JAMMED, RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.control_flow import call, graph_of, repeat
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import (
    greater,
    is_known,
    lane_pick,
    lanes,
    lesser,
    reciprocal,
    select,
    square_root,
)
from masticator_dynamics.engine.traced.sign_pattern import PatternGoal, Row, SignPattern, Terms

FIRST_STEPS, STEPS = 2, 5  # per pattern; in total for the best one
MOST_ITERATIONS = 200  # of a pattern that is iterated to convergence
TOGETHER = 8  # patterns in lanes, at most
SHORTEST = 2.0**-30  # fraction of a step
CONVERGED = 1e-7  # last step over the efforts; the remaining error is about its square
CLOSING_IN = 0.5  # second step over the first, below which bounds are drawn from it
STILL_TO_COME = 3.0  # times the last step; Newton's remaining steps together are shorter
ROUNDING = 1e-14
EQUAL = 1e-12  # relative, of objectives
NOTHING = 1e-20  # relative to the load's objective; below it counts as zero
_UNSET = 1e300

Signs = tuple[float, ...]


def best_of(
    cases: LoadCases, goal: PatternGoal, conditions: list[Any], exhaustive: bool, share: bool
) -> tuple[Row, Row, Any]:
    """Free efforts and contact friction of the best pattern, and the remaining slope.

    Parameters
    ----------
    cases : LoadCases
        Forces as functions of the free efforts.
    conditions : list
        Appended to: numbers that must be positive for the answer to be valid.
    exhaustive : bool
        Iterate every pattern to convergence.
    share : bool
        Put patterns into SIMD lanes.

    Raises
    ------
    RefusedError
        On floats, if no pattern of signs is consistent.
    """
    terms, candidates = Terms.of(cases, goal), _candidates(cases)
    if exhaustive:
        return _exhaustive(terms, candidates, conditions)
    return _few_steps(terms, candidates, conditions, share)


def _candidates(cases: LoadCases) -> list[Signs]:
    """Sign patterns to try, those without zeros first; frictionless contacts have only one sign."""
    signs = [(1.0,) if is_known(c.sliding, 0.0) else (1.0, -1.0, 0.0) for c in cases.contacts]
    patterns = [s for s in itertools.product(*signs) if s.count(0.0) <= len(cases.free)]
    return sorted(patterns, key=lambda s: s.count(0.0))


def _bounds(face: Signs, pattern: Signs) -> bool:
    """Whether a face bounds a pattern."""
    return 0.0 in face and 0.0 not in pattern and all(
        a in (0.0, b) for a, b in zip(face, pattern, strict=True)
    )  # fmt: skip


def _possible(terms: Terms, signs: Sequence[Any]) -> Any:
    """Positive where the signs are possible: a contact that does not slide has only one sign."""
    possible: Any = 1.0
    for sign, sliding in zip(signs, terms.sliding, strict=True):
        possible = select(sign - 0.5, possible, select(sliding, possible, 0.0))
    return possible


# A few steps


def _few_steps(
    terms: Terms, candidates: list[Signs], conditions: list[Any], share: bool
) -> tuple[Row, Row, Any]:
    """The best pattern, if a few steps can establish it; otherwise a condition fails."""
    start: Row = terms.start
    signs: Any = candidates[0]
    others: Any = _UNSET
    steps = STEPS if terms.goal.curved else 1
    if len(candidates) > 1:
        estimates = _estimates(terms, candidates, share)
        signs, start, others = _most_promising(terms, estimates, conditions)
        steps -= FIRST_STEPS if terms.goal.curved else 0
    pattern, x, step = SignPattern(terms, signs), start, start
    for _ in range(steps if start else 0):
        step, _ = pattern.newton(x)
        x = vec.subtract(x, step)
    value = pattern.value(x)
    conditions.append(pattern.margin(x))
    # Where patterns meet at the optimum they are equally good, up to rounding.
    conditions.append(others - value * (1.0 - EQUAL) + NOTHING * terms.typical)
    if terms.goal.curved and x:
        conditions.append(_size(terms, x) * CONVERGED**2 - vec.dot(step, step))
    return x, pattern.contacts(x), _slope(terms, value, pattern.newton(x)[1])


def _estimates(terms: Terms, candidates: list[Signs], share: bool) -> dict[Signs, Row]:
    """Result of :func:`_estimate` for each pattern; patterns with the same steps share lanes."""
    estimates: dict[Signs, Row] = {}
    groups: dict[object, list[Signs]] = {}
    for i, signs in enumerate(candidates):
        at_a_point = signs.count(0.0) == terms.free
        groups.setdefault((at_a_point, i // TOGETHER) if share else i, []).append(signs)
    for group in groups.values():
        columns = [lanes(np.array(column)) for column in zip(*group, strict=True)]
        pattern = SignPattern(terms.limb_by_limb if len(group) > 1 else terms, columns)
        numbers = _estimate(terms, pattern, _possible(terms, columns))
        for lane, signs in enumerate(group):
            estimates[signs] = [lane_pick(x, lane) for x in numbers]
    return estimates


def _most_promising(
    terms: Terms, estimates: dict[Signs, Row], conditions: list[Any]
) -> tuple[Row, Row, Any]:
    """Signs and free efforts of the apparent best pattern, and a lower bound of all others."""
    candidates = list(estimates)
    best: Any = _UNSET
    least: Any = _UNSET  # lower bound of the apparent best
    others: Any = _UNSET
    chosen: list[Any] = [*candidates[0], *[0.0] * terms.free]
    insides: dict[Signs, Any] = {}
    lows: dict[Signs, Any] = {}
    for signs in candidates:
        value, low, inside, excluded, *x = estimates[signs]
        insides[signs], lows[signs] = inside, low
        # A face is no lower than the minima next to it, unless these are not their patterns'
        # lowest; where one of these has consistent signs, the face is no candidate.
        for other in (s for s in candidates if _bounds(signs, s)):
            above = value * (1.0 + EQUAL) + NOTHING * terms.typical - lows[other]
            others = select(above, others, -1.0)
            low = greater(low, lows[other])
            inside = select(insides[other], 0.0, inside)
            excluded = select(insides[other], 1.0, excluded)
        low = select(excluded, _UNSET, low)
        better = select(inside, best - value, -1.0)
        others = lesser(others, select(better, least, low))
        best, least = select(better, value, best), select(better, low, least)
        numbers = [*signs, *x]
        chosen = [select(better, a, b) for a, b in zip(numbers, chosen, strict=True)]
    conditions += [_UNSET / 2.0 - best, least + 0.5]
    return chosen[: -terms.free or None], chosen[len(candidates[0]) :], others


def _estimate(terms: Terms, pattern: SignPattern, possible: Any) -> Row:
    """Where a pattern has its minimum, an estimate of its value, and a lower bound.

    Returns
    -------
    list
        Half the weighted squares, estimate and lower bound; -1 for the latter if there is none.
        Positive where the minimum seems to have the signs assumed; where it certainly has not.
        The free efforts.
    """
    first, _ = pattern.newton(terms.start)
    x = vec.subtract(terms.start, first)
    value = pattern.value(x)
    low, step, sure = value, [0.0] * terms.free, 1.0
    if not pattern.exact:
        step, fall = pattern.newton(x)
        x = vec.subtract(x, step)
        rest = (
            CLOSING_IN**2 * vec.dot(first, first)
            + CONVERGED**2 * _size(terms, x)
            - vec.dot(step, step)
        )
        sure = select(fall + ROUNDING * value, select(rest, 1.0, 0.0), 0.0)
        low, value = value - (1.0 + STILL_TO_COME) * fall, value - fall
    low = select(low + NOTHING * terms.typical, low, -1.0)  # also for NaN
    low = select(sure, low, -1.0)
    margin = pattern.margin(x)
    inside = possible if is_known(margin, 1.0) else select(margin, possible, 0.0)
    outside = select(-(margin + STILL_TO_COME * pattern.change(step)), sure, 0.0)
    return [value, low, inside, select(possible, outside, 1.0), *x]


# To convergence


def _exhaustive(
    terms: Terms, candidates: list[Signs], conditions: list[Any]
) -> tuple[Row, Row, Any]:
    """The best pattern of all, each iterated to convergence."""
    count, contacts, numbers = terms.free, len(terms.contacts), terms.numbers()
    graph, size = graph_of(numbers), 5 + 3 * count + contacts

    def iteration(inputs: Row) -> Row:
        state, signs, constants = (
            inputs[:size],
            inputs[size : size + contacts],
            inputs[size + contacts :],
        )
        return _iteration(terms.with_numbers(constants), signs, state)

    def converged(signs: Signs, x: Row) -> tuple[Any, Row]:
        """Value at convergence, unset where the signs are not those assumed, and results."""

        def step(state: Row) -> tuple[Any, Row]:
            goes_on, *after = call(graph, 'iteration', iteration, [*state, *signs, *numbers])
            return goes_on, after

        start = [1.0, 1.0, _UNSET, 0.0, 0.0, *x, *[0.0] * (2 * count + contacts)]
        state = repeat(graph, MOST_ITERATIONS, start, step)
        value, slope, margin = state[2:5]
        inside = select(margin, _possible(terms, signs), 0.0)
        results = [*state[5 : 5 + count], *state[5 + 3 * count :], slope]
        return select(inside, value, _UNSET), results

    ends: dict[Signs, tuple[Any, Row]] = {}
    for signs in reversed(candidates):  # those with zeros first
        ends[signs] = converged(signs, terms.start)
        # A pattern with several minima most likely reaches its lowest from its lowest face.
        faces = [ends[face] for face in ends if _bounds(face, signs)]
        if faces:
            _, x = _lowest([(_UNSET, terms.start), *((v, f[:count]) for v, f in faces)])
            ends[signs] = _lowest([ends[signs], converged(signs, x)])
    none = [0.0] * (count + contacts + 1)
    best, chosen = _lowest([(_UNSET, none), *(ends[signs] for signs in candidates)])
    conditions.append(_UNSET / 2.0 - best)
    if is_known(best, _UNSET):
        raise RefusedError(JAMMED)
    return chosen[:count], chosen[count:-1], chosen[-1]


def _lowest(solutions: list[tuple[Any, Row]]) -> tuple[Any, Row]:
    """The one with the lowest value, the first of several."""
    best, chosen = solutions[0]
    for value, numbers in solutions[1:]:
        lower = best - value
        best = select(lower, value, best)
        chosen = [select(lower, a, b) for a, b in zip(numbers, chosen, strict=True)]
    return best, chosen


def _iteration(terms: Terms, signs: Row, state: Row) -> Row:
    """Take part of a Newton step; then find the next one, or halve that part if it led upwards.

    Gives what is positive to go on, then the next state. The state: positive at the start; part of
    the step; half the weighted squares, relative slope, positive where the signs are those assumed;
    free efforts, step, step to use instead if that one leads upwards, and the load that sets each
    contact's friction.
    """
    count, (starts, part, value, slope, margin) = terms.free, state[:5]
    old, step, other = (state[5 + i * count : 5 + (i + 1) * count] for i in range(3))
    pattern = SignPattern(terms, signs)
    moved = [part * a for a in step]
    x = vec.subtract(old, moved)
    here, (full, fall) = pattern.value(x), pattern.newton(x)
    safe, _ = pattern.newton(x, convex=True)
    full = [select(fall, a, b) for a, b in zip(full, safe, strict=True)]
    # The first step leads to where the held multipliers are zero, which may be upwards.
    most = select(starts, _UNSET, here)
    reached = [1.0, most, _slope(terms, here, fall), pattern.margin(x), *x, *full, *safe,
               *pattern.contacts(x)]  # fmt: skip
    halved = [0.5 * part, value, slope, margin, *old, *other, *other, *state[5 + 3 * count :]]
    falls = value * (1.0 + ROUNDING) - here
    ends = _size(terms, x) * CONVERGED**2 - vec.dot(moved, moved)
    on = select(starts, 1.0, select(ends, 0.0, 1.0))
    goes_on = select(falls, on, select(part - SHORTEST, 1.0, 0.0))
    return [goes_on, 0.0, *(select(falls, a, b) for a, b in zip(reached, halved, strict=True))]


def _slope(terms: Terms, value: Any, fall: Any) -> Any:
    """Remaining relative slope of the goal's norm, from how much a step lowers its square."""
    fall = greater(fall, 0.0)
    return select(value - NOTHING * terms.typical, square_root(fall * reciprocal(value)), 0.0)


def _size(terms: Terms, x: Row) -> Any:
    """Approximate square of the efforts."""
    return terms.size + vec.dot(x, x)
