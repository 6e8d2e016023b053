# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of a closed stage: twists outwards, unknown rates from the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masticator_dynamics.traced import vectors as vec
from masticator_dynamics.traced.bodies import Body, Joint, Stage
from masticator_dynamics.traced.closing import Closing
from masticator_dynamics.traced.constraints import Twist
from masticator_dynamics.traced.numbers import is_known
from masticator_dynamics.traced.vectors import Vector

Rates = dict[int, Any]  # by the identity of a joint
Lookup = Callable[[Body], Twist]
Slide = tuple[Joint, Vector]  # a joint, and the velocity at which it shifts its body


class StageMotion:
    """Rates of a stage's joints, and the motion of its bodies.

    Parameters
    ----------
    stage : Stage
    closing : Closing
        Its closed loops.
    y_dot, y_ddot : vector
        Independent velocities and accelerations.

    Attributes
    ----------
    tangent : dict of Joint to list
        Velocity per unit velocity of each independent joint.
    velocity, acceleration : dict of Joint to number
    """

    def __init__(self, stage: Stage, closing: Closing, y_dot: Vector, y_ddot: Vector):
        self.stage, self._closing = stage, closing
        self.velocity = self._move(y_dot)
        self.tangent = self._tangent(len(y_dot))
        self.acceleration = self._accelerate(y_ddot)

    def _given(self, values: Vector) -> Rates:
        """Rates of the independent joints of this stage."""
        return {
            id(joint): values[joint.independent]
            for joint in self.stage.joints
            if joint.independent is not None
        }

    def _move(self, y_dot: Vector) -> Rates:
        rates, twists = self.solve(
            self._given(y_dot), lambda body: (body.velocity, body.angular_velocity)
        )
        for joint, (velocity, turning) in zip(self.stage.joints, twists, strict=True):
            joint.body.velocity, joint.body.angular_velocity = velocity, turning
        return rates

    def _tangent(self, freedoms: int) -> dict[int, list[Any]]:
        tangent: dict[int, list[Any]] = {id(joint): [] for joint in self.stage.joints}
        for joint in self.stage.joints:
            joint.body.twists = []
        for k in range(freedoms):
            unit = [1.0 if i == k else 0.0 for i in range(freedoms)]
            rates, twists = self.solve(self._given(unit), _unit_twist(k))
            for joint, twist in zip(self.stage.joints, twists, strict=True):
                tangent[id(joint)].append(rates.get(id(joint), 0.0))
                joint.body.twists.append(twist)
        return tangent

    def solve(
        self,
        given: Rates,
        outside: Lookup,
        opening: tuple[int, Any] | None = None,
        slide: Slide | None = None,
    ) -> tuple[Rates, list[Twist]]:
        """Rates of all joints that keep the loops closed, and the twists that they make.

        Parameters
        ----------
        given : dict
            Rates of the independent joints; others are held.
        outside : callable
            Twists of bodies of earlier stages.
        opening : tuple, optional
            Index of an equation, and the rate at which its gap opens nevertheless.
        slide : tuple, optional
            A joint, and the velocity at which it shifts its body nevertheless.
        """
        held = self._outwards(given, outside, slide)
        if not self.stage.unknowns:
            return given, held
        at = _lookup(self.stage, held, outside)
        open_rates = [equation.rate(at) for equation in self._closing.equations]
        if opening is not None:
            row, rate = opening
            open_rates[row] = open_rates[row] - rate
        rates = given | self.cancel(open_rates)
        return rates, self._outwards(rates, outside, slide)

    def cancel(self, open_rates: list[Any]) -> Rates:
        """Rates of the unknown joints that cancel rates of the equations."""
        return {
            id(joint): -vec.inner(row, open_rates)
            for joint, row in zip(self.stage.unknowns, self._closing.inverse, strict=True)
        }

    def _outwards(self, rates: Rates, outside: Lookup, slide: Slide | None = None) -> list[Twist]:
        """Twists of the stage's bodies; joints without a rate are at rest."""
        twists: list[Twist] = []
        for joint in self.stage.joints:
            body, parent = joint.body, joint.parent
            velocity, turning = _lookup(self.stage, twists, outside)(parent)
            arm = vec.subtract(body.position, parent.position)
            velocity = vec.add(velocity, vec.cross(turning, arm))
            rate = rates.get(id(joint), 0.0)
            if slide is not None and slide[0] is joint:
                velocity = vec.add(velocity, slide[1])
            twists.append(_with_rate(joint, (velocity, turning), rate))
        return twists

    def _accelerate(self, y_ddot: Vector) -> Rates:
        def outside(body: Body) -> Twist:
            return body.acceleration, body.angular_acceleration

        given = self._given(y_ddot)
        accelerations = self._accelerations(given, outside)
        rates = given
        if self.stage.unknowns:
            at = _lookup(self.stage, accelerations, outside)
            rates = given | self.cancel([e.drift(at) for e in self._closing.equations])
            accelerations = self._accelerations(rates, outside)
        for joint, (acceleration, turning) in zip(self.stage.joints, accelerations, strict=True):
            joint.body.acceleration, joint.body.angular_acceleration = acceleration, turning
        return rates

    def _accelerations(self, rates: Rates, outside: Lookup) -> list[Twist]:
        """Linear and angular accelerations of the bodies; joints without a rate add none."""
        found: list[Twist] = []
        for joint in self.stage.joints:
            body, parent = joint.body, joint.parent
            acceleration, change = _lookup(self.stage, found, outside)(parent)
            turning = parent.angular_velocity
            arm = vec.subtract(body.position, parent.position)
            inward = vec.cross(turning, vec.cross(turning, arm))
            acceleration = vec.add(acceleration, vec.add(vec.cross(change, arm), inward))
            coriolis = vec.scale(vec.cross(turning, body.axis), self.velocity[id(joint)])
            if joint.slides:
                acceleration = vec.add(acceleration, vec.scale(coriolis, 2.0))
            else:
                change = vec.add(change, coriolis)
            rate = rates.get(id(joint), 0.0)
            found.append(_with_rate(joint, (acceleration, change), rate))
        return found


def _unit_twist(k: int) -> Lookup:
    """Twists per unit velocity of an independent joint."""
    return lambda body: body.twists[k]


def _with_rate(joint: Joint, twist: Twist, rate: Any) -> Twist:
    """A twist plus what a joint adds by its own rate."""
    linear, angular = twist
    if is_known(rate, 0.0):
        return twist
    if joint.slides:
        return vec.add(linear, vec.scale(joint.body.axis, rate)), angular
    return linear, vec.add(angular, vec.scale(joint.body.axis, rate))


def _lookup(stage: Stage, found: list[Twist], outside: Lookup) -> Lookup:
    """Twists found so far for bodies of a stage, and known ones for all others."""

    def look(body: Body) -> Twist:
        for joint, twist in zip(stage.joints, found, strict=False):
            if joint.body is body:
                return twist
        return outside(body)

    return look
