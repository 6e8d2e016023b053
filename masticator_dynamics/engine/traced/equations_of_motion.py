# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a mechanism in its independent coordinates, by virtual work.

In a virtual motion the loops stay closed while one independent coordinate moves. The work of a load
in that motion is its generalised force (Kane's method; Featherstone, Rigid Body Dynamics
Algorithms, 2008, Sec. 3.2)::

    M(y) y_ddot + c(y, y_dot) = G^T (efforts, wrenches),    q_dot = G y_dot
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection
from typing import Any

from masticator_dynamics.engine.parameters import Moments
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Stage, TracedJoint
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.forces import Efforts
from masticator_dynamics.engine.traced.motion import Rates, Twists
from masticator_dynamics.engine.traced.numbers import lane_sum, per_lane, stacked
from masticator_dynamics.engine.traced.vectors import Vector


@dataclasses.dataclass
class Virtual:
    """A virtual motion: rates of the joints and twists of the bodies that move."""

    rates: Rates
    twists: Twists
    # The one to which it is confined; its limbs may then move independently, and its work is given
    # for each limb.
    stage: Stage | None = None


@dataclasses.dataclass
class Load:
    """Forces on bodies, with moments about their origins, and efforts on joints."""

    bodies: dict[Body, tuple[Vector, Vector]]
    joints: Efforts


class TracedEquationsOfMotion(Evaluation):
    """An evaluation whose loads work in virtual motions."""

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
        """Work of a load; for each lane where limbs move independently.

        The sum over bodies and joints ``f_i . v_i + n_i . w_i + tau_j q_dot_j``.
        """
        work: Any = 0.0
        for stage in [virtual.stage] if virtual.stage else self.plan.stages:
            of_stage: Any = 0.0
            for joint in stage.joints:
                if joint.body in load.bodies and joint.body in virtual.twists:
                    force, moment = load.bodies[joint.body]
                    velocity, turning = virtual.twists[joint.body]
                    of_stage = of_stage + vec.dot(force, velocity) + vec.dot(moment, turning)
                if joint in load.joints and joint in virtual.rates:
                    of_stage = of_stage + load.joints[joint] * virtual.rates[joint]
            work = work + (of_stage if virtual.stage else lane_sum(of_stage, stage.lanes))
        return work

    @functools.cached_property
    def unit_loads(self) -> list[Load]:
        """Loads of a unit acceleration of each independent coordinate, at rest."""
        forces, joints = self.forces, self.plan.joints
        return [
            Load(
                {j.body: forces.inertial_wrench(j, tangent.twists[j.body]) for j in joints},
                {j: forces.rotor(j) * tangent.rates[j] for j in joints},
            )
            for tangent in self.tangents
        ]

    @functools.cached_property
    def mass(self) -> list[list[Any]]:
        """Mass matrix of the independent coordinates, rotors included.

        The tree's mass matrix H, never formed, seen through the loops (Featherstone 2008, Sec. 3.2
        and 6.2): with the force and moment that body i needs for a unit of acceleration k, and
        rotors of inertia r_j::

            M = G^T H G,    M_kl = sum_i (f_ik . v_il + n_ik . w_il) + sum_j r_j G_jk G_jl
        """
        return self._mass(self.unit_loads)

    def mass_of(self, bodies: Collection[Body], joints: Collection[TracedJoint]) -> list[list[Any]]:
        """The part of some bodies, and of the rotors and armatures of some joints."""
        return self._mass(
            [
                Load(
                    {body: wrench for body, wrench in load.bodies.items() if body in bodies},
                    {joint: effort for joint, effort in load.joints.items() if joint in joints},
                )
                for load in self.unit_loads
            ]
        )

    def _mass(self, loads: list[Load]) -> list[list[Any]]:
        size = range(len(self.tangents))
        lower = [[self.work(loads[i], self.tangents[j]) for j in size if j <= i] for i in size]
        return [[lower[max(i, j)][min(i, j)] for j in size] for i in size]

    def bias(self) -> list[Any]:
        """Generalised forces that the motion takes, without friction.

        Those that it takes not to accelerate, in an evaluation without independent accelerations:
        Coriolis and centrifugal forces, weights and springs::

            c = G^T (H G_dot y_dot + C(q, q_dot) + springs)
        """
        forces = self.forces
        forces.inertial()
        return self._generalised(
            Load(
                self.current_forces(),
                {j: forces.spring(j) + forces.rotor(j) * j.acceleration for j in self.plan.joints},
            )
        )

    def gravity(self) -> list[Any]:
        """The part of the bias that weights and springs need: the slope of the potential.

        ``c_k = dV/dy_k``: the work of ``-m_i g`` at the centres of mass, and of the springs.
        """
        forces, held = self.forces, (self.plan.base.acceleration, vec.ZERO)
        return self._generalised(
            Load(
                {j.body: forces.inertial_wrench(j, held) for j in self.plan.joints},
                {j: forces.spring(j) for j in self.plan.joints},
            )
        )

    def energy(self, y_dot: Vector) -> tuple[Any, Any]:
        """Kinetic, and potential of gravity (zero at the base's origin) and springs, J.

        ::

            T = 1/2 y_dot^T M y_dot,    V = - sum_i m_i g . c_i + sum_j 1/2 k_j (q_j - q_j0)^2
        """
        potential: Any = 0.0
        for joint in self.plan.joints:
            of_joint = self.forces.spring_energy(joint)
            lifted = self._first_moments(joint)
            of_joint = of_joint + vec.dot(self.plan.base.acceleration, lifted)
            potential = potential + lane_sum(of_joint, joint.stage.lanes)
        return 0.5 * vec.dot(vec.apply(self.mass, y_dot), y_dot), potential

    def _first_moments(self, joint: TracedJoint) -> Vector:
        """Of mass of a joint's body about the base's origin, base axes, kg m."""
        inertias = [self.plan.tree.inertias[j] for j in joint.joints]
        if isinstance(recorded := inertias[0], Moments):
            turned = vec.apply(joint.body.rotation, recorded.first)
            return vec.add(vec.scale(joint.body.position, recorded.mass), turned)
        if not any(i.mass > 0.0 for i in inertias):
            return vec.ZERO
        center = joint.body.point(stacked([i.center_of_mass for i in inertias]))
        return vec.scale(center, per_lane(i.mass for i in inertias))

    def current_forces(self) -> dict[Body, tuple[Vector, Vector]]:
        """Force and moment that all bodies currently need."""
        return {joint.body: (joint.body.force, joint.body.moment) for joint in self.plan.joints}

    def _generalised(self, load: Load) -> list[Any]:
        return [self.work(load, tangent) for tangent in self.tangents]
