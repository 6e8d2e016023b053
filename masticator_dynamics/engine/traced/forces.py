# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads of a motion, efforts of least norm and constraint forces, stage by stage inwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import NOT_ACTUATED, WEAK_ACTUATION, RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import (
    Body,
    Plan,
    Solved,
    Stage,
    TracedJoint,
    Twist,
    carrier,
    chain,
    is_base,
)
from masticator_dynamics.engine.traced.closure_equations import Wrench
from masticator_dynamics.engine.traced.inertia import Spread, Swing
from masticator_dynamics.engine.traced.matrices import orthogonal
from masticator_dynamics.engine.traced.numbers import (
    Number,
    lane_sum,
    reciprocal,
    stacked,
    total,
)
from masticator_dynamics.engine.traced.vectors import Vector

# Remaining square of a motor column over its own: below it one pass of Gram-Schmidt is not enough.
STRENGTH = 1e-5
WEAK = 1e-11  # of the square of the usual rate; below that of WEAK_ACTUATION it is refused

Efforts = dict[TracedJoint, Any]


@dataclasses.dataclass
class Motors:
    """The actuators of one joint of a stage (one per lane) and their effect on the freedoms."""

    joint: TracedJoint
    ratio: Any  # motion of the motor per motion of the joint
    rates: list[Any]  # of the motor, per unit velocity of each independent joint; 0 if it idles

    @property
    def lanes(self) -> int:
        """How many there are."""
        return self.joint.stage.lanes


@dataclasses.dataclass
class Balance:
    """Forces that result from efforts."""

    freedoms: list[Any]  # generalised force left unbalanced in each independent coordinate
    rest: Efforts  # the same for each joint
    multipliers: dict[Stage, list[Any]]  # per equation


class Forces:
    """Forces of one motion of a mechanism.

    Parameters
    ----------
    plan : Plan
        Closed, and in motion.
    wrench : vector
        On the platform (6), N and N m, base axes, about its origin.
    driving : collection of str
        Actuated joints that are powered; also an attribute.

    Attributes
    ----------
    chosen : list of (freedoms, along, efforts)
        Efforts of least norm for generalised forces, and their parts along the orthonormal basis.
    thorough : bool
        Whether all digits were kept in :meth:`factor`.
    """

    def __init__(self, plan: Plan, wrench: Vector, driving: Collection[str]):
        self._plan = plan
        self.conditions: list[Any] = []
        self._wrench, self.driving = wrench, driving
        self.swings: dict[Body, Swing] = {}
        self.chosen: list[tuple[list[Any], list[Any], list[Any]]] = []
        inertias = plan.tree.inertias
        self._spreads = {j: Spread.of([inertias[k] for k in j.joints]) for j in plan.joints}
        self.motors = self._motors()

    # What motions need

    def inertial(self) -> None:
        """Set the force and moment that each body's acceleration needs, less external wrenches."""
        plan = self._plan
        for joint in plan.joints:
            body = joint.body
            body.force, body.moment = self._needed(joint, body.acceleration, self.swing(body))
        frame = plan.tree.frames[plan.description.platform]
        body = plan.body(frame.body)
        arm = vec.apply(body.rotation, stacked([frame.position]))
        force, moment = self._wrench[:3], self._wrench[3:6]
        body.force = vec.subtract(body.force, force)
        body.moment = vec.subtract(body.moment, vec.add(moment, vec.cross(arm, force)))
        for first in range(6, len(self._wrench), 6):
            body = plan.body(first // 6 - 1)
            body.force = vec.subtract(body.force, self._wrench[first : first + 3])
            body.moment = vec.subtract(body.moment, self._wrench[first + 3 : first + 6])

    def swing(self, body: Body) -> Swing:
        """Axes of a body with their rates in the motion."""
        swing = self.swings.get(body)
        if swing is None or swing.change is not body.angular_acceleration:
            rates = body.angular_acceleration, body.angular_velocity
            swing = self.swings[body] = Swing(body.rotation, *rates)
        return swing

    def inertial_wrench(self, joint: TracedJoint, rates: Twist) -> tuple[Vector, Vector]:
        """Force and moment, about its origin, that accelerations of a joint's body need at rest.

        Parameters
        ----------
        rates : (vector, vector)
            Acceleration of the origin and angular acceleration.
        """
        return self._needed(joint, rates[0], Swing(joint.body.rotation, rates[1], vec.ZERO))

    def _needed(
        self, joint: TracedJoint, acceleration: Vector, swing: Swing
    ) -> tuple[Vector, Vector]:
        spread = self._spreads[joint]
        return spread.wrench(swing, acceleration) if spread else (vec.ZERO, vec.ZERO)

    def clear(self) -> None:
        """Have no body need any force."""
        for joint in self._plan.joints:
            joint.body.force = joint.body.moment = vec.ZERO

    # What efforts and constraints supply

    def balance(self, efforts: Efforts | None = None, rotors: bool = True) -> Balance:
        """Constraint forces for efforts, and what remains unbalanced.

        Overwrites the bodies' forces: call :meth:`inertial` or the like before.
        """
        balance = Balance([0.0] * len(self._plan.independent), {}, {})
        for stage in reversed(self._plan.stages):
            balance.multipliers[stage], loads = self._inwards(stage, efforts or {}, rotors)
            for joint in stage.joints:
                balance.rest[joint] = loads[joint]
                if joint.independent is not None:
                    balance.freedoms[joint.independent] = loads[joint]
        return balance

    def _inwards(self, stage: Stage, efforts: Efforts, rotors: bool) -> tuple[list[Any], Efforts]:
        """Multipliers of a stage, and what its joints are left with; others go to outer bodies.

        Inward pass of Newton and Euler's recursion (Featherstone 2008, Sec. 5.3), base axes::

            f_p += f_i,    n_p += n_i + (o_i - o_p) x f_i
            tau_i = z_i . (s_i n_i + h_i f_i) + springs and rotors - efforts

        then the loops' forces (Sec. 8.4 and 8.12), by which the dependent joints have no
        effort left, and what they leave to the others::

            K_d^T lambda = tau_d,    tau_y -= K_y^T lambda
        """
        loads: Efforts = {}
        for joint in reversed(stage.joints):
            body, parent = joint.body, joint.parent
            load = joint.effort(body.force, body.moment)
            if rotors:
                load = load + self.spring(joint) + self.rotor(joint) * joint.acceleration
            if joint in efforts:
                load = load - efforts[joint]
            loads[joint] = load
            arm = vec.subtract(body.position, parent.position)
            parent.bear(body.force, vec.add(body.moment, vec.cross(arm, body.force)), stage)
        borne = [loads[joint] for joint in stage.unknowns]
        across, inverse = ([*zip(*m, strict=True)] for m in (stage.jacobian, stage.inverse))
        multipliers = vec.apply(inverse, borne)
        stage.solved.append(Solved(across, inverse, borne, multipliers))
        for equation, row, multiplier in zip(
            stage.equations, stage.jacobian, multipliers, strict=True
        ):
            for joint, entry in zip(stage.unknowns, row, strict=True):
                loads[joint] = loads[joint] - entry * multiplier
            for wrench in equation.wrenches:
                self._hand_inwards(stage, wrench, multiplier, loads)
        return multipliers, loads

    @staticmethod
    def _hand_inwards(stage: Stage, wrench: Wrench, multiplier: Any, loads: Efforts) -> None:
        """Subtract a constraint's wrench from the stage's other joints and from outer bodies."""
        for body in chain(wrench.body, stage):
            joint = body.joint
            if joint not in stage.unknowns:
                loads[joint] = loads[joint] - wrench.along(joint) * multiplier
        outer = carrier(wrench.body, stage)
        if not is_base(outer):
            force = vec.scale(wrench.force, -multiplier)
            outer.bear(force, vec.scale(wrench.about(outer.position), -multiplier), stage)

    def spring(self, joint: TracedJoint) -> Any:
        """Effort that holds the joint's spring deflected."""
        bent, stiffness = self._bent(joint)
        return bent * stiffness

    def spring_energy(self, joint: TracedJoint) -> Any:
        """Energy in the joint's spring, J."""
        bent, stiffness = self._bent(joint)
        return bent * bent * stiffness * 0.5

    def _bent(self, joint: TracedJoint) -> tuple[Any, Any]:
        """Deflection of a joint's spring, and the spring's stiffness."""
        physics = self._plan.description.joints
        names = [self._plan.tree.joints[j].name for j in joint.joints]
        springs = [physics.get(name) for name in names]
        if not any(spring and spring.stiffness for spring in springs):
            return STRENGTH, 0.0
        stiffness, reference = stacked(
            [[spring.stiffness, spring.reference] if spring else [0.0, 0.0] for spring in springs]
        )
        return joint.unwound() - reference, stiffness

    def rotor(self, joint: TracedJoint) -> Any:
        """Inertia of motor and armature, as the joint feels it."""
        description, joints = self._plan.description, self._plan.tree.joints
        return joint.constant(lambda j: [description.joint_inertia(joints[j].name)])[0]

    # Efforts of least norm

    def _motors(self) -> list[Motors]:
        actuators = self._plan.description.actuators
        names = [joint.name for joint in self._plan.tree.joints]
        motors = []
        for joint in self._plan.joints:
            if joint.actuator:
                ratio = joint.constant(lambda j: [actuators[names[j]].ratio])[0]
                drives = joint.constant(lambda j: [float(names[j] in self.driving)])[0]
                rates = [rate * (ratio * drives) for rate in joint.tangent]
                motors.append(Motors(joint, ratio, rates))
        return motors

    def factor(self, thorough: bool) -> None:
        """Factor the motors' rates into an orthonormal basis and a triangle.

        Parameters
        ----------
        thorough : bool
            Keep all digits, also where motors are about to lose a direction.

        Raises
        ------
        RefusedError
            On floats, if the motors lose control.
        """
        self.thorough = thorough = thorough or self._known
        rates = [[m.rates[j] for m in self.motors] for j in range(len(self._plan.independent))]
        self.basis, triangle = orthogonal(rates, self.inner, 2 if thorough else 1)
        self.triangle, usual = triangle, self._usual_rates()
        if self._known:
            sizes = [max(map(abs, column), default=0.0) for column in rates]
            if not (np.diag(triangle) > WEAK_ACTUATION * np.maximum(usual, sizes)).all():
                raise RefusedError(NOT_ACTUATED)
            return
        for j, size in enumerate(usual.tolist()):
            column = [row[j] for row in triangle[: j + 1]]
            rest = column[j] * column[j]
            least = WEAK if thorough else STRENGTH
            self.conditions.append(rest - least * vec.dot(column, column))
            self.conditions.append(rest - WEAK * size**2)

    def inner(self, a: Vector, b: Vector) -> Any:
        """Scalar product of numbers per motor, lanes included."""
        products = zip(a, b, self.motors, strict=True)
        return total(lane_sum(x * y, motors.lanes) for x, y, motors in products)

    @property
    def _known(self) -> bool:
        """Whether this is computed on floats, none of them in lanes."""
        numbers = [*self._wrench, *(rate for m in self.motors for rate in m.rates)]
        recorded = any(isinstance(x, Number) for x in numbers)
        return not recorded and all(m.lanes == 1 for m in self.motors)

    def _usual_rates(self) -> FloatArray:
        plan = self._plan
        actuators = plan.description.actuators
        ratios = np.array([actuators[name].ratio for name in plan.description.actuated])
        tangent = plan.structure.home_tangent(plan.independent)[plan.actuated]
        return np.asarray(np.linalg.norm(ratios[:, None] * tangent, axis=0))

    def least_norm(self, freedoms: list[Any]) -> list[Any]:
        """Motor efforts of least norm that supply a generalised force.

        Of A^T u = Q, where A (n_u, n_y) are the motors' rates per independent velocity, by the
        pseudo-inverse (S0 Eq. 54), with A = B R of :meth:`factor`::

            u = A (A^T A)^-1 Q = B R^-T Q
        """
        along = self.onto_basis(freedoms)
        efforts = [vec.dot(row, along) for row in zip(*self.basis, strict=True)]
        self.chosen.append((freedoms, along, efforts))
        return efforts

    def onto_basis(self, freedoms: list[Any]) -> list[Any]:
        """Parts of these efforts along the orthonormal basis."""
        along: list[Any] = []
        for j, force in enumerate(freedoms):
            rest = force - total(self.triangle[i][j] * x for i, x in enumerate(along))
            along.append(rest * reciprocal(self.triangle[j][j]))
        return along

    def on_joints(self, efforts: list[Any], *others: Efforts) -> Efforts:
        """Efforts of the motors as forces and torques of their joints, and what others supply."""
        on_joints = {
            m.joint: m.ratio * effort for m, effort in zip(self.motors, efforts, strict=True)
        }
        for supplied in others:
            for joint, effort in supplied.items():
                on_joints[joint] = on_joints.get(joint, 0.0) + effort
        return on_joints
