# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of the actuators and forces of the constraints that go with a motion.

Newton-Euler on the tree gives the generalised force that actuators and constraints must supply
together. Projected on the tangent of the constraint manifold the constraints drop out and the
actuators remain; with those known, the constraint forces follow block by block, backwards.
What is then left over in the independent coordinates is the error of the force balance.
"""

import math

from masticator_dynamics.engine.jit import kernel

WEAK_ACTUATION = 1e-6  # relative; below it a direction of motion has no actuator


@kernel
def tree_load(model, q, a, wrench):
    """Generalised force per tree joint for the accelerations held by the bodies, at positions q.

    ``wrench`` is what the environment does to the platform: force and torque in base axes, torque
    about the platform frame's origin; where more numbers follow, six for each body: the same about
    the body's origin.
    """
    count, load = len(model.joints), model.load
    for i in range(count):
        inertial_wrench(model.joints[i], model.bodies[i])
    apply_wrench(model, wrench)
    if len(wrench) > 6:
        apply_to_bodies(model, wrench[6:])
    for i in range(count - 1, -1, -1):
        joint, body = model.joints[i], model.bodies[i]
        supplied = body.force if joint.prismatic else body.moment
        load[i] = joint.rotor_inertia * a[i]
        if joint.stiffness != 0.0:
            load[i] += joint.stiffness * (q[i] - joint.reference)
        for r in range(3):
            load[i] += body.rotation[r, 2] * supplied[r]
        if joint.parent >= 0:
            hand_to_parent(body, model.bodies[joint.parent])


@kernel
def inertial_wrench(joint, body):
    """Force and moment about its origin that a body's own acceleration needs, base axes."""
    force, moment = body.force, body.moment
    if not joint.massive:
        for r in range(3):
            force[r] = 0.0
            moment[r] = 0.0
        return
    rotation = body.rotation
    wx, wy, wz = body.angular_velocity
    dx, dy, dz = body.angular_acceleration
    c0, c1, c2 = joint.center
    cx = rotation[0, 0] * c0 + rotation[0, 1] * c1 + rotation[0, 2] * c2
    cy = rotation[1, 0] * c0 + rotation[1, 1] * c1 + rotation[1, 2] * c2
    cz = rotation[2, 0] * c0 + rotation[2, 1] * c1 + rotation[2, 2] * c2
    ux, uy, uz = wy * cz - wz * cy, wz * cx - wx * cz, wx * cy - wy * cx
    fx = joint.mass * (body.acceleration[0] + dy * cz - dz * cy + wy * uz - wz * uy)
    fy = joint.mass * (body.acceleration[1] + dz * cx - dx * cz + wz * ux - wx * uz)
    fz = joint.mass * (body.acceleration[2] + dx * cy - dy * cx + wx * uy - wy * ux)
    # Euler's equation in body axes, where the inertia is constant.
    p0 = rotation[0, 0] * wx + rotation[1, 0] * wy + rotation[2, 0] * wz
    p1 = rotation[0, 1] * wx + rotation[1, 1] * wy + rotation[2, 1] * wz
    p2 = rotation[0, 2] * wx + rotation[1, 2] * wy + rotation[2, 2] * wz
    s0 = rotation[0, 0] * dx + rotation[1, 0] * dy + rotation[2, 0] * dz
    s1 = rotation[0, 1] * dx + rotation[1, 1] * dy + rotation[2, 1] * dz
    s2 = rotation[0, 2] * dx + rotation[1, 2] * dy + rotation[2, 2] * dz
    inertia = joint.inertia
    h0 = inertia[0, 0] * p0 + inertia[0, 1] * p1 + inertia[0, 2] * p2
    h1 = inertia[1, 0] * p0 + inertia[1, 1] * p1 + inertia[1, 2] * p2
    h2 = inertia[2, 0] * p0 + inertia[2, 1] * p1 + inertia[2, 2] * p2
    m0 = inertia[0, 0] * s0 + inertia[0, 1] * s1 + inertia[0, 2] * s2 + p1 * h2 - p2 * h1
    m1 = inertia[1, 0] * s0 + inertia[1, 1] * s1 + inertia[1, 2] * s2 + p2 * h0 - p0 * h2
    m2 = inertia[2, 0] * s0 + inertia[2, 1] * s1 + inertia[2, 2] * s2 + p0 * h1 - p1 * h0
    force[0], force[1], force[2] = fx, fy, fz
    moment[0] = rotation[0, 0] * m0 + rotation[0, 1] * m1 + rotation[0, 2] * m2 + cy * fz - cz * fy
    moment[1] = rotation[1, 0] * m0 + rotation[1, 1] * m1 + rotation[1, 2] * m2 + cz * fx - cx * fz
    moment[2] = rotation[2, 0] * m0 + rotation[2, 1] * m1 + rotation[2, 2] * m2 + cx * fy - cy * fx


@kernel
def apply_wrench(model, wrench):
    """Relieve the platform's body of what the environment supplies."""
    body, point = model.bodies[model.platform_body[0]], model.platform_point
    rotation = body.rotation
    x = rotation[0, 0] * point[0] + rotation[0, 1] * point[1] + rotation[0, 2] * point[2]
    y = rotation[1, 0] * point[0] + rotation[1, 1] * point[1] + rotation[1, 2] * point[2]
    z = rotation[2, 0] * point[0] + rotation[2, 1] * point[1] + rotation[2, 2] * point[2]
    for r in range(3):
        body.force[r] -= wrench[r]
    body.moment[0] -= wrench[3] + y * wrench[2] - z * wrench[1]
    body.moment[1] -= wrench[4] + z * wrench[0] - x * wrench[2]
    body.moment[2] -= wrench[5] + x * wrench[1] - y * wrench[0]


@kernel
def apply_to_bodies(model, wrenches):
    """Relieve each body of what the environment supplies to it, six numbers for each."""
    for i in range(len(model.joints)):
        body = model.bodies[i]
        for r in range(3):
            body.force[r] -= wrenches[6 * i + r]
            body.moment[r] -= wrenches[6 * i + 3 + r]


@kernel
def hand_to_parent(body, parent):
    """Add what a joint transmits to the load of the parent body."""
    fx, fy, fz = body.force
    x = body.position[0] - parent.position[0]
    y = body.position[1] - parent.position[1]
    z = body.position[2] - parent.position[2]
    parent.force[0] += fx
    parent.force[1] += fy
    parent.force[2] += fz
    parent.moment[0] += body.moment[0] + y * fz - z * fy
    parent.moment[1] += body.moment[1] + z * fx - x * fz
    parent.moment[2] += body.moment[2] + x * fy - y * fx


@kernel
def least_norm_effort(model, effort):
    """Efforts of least norm that supply the projected load; relative strength of the actuation.

    The actuated rows of the tangent are factored into an orthonormal basis and a triangle by
    Gram-Schmidt, each vector orthogonalised twice, which keeps the accuracy of Householder.
    """
    basis, triangle, reduced = model.basis, model.triangle, model.reduced
    freedoms, actuators = len(model.independent), len(model.actuated)
    weakest = 1.0
    for k in range(freedoms):
        usual = model.usual_rate[k]
        for i in range(actuators):
            basis[i, k] = model.driving[i] * model.ratio[i] * model.tangent[model.actuated[i], k]
            usual = max(usual, abs(basis[i, k]))
        remaining = orthogonalise(basis, triangle, k)
        if not remaining > WEAK_ACTUATION * usual:
            return 0.0
        weakest = min(weakest, remaining / usual)
    for k in range(freedoms):
        reduced[k] = 0.0
        for j in range(len(model.joints)):
            reduced[k] += model.tangent[j, k] * model.load[j]
    for k in range(freedoms):
        for i in range(k):
            reduced[k] -= triangle[i, k] * reduced[i]
        reduced[k] /= triangle[k, k]
    for i in range(actuators):
        effort[i] = 0.0
        for k in range(freedoms):
            effort[i] += basis[i, k] * reduced[k]
    return weakest


@kernel
def orthogonalise(basis, triangle, k):
    """Make column ``k`` orthonormal to the columns before it; its length before scaling."""
    actuators = basis.shape[0]
    for i in range(k + 1):
        triangle[i, k] = 0.0
    for _ in range(2):
        for i in range(k):
            product = 0.0
            for row in range(actuators):
                product += basis[row, i] * basis[row, k]
            triangle[i, k] += product
            for row in range(actuators):
                basis[row, k] -= product * basis[row, i]
    length = 0.0
    for row in range(actuators):
        length += basis[row, k] ** 2
    length = math.sqrt(length)
    triangle[k, k] = length
    if length > 0.0:
        for row in range(actuators):
            basis[row, k] /= length
    return length


@kernel
def constraint_multipliers(model, effort, multipliers):
    """Multipliers of the constraints (N along their rows, acting on body b).

    Returns
    -------
    float
        Largest imbalance left in an independent coordinate, N or N m.
    """
    load = model.load
    for i in range(len(effort)):
        load[model.actuated[i]] -= model.ratio[i] * effort[i]
    for b in range(len(model.blocks) - 1, -1, -1):
        block = model.blocks[b]
        first, last = block.first_row, block.last_row
        for r in range(first, last):
            multipliers[r] = 0.0
            for k in range(first, last):
                multipliers[r] += model.inverse[k, r - first] * load[model.dependent[k]]
        for c in range(block.first_constraint, block.last_constraint):
            constraint = model.constraints[c]
            for e in range(constraint.first_entry, constraint.last_entry):
                j = model.entries[e].joint
                for r in range(constraint.first_row, constraint.first_row + constraint.size):
                    load[j] -= model.jacobian[r, j] * multipliers[r]
    largest, overflow = 0.0, 0.0
    for j in range(len(load)):
        largest = max(largest, abs(load[j]))
        overflow += 0.0 * load[j]  # NaN when a load is not finite, which max would hide
    return largest + overflow
