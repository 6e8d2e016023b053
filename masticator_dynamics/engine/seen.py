# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of constraints on what body a sees of body b, and of couplings of joints.

The equations are those of :mod:`masticator_dynamics.engine.constraint`. Each row leaves in
``model.wrenches`` the force and torque that a unit multiplier exerts on body b, base axes, torque
about its point; the opposite acts on body a on the same line. Rates and forces follow from it.
"""

import math

from masticator_dynamics.engine.jit import kernel

IN_BASE, CARRIED, TURN, DISTANCE, SURFACE, COUPLING = 0, 1, 2, 3, 4, 5  # kinds of records


@kernel
def measure_seen(model, constraint, q, ax, ay, az, bx, by, bz):
    """Gaps and unit wrenches of a constraint between points given in the base."""
    if constraint.kind == COUPLING:
        measure_coupling(model, constraint, q)
        return
    turn = model.bodies[constraint.body_a].rotation
    dx, dy, dz = bx - ax, by - ay, bz - az
    if constraint.kind == DISTANCE:
        length = constraint.length
        excess = (dx * dx + dy * dy + dz * dz) / length - length
        model.gap[constraint.first_row] = 0.5 * excess
        set_wrench(model, constraint.first_row, dx / length, dy / length, dz / length, 0, 0, 0)
        return
    if constraint.kind == SURFACE:
        measure_surface(model, constraint, dx, dy, dz)
        return
    other = model.bodies[constraint.body_b].rotation
    for r in range(constraint.size):
        row = constraint.first_row + r
        ux, uy, uz = turned(turn, constraint.rows, r)
        if constraint.kind == CARRIED:
            model.gap[row] = constraint.offset[r] + ux * dx + uy * dy + uz * dz
            set_wrench(model, row, ux, uy, uz, 0.0, 0.0, 0.0)
        else:
            wx, wy, wz = turned(other, constraint.partners, r)
            model.gap[row] = constraint.offset[r] + ux * wx + uy * wy + uz * wz
            tx, ty, tz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
            set_wrench(model, row, 0.0, 0.0, 0.0, tx, ty, tz)


@kernel
def measure_surface(model, constraint, dx, dy, dz):
    """Height of a point above a surface; its slopes make the wrench, its curvatures are kept."""
    turn, row = model.bodies[constraint.body_a].rotation, constraint.first_row
    ux, uy, uz = turned(turn, constraint.partners, 0)
    vx, vy, vz = turned(turn, constraint.partners, 1)
    wx, wy, wz = turned(turn, constraint.partners, 2)
    x, y = ux * dx + uy * dy + uz * dz, vx * dx + vy * dy + vz * dz
    height, hx, hy, hxx, hxy, hyy = height_at(model.numbers, constraint.first_number, x, y)
    model.gap[row] = wx * dx + wy * dy + wz * dz - height
    fx, fy, fz = wx - hx * ux - hy * vx, wy - hx * uy - hy * vy, wz - hx * uz - hy * vz
    set_wrench(model, row, fx, fy, fz, 0.0, 0.0, 0.0)
    model.curvature[row, 0], model.curvature[row, 1], model.curvature[row, 2] = hxx, hxy, hyy


def surface_height(numbers, start, x, y):
    """Height of a surface, its slopes and curvatures: h, h_x, h_y, h_xx, h_xy, h_yy.

    ``numbers`` from ``start`` on: cells and coefficients along x and y, the lower ends of the
    cells, the two outermost ends, and the coefficients of each cell, powers of y the fastest, in
    coordinates from its lower ends (from 0 where there is no end). NaN outside.
    """
    cells_x, cells_y = int(numbers[start]), int(numbers[start + 1])
    order_x, order_y = int(numbers[start + 2]), int(numbers[start + 3])
    ends_x = start + 4
    ends_y = ends_x + cells_x + 1
    i, j = 0, 0
    while i + 1 < cells_x and x >= numbers[ends_x + i + 1]:
        i += 1
    while j + 1 < cells_y and y >= numbers[ends_y + j + 1]:
        j += 1
    if not (numbers[ends_x] <= x <= numbers[ends_x + cells_x]):
        x = math.nan
    if not (numbers[ends_y] <= y <= numbers[ends_y + cells_y]):
        y = math.nan
    at = ends_y + cells_y + 1 + (i * cells_y + j) * order_x * order_y
    x -= max(numbers[ends_x + i], 0.0) if math.isinf(numbers[ends_x]) else numbers[ends_x + i]
    y -= max(numbers[ends_y + j], 0.0) if math.isinf(numbers[ends_y]) else numbers[ends_y + j]
    h, hx, hy, hxx, hxy, hyy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(order_x - 1, -1, -1):
        value, slope, bend = 0.0, 0.0, 0.0
        for m in range(order_y - 1, -1, -1):
            bend = bend * y + 2.0 * slope
            slope = slope * y + value
            value = value * y + numbers[at + k * order_y + m]
        hxx, hxy, hyy = hxx * x + 2.0 * hx, hxy * x + hy, hyy * x + bend
        hx, hy = hx * x + h, hy * x + slope
        h = h * x + value
    return h, hx, hy, hxx, hxy, hyy


height_at = kernel(surface_height)


@kernel
def measure_coupling(model, constraint, q):
    """Gap of a coupling; its rates of all joints at once, and their rates in turn.

    The numbers of each joint: how many coefficients, then these, from the constant on.
    """
    row, gap = constraint.first_row, constraint.offset[0]
    for e in range(constraint.first_entry, constraint.last_entry):
        j = model.entries[e].joint
        at = model.entries[e].first_number
        value, slope, bend = 0.0, 0.0, 0.0
        for k in range(int(model.numbers[at]), 0, -1):
            bend = bend * q[j] + 2.0 * slope
            slope = slope * q[j] + value
            value = value * q[j] + model.numbers[at + k]
        gap += value
        model.jacobian[row, j] = slope
        model.curvature[row, j] = bend
    model.gap[row] = gap
    set_wrench(model, row, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def seen_rates(model, constraint, first_entry, last_entry, x, y, z):
    """Entries of the Jacobian from the wrenches; (x, y, z) is point b in the base."""
    if constraint.kind == COUPLING:
        return  # measured with the gap
    for e in range(first_entry, last_entry):
        entry = model.entries[e]
        joint_axis = model.bodies[entry.joint].rotation
        wx, wy, wz = joint_axis[0, 2], joint_axis[1, 2], joint_axis[2, 2]
        prismatic = model.joints[entry.joint].prismatic
        origin = model.bodies[entry.joint].position
        rx, ry, rz = x - origin[0], y - origin[1], z - origin[2]
        vx, vy, vz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        if prismatic:
            vx, vy, vz = wx, wy, wz
            wx, wy, wz = 0.0, 0.0, 0.0
        for row in range(constraint.first_row, constraint.first_row + constraint.size):
            unit = model.wrenches[row]
            power = unit[0] * vx + unit[1] * vy + unit[2] * vz
            power += unit[3] * wx + unit[4] * wy + unit[5] * wz
            model.jacobian[row, entry.joint] = entry.sign * power


@kernel
def seen_drift(model, constraint, v, ax, ay, az, bx, by, bz):
    """Second time derivatives of the gaps for constant joint velocities, into ``model.gap``.

    (ax, ay, az) and (bx, by, bz) are the points in the base.
    """
    if constraint.kind == COUPLING:
        row, gap = constraint.first_row, 0.0
        for e in range(constraint.first_entry, constraint.last_entry):
            j = model.entries[e].joint
            gap += model.curvature[row, j] * v[j] ** 2
        model.gap[row] = gap
        return
    if constraint.kind == TURN:
        turn_drift(model, constraint)
        return
    vx, vy, vz = relative_velocity(model, constraint, v, bx, by, bz)
    cx, cy, cz = relative_acceleration(model, constraint, vx, vy, vz, bx, by, bz)
    for r in range(constraint.size):
        unit = model.wrenches[constraint.first_row + r]
        model.gap[constraint.first_row + r] = unit[0] * cx + unit[1] * cy + unit[2] * cz
    row = constraint.first_row
    if constraint.kind == DISTANCE:
        model.gap[row] += (vx * vx + vy * vy + vz * vz) / constraint.length
    if constraint.kind == SURFACE:
        turn = model.bodies[constraint.body_a].rotation
        ux, uy, uz = turned(turn, constraint.partners, 0)
        wx, wy, wz = turned(turn, constraint.partners, 1)
        along_x, along_y = ux * vx + uy * vy + uz * vz, wx * vx + wy * vy + wz * vz
        hxx, hxy, hyy = model.curvature[row, 0], model.curvature[row, 1], model.curvature[row, 2]
        model.gap[row] -= along_x * (hxx * along_x + 2.0 * hxy * along_y) + hyy * along_y**2


@kernel
def relative_velocity(model, constraint, v, x, y, z):
    """Velocity of point b as body a sees it, base axes, as three numbers."""
    vx, vy, vz = 0.0, 0.0, 0.0
    for e in range(constraint.first_entry, constraint.last_entry):
        entry = model.entries[e]
        joint_axis = model.bodies[entry.joint].rotation
        wx, wy, wz = joint_axis[0, 2], joint_axis[1, 2], joint_axis[2, 2]
        rate = entry.sign * v[entry.joint]
        if model.joints[entry.joint].prismatic:
            vx, vy, vz = vx + rate * wx, vy + rate * wy, vz + rate * wz
            continue
        origin = model.bodies[entry.joint].position
        rx, ry, rz = x - origin[0], y - origin[1], z - origin[2]
        vx += rate * (wy * rz - wz * ry)
        vy += rate * (wz * rx - wx * rz)
        vz += rate * (wx * ry - wy * rx)
    return vx, vy, vz


@kernel
def relative_acceleration(model, constraint, vx, vy, vz, x, y, z):
    """Acceleration of point b as body a sees it, for its velocity as a sees it, base axes."""
    a, b = model.bodies[constraint.body_a], model.bodies[constraint.body_b]
    px, py, pz = carried_acceleration(a, x, y, z)
    cx, cy, cz = carried_acceleration(b, x, y, z)
    wx, wy, wz = a.angular_velocity
    return (
        cx - px - 2.0 * (wy * vz - wz * vy),
        cy - py - 2.0 * (wz * vx - wx * vz),
        cz - pz - 2.0 * (wx * vy - wy * vx),
    )


@kernel
def carried_acceleration(body, x, y, z):
    """Acceleration of the point of a body that is at (x, y, z) in the base now."""
    wx, wy, wz = body.angular_velocity
    dx, dy, dz = body.angular_acceleration
    rx, ry, rz = x - body.position[0], y - body.position[1], z - body.position[2]
    ux, uy, uz = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
    return (
        body.acceleration[0] + dy * rz - dz * ry + wy * uz - wz * uy,
        body.acceleration[1] + dz * rx - dx * rz + wz * ux - wx * uz,
        body.acceleration[2] + dx * ry - dy * rx + wx * uy - wy * ux,
    )


@kernel
def turn_drift(model, constraint):
    """The same for directions: body a sees those of body b turn."""
    a, b = model.bodies[constraint.body_a], model.bodies[constraint.body_b]
    ox, oy, oz = a.angular_velocity
    wx, wy, wz = b.angular_velocity
    wx, wy, wz = wx - ox, wy - oy, wz - oz
    dx = b.angular_acceleration[0] - a.angular_acceleration[0] - (oy * wz - oz * wy)
    dy = b.angular_acceleration[1] - a.angular_acceleration[1] - (oz * wx - ox * wz)
    dz = b.angular_acceleration[2] - a.angular_acceleration[2] - (ox * wy - oy * wx)
    for r in range(constraint.size):
        ux, uy, uz = turned(a.rotation, constraint.rows, r)
        px, py, pz = turned(b.rotation, constraint.partners, r)
        vx, vy, vz = wy * pz - wz * py, wz * px - wx * pz, wx * py - wy * px
        cx = dy * pz - dz * py + wy * vz - wz * vy
        cy = dz * px - dx * pz + wz * vx - wx * vz
        cz = dx * py - dy * px + wx * vy - wy * vx
        model.gap[constraint.first_row + r] = ux * cx + uy * cy + uz * cz


@kernel
def turned(rotation, rows, r):
    """Row ``r`` of directions fixed to a body, in the base, as three numbers."""
    x, y, z = rows[r, 0], rows[r, 1], rows[r, 2]
    return (
        rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
        rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
        rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
    )


@kernel
def set_wrench(model, row, fx, fy, fz, tx, ty, tz):
    """Keep force and torque of a unit multiplier."""
    unit = model.wrenches[row]
    unit[0], unit[1], unit[2] = fx, fy, fz
    unit[3], unit[4], unit[5] = tx, ty, tz
