# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces as affine functions of the free efforts, for an assumed pattern of signs."""

from masticator_dynamics.engine.jit import kernel, leaf


@kernel
def combine(model, tables, with_friction):
    """Everything as affine functions of the free efforts, for the signs assumed.

    False where friction and contact forces of the pattern have no unique solution.
    """
    contacts, free, actuators = len(tables.contacts), tables.sizes[0], len(model.actuated)
    newton, contact = tables.newton, tables.contact
    if contacts > 0:
        for i in range(contacts):
            row = tables.contacts[i].row
            for j in range(contacts):
                own = 1.0 if i == j else 0.0
                newton[i, j] = own - tables.signs[j] * tables.multipliers[row, 1 + free + j]
            for m in range(1 + free):
                contact[i, m] = tables.multipliers[row, m]
        if not solve_small(newton, contact, contacts, 1 + free):
            return False
    gather(tables, tables.efforts, tables.terms, 0, 0, actuators)
    if with_friction:
        gather(tables, tables.bearing, tables.bearing_terms, 0, 0, 3 * actuators)
    if tables.goal[2] > 0.0:
        count = 3 * (len(tables.slots) - actuators)
        gather(tables, tables.forces, tables.terms, 3 * actuators, actuators, count)
    return True


@kernel
def gather(tables, causes, out, first, start, count):
    """Rows of a matrix over causes: contacts rub with the multipliers that they have."""
    free = tables.sizes[0]
    for r in range(count):
        for m in range(1 + free):
            out[start + r, m] = causes[first + r, m]
        for i in range(len(tables.contacts)):
            factor = tables.signs[i] * causes[first + r, 1 + free + i]
            for m in range(1 + free):
                out[start + r, m] += factor * tables.contact[i, m]


@kernel
def affine(matrix, row, free, count):
    """Value of a row at the free efforts."""
    value = matrix[row, 0]
    for m in range(count):
        value += matrix[row, 1 + m] * free[m]
    return value


@leaf
def solve_small(matrix, right, size, columns):
    """Solve ``matrix @ x = right`` into ``right`` by elimination; False where singular."""
    if size == 2:
        return _solve_2(matrix, right, columns)
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


@kernel
def _solve_2(matrix, right, columns):
    """Two equations, by the larger pivot of the first column."""
    p = 0 if abs(matrix[0, 0]) >= abs(matrix[1, 0]) else 1
    a, b, c, d = matrix[p, 0], matrix[p, 1], matrix[1 - p, 0], matrix[1 - p, 1]
    largest = max(max(abs(a), abs(b)), max(abs(c), abs(d)))
    if not abs(a) > 1e-14 * largest:
        return False
    factor = c / a
    rest = d - factor * b
    if not abs(rest) > 1e-14 * largest:
        return False
    for j in range(columns):
        top = right[p, j]
        last = (right[1 - p, j] - factor * top) / rest
        right[0, j], right[1, j] = (top - b * last) / a, last
    return True
