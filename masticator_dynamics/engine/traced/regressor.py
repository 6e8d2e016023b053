# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generalised forces per unit of each number in which they are linear, by virtual work.

A column is the power of what a unit of the number makes, in the motions of unit velocity of the
independent coordinates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.data import JointFriction, JointPhysics
from masticator_dynamics.engine.parameters import INERTIAL, bodies_with_mass
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import TracedJoint
from masticator_dynamics.engine.traced.friction import (
    TracedContact,
    effort_lost,
    friction_of_actuators,
    gear_losses,
    losses,
)
from masticator_dynamics.engine.traced.inertia import powers
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.kernels import Kernels
from masticator_dynamics.engine.traced.numbers import Scalar, absolute, square_root, stacked
from masticator_dynamics.engine.traced.row_code import RowCode

Columns = dict[str, list[Any]]


def regressor_code(kernels: Kernels, names: Sequence[str], friction: bool) -> RowCode:
    """Whether a row counts, efforts of least norm per generalised force, and the columns.

    These efforts are (n_u, n_y), the columns (n_y, names). Inputs are y_dot, y_ddot, and positions
    of all joints; with friction, then loads: force across the axis of each actuated joint (two
    components each), and the multiplier of each contact; with gears that lose, then the effort that
    each motor passes on.

    Parameters
    ----------
    names : sequence of str
        Of the parameters (``engine/parameters.py``).
    """
    n, motors, contacts = kernels.freedoms, kernels.actuators, len(kernels.description.contacts)
    first = 2 * n + kernels.tree
    gears = has_gear_losses(names)
    inputs = first + (2 * motors + contacts + motors * gears) * friction

    def function(numbers: Sequence[Any], share: bool) -> list[Any]:
        rates, q = numbers[: 2 * n], numbers[2 * n : first]
        y = [q[kernels.structure.index(name)] for name in kernels.description.independent]
        at = [*y, *rates, *[0.0] * 6, *q]
        return _outputs(
            kernels.run(at, False, True, numbers[inputs:]), names, numbers[first:inputs]
        )

    return RowCode(
        'regressor', inputs, 1 + n * (motors + len(names)), function,
        lambda: [*kernels.identity, tuple(names)], constants=kernels.constants, streamed=True,
    )  # fmt: skip


def has_gear_losses(names: Sequence[str]) -> bool:
    """Whether some of the parameters are losses of gears."""
    return any(name.endswith('.gear_loss') for name in names)


def _outputs(run: InverseDynamics, names: Sequence[str], loads: Sequence[Any]) -> list[Scalar]:
    columns = _inertial(run) | _of_joints(run)
    if loads:
        columns |= _frictional(run, loads)
    freedoms = range(len(run.plan.independent))
    driven = [
        run.per_actuator(run.forces.least_norm([float(j == k) for j in freedoms])) for k in freedoms
    ]
    by_motor = vec.flat(zip(*driven, strict=True))
    return [run.valid(), *by_motor, *(columns[name][k] for k in freedoms for name in names)]


def _inertial(run: InverseDynamics) -> Columns:
    columns: Columns = {}
    frames = run.plan.tree.frames
    for link, k in bodies_with_mass(run.plan.structure.in_floats).items():
        powers_of_body = powers(run.plan.body(k), stacked([frames[link].rotation]))
        for name, column in zip(INERTIAL, zip(*powers_of_body, strict=True), strict=True):
            columns[f'{link}.{name}'] = list(column)
    return columns


def _joints(run: InverseDynamics) -> dict[str, TracedJoint]:
    names = [joint.name for joint in run.plan.tree.joints]
    return {names[joint.joints[0]]: joint for joint in run.plan.joints}


def _of_joints(run: InverseDynamics) -> Columns:
    description, columns = run.plan.description, {}
    for name, joint in _joints(run).items():
        inertial = vec.scale(joint.tangent, joint.acceleration)
        columns[f'{name}.armature'] = list(inertial)
        if name in description.actuated:
            motor = description.actuators.get(name)
            ratio = motor.ratio if motor else 1.0
            columns[f'{name}.rotor_inertia'] = list(vec.scale(inertial, ratio**2))
        if (physics := description.joints.get(name)) and physics.stiffness:
            bent = joint.unwound() - physics.reference
            columns[f'{name}.stiffness'] = list(vec.scale(joint.tangent, bent))
    return columns


def _frictional(run: InverseDynamics, loads: Sequence[Any]) -> Columns:
    plan, columns = run.plan, {}
    description, joints = plan.description, _joints(run)
    names = {id(joint): name for name, joint in joints.items()}
    plan.description = _with_unit_friction(description, damping=1.0)
    drag, per_newton = friction_of_actuators(run, True)
    gears, damping = gear_losses(run, True), losses(run)
    plan.description = _with_unit_friction(description, friction=1.0)
    dry = losses(run)
    plan.description = _with_unit_friction(description, stiction=1.0)
    near_rest = losses(run)
    plan.description = description
    count = len(plan.actuated)
    contacts = description.contacts
    multipliers = loads[2 * count : 2 * count + len(contacts)]
    passed_on = loads[2 * count + len(contacts) :]
    for m, viscous, coulomb, gear in zip(run.forces.motors, drag, per_newton, gears, strict=True):
        (actuator,), name = m.joint.actuator, names[id(m.joint)]
        x, y = loads[2 * actuator : 2 * actuator + 2]
        across = square_root(x * x + y * y)
        rates = vec.scale(m.joint.tangent, m.ratio)
        columns[f'{name}.viscous'] = list(vec.scale(rates, viscous))
        columns[f'{name}.coulomb'] = list(vec.scale(rates, coulomb * across))
        if passed_on:
            lost = effort_lost(gear, passed_on[actuator])
            columns[f'{name}.gear_loss'] = list(vec.scale(rates, lost))
    for name in description.joints:
        joint = joints[name]
        for key, supplied in (('damping', damping), ('friction', dry), ('stiction', near_rest)):
            if joint in supplied:
                columns[f'{name}.{key}'] = list(vec.scale(joint.tangent, -supplied[joint]))
    for contact, multiplier in zip(description.contacts, multipliers, strict=True):
        law = dataclasses.replace(contact.friction, coulomb=1.0, viscous=1.0)
        unit = TracedContact(run, dataclasses.replace(contact, friction=law), True)
        columns[f'{contact.name}.viscous'] = unit.powers(unit.viscous)
        coulomb = vec.scale(unit.coulomb, absolute(multiplier))
        columns[f'{contact.name}.coulomb'] = unit.powers(coulomb)
    return columns


def _with_unit_friction(
    description: MechanismDescription,
    damping: float = 0.0,
    friction: float = 0.0,
    stiction: float = 0.0,
) -> MechanismDescription:
    def unit(law: JointFriction) -> JointFriction:
        loss = None if law.gear_loss is None else 1.0
        return dataclasses.replace(law, coulomb=1.0, viscous=1.0, gear_loss=loss)

    def alone(physics: JointPhysics) -> JointPhysics:
        more = None if physics.stiction is None else stiction
        return dataclasses.replace(physics, damping=damping, friction=friction, stiction=more)

    motors = {
        name: dataclasses.replace(motor, friction=unit(motor.friction))
        for name, motor in description.actuators.items()
    }
    joints = {name: alone(physics) for name, physics in description.joints.items()}
    return dataclasses.replace(description, actuators=motors, joints=joints)
