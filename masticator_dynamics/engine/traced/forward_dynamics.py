# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of a mechanism: efforts to accelerations, with friction.

Everything follows from virtual work. In a virtual motion the loops stay closed and one thing is
released: an independent coordinate moves, a contact opens, or an actuated joint shifts its body
across its axis. A load's work in that motion is its generalised force, contact multiplier or
bearing force. Loads are those of the motion without independent accelerations, of each unit
acceleration, and of each unit of friction; so accelerations and the loads that friction depends on
are affine in the amounts of friction, which are a fixed point of a small map.
"""

from __future__ import annotations

from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Stage, TracedJoint, Twist
from masticator_dynamics.engine.traced.equations_of_motion import (
    Load,
    TracedEquationsOfMotion,
    Virtual,
)
from masticator_dynamics.engine.traced.forces import Efforts
from masticator_dynamics.engine.traced.friction import (
    TracedContact,
    effort_lost_of,
    friction_of_actuators,
    gear_losses,
    losses,
)
from masticator_dynamics.engine.traced.matrices import cholesky, solve_factored
from masticator_dynamics.engine.traced.motion import Slide, solve
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    in_lane,
    lane_pick,
    largest,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.simulation_data import Given, Setting
from masticator_dynamics.engine.traced.stops_and_food import Bolus, Surroundings
from masticator_dynamics.engine.traced.vectors import Vector

ITERATIONS = 24  # of the fixed-point iteration in machine code
MOST_ITERATIONS = 200  # on floats, where it ends on convergence
CONVERGED = 1e-13  # relative to the largest amount of its kind
INDEPENDENT = 1e-14  # least fraction of an inertia that no other freedom shares


class ForwardDynamics(TracedEquationsOfMotion):
    """One evaluation of forward dynamics.

    Parameters
    ----------
    inputs : sequence
        As in :class:`Given`; then, if ``at_positions``, positions of all joints.
    share : bool
        Put limbs of the same kind into SIMD lanes.
    at_positions : bool
        Loops are already closed.

    Attributes
    ----------
    y_ddot : list
        Independent accelerations.
    converged : number
        Positive where the amounts of friction have converged.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        inputs: Vector,
        setting: Setting,
        share: bool = True,
        at_positions: bool = False,
    ):
        sizes = Given.sizes(description, setting)
        self.given = parts = Given.of(inputs, sizes)
        positions = inputs[sum(sizes) :] if at_positions else None
        rest = [0.0] * len(description.independent)
        super().__init__(
            description, structure, inputs, (parts.y, parts.y_dot, rest), parts.wrench,
            description.actuated, share and not at_positions, positions,
        )  # fmt: skip
        self.setting = setting
        bolus = Bolus.of([*parts.bolus, *parts.food]) if setting.food else None
        settle = parts.settle[0] if setting.food else 0.0
        self.outside = Surroundings(self, setting.stops, bolus, settle)
        self.contacts = [
            TracedContact(self, contact, setting.friction, setting.transitions[2])
            for contact in description.contacts
        ]
        self.drag, self.per_newton = friction_of_actuators(
            self, setting.friction, setting.transitions[:2]
        )
        self._gears = gear_losses(self, setting.friction)
        self._losses = losses(self) if setting.friction else {}
        self._motor_efforts = [self._gathered(m.joint, parts.efforts) for m in self.forces.motors]
        self._solve()

    def _solve(self) -> None:
        """Mass matrix, friction and accelerations, by the motions of the independent joints.

        By Cholesky's factors of the mass matrix (Featherstone 2008, Sec. 6.1)::

            y_ddot = -M^-1 (c - G^T (efforts, wrenches) + sum over frictions of amount * unit load)
        """
        self._loads = [self._load(), *self.unit_loads]
        self._lower, rests = cholesky(self.mass)
        for i, rest in enumerate(rests):
            self.forces.conditions.append(rest - self.mass[i][i] * INDEPENDENT)
        units = self._units()
        # Accelerations: of the loads, then of each unit of friction.
        self._rates = [
            solve_factored(self._lower, [-self.work(load, t) for t in self.tangents])
            for load in (self._loads[0], *units)
        ]
        self.converged: Any = 1.0
        self.amounts: list[Any] = []
        if self.setting.friction:
            self._find_friction(units)
        self.y_ddot = [
            vec.dot(column, [1.0, *self._scalars()]) for column in zip(*self._rates, strict=True)
        ]

    # Loads

    def _gathered(self, joint: TracedJoint, values: Vector) -> Any:
        """Numbers of a joint's actuators, each in its lane."""
        count = len(joint.actuator)
        return total(values[j] * in_lane(lane, count) for lane, j in enumerate(joint.actuator))

    def _load(self) -> Load:
        """Load of the motion without independent accelerations, less what is not friction's."""
        self.forces.inertial()
        self.outside.relieve()
        for contact in self.contacts:
            contact.resist(contact.viscous)
        joints: Efforts = {}
        supplied = self._supplied(self._motor_efforts)
        for joint in self.plan.joints:
            held = self.forces.spring(joint) + self.forces.rotor(joint) * joint.acceleration
            joints[joint] = held - supplied.get(joint, 0.0)
        return Load(self.current_forces(), joints)

    def _supplied(self, motor_efforts: list[Any]) -> Efforts:
        """What motors and stops supply to joints, and what the joints' own losses take."""
        return self.forces.on_joints(motor_efforts, self.outside.joints, self._losses)

    def _units(self) -> list[Load]:
        """Loads of a unit of friction: of each actuated joint, then of each contact."""
        if not self.setting.friction:
            return []
        units = []
        for m in self.forces.motors:
            for lane in range(m.lanes):
                units.append(Load({}, {m.joint: m.ratio * in_lane(lane, m.lanes)}))
        for contact in self.contacts:
            self.forces.clear()
            contact.resist(contact.coulomb)
            units.append(Load(self.current_forces(), {}))
        return units

    # Virtual motions

    def _virtual(
        self, stage: Stage, opening: tuple[int, Any] | None = None, slide: Slide | None = None
    ) -> Virtual:
        """The motion in which a contact of a stage opens, or a body shifts."""
        # Nothing depends on limbs that share lanes: their motion stays within the stage.
        alone, stages = stage.lanes > 1, self.plan.stages
        virtual = Virtual({}, {}, stage if alone else None)

        def outside(body: Body) -> Twist:
            return virtual.twists.get(body, (vec.ZERO, vec.ZERO))

        for moved in [stage] if alone else stages[stages.index(stage) :]:
            here = opening if moved is stage else None
            rates, twists = solve(moved, {}, outside, here, slide)
            virtual.rates |= rates
            virtual.twists |= twists
        return virtual

    # Friction

    def _respond(self, virtual: Virtual, units: list[Load]) -> list[Any]:
        """A force as an affine function of the amounts of friction: constant, then slopes."""
        works = [self.work(load, virtual) for load in (*self._loads, *units)]
        accelerated = works[1 : len(self._loads)]
        return [
            direct + vec.dot(accelerated, rates)
            for direct, rates in zip(
                [works[0], *works[len(self._loads) :]], self._rates, strict=True
            )
        ]

    def _find_friction(self, units: list[Load]) -> None:
        """Find the amounts of friction that fit the loads they cause: per motor, then contact."""
        motors = self.forces.motors
        bearings = []
        for m in motors:
            axes = (vec.column(m.joint.body.rotation, i) for i in range(2))
            bearings.append(
                [
                    self._respond(self._virtual(m.joint.stage, slide=(m.joint, axis)), units)
                    for axis in axes
                ]
            )
        pressed = []
        for c in self.contacts:
            rate = in_lane(c.lane, c.stage.lanes)
            opened = self._virtual(c.stage, opening=(c.row, rate))
            pressed.append([lane_pick(x, c.lane) for x in self._respond(opened, units)])
        moving = [0.0] * len(motors)
        contacts = [0.0] * len(self.contacts)
        self.amounts = [*moving, *contacts]
        in_floats = not isinstance(self.given.y[0], Number)
        for _ in range(MOST_ITERATIONS if in_floats else ITERATIONS):
            scalars = [1.0, *self._scalars()]
            moving, changes = [], []
            for i, (x, y) in enumerate(bearings):
                across = vec.apply((x, y), scalars)
                length = square_root(across[0] * across[0] + across[1] * across[1])
                drag = self.drag[i] + self.per_newton[i] * length
                given = self._motor_efforts[i]
                moving.append(drag + effort_lost_of(self._gears[i], given, drag))
                # Relative to the loads without friction: those with it may nearly cancel.
                bare = absolute(x[0]) + absolute(y[0])
                change = absolute(moving[i] - self.amounts[i])
                size = greater(absolute(moving[i]), absolute(self.per_newton[i]) * bare)
                changes.append((change, size))
            self.amounts = [*moving, *contacts]
            scalars = [1.0, *self._scalars()]
            unchanged = _unchanged(changes)
            contacts, changes = [], []
            for i, row in enumerate(pressed):
                contacts.append(absolute(vec.dot(row, scalars)))
                change = absolute(contacts[i] - self.amounts[len(motors) + i])
                changes.append((change, greater(contacts[i], absolute(row[0]))))
            self.amounts = [*moving, *contacts]
            self.converged = -greater(-unchanged, -_unchanged(changes))
            if in_floats and self.converged > 0.0:
                break
        self.forces.conditions.append(self.converged)

    def _scalars(self) -> list[Any]:
        """Amounts of friction one by one: of each actuated joint, then of each contact."""
        motors = self.forces.motors
        amounts = [
            lane_pick(amount, lane)
            for m, amount in zip(motors, self.amounts, strict=False)
            for lane in range(m.lanes)
        ]
        return [*amounts, *self.amounts[len(motors) :]]

    def friction(self) -> list[Any]:
        """Efforts that it takes of each actuator, then what presses on each contact."""
        count = len(self.forces.motors)
        return [*self.per_actuator(self.amounts[:count]), *self.amounts[count:]]

    # What is reported

    def solve_forces(self) -> None:
        """Accelerations of all joints, and the forces of all constraints, into the bodies."""
        self._accelerate()
        motors = self.forces.motors
        drags = self.amounts[: len(motors)] or [0.0] * len(motors)
        efforts = [e - drag for e, drag in zip(self._motor_efforts, drags, strict=True)]
        self.forces.inertial()
        self.outside.relieve()
        for contact, pull in zip(self.contacts, self._pulls(), strict=True):
            contact.resist(pull)
        self.balance = self.forces.balance(self._supplied(efforts))

    def _accelerate(self) -> None:
        """Add the independent accelerations to the motion without them."""
        for joint in self.plan.joints:
            body = joint.body
            for k, rate in enumerate(self.y_ddot):
                velocity, turning = body.twists[k]
                body.acceleration = vec.add(body.acceleration, vec.scale(velocity, rate))
                change = vec.scale(turning, rate)
                body.angular_acceleration = vec.add(body.angular_acceleration, change)
                joint.acceleration = joint.acceleration + joint.tangent[k] * rate

    def _pulls(self) -> list[Vector]:
        """Friction that each contact's body has to overcome, N, base axes."""
        amounts = self.amounts[len(self.forces.motors) :] or [0.0] * len(self.contacts)
        return [
            vec.add(vec.scale(c.coulomb, amount), c.viscous)
            for c, amount in zip(self.contacts, amounts, strict=True)
        ]

    def report(self) -> list[Any]:
        """What the twin reports besides positions, rates and multipliers."""
        drags = self.amounts[: len(self.forces.motors)]
        friction = self.per_actuator(drags) if drags else [0.0] * len(self.given.efforts)
        # In the order of `simulation_data.reported`.
        return [
            *self.energy(self.given.y_dot), self.balance_residual(), *self.y_ddot,
            *self.outside.wrench(), self.outside.food, self.outside.gap, *friction,
            *(-x for pull in self._pulls() for x in pull), *(x for row in self.mass for x in row),
        ]  # fmt: skip

    def efforts(self) -> list[Any]:
        """Of the actuators, as given."""
        return list(self.given.efforts)

    def multipliers(self) -> list[Any]:
        """Of all constraint equations, in block order."""
        return self.in_block_order(self.balance.multipliers)

    def balance_residual(self) -> Any:
        """Largest generalised force left unbalanced, N or N m."""
        return largest(self.balance.rest.values())

    def _everything(self) -> list[tuple[Any, int]]:
        return [*super()._everything(), *((x, 1) for x in self.y_ddot)]


def _unchanged(changes: list[tuple[Any, Any]]) -> Any:
    """Positive where no amount changes any more, relative to the largest."""
    change, size = (largest([pair[i] for pair in changes]) for i in range(2))
    return size * CONVERGED - change + 1e-300
