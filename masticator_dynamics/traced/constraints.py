# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Constraints as scalar equations: what is open, and the wrenches that a multiplier exerts.

The power of an equation's wrenches in a motion is the rate of its gap (virtual work), so that
rates, Jacobian, drift and constraint forces all follow from gap, wrenches and ``turning``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from masticator_dynamics.engine.constraint import Constraint
from masticator_dynamics.traced import vectors as vec
from masticator_dynamics.traced.bodies import Body, Joint, Stage, chain
from masticator_dynamics.traced.numbers import reciprocal, stacked, total
from masticator_dynamics.traced.vectors import Vector

Twist = tuple[Vector, Vector]  # velocity of the origin, angular velocity


@dataclasses.dataclass
class Wrench:
    """What a body feels per unit of multiplier: a force at a point of it, and a couple."""

    body: Body
    point: Vector
    force: Vector
    couple: Vector = vec.ZERO

    def about(self, origin: Vector) -> Vector:
        """Moment about a point."""
        return vec.add(vec.cross(vec.subtract(self.point, origin), self.force), self.couple)

    def along(self, joint: Joint) -> Any:
        """Generalised force on a joint that carries the body."""
        if joint.slides:
            return vec.dot(joint.body.axis, self.force)
        return vec.dot(joint.body.axis, self.about(joint.body.position))

    def power(self, twist: Twist) -> Any:
        """Power in a motion of the body."""
        velocity, turning = twist
        arm = vec.subtract(self.point, self.body.position)
        moved = vec.add(velocity, vec.cross(turning, arm))
        return vec.dot(self.force, moved) + vec.dot(self.couple, turning)

    def centripetal(self) -> Any:
        """Power in the acceleration that the point has from the body's turning alone."""
        turning = self.body.angular_velocity
        arm = vec.subtract(self.point, self.body.position)
        return vec.dot(self.force, vec.cross(turning, vec.cross(turning, arm)))


def _nothing() -> Any:
    return 0.0


@dataclasses.dataclass
class Equation:
    """One scalar equation ``gap = 0``.

    Attributes
    ----------
    wrenches : tuple of Wrench
        On the two bodies, action and reaction.
    turning : callable
        The part of the gap's second derivative that comes of the wrenches' own change with the
        velocities of the bodies.
    """

    gap: Any
    wrenches: tuple[Wrench, ...]
    turning: Callable[[], Any] = _nothing

    def rate(self, twist: Callable[[Body], Twist]) -> Any:
        """Rate of the gap for twists of the bodies."""
        return total(wrench.power(twist(wrench.body)) for wrench in self.wrenches)

    def drift(self, acceleration: Callable[[Body], Twist]) -> Any:
        """Second derivative of the gap for accelerations of the bodies, and their velocities."""
        felt = total(
            wrench.power(acceleration(wrench.body)) + wrench.centripetal()
            for wrench in self.wrenches
        )
        return felt + self.turning()

    def entry(self, joint: Joint) -> Any:
        """Rate of the gap per velocity of a joint of the stage."""
        stage = joint.body.stage
        assert stage is not None
        felt = [wrench for wrench in self.wrenches if joint.body in chain(wrench.body, stage)]
        if len(felt) == len(self.wrenches):
            return 0.0  # action and reaction
        return total(wrench.along(joint) for wrench in felt)


def understood(constraint: Constraint) -> bool:
    """Whether equations are made here of a constraint's kind; see ``engine/constraint.py``."""
    return constraint.kind in _KINDS


def in_base_axes(stage: Stage) -> bool:
    """Whether all gaps are distances along fixed directions."""
    return all(c.kind == 'point' and not c.carried for lanes in stage.constraints for c in lanes)


class _Ends:
    """The two bodies of a constraint, one constraint per lane, and its points and rows."""

    def __init__(self, constraints: tuple[Constraint, ...], body: Callable[[int], Body]):
        first = constraints[0]
        self.constraints, self.carried = constraints, first.carried
        self.a, self.b = body(first.body_a), body(first.body_b)
        self.at_a = self.a.point(self.known('point_a'))
        self.at_b = self.b.point(self.known('point_b'))
        self.apart = vec.subtract(self.at_b, self.at_a)
        rows = self.known('rows')
        self.rows = [vec.rotate(self.a.rotation, r) for r in rows] if first.carried else rows
        self.offsets = self.known('offset')

    def known(self, name: str) -> Any:
        """Known numbers of the constraint."""
        return stacked([getattr(c, name) for c in self.constraints])

    def velocity(self, body: Body, point: Vector) -> Vector:
        """Of the point of a body that is at a place."""
        arm = vec.subtract(point, body.position)
        return vec.add(body.velocity, vec.cross(body.angular_velocity, arm))


def _point(ends: _Ends) -> list[Equation]:
    """A point of body b on planes: fixed ones, or planes carried by body a."""
    a, b, at_b = ends.a, ends.b, ends.at_b
    at_a = at_b if ends.carried else ends.at_a

    def turning(row: Vector) -> Callable[[], Any]:
        def coriolis() -> Any:
            passing = vec.subtract(ends.velocity(b, at_b), ends.velocity(a, at_b))
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
    """A direction of body b at an angle to one of body a."""
    a, b = ends.a, ends.b
    found = []
    for row, local, offset in zip(ends.rows, ends.known('partners'), ends.offsets, strict=True):
        partner = vec.rotate(b.rotation, local)
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
        found.append(Equation(vec.dot(row, partner) + offset, wrenches, turning))
    return found


def _distance(ends: _Ends) -> list[Equation]:
    """A massless rod between two points."""
    length = stacked([[c.length] for c in ends.constraints])[0]
    force = vec.scale(ends.apart, reciprocal(length))

    def turning() -> Any:
        passing = vec.subtract(ends.velocity(ends.b, ends.at_b), ends.velocity(ends.a, ends.at_a))
        return vec.dot(passing, passing) * reciprocal(length)

    wrenches = (Wrench(ends.a, ends.at_a, vec.scale(force, -1.0)), Wrench(ends.b, ends.at_b, force))
    gap = (vec.dot(ends.apart, ends.apart) * reciprocal(length) - length) * 0.5
    return [Equation(gap, wrenches, turning)]


_KINDS = {'point': _point, 'turn': _turn, 'distance': _distance}


def equations(constraints: tuple[Constraint, ...], body: Callable[[int], Body]) -> list[Equation]:
    """Equations of a constraint at the present poses; one constraint per lane."""
    return _KINDS[constraints[0].kind](_Ends(constraints, body))


def stage_equations(stage: Stage, body: Callable[[int], Body]) -> list[Equation]:
    """Equations of all constraints of a stage, in their order."""
    return [e for constraints in stage.constraints for e in equations(constraints, body)]
