# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverses and factors of small matrices, unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.numbers import (
    is_known,
    reciprocal,
    sign_of,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.vectors import Matrix, Vector


def inverse(matrix: Matrix, typical: FloatArray) -> tuple[Matrix, Any]:
    """Inverse and determinant.

    Parameters
    ----------
    typical : array, shape (n, n)
        Values at home, by which pivots are chosen: once, when the code is made. On floats they
        are chosen by the matrix itself.
    """
    size = len(matrix)
    if size <= 3:
        return (_inverse_1, _inverse_2, _inverse_3)[size - 1](matrix)
    unit = [[1.0 if i == j else 0.0 for j in range(size)] for i in range(size)]
    rows, determinant = _eliminated(matrix, typical, unit)
    return [row[size:] for row in rows], determinant


def solve(matrix: Matrix, typical: FloatArray, right: Vector) -> tuple[list[Any], Any]:
    """Solution of a system and its determinant: less work than :func:`inverse` for large ones."""
    if len(matrix) <= 3:
        inverted, determinant = inverse(matrix, typical)
        return vec.apply(inverted, right), determinant
    rows, determinant = _eliminated(matrix, typical, [[x] for x in right], upwards=False)
    solution: list[Any] = []
    for k in reversed(range(len(rows))):
        solution.insert(0, rows[k][-1] - vec.dot(rows[k][k + 1 : -1], solution))
    return solution, determinant


def _inverse_1(m: Matrix) -> tuple[Matrix, Any]:
    return [[reciprocal(m[0][0])]], m[0][0]


def _inverse_2(m: Matrix) -> tuple[Matrix, Any]:
    determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0]
    d = reciprocal(determinant)
    return [[m[1][1] * d, -(m[0][1] * d)], [-(m[1][0] * d), m[0][0] * d]], determinant


def _inverse_3(m: Matrix) -> tuple[Matrix, Any]:
    """By cofactors."""

    def cofactor(r: int, c: int) -> Any:
        (r1, r2), (c1, c2) = ((r + 1) % 3, (r + 2) % 3), ((c + 1) % 3, (c + 2) % 3)
        return m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]

    determinant = total(m[0][c] * cofactor(0, c) for c in range(3))
    d = reciprocal(determinant)
    return [[cofactor(c, r) * d for c in range(3)] for r in range(3)], determinant


def _eliminated(
    matrix: Matrix, typical: FloatArray, right: Matrix, upwards: bool = True
) -> tuple[Matrix, Any]:
    """Rows of a matrix with right sides, and its determinant, by Gauss-Jordan elimination.

    Pivots are those that are largest at home. Not ``upwards``, the triangle above them is left.
    """
    size = len(matrix)
    work = [[*row, *columns] for row, columns in zip(matrix, right, strict=True)]
    in_floats = all(isinstance(x, float) for row in matrix for x in row)
    numbers = np.array(matrix if in_floats else typical, dtype=float)
    order: list[int] = []
    determinant: Any = 1.0
    for k in range(size):
        remaining = [r for r in range(size) if r not in order]
        pivot = max(remaining, key=lambda r: abs(numbers[r, k]))
        determinant = determinant * work[pivot][k] * (-1.0) ** remaining.index(pivot)
        order.append(pivot)
        factor = reciprocal(work[pivot][k])
        work[pivot] = [x * factor for x in work[pivot]]
        numbers[pivot] /= numbers[pivot, k]
        for r in range(size) if upwards else remaining:
            if r != pivot and not is_known(part := work[r][k], 0.0):
                work[r] = [x - part * y for x, y in zip(work[r], work[pivot], strict=True)]
                numbers[r] -= numbers[r, k] * numbers[pivot]
    return [work[r] for r in order], determinant


def cholesky(matrix: Matrix) -> tuple[list[list[Any]], list[Any]]:
    """Cholesky factor of a symmetric matrix, of which only the lower triangle is read.

    Returns
    -------
    lower : matrix
        With reciprocals on the diagonal.
    rests : list
        Squares of the diagonal: how much of each column is independent of those before.
    """
    size = len(matrix)
    lower: list[list[Any]] = [[0.0] * size for _ in range(size)]
    rests = []
    for j in range(size):
        rest = matrix[j][j] - total(lower[j][x] * lower[j][x] for x in range(j))
        rests.append(rest)
        lower[j][j] = reciprocal(square_root(rest))
        for i in range(j + 1, size):
            part = matrix[i][j] - total(lower[i][x] * lower[j][x] for x in range(j))
            lower[i][j] = part * lower[j][j]
    return lower, rests


def solve_factored(lower: Matrix, right: Vector) -> list[Any]:
    """Solve a system with its factor from :func:`cholesky`."""
    return solve_upper(lower, solve_lower(lower, right))


def solve_lower(lower: Matrix, right: Vector) -> list[Any]:
    """Solve a system with the factor itself."""
    x = list(right)
    for i in range(len(x)):
        x[i] = (x[i] - total(lower[i][j] * x[j] for j in range(i))) * lower[i][i]
    return x


def solve_upper(lower: Matrix, right: Vector) -> list[Any]:
    """Solve a system with the transpose of the factor."""
    x = list(right)
    for i in reversed(range(len(x))):
        rest = total(lower[j][i] * x[j] for j in range(i + 1, len(x)))
        x[i] = (x[i] - rest) * lower[i][i]
    return x


def orthogonal(
    columns: Matrix, inner: Callable[[Vector, Vector], Any] = vec.dot, passes: int = 2
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Orthonormal columns and an upper triangle whose product is the matrix of given columns.

    By Gram-Schmidt. The condition number is not squared, as it is by :func:`cholesky`.

    Parameters
    ----------
    inner : callable, optional
        Scalar product of two columns, if their elements are more than numbers.
    passes : int
        Two for each column keep all digits that the columns have.
    """
    basis: list[list[Any]] = []
    triangle: list[list[Any]] = [[0.0] * len(columns) for _ in columns]
    for j, original in enumerate(columns):
        column = list(original)
        for i in passes * [*range(j)]:
            part = inner(basis[i], column)
            column = [x - part * y for x, y in zip(column, basis[i], strict=True)]
            triangle[i][j] = triangle[i][j] + part
        triangle[j][j] = square_root(inner(column, column))
        inverted = reciprocal(triangle[j][j])
        basis.append([x * inverted for x in column])
    return basis, triangle


def solve_triangle(upper: Matrix, right: Vector) -> list[Any]:
    """Solve a system with an upper triangle, such as that from :func:`orthogonal`."""
    x: list[Any] = [0.0] * len(right)
    for i in reversed(range(len(right))):
        x[i] = (right[i] - vec.dot(upper[i][i + 1 :], x[i + 1 :])) * reciprocal(upper[i][i])
    return x


_SWEEPS = 7  # Jacobi's method converges quadratically


def singular_squares(columns: Matrix) -> list[Any]:
    """Squares of the singular values of a matrix of given columns, in no order.

    By rotations that make pairs of columns orthogonal (Hestenes, SIAM J. 6, 1958).
    """
    _, triangle = orthogonal(columns)
    work: list[Vector] = [vec.column(triangle, j) for j in range(len(columns))]
    pairs = [(p, q) for q in range(len(work)) for p in range(q)]
    for p, q in _SWEEPS * pairs:
        a, b = work[p], work[q]
        apart, twice = vec.dot(b, b) - vec.dot(a, a), 2.0 * vec.dot(a, b)
        root = square_root(apart * apart + twice * twice) + 1e-300  # of equal ones, too
        tangent = twice / (apart + sign_of(apart) * root)
        cosine = reciprocal(square_root(tangent * tangent + 1.0))
        sine = tangent * cosine
        work[p] = vec.subtract(vec.scale(a, cosine), vec.scale(b, sine))
        work[q] = vec.add(vec.scale(a, sine), vec.scale(b, cosine))
    return [vec.dot(column, column) for column in work]
