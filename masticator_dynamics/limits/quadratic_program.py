# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small strictly convex quadratic programs: the dual method of Goldfarb and Idnani (1983).

Minimise 1/2 p' H p + g' p subject to a_k' p + h_k <= 0. From the unconstrained minimum, the most
violated constraint is added, one at a time; those whose multipliers would turn negative leave.
It ends at the only minimum, or shows that there is no feasible point.
"""

import math

from masticator_dynamics.engine.jit import leaf

FOUND, INFEASIBLE, STALLED = 0, 1, 2
ITERATIONS = 200
DEPENDENT = 1e-11  # relative; a normal that the active ones already span


@leaf
def solve_quadratic_program(inverse, gradient, normals, values, count, slack, point, active, work):
    """The minimum.

    Parameters
    ----------
    inverse : array, shape (d, d)
        Inverse of the Hessian.
    gradient : array, shape (d,)
    normals : array, shape (>= count, d)
        Gradients a_k of the constraints.
    values : array, shape (>= count,)
        Their values h_k at p = 0.
    count : int
        Number of constraints.
    slack : float
        Violations up to this are ignored.
    point : array, shape (d,)
        Filled with p.
    active : array, shape (2, d + 1)
        Filled with the active constraints' numbers and multipliers; -1 where there is none.
    work : array, shape (>= 2 d + 5, >= d + 2)
        Scratch.

    Returns
    -------
    int
        ``FOUND``, ``INFEASIBLE`` or ``STALLED``.
    """
    size = len(gradient)
    for i in range(size):
        point[i] = 0.0
        for j in range(size):
            point[i] -= inverse[i, j] * gradient[j]
    held = 0
    active[0, :] = -1.0
    active[1, :] = 0.0
    for _ in range(ITERATIONS):
        worst, excess = -1, slack
        for k in range(count):
            value = values[k]
            for i in range(size):
                value += normals[k, i] * point[i]
            if value > excess and not _holds(active, held, k):
                worst, excess = k, value
        if worst < 0:
            _polish(inverse, normals, values, point, active, held, work)
            return FOUND
        held = _add(inverse, normals, worst, excess, point, active, held, work)
        if held < 0:
            return INFEASIBLE
    return STALLED


@leaf
def _holds(active, held, k):
    """Whether a constraint is active: then it is met up to rounding."""
    for a in range(held):
        if active[0, a] == k:
            return True
    return False


@leaf
def _add(inverse, normals, new, excess, point, active, held, work):
    """Make a violated constraint active; return how many are, -1 if it cannot be met."""
    size = len(point)
    direction, step = work[0], work[1]
    multiplier = 0.0
    for _ in range(ITERATIONS):
        square, right = work[2 : 2 + size], work[2 + size : 2 + 2 * size]
        _project(inverse, normals, new, active, held, direction, square, right)
        slope, norm = 0.0, _product(inverse, normals, new, new)
        for i in range(size):
            step[i] = 0.0
            for j in range(size):
                step[i] += inverse[i, j] * direction[j]
            slope += step[i] * normals[new, i]
        full = excess / slope if held < size and slope > DEPENDENT * norm else math.inf
        part, leaves = math.inf, -1
        for a in range(held):
            if right[a, 0] > 0.0 and active[1, a] < part * right[a, 0]:
                part, leaves = active[1, a] / right[a, 0], a
        length = min(full, part)
        if length == math.inf:
            return -1
        for a in range(held):
            active[1, a] -= length * right[a, 0]
        multiplier += length
        if full < math.inf:
            for i in range(size):
                point[i] -= length * step[i]
            excess -= length * slope
        if full <= part:
            active[0, held], active[1, held] = new, multiplier
            return held + 1
        held -= 1
        for a in range(leaves, held):
            active[0, a], active[1, a] = active[0, a + 1], active[1, a + 1]
        active[0, held], active[1, held] = -1.0, 0.0
    return -1


@leaf
def _polish(inverse, normals, values, point, active, held, work):
    """Remove the rounding residual of the active constraints by the shortest step."""
    size = len(point)
    right = work[2 + size : 2 + 2 * size]
    for a in range(held):
        own = int(active[0, a])
        right[a, 0] = values[own]
        for i in range(size):
            right[a, 0] += normals[own, i] * point[i]
    _solve_products(inverse, normals, active, held, work[2 : 2 + size], right)
    for i in range(size):
        for j in range(size):
            for a in range(held):
                point[i] -= inverse[i, j] * normals[int(active[0, a]), j] * right[a, 0]


@leaf
def _project(inverse, normals, new, active, held, direction, square, right):
    """Part of a normal outside the active ones, and its coordinates along those (``right``)."""
    for a in range(held):
        right[a, 0] = _product(inverse, normals, int(active[0, a]), new)
    _solve_products(inverse, normals, active, held, square, right)
    for i in range(len(direction)):
        direction[i] = normals[new, i]
        for a in range(held):
            direction[i] -= right[a, 0] * normals[int(active[0, a]), i]


@leaf
def _solve_products(inverse, normals, active, held, square, right):
    """Solve the system of scalar products of the active normals into ``right``."""
    for a in range(held):
        for b in range(held):
            square[a, b] = _product(inverse, normals, int(active[0, a]), int(active[0, b]))
    solve_small(square, right, held, 1)


@leaf
def _product(inverse, normals, one, other):
    """Scalar product of two normals, in the measure of the inverse."""
    found = 0.0
    for i in range(normals.shape[1]):
        for j in range(normals.shape[1]):
            found += normals[one, i] * inverse[i, j] * normals[other, j]
    return found


@leaf
def solve_small(matrix, right, size, columns):
    """Solve ``matrix @ x = right`` into ``right`` by elimination; False if singular.

    Parameters
    ----------
    matrix : (n, n) array
        Is overwritten.
    right : (n, m) array
        Is overwritten by the solution.
    size, columns : int
        The parts of both that count: n and m may be larger.
    """
    largest = 0.0
    for i in range(size):
        for j in range(size):
            largest = max(largest, abs(matrix[i, j]))
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 1e-14 * largest:
            return False
        if pivot != k:
            for j in range(size):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            for j in range(columns):
                right[k, j], right[pivot, j] = right[pivot, j], right[k, j]
        for i in range(k + 1, size):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, size):
                matrix[i, j] -= factor * matrix[k, j]
            for j in range(columns):
                right[i, j] -= factor * right[k, j]
    for k in range(size - 1, -1, -1):
        for j in range(columns):
            for i in range(k + 1, size):
                right[k, j] -= matrix[k, i] * right[i, j]
            right[k, j] /= matrix[k, k]
    return True
