# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of functions other than evaluations: poses of bodies, steps that fit actuators."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from masticator_dynamics.description.urdf import Joint
from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.status import WEAK_ACTUATION
from masticator_dynamics.engine.traced.numbers import (
    absolute,
    greater,
    greatest,
    lesser,
    select,
)
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.tree import SpanningTree
from masticator_dynamics.files import file_cache

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.kernels import Kernels


def _placed(tree: SpanningTree, q: Sequence[Any], joints: Iterable[int]) -> dict[int, Any]:
    """Some bodies at tree positions, after those that carry them; -1 is the base."""
    from masticator_dynamics.engine.traced.bodies import Body, TracedJoint, fixed_base

    bodies = {-1: fixed_base((0.0, 0.0, 0.0), 0)}
    for k in joints:
        joint, at = tree.joints[k], tree.placements[k]
        bodies[k] = Body(bodies[at.body], None)
        turn, offset = at.rotation.tolist(), at.position.tolist()
        TracedJoint(
            (k,), joint.spin, joint.shift, turn, offset, 0.0, None, (), bodies[k], position=q[k]
        ).place()
    return bodies


def poses(kernels: Kernels) -> RowCode:
    """From tree positions: rotation, row by row, and origin of each body, base axes, m."""
    count = kernels.tree

    def function(inputs: Sequence[Any], share: bool) -> list[Any]:
        _, structure = kernels.recorded(inputs[count:])
        bodies = _placed(structure.tree, inputs[:count], range(count))
        del bodies[-1]
        vectors = [row for body in bodies.values() for row in (*body.rotation, body.position)]
        return [x for vector in vectors for x in vector]

    return RowCode(
        'poses', count, 12 * count, function, lambda: kernels.identity[:-1],
        constants=kernels.constants,
    )  # fmt: skip


def frame_of_row(
    kernels: Kernels, frame: str, joints: Sequence[int], slices: Mapping[str, slice]
) -> RowCode:
    """From a whole row: 1 where it counts, pose, twist and Jacobian (6, n_y) of a frame.

    Parameters
    ----------
    frame : str
        URDF link.
    joints : sequence of int
        Those between base and frame, outwards.
    slices : mapping of str to slice
        Where each quantity is in the row.
    """
    count, freedoms, width = kernels.tree, kernels.freedoms, slices['tangent'].stop

    def function(inputs: Sequence[Any], share: bool) -> list[Any]:
        from masticator_dynamics.engine.traced import vectors as vec
        from masticator_dynamics.engine.traced.functions import LARGEST_ANGLE

        q, v, tangent = (inputs[slices[name]] for name in ('q', 'v', 'tangent'))
        tree = kernels.recorded(inputs[width:])[1].tree
        end, bodies = tree.frames[frame], _placed(tree, q, joints)
        body = bodies[end.body]
        position = vec.add(body.position, vec.apply(body.rotation, end.position.tolist()))
        columns = [[v[j], *tangent[freedoms * j : freedoms * (j + 1)]] for j in range(count)]
        twists: list[list[Any]] = [[0.0] * (1 + freedoms) for _ in range(6)]
        for j in joints:
            joint = bodies[j].joint
            screw = [*joint.moves(position), *joint.subspace(bodies[j].axis)[1]]
            for twist, x in zip(twists, screw, strict=True):
                twist[:] = [a + x * rate for a, rate in zip(twist, columns[j], strict=True)]
        turns = [absolute(q[j]) - LARGEST_ANGLE for j in joints if tree.joints[j].turns]
        rotation = vec.product(body.rotation, end.rotation.tolist())
        return [
            select(-greatest([-1.0, *turns]), 1.0, 0.0), *position, *vec.flat(rotation),
            *(row[0] for row in twists), *vec.flat(row[1:] for row in twists),
        ]  # fmt: skip

    return RowCode(
        f'frame {frame}', width, 19 + 6 * freedoms, function, lambda: kernels.identity[:-1],
        constants=kernels.constants,
    )  # fmt: skip


@functools.cache
def least_squares(rows: int, columns: int) -> RowCode:
    """The step (columns,) that fits errors best.

    Inputs are a matrix (rows, columns), row by row, the errors (rows,), the units of the rows, and
    the reference: norms of the columns, in these units, in a regular case. The first output is the
    largest element of the matrix times the step, in its row's unit; -1 where the matrix does not
    determine the step, which is then meaningless.
    """
    parts = consecutive({'matrix': rows * columns, 'error': rows, 'scale': rows, 'usual': columns})

    def function(inputs: Sequence[Any], share: bool) -> list[Any]:
        return fitted(**{name: inputs[where] for name, where in parts.items()})

    return RowCode(
        'least squares', parts['usual'].stop, 1 + columns, function,
        lambda: [file_cache.sources('engine/traced'), rows, columns],
    )  # fmt: skip


def travels(joints: Iterable[Joint]) -> list[float]:
    """1 rad for turning joints, the travel for sliding ones, m: what counts as equally far."""

    def travel(joint: Joint) -> float:
        length = joint.upper - joint.lower if joint.slides else 1.0
        return length if math.isfinite(length) and length > 0.0 else 1.0

    return [travel(joint) for joint in joints]


def fitted(
    matrix: Sequence[Any], error: Sequence[Any], scale: Sequence[Any], usual: Sequence[Any]
) -> list[Any]:
    """Outputs of :func:`least_squares`."""
    from masticator_dynamics.engine.traced.matrices import solve_triangle
    from masticator_dynamics.engine.traced.vectors import apply, dot

    columns, basis, triangle = _orthogonal(matrix, scale, usual)
    determined: Any = 1.0
    for c, length in enumerate(usual):
        determined = select(triangle[c][c] - WEAK_ACTUATION * length, determined, 0.0)
    wanted = [x * (1.0 / s) for x, s in zip(error, scale, strict=True)]
    step = solve_triangle(triangle, apply(basis, wanted))
    largest: Any = 0.0
    for row in zip(*columns, strict=True):
        largest = greater(absolute(dot(row, step)), largest)
    return [select(determined, largest, -1.0), *step]


def conditioning_of(matrix: Sequence[Any], scale: Sequence[Any], usual: Sequence[Any]) -> Any:
    """Least part of a column that is not along those before it, of its usual length.

    Arguments as inputs of :func:`least_squares`.
    """
    _, _, triangle = _orthogonal(matrix, scale, usual)
    parts = [triangle[c][c] * (1.0 / (x or 1.0)) for c, x in enumerate(usual)]
    return functools.reduce(lesser, parts, 1.0)


def _orthogonal(
    matrix: Sequence[Any], scale: Sequence[Any], usual: Sequence[Any]
) -> tuple[list[list[Any]], list[list[Any]], list[list[Any]]]:
    """Columns of a matrix in units of its rows; orthonormal ones, and the triangle between both."""
    from masticator_dynamics.engine.traced.matrices import orthogonal

    units = [1.0 / s for s in scale]
    columns = [
        [x * u for x, u in zip(matrix[c :: len(usual)], units, strict=True)]
        for c in range(len(usual))
    ]
    return columns, *orthogonal(columns)
