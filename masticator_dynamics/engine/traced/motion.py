# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of a closed stage: twists outwards, unknown rates from the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Solved, Stage, TracedJoint, Twist
from masticator_dynamics.engine.traced.numbers import is_known
from masticator_dynamics.engine.traced.vectors import Vector

Rates = dict[TracedJoint, Any]
Twists = dict[Body, Twist]
Lookup = Callable[[Body], Twist]
Slide = tuple[TracedJoint, Vector]  # a joint, and the velocity at which it shifts its body


def move(stage: Stage, y_dot: Vector, y_ddot: Vector) -> None:
    """Set the rates of a closed stage's joints, and the motion of its bodies.

    With the velocities of all joints as those of the independent ones make them, the tangent G
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, Sec. 3.2 and 8.8)::

        q_dot = G y_dot,    q_ddot = G y_ddot + G_dot y_dot

    Parameters
    ----------
    y_dot, y_ddot : vector
        Independent velocities and accelerations.
    """
    rates, twists = solve(stage, _independent(stage, y_dot), lambda body: body.twist)
    for joint in stage.joints:
        body = joint.body
        joint.velocity, joint.tangent, body.twists = rates[joint], [], []
        body.velocity, body.angular_velocity = twists[body]
    for k in range(len(y_dot)):
        unit = [1.0 if i == k else 0.0 for i in range(len(y_dot))]
        rates, twists = solve(stage, _independent(stage, unit), _unit_twist(k))
        for joint in stage.joints:
            joint.tangent.append(rates[joint])
            joint.body.twists.append(twists[joint.body])
    _accelerate(stage, y_ddot)


def solve(
    stage: Stage,
    independent: Rates,
    outside: Lookup,
    opening: tuple[int, Any] | None = None,
    slide: Slide | None = None,
) -> tuple[Rates, Twists]:
    """Rates of a stage's joints that keep its loops closed, and the twists that they make.

    The gaps' rates vanish (Featherstone 2008, Sec. 8.2), with K = d gap / d q in columns of the
    unknown (d) and the independent (y) joints::

        K_d q_dot_d = -K_y y_dot

    Parameters
    ----------
    independent : dict
        Rates of the independent joints; others are held.
    outside : callable
        Twists of bodies of earlier stages.
    opening : tuple, optional
        Index of an equation, and the rate at which its gap opens nevertheless.
    slide : tuple, optional
        A joint, and the velocity at which it shifts its body nevertheless.
    """
    held = _outwards(stage, independent, outside, slide)
    if not stage.unknowns:
        return independent, held
    at = _lookup(held, outside)
    open_rates = [equation.rate(at) for equation in stage.equations]
    if opening is not None:
        row, rate = opening
        open_rates[row] = open_rates[row] - rate
    rates = independent | _closing_rates(stage, open_rates)
    return rates, _outwards(stage, rates, outside, slide)


def _independent(stage: Stage, values: Vector) -> Rates:
    """Rates of the independent joints of a stage."""
    return {
        joint: values[joint.independent] for joint in stage.joints if joint.independent is not None
    }


def _unit_twist(k: int) -> Lookup:
    """Twists per unit velocity of an independent joint."""
    return lambda body: body.twists[k]


def _closing_rates(stage: Stage, open_rates: list[Any]) -> Rates:
    """Rates of the unknown joints that cancel rates of the equations."""
    right = [-rate for rate in open_rates]
    closing = vec.apply(stage.inverse, right)
    stage.solved.append(Solved(stage.jacobian, stage.inverse, right, closing))
    return dict(zip(stage.unknowns, closing, strict=True))


def _outwards(stage: Stage, rates: Rates, outside: Lookup, slide: Slide | None = None) -> Twists:
    """Twists of a stage's bodies; joints without a rate are at rest.

    Outward pass of Newton and Euler's recursion (Luh, Walker and Paul 1980; Featherstone 2008,
    Sec. 5.3), base axes: body i is carried by p on a joint with axis z_i through its origin o_i,
    which per unit of position turns it by s_i and shifts it by h_i::

        w_i = w_p + s_i z_i q_dot_i
        v_i = v_p + w_p x (o_i - o_p) + h_i z_i q_dot_i
    """
    twists: Twists = {}
    at = _lookup(twists, outside)
    for joint in stage.joints:
        velocity, turning = at(joint.parent)
        arm = vec.subtract(joint.body.position, joint.parent.position)
        velocity = vec.add(velocity, vec.cross(turning, arm))
        if slide is not None and slide[0] is joint:
            velocity = vec.add(velocity, slide[1])
        twists[joint.body] = _with_rate(joint, (velocity, turning), rates.get(joint, 0.0))
    return twists


def _accelerate(stage: Stage, y_ddot: Vector) -> None:
    def outside(body: Body) -> Twist:
        return body.acceleration, body.angular_acceleration

    rates = _independent(stage, y_ddot)
    accelerations = _accelerations(stage, rates, outside)
    if stage.unknowns:
        at = _lookup(accelerations, outside)
        rates = rates | _closing_rates(stage, [e.drift(at) for e in stage.equations])
        accelerations = _accelerations(stage, rates, outside)
    for joint in stage.joints:
        joint.acceleration = rates[joint]
        joint.body.acceleration, joint.body.angular_acceleration = accelerations[joint.body]


def _accelerations(stage: Stage, rates: Rates, outside: Lookup) -> Twists:
    """Linear and angular accelerations of the bodies; joints without a rate add none.

    The derivative of the twists (:func:`_outwards`), with gravity as the base's acceleration -g::

        alpha_i = alpha_p + s_i (z_i q_ddot_i + w_p x z_i q_dot_i)
        a_i     = a_p + alpha_p x (o_i - o_p) + w_p x (w_p x (o_i - o_p))
                  + h_i (z_i q_ddot_i + 2 w_p x z_i q_dot_i)
    """
    accelerations: Twists = {}
    at = _lookup(accelerations, outside)
    for joint in stage.joints:
        body, parent = joint.body, joint.parent
        acceleration, change = at(parent)
        turning = parent.angular_velocity
        arm = vec.subtract(body.position, parent.position)
        inward = vec.cross(turning, vec.cross(turning, arm))
        acceleration = vec.add(acceleration, vec.add(vec.cross(change, arm), inward))
        coriolis = vec.scale(vec.cross(turning, body.axis), joint.velocity)
        if joint.shift:
            acceleration = vec.add(acceleration, vec.scale(coriolis, 2.0 * joint.shift))
        if joint.spin:
            change = vec.add(change, coriolis)
        accelerations[body] = _with_rate(joint, (acceleration, change), rates.get(joint, 0.0))
    return accelerations


def _with_rate(joint: TracedJoint, twist: Twist, rate: Any) -> Twist:
    """A twist plus what a joint adds by its own rate."""
    linear, angular = twist
    if is_known(rate, 0.0):
        return twist
    if joint.shift:
        linear = vec.add(linear, vec.scale(joint.body.axis, rate * joint.shift))
    if joint.spin:
        angular = vec.add(angular, vec.scale(joint.body.axis, rate))
    return linear, angular


def _lookup(twists: Twists, outside: Lookup) -> Lookup:
    """Twists found so far for bodies of a stage, and known ones for all others."""
    return lambda body: twists[body] if body in twists else outside(body)
