# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces of a motion as sums over load cases.

Everything is affine in a few load cases: the load of the motion itself; the free efforts, which
cancel in the motion; and the Coulomb friction of each contact, per unit of its multiplier.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Stage, TracedJoint, chain
from masticator_dynamics.engine.traced.forces import Balance
from masticator_dynamics.engine.traced.friction import TracedContact, losses
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.numbers import (
    is_known,
    lane_pick,
    per_lane,
    reciprocal,
    square_root,
)
from masticator_dynamics.engine.traced.vectors import Vector

CERTAIN = 1e-4  # least square of the free part of a unit effort chosen at home


@dataclasses.dataclass
class LoadCase:
    """What one load case does."""

    efforts: list[Any]  # per entry of ``Forces.motors``
    multipliers: dict[Stage, list[Any]]  # per equation
    rest: list[Any]  # generalised force left unbalanced, per joint
    bearing: list[Vector]  # force on the child of each actuated joint, the joint's own axes
    aside: list[Vector]  # the same without what the joint's own motor adds; see `levers`
    observed: list[Vector]  # the same for the goal's joints, base axes
    contacts: list[Any]  # multiplier of each contact

    @classmethod
    def sum_of(cls, cases: Sequence[LoadCase], amounts: Sequence[Any]) -> LoadCase:
        """So much of each of some load cases."""

        def summed(parts: Sequence[Any]) -> Any:
            if isinstance(parts[0], dict):
                return {key: summed([part[key] for part in parts]) for key in parts[0]}
            if isinstance(parts[0], list):
                return [summed(entries) for entries in zip(*parts, strict=True)]
            return vec.dot(parts, amounts)

        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(summed([getattr(case, name) for case in cases]) for name in names))


class LoadCases:
    """The load cases of a motion, in order: load, free efforts, contacts.

    Parameters
    ----------
    observed : sequence of str
        Joints whose transmitted force is needed.

    Attributes
    ----------
    levers : list of vector
        Force on the child of each actuated joint per effort of its own motor.
    """

    def __init__(self, run: InverseDynamics, friction: bool, observed: tuple[str, ...]):
        self._run, self._forces = run, run.forces
        index = run.plan.structure.index
        self._observed = [run.plan.joint(index(name)) for name in observed]
        contacts = run.plan.description.contacts
        self.contacts = [TracedContact(run, contact, friction) for contact in contacts]
        self._losses = losses(run) if friction else {}
        motors = range(len(self._forces.motors))
        alone = [self._bearing_of([float(i == j) for i in motors]) for j in motors]
        self.levers = [alone[i][i] for i in motors]
        # Motors other than its own that load a joint: in a limb none, in a chain those further out.
        self._others = [
            [float(i != j and not all(is_known(x, 0.0) for x in alone[j][i])) for j in motors]
            for i in motors
        ]
        self._passive: list[LoadCase] = []  # of the load and of contacts, without the motors
        self.load = self._driven(True, [(c, c.viscous) for c in self.contacts])
        self.free = [self._of_motors(efforts) for efforts in self._free_efforts()]
        self.coulomb = [self._driven(False, [(c, c.coulomb)]) for c in self.contacts]

    def total(self, efforts: list[Any], loads: list[Any]) -> LoadCase:
        """The whole, with efforts and with loads that set the friction of the contacts."""
        amounts = [1.0, *loads, 1.0]
        return LoadCase.sum_of([*self._passive, self._of_motors(efforts)], amounts)

    @property
    def axial(self) -> list[list[Any]]:
        """Force along the axis of each actuated joint, limb by limb: by load cases."""
        columns = [self.load, *self.free, *self.coulomb]
        return [
            [lane_pick(case.bearing[i][2], lane) for case in columns]
            for i, m in enumerate(self._forces.motors)
            for lane in range(m.lanes)
        ]

    def _driven(self, inertial: bool, friction: list[tuple[TracedContact, Vector]]) -> LoadCase:
        """A load case with the efforts of least norm that it needs."""
        if inertial:
            self._forces.inertial()
        else:
            self._forces.clear()
        for contact, force in friction:
            contact.resist(force)
        idle = [0.0] * len(self._forces.motors)
        losses = self._losses if inertial else {}
        balance = self._forces.balance(self._forces.on_joints(idle, losses), inertial)
        self._passive.append(self._case(idle, balance))
        self._passive[-1].aside = self._passive[-1].bearing
        needed = self._of_motors(self._forces.least_norm(balance.freedoms))
        return LoadCase.sum_of([self._passive[-1], needed], [1.0, 1.0])

    def _of_motors(self, efforts: list[Any]) -> LoadCase:
        """What efforts of the motors do by themselves."""
        self._forces.clear()
        case = self._case(efforts, self._forces.balance(self._forces.on_joints(efforts), False))
        for i, others in enumerate(self._others):
            if any(others):
                rest = [e * other for e, other in zip(efforts, others, strict=True)]
                case.aside[i] = self._bearing_of(rest)[i]
        return case

    def _bearing_of(self, efforts: list[Any]) -> list[Vector]:
        """Forces on the actuated joints' children by efforts alone."""
        self._forces.clear()
        balance = self._forces.balance(self._forces.on_joints(efforts), False)
        return bearing_forces(self._run, balance.multipliers)

    def _case(self, efforts: list[Any], balance: Balance) -> LoadCase:
        """A load case of which the bodies bear the forces."""
        multipliers = balance.multipliers
        bearing = bearing_forces(self._run, multipliers)
        observed: list[Vector] = [
            [lane_pick(x, lane) for x in transmitted(joint, multipliers)]
            for joint, lane in self._observed
        ]
        contacts = [lane_pick(multipliers[c.stage][c.row], c.lane) for c in self.contacts]
        rest = list(balance.rest.values())
        aside: list[Vector] = [list(vec.ZERO) for _ in bearing]
        return LoadCase(efforts, multipliers, rest, bearing, aside, observed, contacts)

    # Free efforts

    def _free_efforts(self) -> list[list[Any]]:
        """Orthonormal efforts of the motors that cancel in the motion."""
        basis: list[list[Any]] = []
        for actuator in self._chosen():
            efforts = [
                per_lane(float(i == actuator) for i in motors.joint.actuator)
                for motors in self._forces.motors
            ]
            for _ in range(1 + self._forces.thorough):
                efforts = self._without_load(efforts)
                for other in basis:
                    part = self._forces.inner(efforts, other)
                    efforts = [e - part * x for e, x in zip(efforts, other, strict=True)]
            square = self._forces.inner(efforts, efforts)
            self._forces.conditions.append(square - CERTAIN)
            scale = reciprocal(square_root(square))
            basis.append([e * scale for e in efforts])
        return basis

    def _without_load(self, efforts: list[Any]) -> list[Any]:
        """Efforts less the part of them that drives the motion."""
        freedoms = [
            self._forces.inner([m.rates[f] for m in self._forces.motors], efforts)
            for f in range(len(self._run.plan.independent))
        ]
        driving = self._forces.least_norm(freedoms)
        return [e - d for e, d in zip(efforts, driving, strict=True)]

    def _chosen(self) -> list[int]:
        """Actuators whose unit efforts have the largest free part at home."""
        plan = self._run.plan
        names = plan.description.actuated
        powered = np.array([float(name in self._forces.driving) for name in names])
        ratios = np.array([plan.description.actuators[name].ratio for name in names])
        tangent = plan.structure.home_tangent(plan.independent)[plan.actuated]
        driving, _ = np.linalg.qr((powered * ratios)[:, None] * tangent)
        projector = np.diag(powered) - driving @ driving.T  # projector on the free efforts
        chosen: list[int] = []
        for _ in range(int(powered.sum()) - len(plan.independent)):
            best = int(np.argmax(np.diag(projector)))
            chosen.append(best)
            projector = (
                projector - np.outer(projector[best], projector[best]) / projector[best, best]
            )
        return chosen


def transmitted(joint: TracedJoint, multipliers: dict[Stage, list[Any]]) -> Vector:
    """Force of a joint on its child, base axes, after the balance."""
    stage, force = joint.stage, joint.body.force
    for equation, multiplier in zip(stage.equations, multipliers[stage], strict=True):
        for wrench in equation.wrenches:
            if joint.body in chain(wrench.body, stage):
                force = vec.subtract(force, vec.scale(wrench.force, multiplier))
    return force


def bearing_forces(run: InverseDynamics, multipliers: dict[Stage, list[Any]]) -> list[Vector]:
    """The same of the actuated joints, per entry of ``Forces.motors``, in the joints' own axes."""
    return [
        vec.rotate_back(m.joint.body.rotation, transmitted(m.joint, multipliers))
        for m in run.forces.motors
    ]
