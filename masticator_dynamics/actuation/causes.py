# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What each cause does to efforts, constraint forces and joint forces of a motion.

Works on what the engine left behind for the motion: Jacobian, block inverses, tangent and its
factors, forces of the bodies. Without friction and with the effort of least norm, the motion's
own load has been dealt with there; friction and the free efforts are added here.
"""

import math

from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.pose import point_in_base
from masticator_dynamics.engine.seen import IN_BASE, SURFACE

REST = 1e-12  # of the velocities that cancel, or of the fastest actuator


@kernel
def find_causes(model, tables, answer):
    """Fill loads, efforts, multipliers and forces of all causes."""
    causes, actuators = tables.sizes[1], len(model.actuated)
    first_contact = 1 + tables.sizes[0]
    for j in range(len(model.joints)):
        for k in range(causes):
            tables.loads[j, k] = 0.0
    for i in range(len(tables.contacts)):
        contact_friction(model, tables, i, answer.v)
    if tables.sizes[2]:
        joint_losses(model, answer.v, tables.loads)
    drive(model, tables, 0)
    for k in range(first_contact, causes):
        drive(model, tables, k)
    free_efforts(model, tables)
    for i in range(actuators):
        for k in range(causes):
            tables.loads[model.actuated[i], k] -= model.ratio[i] * tables.efforts[i, k]
    constrain(model, tables, causes)
    for i in range(actuators):
        tables.efforts[i, 0] += answer.effort[i]
    for r in range(len(model.dependent)):
        tables.multipliers[r, 0] += answer.multipliers[r]
    joint_forces(model, tables, causes)
    bearing_forces(model, tables, causes)


@kernel
def joint_losses(model, v, loads):
    """Add, to column 0 of the loads, damping and dry friction of joints by themselves."""
    fastest = 0.0
    for j in range(len(model.joints)):
        fastest = max(fastest, abs(v[j]))
    for j in range(len(model.joints)):
        joint = model.joints[j]
        if joint.damping != 0.0 or joint.coulomb != 0.0:
            loads[j, 0] += joint.damping * v[j]
            if abs(v[j]) > REST * fastest:  # rounding must not choose the direction
                loads[j, 0] += joint.coulomb * v[j] / math.sqrt(v[j] ** 2 + joint.transition**2)


@kernel
def contact_friction(model, tables, i, v):
    """Friction of contact ``i``: its vectors, and the loads that overcome it.

    Coulomb friction opposes the slip of the body on the plane with ``coulomb`` times the
    multiplier; S1 Sec. 4.2. It is zero at rest, or grows through ``transition`` smoothly.
    """
    contact = tables.contacts[i]
    constraint = model.constraints[contact.constraint]
    x, y, z = point_in_base(model.bodies[constraint.body_b], constraint.point_b)
    vx, vy, vz, parts = 0.0, 0.0, 0.0, 0.0
    for e in range(constraint.first_entry, constraint.last_entry):
        j = model.entries[e].joint
        cx, cy, cz = point_velocity(model.joints[j], model.bodies[j], x, y, z)
        rate = model.entries[e].sign * v[j]
        vx, vy, vz = vx + cx * rate, vy + cy * rate, vz + cz * rate
        parts += (abs(cx) + abs(cy) + abs(cz)) * abs(v[j])
    if vx * vx + vy * vy + vz * vz <= (REST * parts) ** 2:
        vx, vy, vz = 0.0, 0.0, 0.0  # rounding must not choose the direction of friction
    speed = math.sqrt(vx * vx + vy * vy + vz * vz + contact.transition**2)
    unit = contact.coulomb / speed if speed > 0.0 else 0.0
    if constraint.kind == SURFACE:  # its normal is of any length, and changes
        force = model.wrenches[contact.row]
        unit *= math.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    friction, viscous = tables.friction, tables.viscous
    friction[3 * i], friction[3 * i + 1], friction[3 * i + 2] = unit * vx, unit * vy, unit * vz
    viscous[3 * i] = contact.viscous * vx
    viscous[3 * i + 1] = contact.viscous * vy
    viscous[3 * i + 2] = contact.viscous * vz
    for e in range(constraint.first_entry, constraint.last_entry):
        j = model.entries[e].joint
        cx, cy, cz = point_velocity(model.joints[j], model.bodies[j], x, y, z)
        along = model.entries[e].sign * (cx * vx + cy * vy + cz * vz)
        tables.loads[j, 1 + tables.sizes[0] + i] += unit * along
        tables.loads[j, 0] += contact.viscous * along


@kernel
def point_velocity(joint, body, x, y, z):
    """Velocity of a point in the base per unit velocity of a joint."""
    ax, ay, az = body.rotation[0, 2], body.rotation[1, 2], body.rotation[2, 2]
    if joint.prismatic:
        return ax, ay, az
    x, y, z = x - body.position[0], y - body.position[1], z - body.position[2]
    return ay * z - az * y, az * x - ax * z, ax * y - ay * x


@kernel
def drive(model, tables, k):
    """Efforts of least norm for the load of a cause."""
    reduced, freedoms = model.reduced, len(model.independent)
    for f in range(freedoms):
        reduced[f] = 0.0
        for j in range(len(model.joints)):
            reduced[f] += model.tangent[j, f] * tables.loads[j, k]
    for f in range(freedoms):
        for i in range(f):
            reduced[f] -= model.triangle[i, f] * reduced[i]
        reduced[f] /= model.triangle[f, f]
    for i in range(len(model.actuated)):
        tables.efforts[i, k] = 0.0
        for f in range(freedoms):
            tables.efforts[i, k] += model.basis[i, f] * reduced[f]


@kernel
def free_efforts(model, tables):
    """Orthonormal efforts of the powered actuators that cancel in the motion, as causes."""
    efforts, actuators, freedoms = tables.efforts, len(model.actuated), len(model.independent)
    for k in range(1, 1 + tables.sizes[0]):
        chosen, largest = 0, -1.0
        for i in range(actuators):
            left = model.driving[i]
            for f in range(freedoms):
                left -= model.basis[i, f] ** 2
            for other in range(1, k):
                left -= efforts[i, other] ** 2
            if left > largest:
                chosen, largest = i, left
        for i in range(actuators):
            efforts[i, k] = 1.0 if i == chosen else 0.0
        for _ in range(2):
            for f in range(freedoms):
                product = 0.0
                for i in range(actuators):
                    product += model.basis[i, f] * efforts[i, k]
                for i in range(actuators):
                    efforts[i, k] -= product * model.basis[i, f]
            for other in range(1, k):
                product = 0.0
                for i in range(actuators):
                    product += efforts[i, other] * efforts[i, k]
                for i in range(actuators):
                    efforts[i, k] -= product * efforts[i, other]
        length = 0.0
        for i in range(actuators):
            length += efforts[i, k] ** 2
        for i in range(actuators):
            efforts[i, k] /= math.sqrt(length)


@kernel
def constrain(model, tables, causes):
    """Multipliers of the constraints for what efforts leave of the loads, block by block."""
    loads, multipliers = tables.loads, tables.multipliers
    for b in range(len(model.blocks) - 1, -1, -1):
        block = model.blocks[b]
        first, last = block.first_row, block.last_row
        for r in range(first, last):
            for k in range(causes):
                multipliers[r, k] = 0.0
            for i in range(first, last):
                factor = model.inverse[i, r - first]
                for k in range(causes):
                    multipliers[r, k] += factor * loads[model.dependent[i], k]
        for c in range(block.first_constraint, block.last_constraint):
            constraint = model.constraints[c]
            for e in range(constraint.first_entry, constraint.last_entry):
                j = model.entries[e].joint
                for r in range(constraint.first_row, constraint.first_row + constraint.size):
                    rate = model.jacobian[r, j]
                    for k in range(causes):
                        loads[j, k] -= rate * multipliers[r, k]


@kernel
def joint_forces(model, tables, causes):
    """Forces that the joints of the slots transmit to their child, base axes."""
    forces = tables.forces
    for s in range(len(tables.slots)):
        body = model.bodies[tables.slots[s].joint]
        for x in range(3):
            forces[3 * s + x, 0] = body.force[x]
            for k in range(1, causes):
                forces[3 * s + x, k] = 0.0
    for t in range(len(tables.taps)):
        tap = tables.taps[t]
        constraint = model.constraints[tap.constraint]
        for x in range(3):
            row = 3 * tap.slot + x
            for r in range(constraint.size):
                unit = constraint.rows[r, x]
                if constraint.kind != IN_BASE:
                    unit = model.wrenches[constraint.first_row + r, x]
                pull = tap.sign * unit
                for k in range(causes):
                    forces[row, k] -= pull * tables.multipliers[constraint.first_row + r, k]
            if tap.contact >= 0:
                forces[row, 0] += tap.sign * tables.viscous[3 * tap.contact + x]
                rubbing = tap.sign * tables.friction[3 * tap.contact + x]
                forces[row, 1 + tables.sizes[0] + tap.contact] += rubbing


@kernel
def bearing_forces(model, tables, causes):
    """Forces of the actuated joints in the joints' own axes; Z is the axis."""
    for i in range(len(model.actuated)):
        rotation = model.bodies[model.actuated[i]].rotation
        for x in range(3):
            for k in range(causes):
                tables.bearing[3 * i + x, k] = (
                    rotation[0, x] * tables.forces[3 * i, k]
                    + rotation[1, x] * tables.forces[3 * i + 1, k]
                    + rotation[2, x] * tables.forces[3 * i + 2, k]
                )
