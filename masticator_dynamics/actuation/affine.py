# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces as affine functions of the free efforts, for an assumed pattern of signs."""

from masticator_dynamics.engine.jit import kernel, leaf


@kernel
def combine(model, tables, with_friction):
    """Everything as affine functions of the free efforts, for the signs assumed."""
    contacts, free, causes = len(tables.contacts), tables.sizes[0], tables.sizes[1]
    newton, contact, combination = tables.newton, tables.contact, tables.combination
    if contacts > 0:
        for i in range(contacts):
            row = tables.contacts[i].row
            for j in range(contacts):
                own = 1.0 if i == j else 0.0
                newton[i, j] = own - tables.signs[j] * tables.multipliers[row, 1 + j]
            contact[i, 0] = tables.multipliers[row, 0]
            for m in range(free):
                contact[i, 1 + m] = tables.multipliers[row, 1 + contacts + m]
        if not solve_small(newton, contact, contacts, 1 + free):
            return False
    for k in range(causes):
        for m in range(1 + free):
            combination[k, m] = 0.0
    combination[0, 0] = 1.0
    for i in range(contacts):
        for m in range(1 + free):
            combination[1 + i, m] = tables.signs[i] * contact[i, m]
    for m in range(free):
        combination[1 + contacts + m, 1 + m] = 1.0
    actuators, columns = len(model.actuated), 1 + free
    if with_friction:
        multiply(tables.across, combination, tables.sliding, 0, 0, 2 * actuators, columns)
    multiply(tables.efforts, combination, tables.terms, 0, 0, actuators, columns)
    if tables.goal[2] > 0.0:
        count = 3 * (len(tables.slots) - actuators)
        multiply(tables.forces, combination, tables.terms, 3 * actuators, actuators, count, columns)
    return True


@kernel
def multiply(matrix, combination, out, first, start, rows, columns):
    """Rows of a matrix over causes, combined."""
    for r in range(rows):
        for m in range(columns):
            value = 0.0
            for k in range(len(combination)):
                value += matrix[first + r, k] * combination[k, m]
            out[start + r, m] = value


@leaf
def solve_small(matrix, right, size, columns):
    """Solve ``matrix @ x = right`` into ``right`` by elimination; False where singular."""
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
