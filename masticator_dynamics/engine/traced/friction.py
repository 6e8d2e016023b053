# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction of contacts, of actuated joints, and of joints by themselves.

Numbers of a law are in ``description/data.py``; to be identified, it needs a column in
``regressor.py``, and a kind in ``identification/friction_search.py`` if data are to ask for it.
Friction that depends on efforts goes the way of ``gear_loss``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Stage, chain, is_base
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.forces import Efforts
from masticator_dynamics.engine.traced.numbers import (
    Scalar,
    absolute,
    in_lane,
    is_known,
    lane_pick,
    largest,
    lesser,
    per_lane,
    reciprocal,
    select,
    sign_of,
    square_root,
    stacked,
    total,
)
from masticator_dynamics.engine.traced.vectors import Vector

if TYPE_CHECKING:
    from masticator_dynamics.description.data import Contact as ContactData

REST = 1e-12  # relative to the velocities that cancel, or to the fastest joint


class TracedContact:
    """A contact of a motion and its friction.

    Coulomb's law, smooth within the transition velocity v_t, and viscous friction: against a slip v
    under N newtons the body has to overcome::

        f = (mu N / sqrt(v . v + v_t^2) + d) v

    Parameters
    ----------
    data : ContactData
        Its description.
    friction : bool
        Without, it has none.
    least_transition : float, optional
        Least velocity over which Coulomb friction grows, m/s.

    Attributes
    ----------
    stage : Stage
    lane, row : int
        Where its multiplier is in the stage.
    sliding : number
        Positive where there is Coulomb friction.
    coulomb : vector
        Friction that the body has to overcome per unit of multiplier, N, base axes.
    viscous : vector
        Friction that grows with velocity, likewise, N.
    """

    def __init__(
        self, run: Evaluation, data: ContactData, friction: bool, least_transition: float = 0.0
    ):
        self.stage, self.lane, self.row, lanes = _place(run, data.name)
        self._a, self._b = run.plan.body(lanes[0].body_a), run.plan.body(lanes[0].body_b)
        self._point = self._b.point(stacked([c.point_b for c in lanes]))
        self.sliding: Any = 0.0
        self.coulomb = self.viscous = vec.ZERO
        law = data.friction
        if friction and (law.coulomb or law.viscous):
            slip, moving = self._slip()
            transition = max(law.transition_velocity, least_transition)
            unit = law.coulomb * self._length(data)
            speed = square_root(vec.dot(slip, slip) + transition**2)
            per_speed = select(moving, unit * reciprocal(speed), unit * _per(transition))
            if law.coulomb and not transition:  # else it grows from zero, and has a slope there
                slip = [select(moving, x, 0.0) for x in slip]
            self.sliding = moving if law.coulomb else 0.0
            self.coulomb, self.viscous = vec.scale(slip, per_speed), vec.scale(slip, law.viscous)

    def _length(self, data: ContactData) -> Any:
        """Newtons of normal force per unit of multiplier."""
        if data.height is None:
            return square_root(vec.dot(data.normal, data.normal))
        force = self.stage.equations[self.row].wrenches[1].force
        return square_root(vec.dot(force, force))

    def _slip(self) -> tuple[Vector, Any]:
        """Velocity of the body on the plane, and whether it is more than rounding."""
        slip = vec.subtract(*(body.velocity_at(self._point) for body in (self._b, self._a)))
        carriers, other = chain(self._b), chain(self._a)
        parts: Any = 0.0
        for body in [b for b in carriers if b not in other] + [
            b for b in other if b not in carriers
        ]:
            per_rate = body.joint.moves(self._point)
            parts = parts + total(absolute(x) for x in per_rate) * absolute(body.joint.velocity)
        slip = [lane_pick(x, self.lane) for x in slip]
        parts = lane_pick(parts, self.lane) * REST
        return slip, vec.dot(slip, slip) - parts * parts

    def powers(self, force: Vector) -> list[Any]:
        """Power of a force on the body, and its reaction, per unit independent velocity."""
        powers = []
        for k in range(len(self._b.twists)):
            velocity, other = (
                vec.add(linear, vec.cross(turn, vec.subtract(self._point, body.position)))
                for body in (self._b, self._a)
                for linear, turn in (body.twists[k],)
            )
            powers.append(vec.dot(force, vec.subtract(velocity, other)))
        return powers

    def resist(self, force: Vector) -> None:
        """Add a force that the body has to overcome."""
        force = vec.scale(force, in_lane(self.lane, self.stage.lanes))
        for body, push in ((self._b, force), (self._a, vec.scale(force, -1.0))):
            if not is_base(body):
                arm = vec.subtract(self._point, body.position)
                body.bear(push, vec.cross(arm, push), self.stage)


def _place(run: Evaluation, name: str) -> tuple[Stage, int, int, tuple[Constraint, ...]]:
    """Stage, lane and row of a contact's multiplier, and its constraints, one per lane."""
    for stage in run.plan.stages:
        row = 0
        for lanes in stage.constraints:
            for lane, constraint in enumerate(lanes):
                if constraint.name == name:
                    return stage, lane, row, lanes
            row += lanes[0].size
    raise KeyError(name)


def friction_of_actuators(
    run: Evaluation, friction: bool, least_transition: tuple[float, float] = (0.0, 0.0)
) -> tuple[list[Any], list[Any]]:
    """Efforts that friction takes, motor side: constant part, and part per newton across the axis.

    Parameters
    ----------
    least_transition : (float, float)
        Of revolute joints, rad/s, and prismatic ones, m/s.

    Returns
    -------
    drag, per_newton : list
        Per entry of ``Forces.motors``.
    """
    motors = run.forces.motors
    if not friction:
        return [0.0] * len(motors), [0.0] * len(motors)
    rates = [m.joint.velocity for m in motors]
    fastest = largest(rates)
    actuators, names = run.plan.description.actuators, [j.name for j in run.plan.tree.joints]
    drag, per_newton = [], []
    for m, rate in zip(motors, rates, strict=True):
        slides = m.joint.slides

        def law(j: int, slides: bool = slides) -> list[float]:
            actuator = actuators[names[j]]
            data = actuator.friction
            per_newton = data.coulomb * (1.0 if slides else data.radius)
            transition = max(data.transition_velocity, least_transition[slides])
            return [data.viscous / actuator.ratio, per_newton / actuator.ratio, transition]

        viscous, coulomb, transition = m.joint.constant(law)
        drag.append(viscous * rate)
        per_newton.append(coulomb * _sense(rate, fastest, transition))
    return drag, per_newton


def gear_losses(run: Evaluation, friction: bool) -> list[Any]:
    """Effort that the gears take per effort that the motors pass on, with the sense of the motion.

    Per entry of ``Forces.motors``; see :func:`effort_lost`.
    """
    motors, actuators = run.forces.motors, run.plan.description.actuators
    if not friction or all(data.friction.gear_loss is None for data in actuators.values()):
        return [0.0] * len(motors)
    names = [j.name for j in run.plan.tree.joints]

    def law(j: int) -> list[float]:
        actuator = actuators[names[j]]
        data, sense = actuator.friction, math.copysign(1.0, actuator.ratio)  # of the motor
        return [sense * (data.gear_loss or 0.0), data.transition_velocity]

    rates = [m.joint.velocity for m in motors]
    fastest, lost = largest(rates), []
    for m, rate in zip(motors, rates, strict=True):
        loss, transition = m.joint.constant(law)
        lost.append(loss * _sense(rate, fastest, transition))
    return lost


def effort_lost(loss: Any, passed_on: Any) -> Any:
    """What a gear takes of an effort that the motor passes on, by its entry of the losses.

    It takes a part of what it passes on, whichever way the power goes (a gear's efficiency, to the
    first order).
    """
    return 0.0 if is_known(loss, 0.0) else loss * absolute(passed_on)


def effort_lost_of(loss: Any, effort: Any, drag: Any) -> Any:
    """The same of an effort that the motor gives, of which the bearing takes its drag."""
    if is_known(loss, 0.0):
        return 0.0
    rest = effort - drag
    return effort_lost(loss, rest * reciprocal(1.0 + loss * sign_of(rest)))


def losses(run: Evaluation) -> Efforts:
    """Efforts that the joints' own damping and dry friction supply: against the motion.

    What is more near rest falls off with the square of the velocity (Hess and Soom 1990, ASME
    Journal of Tribology 112, 147).
    """
    physics, names = run.plan.description.joints, [j.name for j in run.plan.tree.joints]

    def law(j: int) -> list[float]:
        data = physics.get(names[j])
        if data is None:
            return [0.0, 0.0, 0.0]
        return [data.damping or 0.0, data.friction or 0.0, data.transition_velocity]

    def near_rest(j: int) -> list[float]:
        data = physics.get(names[j])
        if data is None or data.stiction is None:
            return [0.0, 1.0]
        return [data.stiction, data.stiction_velocity**2 or 1.0]

    fastest = largest(joint.velocity for joint in run.plan.joints)
    losses = {}
    for joint in run.plan.joints:
        if any(any((*law(j), near_rest(j)[0])) for j in joint.joints):
            damping, coulomb, transition = joint.constant(law)
            rate = joint.velocity
            if any(near_rest(j)[0] for j in joint.joints):
                more, square = joint.constant(near_rest)
                coulomb = coulomb + more * square * reciprocal(square + rate * rate)
            losses[joint] = -(damping * rate + coulomb * _sense(rate, fastest, transition))
    return losses


def smoothness(
    run: Evaluation,
    contacts: Sequence[TracedContact],
    per_newton: Sequence[Any],
    across: Sequence[Any],
    gears: Sequence[Any],
    efforts: Sequence[Any],
) -> list[Any]:
    """For each contact, then each joint: positive where its friction has a derivative.

    That of contacts and joints at rest has none unless it grows over a transition velocity, nor has
    that of a bearing without force across its axis, or of a gear that passes nothing on.

    Parameters
    ----------
    per_newton : sequence of number
        Per entry of ``Forces.motors``, as :func:`friction_of_actuators` gives it.
    across : sequence of number
        Force across its axis, N, likewise.
    gears, efforts : sequence of number
        As :func:`gear_losses` gives them, and what the motors pass on, likewise.
    """
    description = run.plan.description
    actuators, physics = description.actuators, description.joints
    names = [j.name for j in run.plan.tree.joints]

    def abrupt(j: int) -> float:
        motor, joint_law = actuators.get(names[j]), physics.get(names[j])
        law = motor.friction if motor else None
        return float(
            (law is not None and bool(law.coulomb or law.gear_loss) and not law.transition_velocity)
            or (
                joint_law is not None
                and bool(joint_law.friction or joint_law.stiction)
                and not joint_law.transition_velocity
            )
        )

    fastest = largest(joint.velocity for joint in run.plan.joints)
    margins = {}
    for joint in run.plan.joints:
        sticks = per_lane(abrupt(j) for j in joint.joints)
        margins[joint] = select(sticks, absolute(joint.velocity) - REST * fastest, 1.0)
    for m, slope, force, loss, effort in zip(
        run.forces.motors, per_newton, across, gears, efforts, strict=True
    ):
        if not is_known(slope, 0.0):
            margins[m.joint] = lesser(margins[m.joint], force)
        if not is_known(loss, 0.0):
            margins[m.joint] = lesser(margins[m.joint], absolute(effort))
    laws = [data.friction for data in description.contacts]
    margins_of_contacts = [
        contact.sliding if law.coulomb and not law.transition_velocity else 1.0
        for contact, law in zip(contacts, laws, strict=True)
    ]
    return margins_of_contacts + run.per_joint(lambda joint: [margins[joint]])


def _sense(rate: Any, fastest: Scalar, transition: Any) -> Any:
    """Direction of a joint's motion, -1 to 1; at rest 0, or where it grows its tangent there."""
    moving = absolute(rate) - REST * fastest  # rounding must not decide it
    if is_known(transition, 0.0):
        return select(moving, sign_of(rate), 0.0)
    speed = square_root(rate * rate + transition * transition)
    return select(moving, rate * reciprocal(speed), rate * _per(transition))


def _per(transition: Any) -> Any:
    """One over a transition velocity; 0 where there is none."""
    return select(transition, reciprocal(transition), 0.0)
