# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations that satisfy the loops exactly, at closed positions."""

from masticator_dynamics.engine.inverse import regularity
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.pose import along, measure_upstream, point_in_base
from masticator_dynamics.engine.seen import IN_BASE, seen_drift
from masticator_dynamics.engine.status import SINGULAR

SMALLEST_REGULARITY = 1e-6  # below it a result keeps fewer than about ten digits


@kernel
def linearise(model):
    """Tangent of the constraint manifold: joint velocities per independent velocity.

    The blocks' own Jacobians and inverses are there from closing the loops; the rest of the
    Jacobian is filled here. Accelerations and forces use them again.

    Returns
    -------
    status, block, amount
        ``SINGULAR`` with the regularity when a block has no unique velocity.
    largest : float
        Largest gap, m.
    """
    for k in range(len(model.independent)):
        for j in range(len(model.joints)):
            model.tangent[j, k] = 0.0
        model.tangent[model.independent[k], k] = 1.0
    largest = 0.0
    for b in range(len(model.blocks)):
        block = model.blocks[b]
        if block.first_row == block.last_row:
            continue
        for c in range(block.first_constraint, block.last_constraint):
            measure_upstream(model, model.constraints[c])
        for r in range(block.first_row, block.last_row):
            largest = max(largest, abs(model.gap[r]))
        regular = regularity(model, block)
        if not regular >= SMALLEST_REGULARITY:
            return SINGULAR, b, regular, largest
        project_block(model, block)
    return 0, -1, 0.0, largest


@kernel
def project_block(model, block):
    """Rows of the tangent for the joints of a block, from those of earlier blocks."""
    first, last, freedoms = block.first_row, block.last_row, len(model.independent)
    for r in range(first, last):
        for k in range(freedoms):
            model.projected[r, k] = 0.0
    for c in range(block.first_constraint, block.last_constraint):
        constraint = model.constraints[c]
        for e in range(constraint.last_unknown, constraint.last_entry):
            j = model.entries[e].joint
            for r in range(constraint.first_row, constraint.first_row + constraint.size):
                rate = model.jacobian[r, j]
                for k in range(freedoms):
                    model.projected[r, k] += rate * model.tangent[j, k]
    for i in range(first, last):
        j = model.dependent[i]
        for k in range(freedoms):
            value = 0.0
            for r in range(first, last):
                value -= model.inverse[i, r - first] * model.projected[r, k]
            model.tangent[j, k] = value


@kernel
def add_upstream(model, block, values):
    """Add to ``model.gap`` what joints of earlier blocks, moving by ``values``, contribute."""
    for c in range(block.first_constraint, block.last_constraint):
        constraint = model.constraints[c]
        for e in range(constraint.last_unknown, constraint.last_entry):
            entry = model.entries[e]
            value = values[entry.joint]
            for r in range(constraint.first_row, constraint.first_row + constraint.size):
                model.gap[r] += model.jacobian[r, entry.joint] * value


@kernel
def solve_block(model, block, values):
    """Set the block's joints in ``values`` so that they cancel ``model.gap``."""
    first, last = block.first_row, block.last_row
    for k in range(first, last):
        value = 0.0
        for r in range(first, last):
            value -= model.inverse[k, r - first] * model.gap[r]
        values[model.dependent[k]] = value


@kernel
def tree_rates(model, y_dot, v):
    """Tree velocities from independent velocities."""
    for j in range(len(v)):
        value = 0.0
        for k in range(len(y_dot)):
            value += model.tangent[j, k] * y_dot[k]
        v[j] = value


@kernel
def accelerate_bodies(model, v, a):
    """Angular velocity and accelerations of all bodies, gravity included as an upward base."""
    for i in range(len(model.joints)):
        joint, body = model.joints[i], model.bodies[i]
        parent = model.bodies[joint.parent]
        wx, wy, wz = parent.angular_velocity
        dx, dy, dz = parent.angular_acceleration
        ax, ay, az = body.rotation[0, 2], body.rotation[1, 2], body.rotation[2, 2]
        rx = body.position[0] - parent.position[0]
        ry = body.position[1] - parent.position[1]
        rz = body.position[2] - parent.position[2]
        ux, uy, uz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        body.acceleration[0] = parent.acceleration[0] + dy * rz - dz * ry + wy * uz - wz * uy
        body.acceleration[1] = parent.acceleration[1] + dz * rx - dx * rz + wz * ux - wx * uz
        body.acceleration[2] = parent.acceleration[2] + dx * ry - dy * rx + wx * uy - wy * ux
        cx, cy, cz = wy * az - wz * ay, wz * ax - wx * az, wx * ay - wy * ax
        if joint.prismatic:
            coriolis = 2.0 * v[i]
            body.acceleration[0] += coriolis * cx + a[i] * ax
            body.acceleration[1] += coriolis * cy + a[i] * ay
            body.acceleration[2] += coriolis * cz + a[i] * az
            turn, turn_rate = 0.0, 0.0
        else:
            turn, turn_rate = v[i], a[i]
        body.angular_velocity[0] = wx + turn * ax
        body.angular_velocity[1] = wy + turn * ay
        body.angular_velocity[2] = wz + turn * az
        body.angular_acceleration[0] = dx + turn * cx + turn_rate * ax
        body.angular_acceleration[1] = dy + turn * cy + turn_rate * ay
        body.angular_acceleration[2] = dz + turn * cz + turn_rate * az


@kernel
def point_acceleration(body, point):
    """Acceleration in base axes of a point given in the body's frame, as three numbers."""
    wx, wy, wz = body.angular_velocity
    dx, dy, dz = body.angular_acceleration
    x, y, z = point_in_base(body, point)
    rx, ry, rz = x - body.position[0], y - body.position[1], z - body.position[2]
    ux, uy, uz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
    return (
        body.acceleration[0] + dy * rz - dz * ry + wy * uz - wz * uy,
        body.acceleration[1] + dz * rx - dx * rz + wz * ux - wx * uz,
        body.acceleration[2] + dx * ry - dy * rx + wx * uy - wy * ux,
    )


@kernel
def tree_accelerations(model, v, y_ddot, a):
    """Tree accelerations: tangent times ``y_ddot`` plus what the curvature of the loops demands.

    The curvature term follows block by block from the accelerations that the constraint points
    would have if every joint kept its velocity.
    """
    a[:] = 0.0
    accelerate_bodies(model, v, a)
    for b in range(len(model.blocks)):
        block = model.blocks[b]
        if block.first_row == block.last_row:
            continue
        for c in range(block.first_constraint, block.last_constraint):
            drift(model, model.constraints[c], v)
        add_upstream(model, block, a)
        solve_block(model, block, a)
    for j in range(len(a)):
        for k in range(len(y_ddot)):
            a[j] += model.tangent[j, k] * y_ddot[k]


@kernel
def drift(model, constraint, v):
    """Second time derivative of a constraint for constant joint velocities, in ``model.gap``."""
    if constraint.kind != IN_BASE:
        ax, ay, az = point_in_base(model.bodies[constraint.body_a], constraint.point_a)
        bx, by, bz = point_in_base(model.bodies[constraint.body_b], constraint.point_b)
        seen_drift(model, constraint, v, ax, ay, az, bx, by, bz)
        return
    ax, ay, az = point_acceleration(model.bodies[constraint.body_a], constraint.point_a)
    bx, by, bz = point_acceleration(model.bodies[constraint.body_b], constraint.point_b)
    for r in range(constraint.size):
        model.gap[constraint.first_row + r] = along(constraint.rows, r, bx - ax, by - ay, bz - az)
