# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces of a motion as sums over their causes.

All is affine in a few causes: the load of the motion itself; the free efforts, which cancel in the
motion; and the Coulomb friction of each contact, per unit of its multiplier.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.traced import vectors as vec
from masticator_dynamics.traced.bodies import Body, Joint, Stage, chain, is_base
from masticator_dynamics.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.traced.numbers import (
    absolute,
    lane_pick,
    lane_sum,
    reciprocal,
    select,
    square_root,
    stacked,
    total,
)
from masticator_dynamics.traced.vectors import Vector

if TYPE_CHECKING:
    from masticator_dynamics.description.schema import Contact as ContactData

REST = 1e-12  # of the velocities that cancel, or of the fastest actuator
CERTAIN = 0.01  # least square of what a unit effort, chosen at home, has of a free effort


@dataclasses.dataclass
class Cause:
    """What one cause does.

    Attributes
    ----------
    efforts : list
        Per entry of ``Forces.motors``.
    multipliers : list of list
        Per stage and equation.
    rest : list
        Generalised force left unbalanced, per joint.
    bearing : list of vector
        Force on the child of each actuated joint, the joint's own axes.
    observed : list of vector
        The same of the goal's joints, base axes.
    contacts : list
        Multiplier of each contact.
    """

    efforts: list[Any]
    multipliers: list[list[Any]]
    rest: list[Any]
    bearing: list[Vector]
    observed: list[Vector]
    contacts: list[Any]


class Contact:
    """A contact of a motion and its friction.

    Attributes
    ----------
    stage, lane, row : int
        Where its multiplier is.
    rubs : number
        Above zero where there is Coulomb friction.
    coulomb : vector
        Friction that the body has to overcome per unit of multiplier, N, base axes.
    viscous : vector
        Friction that grows with velocity, likewise, N.
    """

    def __init__(self, run: InverseDynamics, data: ContactData, friction: bool):
        self.stage, self.lane, self.row = _place(run, data.name)
        stage = run.plan.stages[self.stage]
        self._stage = stage
        lanes = next(c for c in stage.constraints if c[self.lane].name == data.name)
        self._a, self._b = run.plan.body(lanes[0].body_a), run.plan.body(lanes[0].body_b)
        self._point = self._b.point(stacked([c.point_b for c in lanes]))
        self.rubs: Any = 0.0
        self.coulomb = self.viscous = vec.ZERO
        law = data.friction
        if friction and (law.coulomb or law.viscous):
            slip, moving = self._slip(run)
            unit = float(law.coulomb * np.linalg.norm(data.normal))
            speed = square_root(vec.dot(slip, slip) + law.transition_velocity**2)
            per_speed = select(moving, unit * reciprocal(speed), 0.0)
            self.rubs = moving if unit else 0.0
            self.coulomb, self.viscous = vec.scale(slip, per_speed), vec.scale(slip, law.viscous)

    def _slip(self, run: InverseDynamics) -> tuple[Vector, Any]:
        """Velocity of the body on the plane, and whether it is more than rounding."""
        slip = vec.subtract(self._velocity(self._b), self._velocity(self._a))
        one, other = _carriers(self._b), _carriers(self._a)
        parts: Any = 0.0
        for body in [b for b in one if b not in other] + [b for b in other if b not in one]:
            joint, rate = run.joint_rate(body)
            arm = vec.subtract(self._point, body.position)
            per_rate = body.axis if joint.slides else vec.cross(body.axis, arm)
            parts = parts + total(absolute(x) for x in per_rate) * absolute(rate)
        slip = [lane_pick(x, self.lane) for x in slip]
        parts = lane_pick(parts, self.lane) * REST
        moving = vec.dot(slip, slip) - parts * parts
        return [select(moving, x, 0.0) for x in slip], moving

    def _velocity(self, body: Body) -> Vector:
        arm = vec.subtract(self._point, body.position)
        return vec.add(body.velocity, vec.cross(body.angular_velocity, arm))

    def resist(self, force: Vector) -> None:
        """Let a force on the body have to be overcome."""
        own = [[float(lane == self.lane)] for lane in range(self._stage.lanes)]
        force = vec.scale(force, stacked(own)[0])
        for body, push in ((self._b, force), (self._a, vec.scale(force, -1.0))):
            if not is_base(body):
                moment = vec.cross(vec.subtract(self._point, body.position), push)
                body.force = vec.add(body.force, self._as_of(body, push))
                body.moment = vec.add(body.moment, self._as_of(body, moment))

    def _as_of(self, body: Body, vector: Vector) -> Vector:
        """A vector of the contact's stage for a body of this or another."""
        if body.stage is self._stage:
            return vector
        return [lane_sum(x, self._stage.lanes) for x in vector]


def _place(run: InverseDynamics, name: str) -> tuple[int, int, int]:
    """Stage, lane and row of a contact's multiplier."""
    for s, stage in enumerate(run.plan.stages):
        row = 0
        for lanes in stage.constraints:
            for lane, constraint in enumerate(lanes):
                if constraint.name == name:
                    return s, lane, row
            row += lanes[0].size
    raise KeyError(name)


def _carriers(body: Body) -> list[Body]:
    """A body and all that carry it, the base not among them."""
    found = []
    while not is_base(body):
        found.append(body)
        assert body.parent is not None
        body = body.parent
    return found


class Causes:
    """The causes of a motion's efforts, in order: load, free efforts, contacts.

    Parameters
    ----------
    observed : sequence of str
        Joints of which the transmitted force is needed.
    """

    def __init__(self, run: InverseDynamics, friction: bool, observed: tuple[str, ...]):
        self._run, self._forces = run, run.forces
        self._observed = [self._find(name) for name in observed]
        contacts = run.plan.description.contacts
        self.contacts = [Contact(run, contact, friction) for contact in contacts]
        self.load = self._driven(True, [(c, c.viscous) for c in self.contacts])
        self.free = [self._cause(efforts, False, []) for efforts in self._free_efforts()]
        self.rubbing = [self._driven(False, [(c, c.coulomb)]) for c in self.contacts]

    def _find(self, name: str) -> tuple[int, Joint, int]:
        """Stage, joint and lane of a joint of the tree."""
        index = self._run.plan.structure.index(name)
        for s, stage in enumerate(self._run.plan.stages):
            for joint in stage.joints:
                if index in joint.joints:
                    return s, joint, joint.joints.index(index)
        raise KeyError(name)

    def _driven(self, inertial: bool, friction: list[tuple[Contact, Vector]]) -> Cause:
        """A cause with the efforts of least norm that it needs."""
        self._load(inertial, friction)
        needed = self._forces.balance(rotors=inertial).freedoms
        return self._cause(self._forces.least_norm(needed), inertial, friction)

    def _load(self, inertial: bool, friction: list[tuple[Contact, Vector]]) -> None:
        if inertial:
            self._forces.inertial()
        else:
            for stage in self._run.plan.stages:
                for joint in stage.joints:
                    joint.body.force = joint.body.moment = vec.ZERO
        for contact, force in friction:
            contact.resist(force)

    def _cause(
        self, efforts: list[Any], inertial: bool, friction: list[tuple[Contact, Vector]]
    ) -> Cause:
        self._load(inertial, friction)
        balance = self._forces.balance(self._forces.on_joints(efforts), inertial)
        found = balance.multipliers
        bearing = []
        for motors in self._forces.motors:
            assert motors.joint.body.stage is not None
            s = self._run.plan.stages.index(motors.joint.body.stage)
            force = self._transmitted(s, motors.joint, found)
            bearing.append(vec.rotate_back(motors.joint.body.rotation, force))
        observed: list[Vector] = [
            [lane_pick(x, lane) for x in self._transmitted(s, joint, found)]
            for s, joint, lane in self._observed
        ]
        contacts = [lane_pick(found[c.stage][c.row], c.lane) for c in self.contacts]
        return Cause(efforts, found, [x for x, _ in balance.rest], bearing, observed, contacts)

    def _transmitted(self, s: int, joint: Joint, multipliers: list[list[Any]]) -> Vector:
        """Force of a joint on its child, base axes, after the balance."""
        stage: Stage = self._run.plan.stages[s]
        force = joint.body.force
        for equation, multiplier in zip(
            self._run.closings[s].equations, multipliers[s], strict=True
        ):
            for wrench in equation.wrenches:
                if joint.body in chain(wrench.body, stage):
                    force = vec.subtract(force, vec.scale(wrench.force, multiplier))
        return force

    # Free efforts

    def _free_efforts(self) -> list[list[Any]]:
        """Orthonormal efforts of the motors that cancel in the motion."""
        found: list[list[Any]] = []
        for actuator in self._chosen():
            efforts = [
                stacked([[float(i == actuator)] for i in motors.joint.actuator])[0]
                for motors in self._forces.motors
            ]
            for _ in range(2):
                efforts = self._without_load(efforts)
                for other in found:
                    part = self._product(efforts, other)
                    efforts = [e - part * x for e, x in zip(efforts, other, strict=True)]
            square = self._product(efforts, efforts)
            self._forces.conditions.append(square - CERTAIN)
            scale = reciprocal(square_root(square))
            found.append([e * scale for e in efforts])
        return found

    def _product(self, a: list[Any], b: list[Any]) -> Any:
        motors = self._forces.motors
        return total(lane_sum(x * y, m.lanes) for x, y, m in zip(a, b, motors, strict=True))

    def _without_load(self, efforts: list[Any]) -> list[Any]:
        """Efforts less the part of them that drives the motion."""
        freedoms = [
            self._product([m.rates[f] for m in self._forces.motors], efforts)
            for f in range(len(self._run.plan.independent))
        ]
        driving = self._forces.least_norm(freedoms)
        return [e - d for e, d in zip(efforts, driving, strict=True)]

    def _chosen(self) -> list[int]:
        """Actuators of which unit efforts have most of a free effort at home."""
        plan = self._run.plan
        names = plan.description.actuated
        powered = np.array([float(name in self._forces.driving) for name in names])
        ratios = np.array([plan.description.actuators[name].ratio for name in names])
        tangent = plan.structure.home_tangent(plan.independent)[plan.actuated]
        driving, _ = np.linalg.qr((powered * ratios)[:, None] * tangent)
        left = np.diag(powered) - driving @ driving.T  # projector on the free efforts
        chosen: list[int] = []
        for _ in range(int(powered.sum()) - len(plan.independent)):
            best = int(np.argmax(np.diag(left)))
            chosen.append(best)
            left = left - np.outer(left[best], left[best]) / left[best, best]
        return chosen
