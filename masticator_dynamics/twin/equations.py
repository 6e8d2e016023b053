# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion in independent coordinates, made of the engine's own passes.

The engine gives the load that a motion needs, which is affine in the accelerations: a pass per
unit acceleration at rest gives the columns of the mass matrix, one at the true velocities the rest.
"""

from masticator_dynamics.actuation.causes import joint_losses
from masticator_dynamics.engine.dynamics import apply_wrench, hand_to_parent, inertial_wrench
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.motion import accelerate_bodies
from masticator_dynamics.engine.pose import point_in_base
from masticator_dynamics.twin.external import feed, stop_joints, stop_limbs, stop_points


@kernel
def find_loads(model, tables, scratch, answer, results, outside, rubs, settle):
    """Loads per tree joint, column 0 without independent accelerations, then one column per each.

    ``answer`` holds positions, velocities and the accelerations at y_ddot = 0. The forces that
    actuated joints transmit per independent acceleration go to ``scratch.forces``; those of column
    0 stay in the bodies.
    """
    freedoms = len(model.independent)
    base = model.bodies[len(model.bodies) - 1]
    gx, gy, gz = base.acceleration
    for c in range(freedoms + 1):
        last = c == freedoms
        for j in range(len(model.joints)):
            scratch.v[j] = answer.v[j] if last else 0.0
            scratch.a[j] = answer.a[j] if last else model.tangent[j, c]
        base.acceleration[0] = gx if last else 0.0
        base.acceleration[1] = gy if last else 0.0
        base.acceleration[2] = gz if last else 0.0
        accelerate_bodies(model, scratch.v, scratch.a)
        for i in range(len(model.joints)):
            inertial_wrench(model.joints[i], model.bodies[i])
        if last:
            apply_wrench(model, outside.wrench)
            stop_points(model, outside.points, answer.v)
            feed(model, outside.food, answer.v, results, settle)
        gather_loads(model, scratch.a)
        if last:
            for j in range(len(model.joints)):
                joint = model.joints[j]
                if joint.stiffness != 0.0:
                    model.load[j] += joint.stiffness * (answer.q[j] - joint.reference)
            stop_joints(model, outside.joints, answer.q, answer.v)
            stop_limbs(model, outside.limbs, answer.v)
        column = 0 if last else 1 + c
        for j in range(len(model.joints)):
            tables.loads[j, column] = model.load[j]
        if last:
            if rubs:
                joint_losses(model, answer.v, tables.loads)
            break
        for s in range(len(model.actuated)):
            body = model.bodies[model.actuated[s]]
            for x in range(3):
                scratch.forces[3 * s + x, c] = body.force[x]


@kernel
def gather_loads(model, a):
    """Loads of the joints from the wrenches that the bodies need, from the tips to the base."""
    for i in range(len(model.joints) - 1, -1, -1):
        joint, body = model.joints[i], model.bodies[i]
        supplied = body.force if joint.prismatic else body.moment
        model.load[i] = joint.rotor_inertia * a[i]
        for r in range(3):
            model.load[i] += body.rotation[r, 2] * supplied[r]
        if joint.parent >= 0:
            hand_to_parent(body, model.bodies[joint.parent])


@kernel
def reduce_loads(model, tables, scratch, unknown):
    """Mass matrix, and what drives each independent coordinate: loads, then units of friction."""
    freedoms = len(model.independent)
    for f in range(freedoms):
        for c in range(1 + freedoms + unknown):
            value = 0.0
            for j in range(len(model.joints)):
                value += model.tangent[j, f] * tables.loads[j, c]
            if c == 0:
                scratch.right[f, 0] = -value
            elif c <= freedoms:
                scratch.mass[f, c - 1] = value
            else:
                scratch.right[f, c - freedoms] = -value


@kernel
def measure_energy(model, scratch, q, y_dot, results):
    """Kinetic energy, and potential energy of gravity (zero at the base's origin) and springs."""
    kinetic, potential = 0.0, 0.0
    for f in range(len(y_dot)):
        for g in range(len(y_dot)):
            kinetic += 0.5 * scratch.mass[f, g] * y_dot[f] * y_dot[g]
    ax, ay, az = model.bodies[len(model.bodies) - 1].acceleration
    for i in range(len(model.joints)):
        potential += 0.5 * model.joints[i].stiffness * (q[i] - model.joints[i].reference) ** 2
        if model.joints[i].massive:
            x, y, z = point_in_base(model.bodies[i], model.joints[i].center)
            potential += model.joints[i].mass * (ax * x + ay * y + az * z)
    results.report[0], results.report[1] = kinetic, potential
