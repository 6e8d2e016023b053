# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of bodies, and how constraints see them.

The base is the last record of ``bodies``, so that a parent index of -1 needs no special case.
"""

import math

from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.seen import IN_BASE, measure_seen, seen_rates


@kernel
def place_bodies(model, q, first, last):
    """Rotation and position of bodies ``first`` to ``last - 1`` from their parents and ``q``."""
    for i in range(first, last):
        joint, body = model.joints[i], model.bodies[i]
        parent = model.bodies[joint.parent]
        if joint.prismatic:
            c, s, slide = 1.0, 0.0, q[i]
        else:
            c, s, slide = math.cos(q[i]), math.sin(q[i]), 0.0
        for r in range(3):
            p0, p1, p2 = parent.rotation[r, 0], parent.rotation[r, 1], parent.rotation[r, 2]
            x = p0 * joint.rotation[0, 0] + p1 * joint.rotation[1, 0] + p2 * joint.rotation[2, 0]
            y = p0 * joint.rotation[0, 1] + p1 * joint.rotation[1, 1] + p2 * joint.rotation[2, 1]
            z = p0 * joint.rotation[0, 2] + p1 * joint.rotation[1, 2] + p2 * joint.rotation[2, 2]
            offset = p0 * joint.position[0] + p1 * joint.position[1] + p2 * joint.position[2]
            body.rotation[r, 0] = c * x + s * y
            body.rotation[r, 1] = c * y - s * x
            body.rotation[r, 2] = z
            body.position[r] = parent.position[r] + offset + slide * z


@kernel
def point_in_base(body, point):
    """Position in the base of a point given in the body's frame, as three numbers."""
    rotation, x, y, z = body.rotation, point[0], point[1], point[2]
    return (
        body.position[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        body.position[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        body.position[2] + rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@kernel
def along(rows, r, x, y, z):
    """Component of a vector along row ``r`` of a constraint."""
    return rows[r, 0] * x + rows[r, 1] * y + rows[r, 2] * z


@kernel
def measure(model, constraint, q):
    """Gaps of a constraint at the present poses, and its Jacobian for the block's own joints."""
    ax, ay, az = point_in_base(model.bodies[constraint.body_a], constraint.point_a)
    bx, by, bz = point_in_base(model.bodies[constraint.body_b], constraint.point_b)
    if constraint.kind != IN_BASE:
        measure_seen(model, constraint, q, ax, ay, az, bx, by, bz)
        own = constraint.last_unknown
        seen_rates(model, constraint, constraint.first_entry, own, bx, by, bz)
        return
    first = constraint.first_row
    if constraint.whole:
        model.gap[first] = constraint.offset[0] + bx - ax
        model.gap[first + 1] = constraint.offset[1] + by - ay
        model.gap[first + 2] = constraint.offset[2] + bz - az
    else:
        for r in range(constraint.size):
            model.gap[first + r] = constraint.offset[r] + along(
                constraint.rows, r, bx - ax, by - ay, bz - az
            )
    rates(
        model, constraint, constraint.first_entry, constraint.last_unknown, ax, ay, az, bx, by, bz
    )


@kernel
def measure_upstream(model, constraint):
    """Jacobian of a constraint for the joints of earlier blocks."""
    ax, ay, az = point_in_base(model.bodies[constraint.body_a], constraint.point_a)
    bx, by, bz = point_in_base(model.bodies[constraint.body_b], constraint.point_b)
    if constraint.kind != IN_BASE:
        seen_rates(model, constraint, constraint.last_unknown, constraint.last_entry, bx, by, bz)
        return
    rates(model, constraint, constraint.last_unknown, constraint.last_entry, ax, ay, az, bx, by, bz)


@kernel
def rates(model, constraint, first_entry, last_entry, ax, ay, az, bx, by, bz):
    """Entries of the Jacobian of a constraint between two points given in the base."""
    first = constraint.first_row
    for e in range(first_entry, last_entry):
        entry = model.entries[e]
        x, y, z = (bx, by, bz) if entry.sign > 0.0 else (ax, ay, az)
        joint_axis = model.bodies[entry.joint].rotation
        dx, dy, dz = joint_axis[0, 2], joint_axis[1, 2], joint_axis[2, 2]
        if not model.joints[entry.joint].prismatic:
            origin = model.bodies[entry.joint].position
            x, y, z = x - origin[0], y - origin[1], z - origin[2]
            dx, dy, dz = dy * z - dz * y, dz * x - dx * z, dx * y - dy * x
        if constraint.whole:
            model.jacobian[first, entry.joint] = entry.sign * dx
            model.jacobian[first + 1, entry.joint] = entry.sign * dy
            model.jacobian[first + 2, entry.joint] = entry.sign * dz
            continue
        for r in range(constraint.size):
            model.jacobian[first + r, entry.joint] = entry.sign * along(
                constraint.rows, r, dx, dy, dz
            )
