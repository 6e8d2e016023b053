# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors and matrices (lists of rows) of any kind of number."""

from collections.abc import Iterable, Sequence
from typing import Any

from masticator_dynamics.engine.traced.numbers import total

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]

ZERO: Vector = (0.0, 0.0, 0.0)


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Scalar product, of any length."""
    return total(x * y for x, y in zip(a, b, strict=True))


def apply(matrix: Matrix, a: Sequence[Any]) -> list[Any]:
    """Matrix times vector, of any size."""
    return [dot(row, a) for row in matrix]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def add(a: Vector, b: Vector) -> Vector:
    """Sum."""
    return [x + y for x, y in zip(a, b, strict=True)]


def subtract(a: Vector, b: Vector) -> list[Any]:
    """Difference."""
    return [x - y for x, y in zip(a, b, strict=True)]


def scale(a: Vector, factor: Any) -> Vector:
    """Multiple."""
    return [x * factor for x in a]


def rotate_back(matrix: Matrix, a: Vector) -> Vector:
    """Transposed matrix times vector."""
    return [dot(column(matrix, c), a) for c in range(3)]


def column(matrix: Matrix, c: int) -> Vector:
    """A column."""
    return [row[c] for row in matrix]


def product(a: Matrix, b: Matrix) -> Matrix:
    """Matrix times matrix."""
    return [[dot(row, column(b, c)) for c in range(3)] for row in a]


def flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Elements of a matrix, or of vectors, row by row."""
    return [x for row in rows for x in row]
