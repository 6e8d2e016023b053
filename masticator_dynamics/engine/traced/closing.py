# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closing the loops of a stage, always on the branch continuous with home.

By formula where the structure has one, else by a few damped Newton steps from home. A result that
may be on another branch, too far or not converged fails a condition: such a row is closed by as
many of these steps as it takes, see ``from_home.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.engine.status import SINGULAR, RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Plan, Stage, TracedJoint, Turn, chain
from masticator_dynamics.engine.traced.closure_equations import stage_equations
from masticator_dynamics.engine.traced.functions import sine_cosine
from masticator_dynamics.engine.traced.matrices import inverse, solve
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    is_known,
    lane_pack,
    per_lane,
    reciprocal,
    select,
    sign_of,
    square_root,
    stacked,
    total,
)
from masticator_dynamics.engine.traced.vectors import Vector

NEWTON_STEPS = 7
LARGEST_TURN = 0.3  # rad per Newton step: with it the iteration never left the branch of home
LARGEST_SLIDE = 0.3  # of the mechanism's size
CLOSED_GAP = 1e-13  # m or rad
STEP_TOLERANCE = 3e-7  # last step over the largest; the remaining error is about its square
REGULAR = 1e-4  # determinant over the lengths of its columns
# Likewise, so that the order of additions shows in the twelfth digit at most, but no more than this
# part of what it is at home.
PRECISE, PART_OF_HOME = 0.015, 0.2
LARGEST_PRODUCT = 1e300  # of lengths squared, of a column of the Jacobian and a row of its inverse
SMALLEST_SINE = 1e-6  # of the angle between a column and the others; below it is singular
PARALLEL = 1e-12  # of the cosine between axes
FAR_FROM_HOME = 0.5 * np.pi  # rad; beyond it Newton steps may have changed branch unnoticed
CERTAIN_COSINE = 0.0  # of such a turn
# Likewise of two turns, 1 rad: beyond 1.18 rad a five-bar's straight path may leave its reach.
CERTAIN_TURNS = 0.5403023058681398


def largest_step(joint: TracedJoint, plan: Plan) -> float:
    """Of Newton's iteration, rad or m."""
    return LARGEST_SLIDE * plan.extent if joint.slides else LARGEST_TURN


class Closing:
    """Closes the loops of a stage, and sets its equations and Jacobian at the closed poses.

    Parameters
    ----------
    plan : Plan
        To which it belongs; its earlier stages are closed.
    y : vector
        Independent positions.

    Attributes
    ----------
    conditions : list
        Numbers that are positive where the result is valid.
    """

    def __init__(self, stage: Stage, plan: Plan, y: Vector):
        self.stage, self._plan = stage, plan
        self.conditions: list[Any] = []
        for joint in stage.joints:
            joint.turn = None
            if joint.independent is not None:
                joint.position = y[joint.independent]
        if not stage.blocks:
            self.place()

    def close(self) -> None:
        """Close by formula or in a few steps; the conditions say whether that was enough."""
        if not self.stage.blocks:
            return
        if all(self.stage.limbs):
            self._universal_limb()
        elif not (self._slide_and_turn() or self._two_turns()):
            self._newton()
        determinant = self._measure()
        self.conditions.append(self.orientation(determinant))
        self._determinant = determinant
        self.require(PRECISE)
        for equation in self.stage.equations:
            if not is_known(equation.gap, 0.0):
                self.conditions.append(CLOSED_GAP - absolute(equation.gap))

    def close_at(self, positions: Vector) -> None:
        """Use positions (n_q,) of all joints at which the loops are already closed.

        Raises
        ------
        RefusedError
            On floats, if they are singular.
        """
        if not self.stage.blocks:
            return
        self.put([lane_pack([positions[j] for j in joint.joints]) for joint in self.stage.unknowns])
        determinant = self._measure()
        if isinstance(determinant, Number):
            self.conditions.append(self._regular(determinant, REGULAR))
        elif not (sine := self.regularity()) >= SMALLEST_SINE:
            raise RefusedError(SINGULAR, self._plan.stages.index(self.stage), sine)

    def put(self, positions: Vector) -> None:
        """Set the positions of the unknown joints."""
        for joint, position in zip(self.stage.unknowns, positions, strict=True):
            joint.position, joint.turn = position, None

    def place(self) -> None:
        """Place the bodies of the stage."""
        for joint in self.stage.joints:
            joint.place()

    def _measure(self) -> Any:
        """Set equations, Jacobian and inverse at the present positions; return the determinant."""
        stage = self.stage
        self._find_rates()
        stage.inverse, determinant = inverse(stage.jacobian, stage.home_jacobian[0])
        return determinant

    def _find_rates(self) -> None:
        self._find_equations()
        stage = self.stage
        stage.jacobian = [[e.entry(j) for j in stage.unknowns] for e in stage.equations]

    def _find_equations(self) -> None:
        self.place()
        self.stage.equations = stage_equations(self.stage, self._plan.body)

    def orientation(self, determinant: Any) -> Any:
        """A determinant of the Jacobian, made positive where its sign is the same as at home."""
        sign = [np.sign(np.linalg.det(rates)) for rates in self.stage.home_jacobian]
        return determinant * per_lane(sign)

    def _regular(self, determinant: Any, least: Any) -> Any:
        """Condition that the columns of the Jacobian are that far from depending on one another."""
        lengths: Any = 1.0
        for square, usual in self._squares():
            lengths = lengths * greater(square, usual)
        return determinant * determinant - lengths * (least * least)

    def require(self, least: float) -> None:
        """Have the result count only where the closed loops are that far from singular.

        Parameters
        ----------
        least : float
            As ``PRECISE``.
        """
        if not self.stage.blocks:
            return
        at_home = (
            float(abs(np.linalg.det(rates)) / np.prod(np.linalg.norm(rates, axis=0)))
            for rates in self.stage.home_jacobian
        )
        far = per_lane(max(REGULAR, min(least, PART_OF_HOME * part)) for part in at_home)
        self.conditions.append(self._regular(self._determinant, far))

    def _squares(self) -> list[tuple[Any, Any]]:
        """Squared lengths of the Jacobian's columns, now and at home.

        A joint whose axis comes to pass through the point that it moves hardly moves it any more,
        though its direction stays across those of the others.
        """
        columns = zip(*self.stage.jacobian, strict=True)
        usual = zip(*((rates * rates).sum(axis=0) for rates in self.stage.home_jacobian),
                    strict=True)  # fmt: skip
        return [
            (vec.dot(column, column), per_lane(map(float, squares)))
            for column, squares in zip(columns, usual, strict=True)
        ]

    def regularity(self) -> Any:
        """Smallest sine of the angle between a column of the Jacobian and the others.

        Dimensionless; less by as much as the column is shorter than at home. Below
        ``SMALLEST_SINE`` rates have fewer than about ten correct digits.
        """
        longest: Any = 1.0
        products = []
        for (square, usual), row in zip(self._squares(), self.stage.inverse, strict=True):
            products.append(greater(square, usual) * vec.dot(row, row))
            longest = greater(products[-1], longest)
        # Zero where a product is not a number.
        return select(LARGEST_PRODUCT - total(products), reciprocal(square_root(longest)), 0.0)

    # Newton's iteration

    def _newton(self) -> None:
        unknowns = self.stage.unknowns
        self.put([joint.home for joint in unknowns])
        for _ in range(NEWTON_STEPS):
            _, moved, longest = self.newton_step()
            self.put(moved)
        self.conditions.append(STEP_TOLERANCE - longest)
        for joint in unknowns:
            if not joint.slides:
                far = absolute(joint.position - joint.home)
                self.conditions.append(FAR_FROM_HOME - far)

    def newton_step(self) -> tuple[Any, Vector, Any]:
        """Where a damped Newton step leads.

        For gaps phi(q_d) with the Jacobian K_d; no joint moves farther than it may::

            q_d <- q_d - K_d^-1 phi / max(1, longest)

        Returns
        -------
        determinant : number
            Of the Jacobian, at the present positions.
        moved : sequence
            Positions of the unknown joints after the step.
        longest : number
            Longest undamped step of a joint over the largest one allowed.
        """
        self._find_rates()
        stage = self.stage
        gaps = [e.gap for e in stage.equations]
        steps, determinant = solve(stage.jacobian, stage.home_jacobian[0], gaps)
        longest: Any = 0.0
        for joint, step in zip(stage.unknowns, steps, strict=True):
            longest = greater(absolute(step) * (1.0 / largest_step(joint, self._plan)), longest)
        shorter = reciprocal(greater(longest, 1.0))
        unknowns = zip(self.stage.unknowns, steps, strict=True)
        moved = [joint.position - step * shorter for joint, step in unknowns]
        return determinant, moved, longest

    # Two equations for a slide and a turn, e.g. of a platform that touches two planes

    def _slide_and_turn(self) -> bool:
        """Close by formula if each equation is linear in a slide; return whether it applies.

        Eliminating the slide leaves one equation for the turn: a cos + b sin + c = 0.
        """
        unknowns = self.stage.unknowns
        slides = [joint for joint in unknowns if joint.slides]
        turns = [joint for joint in unknowns if joint.turns]
        # A third unknown may be a screw, which is neither.
        if (len(slides), len(turns), len(unknowns)) != (1, 1, 2) or not self.stage.in_base:
            return False
        slide, pivot = slides[0], turns[0]
        if pivot.body in chain(slide.body, self.stage):
            return False
        slide.position = 0.0
        c = self._gaps_at({pivot: (0.0, 0.0)})
        a, b = self._columns(pivot, {})
        along = [e.entry(slide) for e in self.stage.equations]

        def without_slide(pair: list[Any]) -> Any:
            return along[1] * pair[0] - along[0] * pair[1]

        slope = per_lane(self._home_signs(slide, pivot))
        sine, cosine = self._root(without_slide(a), without_slide(b), without_slide(c), slope)
        pivot.turn = sine, cosine
        self._certain(pivot)
        rest = [x * cosine + y * sine + z for x, y, z in zip(a, b, c, strict=True)]
        weight = reciprocal(along[0] * along[0] + along[1] * along[1])
        slide.position = -((along[0] * rest[0] + along[1] * rest[1]) * weight)
        return True

    def _gaps_at(self, turns: dict[TracedJoint, Turn]) -> list[Any]:
        """Gaps of all equations for sines and cosines of joints.

        With (0, 0), which is not a rotation, the part that does not depend on the turn.
        """
        for joint, turn in turns.items():
            joint.turn = turn
        self._find_equations()
        return [equation.gap for equation in self.stage.equations]

    def _home_signs(self, *joints: TracedJoint) -> list[float]:
        """Signs at home, per lane, of the Jacobian's negative determinant, by these columns."""
        order = [self.stage.unknowns.index(joint) for joint in joints]
        return [-np.sign(np.linalg.det(rates[:, order])) for rates in self.stage.home_jacobian]

    def _root(self, a: Any, b: Any, c: Any, slope: Any) -> Turn:
        """Sine and cosine of the root of ``a cos + b sin + c = 0`` with a slope of this sign."""
        square = a * a + b * b
        rest = square - c * c
        self.conditions.append(rest)
        height = square_root(rest) * slope
        inverted = reciprocal(square)
        return -((b * c + a * height) * inverted), (b * height - a * c) * inverted

    def _certain(self, joint: TracedJoint, least: float = CERTAIN_COSINE) -> None:
        """Require a joint to be near home: within a quarter turn, as for Newton steps."""
        assert joint.turn is not None
        sine, cosine = joint.turn
        if isinstance(joint.home, Number):
            at_sine, at_cosine = sine_cosine(joint.home)
        else:
            homes = np.broadcast_to(getattr(joint.home, 'values', joint.home), self.stage.lanes)
            at_sine, at_cosine = stacked([[np.sin(home), np.cos(home)] for home in homes])
        self.conditions.append(cosine * at_cosine + sine * at_sine - least)

    # Two equations for two turns about parallel axes, e.g. of a crank and a rod in a plane

    def _two_turns(self) -> bool:
        """Close by formula if all motion is in a plane; return whether it applies.

        The gaps are ``k + U e1 + V e2`` with e1 and e2 = (cosine, sine) of the joints' turns; for a
        joint carried by the other one, of both turns together. That ``e2`` has length 1 leaves one
        equation for e1, since V^-1 U only rotates and scales.
        """
        unknowns, alike = self.stage.unknowns, self._axes_alike()
        if not alike or not all(joint.turns for joint in unknowns) or not self.stage.in_base:
            return False
        first, second = unknowns
        if second.body in chain(first.body, self.stage):
            first, second = second, first
        carried = first.body in chain(second.body, self.stage)
        gone, zero = (0.0, 0.0), (0.0, 1.0)
        v = self._columns(second, {first: zero})
        u = self._columns(first, {second: gone})
        k = self._gaps_at({first: gone, second: gone})
        back, orientation = inverse([*zip(*v, strict=True)], self.stage.home_jacobian[0])
        w, m_cosine, m_sine = (vec.apply(back, x) for x in (k, *u))
        sine, cosine = self._root(
            2.0 * vec.dot(w, m_cosine),
            2.0 * vec.dot(w, m_sine),
            vec.dot(w, w) + vec.dot(m_cosine, m_cosine) - 1.0,
            sign_of(orientation) * per_lane(self._home_signs(first, second)),
        )
        first.turn = sine, cosine
        along, across = (
            -(rest + x * cosine + y * sine) for rest, x, y in zip(w, m_cosine, m_sine, strict=True)
        )
        if carried:
            turned = sine * per_lane(alike)
            across, along = across * cosine - along * turned, along * cosine + across * turned
        second.turn = across, along
        self._certain(first, CERTAIN_TURNS)
        self._certain(second, CERTAIN_TURNS)
        return True

    def _axes_alike(self) -> list[float]:
        """Per lane 1 or -1 for two axes parallel at home; empty if there are others."""
        cosines = [float(axes[0] @ axes[-1]) for axes in self.stage.home_axes]
        pairs = all(len(axes) == 2 for axes in self.stage.home_axes)
        parallel = pairs and all(abs(abs(x) - 1.0) < PARALLEL for x in cosines)
        return [float(np.sign(x)) for x in cosines] if parallel else []

    def _columns(
        self, joint: TracedJoint, others: dict[TracedJoint, Turn]
    ) -> tuple[list[Any], list[Any]]:
        """Coefficients of cosine and sine of a joint's turn in the gaps."""
        columns = []
        for turn, sign in (((1.0, 0.0), -1.0), ((0.0, 1.0), 1.0)):
            self._gaps_at({joint: turn, **others})
            columns.append([e.entry(joint) * sign for e in self.stage.equations])
        return columns[0], columns[1]

    # Limbs on a universal joint

    def guess_limb(self) -> None:
        """Put the joints of a limb without lanes where its formula says, if it can reach."""
        unknowns = self.stage.unknowns
        before = [joint.position for joint in unknowns]
        self._universal_limb()
        first, second = self.conditions
        both = select(first, second, 0.0)
        self.put([
            select(reached, joint.unwound(), old)
            for reached, joint, old in zip((first, both, both), unknowns, before, strict=True)
        ])  # fmt: skip
        self.conditions = []

    def _universal_limb(self) -> None:
        """The formula of ``engine/structure.py``, with sines and cosines, not angles."""
        stage, limbs = self.stage, [limb for limb in self.stage.limbs if limb]
        first, second, third = stage.unknowns
        rod_x, rod_y = stacked([x.rod_x for x in limbs]), stacked([x.rod_y for x in limbs])
        first_root, second_root = (
            per_lane(x.first_root for x in limbs), per_lane(x.second_root for x in limbs)
        )  # fmt: skip
        constraints = stage.constraints[0]
        side = 'a' if limbs[0].side > 0.0 else 'b'
        end = self._plan.body(getattr(constraints[0], f'body_{side}'))
        tip = end.point(stacked([getattr(c, f'point_{side}') for c in constraints]))
        parent = first.parent
        local = vec.rotate_back(parent.rotation, vec.subtract(tip, parent.position))
        m = vec.rotate_back(first.rotation, vec.subtract(local, first.offset))
        foot, length_squared = second.offset, vec.dot(rod_x, rod_x)
        if first.slides:
            d = self._reach_by_slide(first, m, foot, length_squared, first_root)
        else:
            d = self._reach_by_turn(first, m, foot, length_squared, first_root)
        e = vec.rotate_back(second.rotation, d)
        # a cos + b sin = c here: the slope at the root has the sign opposite to the limb's.
        sine, cosine = self._root(rod_x[2], rod_y[2], -e[2], -second_root)
        third.turn = sine, cosine
        wx = cosine * rod_x[0] + sine * rod_y[0]
        wy = cosine * rod_x[1] + sine * rod_y[1]
        inverted = reciprocal(e[0] * e[0] + e[1] * e[1])
        second.turn = (
            (wx * e[1] - wy * e[0]) * inverted,
            (wx * e[0] + wy * e[1]) * inverted,
        )

    def _reach_by_slide(
        self, first: TracedJoint, m: Vector, foot: Vector, length_squared: Any, root: Any
    ) -> Vector:
        """The rod when the first joint slides."""
        x, y = m[0] - foot[0], m[1] - foot[1]
        rest = length_squared - x * x - y * y
        self.conditions.append(rest)
        height = square_root(rest) * root
        first.position = m[2] - foot[2] + height
        return [x, y, -height]

    def _reach_by_turn(
        self, first: TracedJoint, m: Vector, foot: Vector, length_squared: Any, root: Any
    ) -> Vector:
        """The rod when the first joint turns: law of cosines."""
        reach = (vec.dot(m, m) + (vec.dot(foot, foot) - length_squared)) * 0.5 - m[2] * foot[2]
        a = m[0] * foot[0] + m[1] * foot[1]
        b = m[1] * foot[0] - m[0] * foot[1]
        sine, cosine = self._root(a, b, -reach, -root)
        first.turn = sine, cosine
        x = cosine * m[0] + sine * m[1] - foot[0]
        y = cosine * m[1] - sine * m[0] - foot[1]
        return [x, y, m[2] - foot[2]]
