# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of what nodes need with every joint state, on the flat arrays they read.

All in one file: numba notices edits only in the file of a function that it has cached.
"""

import math

import numpy as np

from masticator_dynamics.engine.jit import entry_point, kernel
from masticator_dynamics.engine.status import WEAK_ACTUATION

LINK = np.dtype(
    [  # a body of the tree, its joint included; parents come before children
        ('parent', 'i8'),  # -1: base
        ('prismatic', 'i8'),
        ('rotation', 'f8', (3, 3)),  # joint frame at zero to parent frame
        ('position', 'f8', 3),  # its origin in the parent frame, m
        ('counts', 'i8'),  # as one of the constants below
        ('actuator', 'i8'),  # of a driven link
        ('mass', 'f8'),  # kg
        ('center', 'f8', 3),  # centre of mass in the body frame, m
        ('root', 'f8', (3, 3)),  # F with F^T F the inertia about the centre of mass
    ]
)
# Massless; moves with all actuators; first link of a limb, which moves with its own only.
NOT, WITH_ALL, WITH_ITS_ACTUATOR = 0, 1, 2
ROD = np.dtype(
    [  # of the actuator of the same index
        ('foot', 'i8'),  # body whose origin is the foot
        ('rod', 'i8'),
        ('seat', 'i8'),  # body that the tip is fixed to, -1: base
        ('driving', 'i8'),  # the actuated joint
        ('tip', 'f8', 3),  # in the frame of the rod, m
        ('center', 'f8', 3),
        ('mass', 'f8'),
        ('transverse', 'f8'),  # inertia about the centre of mass across the rod, kg m^2
    ]
)

_ON_THE_LINE = 1e-6  # of a rod's length


@entry_point
def actuated_inertia(links, rods, actuated, motors, usual, scratch, q, tangent, inertia):
    """Inertia matrices (N, u, u) of positions (N, n) and tangents (N, n, k).

    NaN where the actuators lose control.

    Parameters
    ----------
    links, rods : arrays of LINK (n,) and ROD (u,), or no rods
    actuated : array of int, shape (u,)
    motors : array, shape (2, u)
        Transmission ratios, and inertia of the rotors.
    usual : array, shape (k,)
        Norms of the columns of the actuated Jacobian at home.
    scratch : array
        As many rows and columns as :func:`scratch_shape` says.

    Returns
    -------
    int
        -1, or the rod whose centre of mass is off its line.
    """
    n, u, k = len(links), len(actuated), tangent.shape[2]
    poses, twists, rates = scratch[:n], scratch[n : 2 * n], scratch[2 * n : 3 * n]
    basis, triangle = scratch[3 * n : 3 * n + u], scratch[3 * n + u : 3 * n + u + k]
    inverse = scratch[3 * n + u + k : 3 * n + u + 2 * k]
    part = scratch[3 * n + u + 2 * k : 3 * n + u + 2 * k + 3]
    for row in range(len(q)):
        if not _invert(tangent[row], actuated, usual, basis, triangle, inverse, k):
            inertia[row] = math.nan
            continue
        for j in range(n):
            for a in range(u):
                rates[j, a] = 0.0
                for c in range(k):
                    rates[j, a] += tangent[row, j, c] * inverse[c, a]
        for a in range(u):
            for b in range(u):
                inertia[row, a, b] = 0.0
        for j in range(n):
            _place(links, poses, j, q[row, j])
            _twist(links, poses, twists, rates, j, u)
            link = links[j]
            if link.counts == WITH_ALL:
                _add_link(link, poses[j], twists[j], part, inertia[row], u)
            elif link.counts == WITH_ITS_ACTUATOR:
                _add_driven_link(link, poses[j], inertia[row])
        for a in range(len(rods)):
            if not _add_rod(rods[a], a, poses, twists, part, inertia[row], u):
                return a
        for a in range(u):
            for b in range(a + 1):
                value = inertia[row, b, a] / (motors[0, a] * motors[0, b])
                inertia[row, a, b] = inertia[row, b, a] = value
            inertia[row, a, a] += motors[1, a]
    return -1


def scratch_shape(joints: int, actuated: int, independent: int) -> tuple[int, int]:
    """Rows and columns of scratch memory for :func:`actuated_inertia`.

    Parameters
    ----------
    joints, actuated, independent : int
        How many there are.
    """
    return 3 * joints + actuated + 2 * independent + 3, max(18, 6 * actuated)


@kernel
def _orthonormalise(basis, triangle, usual, count, columns):
    """Factor a matrix into orthonormal columns and a triangle; False if rank-deficient."""
    for c in range(columns):
        for d in range(c):
            triangle[d, c] = 0.0
        for _ in range(2):  # twice is enough
            for d in range(c):
                shared = 0.0
                for r in range(count):
                    shared += basis[r, d] * basis[r, c]
                triangle[d, c] += shared
                for r in range(count):
                    basis[r, c] -= shared * basis[r, d]
        after = 0.0
        for r in range(count):
            after += basis[r, c] * basis[r, c]
        length = math.sqrt(after)
        if not length > WEAK_ACTUATION * usual[c]:
            return False
        triangle[c, c] = length
        for r in range(count):
            basis[r, c] /= length
    return True


@kernel
def _invert(tangent, actuated, usual, basis, triangle, inverse, columns):
    """Pseudo-inverse (k, u) of the actuated rows of a tangent; False when they lose control."""
    count = len(actuated)
    for a in range(count):
        for c in range(columns):
            basis[a, c] = tangent[actuated[a], c]
    if not _orthonormalise(basis, triangle, usual, count, columns):
        return False
    for c in range(columns - 1, -1, -1):
        for a in range(count):
            value = basis[a, c]
            for d in range(c + 1, columns):
                value -= triangle[c, d] * inverse[d, a]
            inverse[c, a] = value / triangle[c, c]
    return True


@kernel
def _place(links, poses, j, position):
    """Pose of a body from its parent's: nine numbers of the rotation, three of the origin.

    Then the six of its joint's screw: linear velocity, of the body's point at the base's origin,
    and angular velocity, per velocity of the joint.
    """
    link, pose = links[j], poses[j]
    c, s, slide = math.cos(position), math.sin(position), 0.0
    if link.prismatic:
        c, s, slide = 1.0, 0.0, position
    for r in range(3):
        if link.parent < 0:
            x, y, z = link.rotation[r, 0], link.rotation[r, 1], link.rotation[r, 2]
            origin = link.position[r]
        else:
            parent = poses[link.parent]
            x, y, z, origin = 0.0, 0.0, 0.0, parent[9 + r]
            for i in range(3):
                turned = parent[3 * r + i]
                x += turned * link.rotation[i, 0]
                y += turned * link.rotation[i, 1]
                z += turned * link.rotation[i, 2]
                origin += turned * link.position[i]
        pose[3 * r] = c * x + s * y
        pose[3 * r + 1] = c * y - s * x
        pose[3 * r + 2] = z
        pose[9 + r] = origin + slide * z
    ax, ay, az, ox, oy, oz = pose[2], pose[5], pose[8], pose[9], pose[10], pose[11]
    if link.prismatic:
        pose[12], pose[13], pose[14] = ax, ay, az
        pose[15] = pose[16] = pose[17] = 0.0
    else:
        pose[12], pose[13], pose[14] = oy * az - oz * ay, oz * ax - ox * az, ox * ay - oy * ax
        pose[15], pose[16], pose[17] = ax, ay, az


@kernel
def _twist(links, poses, twists, rates, j, count):
    """Twist of a body, six rows one after the other, per velocity of each actuator."""
    parent = links[j].parent
    for i in range(6):
        for a in range(count):
            before = twists[parent, i * count + a] if parent >= 0 else 0.0
            twists[j, i * count + a] = before + poses[j, 12 + i] * rates[j, a]


@kernel
def _point_of(pose, point):
    """A point of a body in base axes, as three numbers."""
    x, y, z = point[0], point[1], point[2]
    return (
        pose[9] + pose[0] * x + pose[1] * y + pose[2] * z,
        pose[10] + pose[3] * x + pose[4] * y + pose[5] * z,
        pose[11] + pose[6] * x + pose[7] * y + pose[8] * z,
    )


@kernel
def _velocity(vx, vy, vz, wx, wy, wz, x, y, z):
    """Velocity of the point x, y, z of a body with a twist."""
    return vx + wy * z - wz * y, vy + wz * x - wx * z, vz + wx * y - wy * x


@kernel
def _of_twist(twist, a, count, x, y, z):
    """Velocity of a point per velocity of an actuator."""
    return _velocity(
        twist[a],
        twist[count + a],
        twist[2 * count + a],
        twist[3 * count + a],
        twist[4 * count + a],
        twist[5 * count + a],
        x,
        y,
        z,
    )


@kernel
def _add_squares(part, weight, inertia, count):
    """Add the weighted products of columns of three rows; the upper triangle only."""
    for a in range(count):
        for b in range(a, count):
            inertia[a, b] += weight * (
                part[0, a] * part[0, b] + part[1, a] * part[1, b] + part[2, a] * part[2, b]
            )


@kernel
def _root_of_spin(link, pose, r, wx, wy, wz):
    """Row of F R^T w: its square is twice the energy of a spin."""
    total = 0.0
    for i in range(3):
        total += link.root[r, i] * (pose[i] * wx + pose[3 + i] * wy + pose[6 + i] * wz)
    return total


@kernel
def _add_link(link, pose, twist, part, inertia, count):
    """Add the inertia of a body that moves with all actuators."""
    x, y, z = _point_of(pose, link.center)
    for a in range(count):
        part[0, a], part[1, a], part[2, a] = _of_twist(twist, a, count, x, y, z)
    _add_squares(part, link.mass, inertia, count)
    for a in range(count):
        wx, wy, wz = twist[3 * count + a], twist[4 * count + a], twist[5 * count + a]
        for r in range(3):
            part[r, a] = _root_of_spin(link, pose, r, wx, wy, wz)
    _add_squares(part, 1.0, inertia, count)


@kernel
def _add_driven_link(link, pose, inertia):
    """Add the inertia of a link that moves with its own actuator only."""
    x, y, z = _point_of(pose, link.center)
    wx, wy, wz = pose[15], pose[16], pose[17]
    vx, vy, vz = _velocity(pose[12], pose[13], pose[14], wx, wy, wz, x, y, z)
    total = link.mass * (vx * vx + vy * vy + vz * vz)
    for r in range(3):
        spin = _root_of_spin(link, pose, r, wx, wy, wz)
        total += spin * spin
    inertia[link.actuator, link.actuator] += total


@kernel
def _add_rod(rod, actuator, poses, twists, part, inertia, count):
    """Add the inertia of a rod that follows its ends; False if its mass is off the line.

    Foot and tip with the velocities V_f and V_t: m/2 |(1 - s) V_f + s V_t|^2 and
    I/(2 L^2) |V_t - V_f|^2, the centre being at the part s of the length L.
    """
    foot, driving = poses[rod.foot], poses[rod.driving]
    fx, fy, fz = foot[9], foot[10], foot[11]
    tx, ty, tz = _point_of(poses[rod.rod], rod.tip)
    cx, cy, cz = _point_of(poses[rod.rod], rod.center)
    dx, dy, dz, cx, cy, cz = tx - fx, ty - fy, tz - fz, cx - fx, cy - fy, cz - fz
    square = dx * dx + dy * dy + dz * dz
    share = (cx * dx + cy * dy + cz * dz) / square
    bx, by, bz = cx - share * dx, cy - share * dy, cz - share * dz
    if bx * bx + by * by + bz * bz > _ON_THE_LINE * _ON_THE_LINE * square:
        return False
    gx, gy, gz = _velocity(
        driving[12], driving[13], driving[14], driving[15], driving[16], driving[17], fx, fy, fz
    )
    for a in range(count):  # how the rod would stretch
        x, y, z = 0.0, 0.0, 0.0
        if rod.seat >= 0:
            x, y, z = _of_twist(twists[rod.seat], a, count, tx, ty, tz)
        if a == actuator:
            x, y, z = x - gx, y - gy, z - gz
        part[0, a], part[1, a], part[2, a] = x, y, z
    _add_squares(part, rod.transverse / square, inertia, count)
    for a in range(count):
        part[0, a], part[1, a], part[2, a] = (
            share * part[0, a],
            share * part[1, a],
            share * part[2, a],
        )
    part[0, actuator] += gx
    part[1, actuator] += gy
    part[2, actuator] += gz
    _add_squares(part, rod.mass, inertia, count)
    return True
