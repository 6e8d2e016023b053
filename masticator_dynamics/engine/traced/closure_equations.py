# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of ``engine/closure_equations.py`` on recorded numbers: gaps and wrenches.

The power of an equation's wrenches in a motion is the rate of its gap (virtual work), so that
rates, Jacobian, drift and constraint forces all follow from gap, wrenches and ``turning``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from masticator_dynamics.engine.closure_equations import (
    Constraint,
    JointCoupling,
    OnSurface,
    Rack,
    RightAngle,
    Rod,
    SamePoint,
)
from masticator_dynamics.engine.surface import Surface, polynomial, polynomial_2
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Stage, TracedJoint, Twist, chain
from masticator_dynamics.engine.traced.functions import angle_of, nearest_turn
from masticator_dynamics.engine.traced.numbers import per_lane, reciprocal, select, stacked, total
from masticator_dynamics.engine.traced.vectors import Vector

Find = Callable[[int], Body]  # a body by its index in the tree


@dataclasses.dataclass
class Wrench:
    """What acts on a body per unit of multiplier: a force at one of its points, and a couple."""

    body: Body
    point: Vector
    force: Vector
    couple: Vector = vec.ZERO

    def about(self, origin: Vector) -> Vector:
        """Moment about a point."""
        return vec.add(vec.cross(vec.subtract(self.point, origin), self.force), self.couple)

    def along(self, joint: TracedJoint) -> Any:
        """Generalised force on a joint that carries the body."""
        return joint.effort(self.force, self.about(joint.body.position) if joint.spin else vec.ZERO)

    def power(self, twist: Twist) -> Any:
        """Power in a motion of the body."""
        velocity, turning = twist
        arm = vec.subtract(self.point, self.body.position)
        moved = vec.add(velocity, vec.cross(turning, arm))
        return vec.dot(self.force, moved) + vec.dot(self.couple, turning)

    def centripetal(self) -> Any:
        """Power in the point's centripetal acceleration, from the body's rotation alone."""
        turning = self.body.angular_velocity
        arm = vec.subtract(self.point, self.body.position)
        return vec.dot(self.force, vec.cross(turning, vec.cross(turning, arm)))


def _nothing() -> Any:
    return 0.0


@dataclasses.dataclass
class Equation:
    """One scalar equation ``gap = 0``."""

    gap: Any
    wrenches: tuple[Wrench, ...]  # on the two bodies, action and reaction
    # The part of the gap's second derivative due to the wrenches' own change with the bodies'
    # velocities.
    turning: Callable[[], Any] = _nothing

    def rate(self, twist: Callable[[Body], Twist]) -> Any:
        """Rate of the gap for twists of the bodies: the power of the wrenches, ``K q_dot``."""
        return total(wrench.power(twist(wrench.body)) for wrench in self.wrenches)

    def drift(self, acceleration: Callable[[Body], Twist]) -> Any:
        """Second derivative of the gap for accelerations of the bodies, and their velocities.

        ``K q_ddot + K_dot q_dot``: power of the wrenches in accelerations and centripetal ones, and
        what their own turning adds.
        """
        felt = total(
            wrench.power(acceleration(wrench.body)) + wrench.centripetal()
            for wrench in self.wrenches
        )
        return felt + self.turning()

    def entry(self, joint: TracedJoint) -> Any:
        """Rate of the gap per velocity of a joint of the stage."""
        felt = [
            wrench for wrench in self.wrenches if joint.body in chain(wrench.body, joint.body.stage)
        ]
        if len(felt) == len(self.wrenches):
            return 0.0  # action and reaction
        return total(wrench.along(joint) for wrench in felt)


class _Ends:
    """The two bodies of a constraint, one constraint per lane, and its points and rows."""

    def __init__(self, constraints: tuple[Constraint, ...], body: Find):
        first = constraints[0]
        self.constraints, self.carried, self.body = constraints, first.carried, body
        self.a, self.b = body(first.body_a), body(first.body_b)
        self.at_a = self.a.point(self.known('point_a'))
        self.at_b = self.b.point(self.known('point_b'))
        self.apart = vec.subtract(self.at_b, self.at_a)
        rows = self.known('rows')
        self.rows = [vec.apply(self.a.rotation, r) for r in rows] if first.carried else rows
        self.offsets = self.known('offset')

    def known(self, name: str) -> Any:
        """Known numbers of the constraint."""
        return stacked([getattr(c, name) for c in self.constraints])


def _point(ends: _Ends) -> list[Equation]:
    """A point of body b on planes: fixed ones, or planes carried by body a."""
    a, b, at_b = ends.a, ends.b, ends.at_b
    at_a = at_b if ends.carried else ends.at_a

    def turning(row: Vector) -> Callable[[], Any]:
        def coriolis() -> Any:
            passing = vec.subtract(b.velocity_at(at_b), a.velocity_at(at_b))
            return -2.0 * vec.dot(row, vec.cross(a.angular_velocity, passing))

        return coriolis if ends.carried else _nothing

    return [
        Equation(
            vec.dot(row, ends.apart) + offset,
            (Wrench(a, at_a, vec.scale(row, -1.0)), Wrench(b, at_b, row)),
            turning(row),
        )
        for row, offset in zip(ends.rows, ends.offsets, strict=True)
    ]


def _turn(ends: _Ends) -> list[Equation]:
    """A direction of body b at a given angle to one of body a."""
    a, b = ends.a, ends.b
    equations = []
    for row, local, offset in zip(ends.rows, ends.known('partners'), ends.offsets, strict=True):
        partner = vec.apply(b.rotation, local)
        couple = vec.cross(partner, row)

        def turning(row: Vector = row, partner: Vector = partner) -> Any:
            change = vec.add(
                vec.cross(vec.cross(b.angular_velocity, partner), row),
                vec.cross(partner, vec.cross(a.angular_velocity, row)),
            )
            return vec.dot(change, vec.subtract(b.angular_velocity, a.angular_velocity))

        wrenches = (
            Wrench(a, ends.at_b, vec.ZERO, vec.scale(couple, -1.0)),
            Wrench(b, ends.at_b, vec.ZERO, couple),
        )
        equations.append(Equation(vec.dot(row, partner) + offset, wrenches, turning))
    return equations


def _distance(ends: _Ends) -> list[Equation]:
    """A massless rod between two points."""
    length = per_lane(c.length for c in ends.constraints)
    force = vec.scale(ends.apart, reciprocal(length))

    def turning() -> Any:
        passing = vec.subtract(ends.b.velocity_at(ends.at_b), ends.a.velocity_at(ends.at_a))
        return vec.dot(passing, passing) * reciprocal(length)

    wrenches = (Wrench(ends.a, ends.at_a, vec.scale(force, -1.0)), Wrench(ends.b, ends.at_b, force))
    gap = (vec.dot(ends.apart, ends.apart) * reciprocal(length) - length) * 0.5
    return [Equation(gap, wrenches, turning)]


def _surface(ends: _Ends) -> list[Equation]:
    """A point of body b on a curved surface of body a: its height over a plane."""
    a, b = ends.a, ends.b
    u, v, w = (vec.apply(a.rotation, axis) for axis in ends.known('partners'))
    surface = ends.constraints[0].surface
    assert surface is not None
    h, hx, hy, hxx, hxy, hyy = height(surface, vec.dot(u, ends.apart), vec.dot(v, ends.apart))
    slopes = vec.add(vec.scale(u, hx), vec.scale(v, hy))
    force = vec.subtract(w, slopes)

    def turning() -> Any:
        passing = vec.subtract(b.velocity_at(ends.at_b), a.velocity_at(ends.at_b))
        coriolis = vec.dot(force, vec.cross(a.angular_velocity, passing))
        x, y = vec.dot(u, passing), vec.dot(v, passing)
        return -2.0 * coriolis - (x * (hxx * x + 2.0 * hxy * y) + hyy * y * y)

    wrenches = (Wrench(a, ends.at_b, vec.scale(force, -1.0)), Wrench(b, ends.at_b, force))
    return [Equation(vec.dot(w, ends.apart) - h, wrenches, turning)]


def height(surface: Surface, x: Any, y: Any) -> tuple[Any, ...]:
    """As ``Surface.height``, with the cell found by selecting its coefficients.

    Parameters
    ----------
    x, y : number
        Where on it, m.
    """
    ends_x, ends_y, table = (part.tolist() for part in surface.pieces())
    cells = [
        _chosen(x, ends_x, [vec.flat(row[j]) for row in table]) for j in range(len(ends_y) - 1)
    ]
    coefficients, powers = _chosen(y, ends_y, cells), len(table[0][0][0])
    rows = [coefficients[k : k + powers] for k in range(0, len(coefficients), powers)]
    return polynomial_2(rows, _in_cell(x, ends_x), _in_cell(y, ends_y))


def _chosen(x: Any, ends: list[float], rows: list[list[Any]]) -> list[Any]:
    """The row of the cell that a number lies in."""
    chosen = rows[0]
    for end, row in zip(ends[1:], rows[1:], strict=False):
        chosen = [select(x - end, new, old) for new, old in zip(row, chosen, strict=True)]
    return chosen


def _in_cell(x: Any, ends: list[float]) -> Any:
    """A coordinate relative to the lower end of its cell, or to zero if that has none."""
    starts = [[0.0 if math.isinf(end) else end] for end in ends[:-1]]
    (start,) = _chosen(x, ends, starts)
    inside = select(x - ends[0], select(ends[-1] - x, 1.0, math.nan), math.nan)
    return (x - start) * inside


def _coupling(ends: _Ends) -> list[Equation]:
    """A sum of polynomials of joint positions: what turns or shifts one body against another."""
    constraint = ends.constraints[0]
    gap: Any = constraint.offset.tolist()[0]
    wrenches: list[Wrench] = []
    bends: list[tuple[Any, Wrench, Wrench]] = []
    for joint, coefficients in constraint.terms:
        body = ends.body(joint)
        value, slope, bend = polynomial(coefficients, body.joint.unwound())
        gap = gap + value
        axis, slides = body.axis, body.joint.slides
        on_body, on_parent = (
            Wrench(of, body.position, along, vec.ZERO)
            if slides
            else Wrench(of, body.position, vec.ZERO, along)
            for of, along in ((body, axis), (body.joint.parent, vec.scale(axis, -1.0)))
        )
        bends.append((bend, on_body, on_parent))
        for wrench in (on_body, on_parent):
            force, couple = vec.scale(wrench.force, slope), vec.scale(wrench.couple, slope)
            wrenches.append(Wrench(wrench.body, wrench.point, force, couple))

    def turning() -> Any:
        rates = [(bend, total(w.power(w.body.twist) for w in unit)) for bend, *unit in bends]
        return total(bend * rate * rate for bend, rate in rates)

    return [Equation(gap, tuple(wrenches), turning)]


def _rack(ends: _Ends) -> list[Equation]:
    """A pinion on a rack: a point along the rack, and the turn that goes with it."""
    rack, (equation,) = ends.constraints[0], _point(ends)
    y, z, x = rack.partners.tolist()
    y, z = (vec.apply(ends.a.rotation, axis) for axis in (y, z))
    x = vec.apply(ends.b.rotation, x)
    about = total(polynomial(c, ends.body(j).joint.unwound())[0] for j, c in rack.terms)
    angle = nearest_turn(angle_of(vec.dot(y, x), vec.dot(ends.rows[0], x)), about)
    couple = vec.scale(z, rack.length)
    on_rack, on_pinion = equation.wrenches
    wrenches = (
        dataclasses.replace(on_rack, couple=vec.scale(couple, -1.0)),
        dataclasses.replace(on_pinion, couple=couple),
    )
    return [Equation(equation.gap + angle * rack.length, wrenches, equation.turning)]


_KINDS = {
    SamePoint: _point, RightAngle: _turn, Rod: _distance, OnSurface: _surface,
    JointCoupling: _coupling,
    Rack: _rack,
}  # fmt: skip


def stage_equations(stage: Stage, body: Find) -> list[Equation]:
    """Equations of all constraints of a stage, in their order, at the present poses.

    Parameters
    ----------
    body : callable
        Gives a body by index.
    """
    return [
        equation
        for constraints in stage.constraints
        for equation in _KINDS[type(constraints[0])](_Ends(constraints, body))
    ]


def gaps_of(constraint: Constraint, body: Find) -> list[Any]:
    """Gaps of a constraint at the present poses."""
    return [equation.gap for equation in _KINDS[type(constraint)](_Ends((constraint,), body))]
