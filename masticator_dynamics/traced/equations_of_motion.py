# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a mechanism in its independent coordinates, by virtual work.

In a virtual motion the loops stay closed while one independent coordinate moves. The work of a load
in that motion is its generalised force (Kane's method; Siciliano, Robotics, 2009, Sec. 7.3).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.traced import vectors as vec
from masticator_dynamics.traced.bodies import Body, Stage
from masticator_dynamics.traced.evaluation import Evaluation
from masticator_dynamics.traced.forces import Efforts
from masticator_dynamics.traced.kernels import MOST_OPERATIONS, identity
from masticator_dynamics.traced.motion import Rates, Twists
from masticator_dynamics.traced.numbers import lane_sum, per_lane, stacked
from masticator_dynamics.traced.row_code import RowCode
from masticator_dynamics.traced.vectors import Vector


@dataclasses.dataclass
class Virtual:
    """A virtual motion: rates of the joints and twists of the bodies that move.

    Attributes
    ----------
    stage : Stage or None
        The one to which it is confined; its limbs may then move independently, and its work is
        given for each limb.
    """

    rates: Rates
    twists: Twists
    stage: Stage | None = None


@dataclasses.dataclass
class Load:
    """Forces on bodies, with moments about their origins, and efforts on joints."""

    bodies: dict[Body, tuple[Vector, Vector]]
    joints: Efforts


class EquationsOfMotion(Evaluation):
    """An evaluation without independent accelerations, whose loads work in virtual motions."""

    @functools.cached_property
    def tangents(self) -> list[Virtual]:
        """For each independent coordinate the motion in which it moves at unit rate."""
        joints = self.plan.joints
        return [
            Virtual(
                {joint: joint.tangent[k] for joint in joints},
                {joint.body: joint.body.twists[k] for joint in joints},
            )
            for k in range(len(self.plan.independent))
        ]

    def work(self, load: Load, virtual: Virtual) -> Any:
        """Work of a load; for each lane where limbs move independently."""
        work: Any = 0.0
        for stage in [virtual.stage] if virtual.stage else self.plan.stages:
            own: Any = 0.0
            for joint in stage.joints:
                if joint.body in load.bodies and joint.body in virtual.twists:
                    force, moment = load.bodies[joint.body]
                    velocity, turning = virtual.twists[joint.body]
                    own = own + vec.dot(force, velocity) + vec.dot(moment, turning)
                if joint in load.joints and joint in virtual.rates:
                    own = own + load.joints[joint] * virtual.rates[joint]
            work = work + (own if virtual.stage else lane_sum(own, stage.lanes))
        return work

    @functools.cached_property
    def unit_loads(self) -> list[Load]:
        """Loads of a unit acceleration of each independent coordinate, at rest."""
        forces, joints = self.forces, self.plan.joints
        return [
            Load(
                {
                    j.body: forces.inertial_wrench(j, tangent.twists[j.body], vec.ZERO)
                    for j in joints
                },
                {j: forces.rotor(j) * tangent.rates[j] for j in joints},
            )
            for tangent in self.tangents
        ]

    @functools.cached_property
    def mass(self) -> list[list[Any]]:
        """Mass matrix of the independent coordinates, rotors included."""
        size = len(self.tangents)
        lower = [
            [self.work(self.unit_loads[i], self.tangents[j]) for j in range(i + 1)]
            for i in range(size)
        ]
        return [[lower[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]

    def bias(self) -> list[Any]:
        """Generalised forces that it takes not to accelerate, without friction."""
        forces = self.forces
        forces.inertial()
        return self._generalised(
            Load(
                self.current_forces(),
                {j: forces.spring(j) + forces.rotor(j) * j.acceleration for j in self.plan.joints},
            )
        )

    def gravity(self) -> list[Any]:
        """The part of the bias that weights and springs need: the slope of the potential."""
        forces, held = self.forces, (self.plan.base.acceleration, vec.ZERO)
        return self._generalised(
            Load(
                {j.body: forces.inertial_wrench(j, held, vec.ZERO) for j in self.plan.joints},
                {j: forces.spring(j) for j in self.plan.joints},
            )
        )

    def energy(self, y_dot: Vector) -> tuple[Any, Any]:
        """Kinetic, and potential of gravity (zero at the base's origin) and springs, J."""
        potential: Any = 0.0
        for joint in self.plan.joints:
            own = self.forces.spring_energy(joint)
            inertias = [self.plan.tree.inertias[j] for j in joint.joints]
            if any(i.mass > 0.0 for i in inertias):
                center = joint.body.point(stacked([i.center_of_mass for i in inertias]))
                mass = per_lane(i.mass for i in inertias)
                own = own + mass * vec.dot(self.plan.base.acceleration, center)
            potential = potential + lane_sum(own, joint.stage.lanes)
        return 0.5 * vec.dot(vec.apply(self.mass, y_dot), y_dot), potential

    def current_forces(self) -> dict[Body, tuple[Vector, Vector]]:
        """Force and moment that all bodies currently need."""
        return {joint.body: (joint.body.force, joint.body.moment) for joint in self.plan.joints}

    def _generalised(self, load: Load) -> list[Any]:
        return [self.work(load, tangent) for tangent in self.tangents]


def parts(freedoms: int) -> dict[str, slice]:
    """Slice of each output of :func:`equations_code`, after its first four numbers."""
    return consecutive(
        {'mass': freedoms * freedoms, 'bias': freedoms, 'gravity': freedoms, 'energy': 2}
    )


def equations_code(description: MechanismDescription, structure: Structure) -> RowCode:
    """From y_dot and the tree positions of a closed mechanism: its equations of motion.

    Outputs are whether they are valid, status, block and amount of a failure, then :func:`parts`.
    """
    freedoms = len(description.independent)

    def found(run: EquationsOfMotion, y_dot: Vector) -> list[Any]:
        mass = [x for row in run.mass for x in row]
        return [*mass, *run.bias(), *run.gravity(), *run.energy(y_dot)]

    outputs = parts(freedoms)['energy'].stop
    return _code('equations of motion', description, structure, outputs, found)


def tree_accelerations_code(description: MechanismDescription, structure: Structure) -> RowCode:
    """The same, with the accelerations of all joints where the independent ones have none."""
    outputs = len(structure.tree.joints)
    return _code(
        'tree accelerations', description, structure, outputs, lambda run, _: run.accelerations()
    )


def _code(
    kind: str,
    description: MechanismDescription,
    structure: Structure,
    outputs: int,
    found: Callable[[EquationsOfMotion, Vector], list[Any]],
) -> RowCode:
    freedoms = len(description.independent)

    def function(given: Vector, share: bool) -> list[Any]:
        y_dot, q = given[:freedoms], given[freedoms:]
        y = [q[structure.index(name)] for name in description.independent]
        motion, wrench = (y, y_dot, [0.0] * freedoms), [0.0] * 6
        run = EquationsOfMotion(description, structure, given, motion, wrench, (), False, q)
        numbers = found(run, y_dot)
        return [run.valid(), 0.0, -1.0, 0.0, *numbers]

    return RowCode(
        kind, freedoms + len(structure.tree.joints), 4 + outputs, function,
        lambda: identity(description, structure), largest=MOST_OPERATIONS,
        impossible='' if freedoms else 'it has no freedoms',
    )  # fmt: skip
