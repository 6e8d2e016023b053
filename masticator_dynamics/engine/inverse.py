# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverses of the small square Jacobians of blocks."""

import math

from masticator_dynamics.engine.jit import kernel


@kernel
def invert_block(model, block):
    """Inverse of a block's Jacobian over its own joints, into ``model.inverse``.

    Returns
    -------
    sign : float
        Of the determinant; 0 where there is no inverse.
    """
    first, last = block.first_row, block.last_row
    size = last - first
    for k in range(size):
        column = model.dependent[first + k]
        for r in range(size):
            model.square[r, k] = model.jacobian[first + r, column]
    inverse = model.inverse[first:last]
    if size == 3:
        return _invert_3(model.square, inverse)
    if size == 2:
        return _invert_2(model.square, inverse)
    return _invert(model.square, inverse, size)


@kernel
def regularity(model, block):
    """How far an inverted block is from singular: 1 orthogonal columns, 0 singular.

    The least of 1 / (|column| |row of the inverse|): the sine of the angle between a column and
    the others. Free of units, so that rad and m compare.
    """
    first, last = block.first_row, block.last_row
    longest = 1.0
    for k in range(last - first):
        column, row = 0.0, 0.0
        for r in range(last - first):
            column += model.jacobian[first + r, model.dependent[first + k]] ** 2
            row += model.inverse[first + k, r] ** 2
        longest = max(longest, column * row)
    return 1.0 / math.sqrt(longest)


@kernel
def _invert_2(m, inverse):
    """By cofactors."""
    determinant = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if not abs(determinant) > 0.0:
        return 0.0
    d = 1.0 / determinant
    inverse[0, 0], inverse[0, 1] = m[1, 1] * d, -m[0, 1] * d
    inverse[1, 0], inverse[1, 1] = -m[1, 0] * d, m[0, 0] * d
    return math.copysign(1.0, determinant)


@kernel
def _invert_3(m, inverse):
    """By cofactors."""
    c00 = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
    c01 = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
    c02 = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    determinant = m[0, 0] * c00 + m[0, 1] * c01 + m[0, 2] * c02
    if not abs(determinant) > 0.0:
        return 0.0
    d = 1.0 / determinant
    inverse[0, 0], inverse[1, 0], inverse[2, 0] = c00 * d, c01 * d, c02 * d
    inverse[0, 1] = (m[0, 2] * m[2, 1] - m[0, 1] * m[2, 2]) * d
    inverse[1, 1] = (m[0, 0] * m[2, 2] - m[0, 2] * m[2, 0]) * d
    inverse[2, 1] = (m[0, 1] * m[2, 0] - m[0, 0] * m[2, 1]) * d
    inverse[0, 2] = (m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1]) * d
    inverse[1, 2] = (m[0, 2] * m[1, 0] - m[0, 0] * m[1, 2]) * d
    inverse[2, 2] = (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]) * d
    return math.copysign(1.0, determinant)


@kernel
def _invert(matrix, inverse, size):
    """By Gauss-Jordan with partial pivoting, destroying ``matrix``."""
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 1.0 if i == j else 0.0
    sign = 1.0
    for k in range(size):
        best = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if best != k:
            sign = -sign
            for j in range(size):
                matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
                inverse[k, j], inverse[best, j] = inverse[best, j], inverse[k, j]
        pivot = matrix[k, k]
        if not abs(pivot) > 0.0:
            return 0.0
        if pivot < 0.0:
            sign = -sign
        for j in range(size):
            matrix[k, j] /= pivot
            inverse[k, j] /= pivot
        for i in range(size):
            factor = matrix[i, k]
            if i == k or factor == 0.0:
                continue
            for j in range(size):
                matrix[i, j] -= factor * matrix[k, j]
                inverse[i, j] -= factor * inverse[k, j]
    return sign
