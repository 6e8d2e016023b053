# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of functions other than evaluations: poses of bodies, steps that fit actuators."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import WEAK_ACTUATION
from masticator_dynamics.engine.tree import SpanningTree
from masticator_dynamics.files import kept
from masticator_dynamics.traced.kernels import address, library
from masticator_dynamics.traced.machine_code import Library, this_processor


class SmallFunction:
    """Machine code of a function of numbers, one row or many, made when first called.

    Parameters
    ----------
    name : str
        Distinguishes it from others.
    asked, told : int
        Numbers in an input row and in an output row.
    function : callable
        From a list of numbers to a list of numbers, on recording ones.
    depends_on : list
        What else determines its code.
    """

    def __init__(
        self,
        name: str,
        asked: int,
        told: int,
        function: Callable[[Sequence[Any]], list[Any]],
        depends_on: list[Any],
    ):
        self._name, self._asked, self._told, self._function = name, asked, told, function
        self._depends_on = [kept.sources('traced'), *depends_on]

    def __call__(self, given: FloatArray) -> FloatArray:
        """Rows (..., told) for rows (..., asked)."""
        rows = np.ascontiguousarray(given, dtype=float)
        rows = rows.reshape(math.prod(given.shape[:-1]), self._asked)
        width = this_processor().rows
        if len(rows) == 1:
            out = np.empty(self._told)
            self._one.row(address(rows), address(out))
            return out.reshape(*given.shape[:-1], self._told)
        more = -len(rows) % width
        if more:
            rows = np.concatenate([rows, np.repeat(rows[-1:], more, axis=0)])
        out = np.empty((len(rows), self._told))
        self._many.rows(len(rows), address(rows), address(out))
        return out[: len(rows) - more].reshape(*given.shape[:-1], self._told)

    @functools.cached_property
    def _one(self) -> Library:
        return library(self._name, lambda: self._text(0), self._depends_on)

    @functools.cached_property
    def _many(self) -> Library:
        width = this_processor().rows
        return library(f'{self._name}, many', lambda: self._text(width), self._depends_on)

    def _text(self, width: int) -> str:
        # Imported only here: usually everything is compiled.
        from masticator_dynamics.traced.llvm_ir import row_function
        from masticator_dynamics.traced.numbers import Graph
        from masticator_dynamics.traced.rows_ir import rows_function

        graph = Graph()
        told = self._function(graph.inputs(self._asked))
        if width:
            return rows_function(graph, told, 'rows', width, self._asked)
        return row_function(graph, told, 'row')


def poses(tree: SpanningTree) -> SmallFunction:
    """From tree positions: rotation, row by row, and origin of each body, base axes, m."""

    def function(q: Sequence[Any]) -> list[Any]:
        from masticator_dynamics.traced.bodies import Body, Joint, fixed_base

        bodies = {-1: fixed_base((0.0, 0.0, 0.0), 0)}
        for k, (joint, at) in enumerate(zip(tree.joints, tree.placements, strict=True)):
            bodies[k] = Body(bodies[at.body], None)
            turn, offset = at.rotation.tolist(), at.position.tolist()
            slides = joint.type == 'prismatic'
            Joint((k,), slides, turn, offset, 0.0, None, (), bodies[k]).place(q[k])
        del bodies[-1]
        vectors = [row for body in bodies.values() for row in (*body.rotation, body.position)]
        return [x for vector in vectors for x in vector]

    return SmallFunction('poses', len(tree.joints), 12 * len(tree.joints), function, [tree])


@functools.cache
def least_squares(rows: int, columns: int) -> SmallFunction:
    """The step (columns,) that fits errors best.

    Inputs are a matrix (rows, columns), row by row, the errors (rows,), the units of the rows, and
    the reference: norms of the columns, in these units, in a regular case. The first output is the
    largest element of the matrix times the step, in its row's unit; -1 where the matrix does not
    determine the step, which is then meaningless.
    """

    def function(given: Sequence[Any]) -> list[Any]:
        ends = np.cumsum([rows * columns, rows, rows, columns]).tolist()
        matrix, error, scale, usual = (
            given[start:end] for start, end in zip([0, *ends], ends, strict=False)
        )
        return _fitted(matrix, error, scale, usual)

    asked, sizes = rows * (columns + 2) + columns, [rows, columns]
    return SmallFunction('least squares', asked, 1 + columns, function, sizes)


def _fitted(
    matrix: Sequence[Any], error: Sequence[Any], scale: Sequence[Any], usual: Sequence[Any]
) -> list[Any]:
    from masticator_dynamics.traced.numbers import absolute, greater, select, square_root, total

    count, known = len(usual), range(len(usual))

    def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
        return total(x * y for x, y in zip(a, b, strict=True))

    units = [1.0 / s for s in scale]
    columns = [[x * u for x, u in zip(matrix[c::count], units, strict=True)] for c in known]
    wanted = [x * u for x, u in zip(error, units, strict=True)]
    basis = [list(column) for column in columns]
    triangle: list[list[Any]] = [[0.0] * count for _ in known]
    determined: Any = 1.0
    for c in known:
        for d in [*range(c), *range(c)]:  # Gram-Schmidt, twice is enough
            shared = dot(basis[d], basis[c])
            triangle[d][c] = triangle[d][c] + shared
            basis[c] = [x - shared * y for x, y in zip(basis[c], basis[d], strict=True)]
        length = triangle[c][c] = square_root(dot(basis[c], basis[c]))
        determined = select(length - WEAK_ACTUATION * usual[c], determined, 0.0)
        basis[c] = [x / length for x in basis[c]]
    step: list[Any] = [0.0] * count
    for c in reversed(known):
        rest = total(triangle[c][d] * step[d] for d in range(c + 1, count))
        step[c] = (dot(basis[c], wanted) - rest) / triangle[c][c]
    largest: Any = 0.0
    for row in zip(*columns, strict=True):
        largest = greater(absolute(dot(row, step)), largest)
    return [select(determined, largest, -1.0), *step]
