# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled equations of motion of a tree of elementary motions with closed loops.

Every body is a set of generalised points X_a (origin, axes, bent axes; all vectors in the base)
with a matrix G of mass integrals: kinetic energy is ``sum G_ab dX_a/dt . dX_b/dt / 2``, so that
``M = sum G_ab J_a^T J_b`` and the velocity-dependent forces are ``sum G_ab J_a^T (dJ_b/dt v)``. All
kernels are in this file, because numba's cache does not track changes in others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.jit import cache_directory, kept_in

Function = TypeVar('Function', bound=Callable[..., Any])
STEPS = 15  # of Newton's method; from a nearby pose three or four are needed
SOLVED, OPEN, SINGULAR = 0, 1, 2


class Arrays(NamedTuple):
    """A model as arrays; n coordinates, N nodes, B bodies, P points, R constraint rows."""

    parent: IntArray  # (N,)
    position: FloatArray  # (N, 3)
    rotation: FloatArray  # (N, 3, 3)
    kind: IntArray  # (N,)
    axis: FloatArray  # (N, 3)
    first_term: IntArray  # (N + 1,)
    term_coordinate: IntArray
    term_factor: FloatArray
    term_column: IntArray  # index of the coordinate among those that move the node
    support_size: IntArray  # (N,)
    support: IntArray  # (N, S): coordinates that move the node, those of its parent first
    body_node: IntArray  # (B,)
    points: IntArray  # (B,)
    gram: FloatArray  # (B, P, P)
    point_coordinate: IntArray  # (B, P)
    point_column: IntArray  # (B, P)
    point_direction: FloatArray  # (B, P, 3)
    node_a: IntArray  # (R,)
    node_b: IntArray  # (R,)
    row: FloatArray  # (R, 3)
    offset: FloatArray  # (R,)
    dependent: IntArray
    free: IntArray
    gravity: FloatArray  # (3,)
    stiffness: FloatArray  # (n,)
    rotor: FloatArray  # (n,)


def compiled(function: Function) -> Function:
    """Compile, and store the machine code where the engine stores its own."""
    return kept_in(cache_directory(), function, error_model='numpy')


@compiled
def _cross(a, b, out):  # type: ignore[no-untyped-def]
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@compiled
def poses(m, q):  # type: ignore[no-untyped-def]
    """Origins, rotations, and Jacobians (N, S, 3), linear and angular, over the support."""
    count, width = m.support.shape
    origin, rotation = np.zeros((count, 3)), np.zeros((count, 3, 3))
    linear, angular = np.zeros((count, width, 3)), np.zeros((count, width, 3))
    arm, axis, turned = np.empty(3), np.empty(3), np.empty((3, 3))
    for i in range(3):
        rotation[0, i, i] = 1.0
    for k in range(1, count):
        p = m.parent[k]
        for i in range(3):
            arm[i] = 0.0
            for j in range(3):
                arm[i] += rotation[p, i, j] * m.position[k, j]
                turned[i, j] = 0.0
                for c in range(3):
                    turned[i, j] += rotation[p, i, c] * m.rotation[k, c, j]
        amount = 0.0
        for t in range(m.first_term[k], m.first_term[k + 1]):
            amount += m.term_factor[t] * q[m.term_coordinate[t]]
        for i in range(3):
            axis[i] = 0.0
            for j in range(3):
                axis[i] += turned[i, j] * m.axis[k, j]
        if m.kind[k] == 1:
            _turn(turned, m.axis[k], amount, rotation[k])
        else:
            rotation[k] = turned
            if m.kind[k] == 2:
                for i in range(3):
                    arm[i] += amount * axis[i]
        for i in range(3):
            origin[k, i] = origin[p, i] + arm[i]
        for c in range(m.support_size[p]):
            _cross(angular[p, c], arm, linear[k, c])
            for i in range(3):
                linear[k, c, i] += linear[p, c, i]
                angular[k, c, i] = angular[p, c, i]
        for t in range(m.first_term[k], m.first_term[k + 1]):
            c, factor = m.term_column[t], m.term_factor[t]
            for i in range(3):
                if m.kind[k] == 1:
                    angular[k, c, i] += factor * axis[i]
                else:
                    linear[k, c, i] += factor * axis[i]
    return origin, rotation, linear, angular


@compiled
def _turn(before, axis, angle, after):  # type: ignore[no-untyped-def]
    """Write ``before`` times a rotation about an axis (Rodrigues) to ``after``."""
    s, c = np.sin(angle), np.cos(angle)
    x, y, z = axis[0], axis[1], axis[2]
    d = 1.0 - c
    turn = (
        (c + x * x * d, x * y * d - z * s, x * z * d + y * s),
        (y * x * d + z * s, c + y * y * d, y * z * d - x * s),
        (z * x * d - y * s, z * y * d + x * s, c + z * z * d),
    )
    for i in range(3):
        for j in range(3):
            after[i, j] = (
                before[i, 0] * turn[0][j] + before[i, 1] * turn[1][j] + before[i, 2] * turn[2][j]
            )


@compiled
def bias(m, pose, v):  # type: ignore[no-untyped-def]
    """Angular velocities, and accelerations of nodes when coordinates do not accelerate.

    The base accelerates against gravity, so that the inertia forces include weight.

    Parameters
    ----------
    m : Arrays
        The model.
    pose : tuple of array
        Origins (N, 3), rotations (N, 3, 3) and Jacobians of the nodes in the base.
    v : (n,) array
        Velocities of the coordinates.
    """
    origin, rotation, _, _ = pose
    count = len(m.parent)
    rate, alpha, a = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    arm, axis, one, two = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    a[0] = -m.gravity
    for k in range(1, count):
        p = m.parent[k]
        speed = 0.0
        for t in range(m.first_term[k], m.first_term[k + 1]):
            speed += m.term_factor[t] * v[m.term_coordinate[t]]
        for i in range(3):
            arm[i] = origin[k, i] - origin[p, i]
            axis[i] = 0.0
            for j in range(3):
                axis[i] += rotation[k, i, j] * m.axis[k, j]  # a rotation leaves its axis unchanged
            axis[i] *= speed
        _cross(rate[p], arm, one)
        _cross(rate[p], one, two)
        _cross(alpha[p], arm, one)
        for i in range(3):
            a[k, i] = a[p, i] + one[i] + two[i]
            rate[k, i] = rate[p, i]
            alpha[k, i] = alpha[p, i]
        if m.kind[k] == 1:
            _cross(rate[p], axis, one)
            for i in range(3):
                rate[k, i] += axis[i]
                alpha[k, i] += one[i]
        elif m.kind[k] == 2:
            _cross(rate[p], axis, one)
            for i in range(3):
                a[k, i] += 2.0 * one[i]
    return rate, alpha, a


@compiled
def dynamics(m, pose, motion, q, v):  # type: ignore[no-untyped-def]
    """Mass matrix (n, n) and forces (n,) due to velocity and weight: ``M a + h = efforts``.

    Parameters
    ----------
    m : Arrays
        The model.
    pose : tuple of array
        Origins (N, 3), rotations (N, 3, 3) and Jacobians of the nodes in the base.
    motion : tuple of array
        What :func:`bias` returns.
    q, v : (n,) array
        Positions and velocities of the coordinates.
    """
    _, rotation, linear, angular = pose
    rate, alpha, acceleration = motion
    n, most, width = len(q), m.gram.shape[1], m.support.shape[1]
    mass, force = np.zeros((n, n)), np.zeros(n)
    jacobian, weighted = np.empty((most, width, 3)), np.empty((width, 3))
    point_bias, arm, bent = np.empty((most, 3)), np.empty(3), np.empty(3)
    one, two = np.empty(3), np.empty(3)
    for b in range(len(m.body_node)):
        k = m.body_node[b]
        size = m.support_size[k]
        for x in range(m.points[b]):
            if x == 0:
                jacobian[0, :size] = linear[k, :size]
                point_bias[0] = acceleration[k]
                continue
            coordinate = m.point_coordinate[b, x]
            amount = 1.0 if coordinate < 0 else q[coordinate]
            for i in range(3):
                bent[i] = 0.0
                for j in range(3):
                    bent[i] += rotation[k, i, j] * m.point_direction[b, x, j]
                arm[i] = amount * bent[i]
            for c in range(size):
                _cross(angular[k, c], arm, jacobian[x, c])
            _cross(rate[k], arm, one)
            _cross(rate[k], one, two)
            _cross(alpha[k], arm, one)
            for i in range(3):
                point_bias[x, i] = one[i] + two[i]
            if coordinate >= 0:
                _cross(rate[k], bent, one)
                for i in range(3):
                    jacobian[x, m.point_column[b, x], i] += bent[i]
                    point_bias[x, i] += 2.0 * v[coordinate] * one[i]
        for x in range(m.points[b]):
            weighted[:size] = 0.0
            one[:] = 0.0
            for y in range(m.points[b]):
                g = m.gram[b, x, y]
                if g != 0.0:
                    for i in range(3):
                        one[i] += g * point_bias[y, i]
                        for c in range(size):
                            weighted[c, i] += g * jacobian[y, c, i]
            for c in range(size):
                row = m.support[k, c]
                for i in range(3):
                    force[row] += jacobian[x, c, i] * one[i]
                for d in range(size):
                    column = m.support[k, d]
                    for i in range(3):
                        mass[row, column] += jacobian[x, c, i] * weighted[d, i]
    for i in range(n):
        mass[i, i] += m.rotor[i]
    return mass, force


@compiled
def constraints(m, pose, n):  # type: ignore[no-untyped-def]
    """Gaps (R,) of the loops, m, and their Jacobian (R, n).

    Parameters
    ----------
    m : Arrays
        The model.
    pose : tuple of array
        Origins (N, 3), rotations (N, 3, 3) and Jacobians of the nodes in the base.
    n : int
        Number of coordinates.
    """
    origin, _, linear, _ = pose
    gap, jacobian = m.offset.copy(), np.zeros((len(m.offset), n))
    for r in range(len(gap)):
        for i in range(3):
            gap[r] += m.row[r, i] * (origin[m.node_b[r], i] - origin[m.node_a[r], i])
        for node, sign in ((m.node_b[r], 1.0), (m.node_a[r], -1.0)):
            for c in range(m.support_size[node]):
                for i in range(3):
                    jacobian[r, m.support[node, c]] += sign * m.row[r, i] * linear[node, c, i]
    return gap, jacobian


@compiled
def close(m, q):  # type: ignore[no-untyped-def]
    """Move dependent coordinates of ``q`` (n,) until the loops close (Newton).

    Returns status, pose and the Jacobian (R, n) of the loops there.
    """
    last = 1.0
    pose = poses(m, q)
    error, jacobian = constraints(m, pose, len(q))
    if len(error) == 0:
        return SOLVED, pose, jacobian
    for _ in range(STEPS):
        step = np.linalg.solve(jacobian[:, m.dependent], error)
        last = np.abs(step).max()
        if not last < 1.0:
            return OPEN, pose, jacobian
        for i in range(len(step)):
            q[m.dependent[i]] -= step[i]
        pose = poses(m, q)
        error, jacobian = constraints(m, pose, len(q))
        if last < 1e-7:  # convergence is quadratic: only rounding is left
            return SOLVED, pose, jacobian
    return OPEN, pose, jacobian


@compiled
def tangent(m, jacobian):  # type: ignore[no-untyped-def]
    """Null space of the loops, and the inverse of their Jacobian over dependent coordinates.

    The former (n, f) are rates of all coordinates per rate of the free ones (S3 Eqs. 35-36).
    """
    out = np.zeros((jacobian.shape[1], len(m.free)))
    for i in range(len(m.free)):
        out[m.free[i], i] = 1.0
    inverse = np.zeros((len(m.dependent), len(m.dependent)))
    if len(m.dependent):
        inverse = np.ascontiguousarray(np.linalg.inv(jacobian[:, m.dependent]))
        solved = inverse @ jacobian[:, m.free]
        for i in range(len(m.dependent)):
            out[m.dependent[i]] = -solved[i]
    return out, inverse


@compiled
def equations(m, guess, free, free_rate, effort):  # type: ignore[no-untyped-def]
    """Close the loops and set up ``mass @ acceleration = force`` of the free coordinates.

    Parameters
    ----------
    m : Arrays
        The model.
    guess : (n,) array
        A pose nearby.
    free, free_rate : (f,) array
        Positions and velocities of the free coordinates.
    effort : (n,) array
        On all coordinates, N and N m.

    Returns
    -------
    status, mass, force, null, v
        Status, mass matrix (f, f), force (f,), null space (n, f) of the loops and velocities (n,)
        of all coordinates.
    """
    q = guess.copy()
    for i in range(len(m.free)):
        q[m.free[i]] = free[i]
    status, pose, jacobian = close(m, q)
    null, inverse = tangent(m, jacobian)
    v = null @ free_rate
    motion = bias(m, pose, v)
    mass, force = dynamics(m, pose, motion, q, v)
    right = effort - force - m.stiffness * q
    if len(m.dependent):
        drift = np.zeros(len(m.offset))
        for r in range(len(drift)):
            for i in range(3):
                drift[r] += m.row[r, i] * (motion[2][m.node_b[r], i] - motion[2][m.node_a[r], i])
        # d(null)/dt free_rate: accelerations of dependent coordinates when free ones have none
        extra = inverse @ drift
        for i in range(len(extra)):
            right += mass[:, m.dependent[i]] * extra[i]
    return status, null.T @ (mass @ null), null.T @ right, null, v


@compiled
def acceleration(m, guess, free, free_rate, effort):  # type: ignore[no-untyped-def]
    """Status, acceleration (f,) of the free coordinates, power; arguments as for ``equations``.

    Parameters
    ----------
    m : Arrays
        The model.
    guess : (n,) array
        A pose nearby.
    free, free_rate : (f,) array
        Positions and velocities of the free coordinates.
    effort : (n,) array
        On all coordinates, N and N m.
    """
    status, mass, force, _, v = equations(m, guess, free, free_rate, effort)
    return status, np.linalg.solve(mass, force), effort @ v
