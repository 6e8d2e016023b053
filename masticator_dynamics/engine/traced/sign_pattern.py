# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The goal within a pattern of contact signs, and Newton's steps on it.

With friction the forces depend on the sign of each contact's multiplier. Within a pattern of signs
all is affine in the free efforts, except for the friction of the actuated joints, which depends on
the length of an affine vector: the objective is smooth. A multiplier may also be zero at the
optimum: such a face is a pattern of its own, with the zero as a constraint.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.matrices import inverse
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    is_known,
    lane_pick,
    lane_sum,
    lesser,
    reciprocal,
    select,
    square_root,
    total,
)

SIGN_SLACK = 1e-9  # relative to the largest multiplier
SIGN_ROUNDING = 1e-12  # relative to those without free efforts
HUGE = 1e300

Row = list[Any]  # affine in the free efforts: constant, then slopes


@dataclasses.dataclass
class PatternGoal:
    """What is minimised, per entry of ``Forces.motors`` or as a weight."""

    efforts: list[Any]  # weights of the squares of the efforts; empty: none
    # Effort of the joints' friction: its constant part, per newton across the axis, and per effort
    # that is passed on. What gears take is no part of what is minimised.
    drag: list[Any]
    per_newton: list[Any]
    gear_loss: list[Any]
    lanes: list[int]
    # Weights of the squares of the observed forces and of the contacts' multipliers.
    forces: float
    contacts: float

    @property
    def curved(self) -> bool:
        """Whether the objective is not just quadratic."""
        return bool(self.efforts) and not all(is_known(x, 0.0) for x in self.per_newton)


@dataclasses.dataclass
class Terms:
    """What objective and signs depend on; rows by load cases: load, free efforts, contacts."""

    goal: PatternGoal
    free: int  # how many free efforts there are
    efforts: list[Row]  # per entry of ``Forces.motors``
    # Force across the axis of each actuated joint: per effort of its own motor, and the rest.
    levers: list[Row]
    aside: list[list[Row]]
    observed: list[Row]  # components of the goal's forces
    contacts: list[Row]  # multipliers of the contacts
    sliding: list[Any]  # positive for each contact with Coulomb friction

    @classmethod
    def of(cls, cases: LoadCases, goal: PatternGoal) -> Terms:
        """Terms of an evaluation."""
        columns = [cases.load, *cases.free, *cases.coulomb]
        count, motors = len(cases.contacts), range(len(goal.lanes))
        seen = range(len(cases.load.observed) if goal.forces else 0)
        return cls(
            goal,
            len(cases.free),
            [[c.efforts[i] for c in columns] for i in motors],
            [list(cases.levers[i][:2]) for i in motors],
            [[[c.aside[i][x] for c in columns] for x in range(2)] for i in motors],
            [[c.observed[s][x] for c in columns] for s in seen for x in range(3)],
            [[c.contacts[i] for c in columns] for i in range(count)],
            [contact.sliding for contact in cases.contacts],
        )

    @property
    def across(self) -> list[list[Row]]:
        """Force across the axis of each actuated joint."""
        return [self.across_of(i, self.efforts[i], rows) for i, rows in enumerate(self.aside)]

    def across_of(self, i: int, effort: Row, aside: list[Row]) -> list[Row]:
        """The same of a joint whose own motor's effort and the rest are given."""
        return [
            [x + lever * e for x, e in zip(row, effort, strict=True)]
            for row, lever in zip(aside, self.levers[i], strict=True)
        ]

    @functools.cached_property
    def start(self) -> Row:
        """Free efforts that would be best without friction."""
        goal, free = self.goal, self.free

        def plain(rows: list[Row]) -> list[Row]:
            return [[*row[: 1 + free], *[0.0] * len(self.contacts)] for row in rows]

        terms = dataclasses.replace(
            self,
            goal=dataclasses.replace(goal, per_newton=[0.0] * len(goal.per_newton)),
            efforts=plain(self.efforts),
            observed=plain(self.observed),
            contacts=plain(self.contacts),
        )
        zero = [0.0] * free
        step, _ = SignPattern(terms, [1.0] * len(self.contacts)).newton(zero)
        return [-a for a in step]

    @functools.cached_property
    def limb_by_limb(self) -> Terms:
        """The same without lanes: limbs that share them become separate entries."""
        goal, lanes = self.goal, self.goal.lanes

        def entries(parts: list[Any]) -> list[Any]:
            return [
                mapped(part, functools.partial(lane_pick, lane=lane))
                for part, count in zip(parts, lanes, strict=False)
                for lane in range(count)
            ]

        of_goal: dict[str, Any] = {name: entries(getattr(goal, name)) for name in _OF_GOAL}
        return dataclasses.replace(
            self,
            goal=dataclasses.replace(goal, lanes=[1] * sum(lanes), **of_goal),
            efforts=entries(self.efforts),
            levers=entries(self.levers),
            aside=entries(self.aside),
        )

    @functools.cached_property
    def typical(self) -> Any:
        """Half the weighted squares of the load alone."""
        goal = self.goal
        value = goal.forces * total(row[0] * row[0] for row in self.observed)
        value = value + goal.contacts * total(row[0] * row[0] for row in self.contacts)
        for weight, row, lanes in zip(goal.efforts, self.efforts, goal.lanes, strict=False):
            value = value + lane_sum(weight * (row[0] * row[0]), lanes)
        return 0.5 * value

    @functools.cached_property
    def size(self) -> Any:
        """Square of the load's efforts."""
        rows = zip(self.efforts, self.goal.lanes, strict=True)
        return total(lane_sum(row[0] * row[0], lanes) for row, lanes in rows)

    def numbers(self) -> list[Number]:
        """All recorded numbers, in the order in which :meth:`with_numbers` takes them."""
        numbers: list[Number] = []
        mapped(self.parts(), lambda x: numbers.append(x) if isinstance(x, Number) else None)
        return numbers

    def with_numbers(self, numbers: Sequence[Any]) -> Terms:
        """The same with other numbers in place of the recorded ones."""
        rest = iter(numbers)
        return self.with_parts(
            mapped(self.parts(), lambda x: next(rest) if isinstance(x, Number) else x)
        )

    def parts(self) -> list[Any]:
        """All numbers, nested."""
        goal = [getattr(self.goal, name) for name in _OF_GOAL]
        return [goal, *(getattr(self, name) for name in _OF_TERMS)]

    def with_parts(self, parts: list[Any]) -> Terms:
        """The same with other numbers, nested likewise."""
        of_goal, *rest = parts
        goal = dataclasses.replace(self.goal, **dict(zip(_OF_GOAL, of_goal, strict=True)))
        return dataclasses.replace(self, goal=goal, **dict(zip(_OF_TERMS, rest, strict=True)))


_OF_GOAL = ('efforts', 'drag', 'per_newton', 'gear_loss')
_OF_TERMS = ('efforts', 'levers', 'aside', 'observed', 'contacts', 'sliding')


def mapped(part: Any, function: Callable[[Any], Any]) -> Any:
    """A number, or nested lists of numbers, with a function applied to each number."""
    return [mapped(x, function) for x in part] if isinstance(part, list) else function(part)


class SignPattern:
    """One pattern of contact signs.

    Parameters
    ----------
    terms : Terms
        By load cases.
    signs : sequence of number
        1, -1, or 0 where a multiplier is held at zero. With lanes, each lane is a pattern, and
        nothing else may have lanes.
    faces : bool
        Whether recorded signs may be 0.

    Attributes
    ----------
    answers : matrix
        What all multipliers become per unit that the free efforts and the load give to each.
    multipliers : list of row
        Of the contacts, friction included, as functions of the free efforts.
    """

    def __init__(self, terms: Terms, signs: Sequence[Any], faces: bool = True):
        self._terms, self._goal, self._signs = terms, terms.goal, signs
        # 1 where a multiplier is held at zero.
        self._holds = [
            1.0 - s * s if faces or not isinstance(s, Number) else 0.0 for s in signs
        ]  # fmt: skip
        self.answers, self.multipliers = self._solved_contacts()
        self._efforts = [self.combined(row) for row in terms.efforts]
        self._observed = [self.combined(row) for row in terms.observed]

    @property
    def exact(self) -> bool:
        """Whether Newton's first step is the last one."""
        held = sum(is_known(sign, 0.0) for sign in self._signs)
        return not self._goal.curved or held == self._terms.free

    def _solved_contacts(self) -> tuple[vec.Matrix, list[Row]]:
        """`answers` and `multipliers`."""
        signs, free, rows = self._signs, self._terms.free, self._terms.contacts
        count = range(len(rows))
        plain, coulomb = [r[: 1 + free] for r in rows], [r[1 + free :] for r in rows]
        if all(is_known(x, 0.0) for row in coulomb for x in row):
            return np.eye(len(rows)).tolist(), plain
        matrix = [[float(i == j) - coulomb[i][j] * signs[j] for j in count] for i in count]
        solution, _ = inverse(matrix, np.eye(len(rows)))
        columns = [*zip(*plain, strict=True)]
        return solution, [[vec.dot(row, column) for column in columns] for row in solution]

    def combined(self, row: Row) -> Row:
        """A quantity as a function of the free efforts; friction depends on contact loads."""
        free = self._terms.free
        return [
            row[m]
            + total(
                part * (sign * multiplier[m])
                for part, sign, multiplier in zip(
                    row[1 + free :], self._signs, self.multipliers, strict=True
                )
            )
            for m in range(1 + free)
        ]

    # Signs

    def contacts(self, x: Row) -> Row:
        """The load that sets each contact's friction, sign included."""
        pairs = zip(self._signs, self.multipliers, strict=True)
        return [sign * at(row, x) for sign, row in pairs]

    def margin(self, x: Row) -> Any:
        """Positive where the signs are those assumed."""
        largest: Any = 1e-300
        lowest: Any = 0.0
        rounding = SIGN_ROUNDING * total(absolute(row[0]) for row in self.multipliers)
        for row, sign, sliding in zip(
            self.multipliers, self._signs, self._terms.sliding, strict=True
        ):
            multiplier = at(row, x)
            largest = greater(absolute(multiplier), largest)
            if not is_known(sign, 0.0):
                lowest = select(sliding, lesser(sign * multiplier, lowest), lowest)
        return 1.0 if is_known(lowest, 0.0) else lowest + SIGN_SLACK * largest + rounding

    def change(self, step: Row) -> Any:
        """Largest change of a multiplier by a step."""
        largest: Any = 0.0
        for row in self.multipliers:
            largest = greater(absolute(vec.dot(row[1:], step)), largest)
        return largest

    # The objective

    def value(self, x: Row) -> Any:
        """Half the weighted squares at free efforts."""
        goal = self._goal
        value: Any = 0.0
        for weight, row, lanes in self._plain():
            part = at(row, x)
            value = value + lane_sum(weight * (part * part), lanes)
        for i in self._bent:
            part, *_ = self.bent_effort(i, x)
            value = value + lane_sum(goal.efforts[i] * (part * part), goal.lanes[i])
        return 0.5 * value

    def newton(self, x: Row, convex: bool = False) -> tuple[Row, Any]:
        """Newton's step, to be subtracted, and by how much the value falls with it.

        The fall is negative where the step does not lead to a minimum. The step keeps multipliers
        at zero that are held there.

        Parameters
        ----------
        x : list of number
            Free efforts.
        convex : bool
            Omit second derivatives that may make the step lead upwards.
        """
        gradient, hessian = self.derivatives(x, convex)
        step = self._step(x, gradient, hessian)
        fall = 0.5 * vec.dot(gradient, step)
        # Along a line the sign of the fall says enough; else the Hessian must be positive definite.
        held = total(h for h in self._holds if not isinstance(h, Number))
        line = held - (len(x) - 1.5)
        if not self._goal.curved or (isinstance(line, float) and line > 0.0):
            return step, fall
        for size in range(1, len(x) + 1):
            _, minor = inverse([row[:size] for row in hessian[:size]], np.eye(size))
            fall = select(minor, fall, select(line, fall, -HUGE))
        return step, fall

    def _plain(self) -> list[tuple[Any, Row, int]]:
        """Weights, rows and lanes of the terms of the objective that friction does not bend."""
        goal = self._goal
        terms: list[tuple[Any, Row, int]] = [(goal.forces, row, 1) for row in self._observed]
        if goal.contacts:
            terms += [(goal.contacts, row, 1) for row in self.multipliers]
        for weight, row, drag, per_newton, lanes in zip(
            goal.efforts, self._efforts, goal.drag, goal.per_newton, goal.lanes, strict=False
        ):
            if is_known(per_newton, 0.0):
                terms.append((weight, [row[0] + drag, *row[1:]], lanes))
        return terms

    @functools.cached_property
    def _bent(self) -> list[int]:
        """Motors whose efforts include friction that depends on the load."""
        goal = self._goal
        return [i for i in range(len(goal.efforts)) if not is_known(goal.per_newton[i], 0.0)]

    @functools.cached_property
    def _aside(self) -> dict[int, list[Row]]:
        """Of these motors, the force across the axis without what they add themselves."""
        return {i: [self.combined(row) for row in self._terms.aside[i]] for i in self._bent}

    def across(self, i: int) -> list[Row]:
        """Force across the axis of one of these motors."""
        return self._terms.across_of(i, self._efforts[i], self._aside[i])

    def bent_effort(self, i: int, x: Row) -> tuple[Any, Any, Row, Row]:
        """An effort with friction, one over the force across the axis, slopes of effort and angle.

        The angle, times that force, is by how much the force turns: only that way its length bends.
        """
        (bx, by), (lx, ly), free = self._aside[i], self._terms.levers[i], range(len(x))
        row, per_newton = self._efforts[i], self._goal.per_newton[i]
        passed_on = at(row, x)
        length, per_length, (cx, cy) = direction(
            at(bx, x) + lx * passed_on, at(by, x) + ly * passed_on
        )
        effort = passed_on + self._goal.drag[i] + per_newton * length
        gain, turn = 1.0 + per_newton * (cx * lx + cy * ly), cx * ly - cy * lx
        slopes = [gain * row[1 + m] + per_newton * (cx * bx[1 + m] + cy * by[1 + m]) for m in free]
        turns = [turn * row[1 + m] + (cx * by[1 + m] - cy * bx[1 + m]) for m in free]
        return effort, per_length, slopes, turns

    @functools.cached_property
    def _quadratic(self) -> list[Row]:
        """Gradient at zero and Hessian, row by row, of the terms that friction does not bend."""
        count, terms = self._terms.free, self._plain()
        return [
            [total(lane_sum(w * (row[1 + m] * row[n]), lanes) for w, row, lanes in terms)
             for n in range(1 + count)]
            for m in range(count)
        ]  # fmt: skip

    def derivatives(self, x: Row, convex: bool) -> tuple[Row, list[Row]]:
        """Gradient and Hessian of the objective."""
        goal, free = self._goal, range(len(x))
        gradient = [at(row, x) for row in self._quadratic]
        hessian = [list(row[1:]) for row in self._quadratic]
        for i in self._bent:
            effort, per_length, slopes, turns = self.bent_effort(i, x)
            pull = effort * goal.per_newton[i]
            bends = (select(pull, pull, 0.0) if convex else pull) * per_length
            for m in free:
                part = goal.efforts[i] * (effort * slopes[m])
                gradient[m] = gradient[m] + lane_sum(part, goal.lanes[i])
                for n in free:
                    part = goal.efforts[i] * (slopes[m] * slopes[n] + bends * (turns[m] * turns[n]))
                    hessian[m][n] = hessian[m][n] + lane_sum(part, goal.lanes[i])
        return gradient, hessian

    def _step(self, x: Row, gradient: Row, hessian: list[Row]) -> Row:
        """The step for a gradient and a Hessian."""
        # Multipliers that may be held at zero.
        held = [(row, holds)
                for row, holds in zip(self.multipliers, self._holds, strict=True)
                if not is_known(holds, 0.0)]  # fmt: skip
        if not x:
            return []
        if len(held) == len(x) and all(is_known(holds, 1.0) for _, holds in held):
            solution, _ = inverse([row[1:] for row, _ in held], np.eye(len(x)))
            return vec.apply(solution, [at(row, x) for row, _ in held])
        inverted, _ = inverse(hessian, np.eye(len(x)))
        step = vec.apply(inverted, gradient)
        if held:
            across = [vec.apply(inverted, row[1:]) for row, _ in held]
            # What is not held is an equation of its own: nothing pulls there.
            matrix = [
                [holds * other * vec.dot(row[1:], a) + float(i == j) * (1.0 - holds)
                 for j, ((_, other), a) in enumerate(zip(held, across, strict=True))]
                for i, (row, holds) in enumerate(held)
            ]  # fmt: skip
            open_ = [holds * (at(row, x) - vec.dot(row[1:], step)) for row, holds in held]
            pull = vec.apply(inverse(matrix, np.eye(len(held)))[0], open_)
            step = [s + vec.dot([a[m] for a in across], pull) for m, s in enumerate(step)]
        return step


def at(row: Row, x: Row) -> Any:
    """Value of an affine function."""
    return row[0] + vec.dot(row[1:], x)


def direction(x: Any, y: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """Length of a vector, one over it, and its direction; zeros for a zero vector."""
    length = square_root(x * x + y * y)
    per_length = select(length, reciprocal(length), 0.0)
    return length, per_length, (x * per_length, y * per_length)
