# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent positions at which a frame has a pose: a recorded loop of Levenberg-Marquardt.

On the closed mechanism (Siciliano, Robotics, 2009, Sec. 3.7; Marquardt 1963). Every step closes the
loops from home, so that the answer is on home's branch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.status import RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.closed_motion import LARGEST_SQUARE, Evaluation
from masticator_dynamics.engine.traced.control_flow import graph_of, repeat
from masticator_dynamics.engine.traced.from_home import ClosedFromHome
from masticator_dynamics.engine.traced.functions import angle_of
from masticator_dynamics.engine.traced.matrices import orthogonal, solve_triangle
from masticator_dynamics.engine.traced.numbers import (
    absolute,
    greater,
    largest,
    reciprocal,
    select,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.vectors import Matrix, Vector

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.kernels import Kernels

TOLERANCE = 1e-9  # m and rad
ORTHONORMAL = 1e-6  # largest deviation of given axes
ITERATIONS = 100
LARGEST_STEP = 0.2  # of the mechanism's size
SMALLEST = 1e-3 * TOLERANCE  # of what is missing: nothing, up to rounding
PROGRESS = 1e-9  # a step that reduces what is missing by less is the last
DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 2e9  # of the largest singular value's square
DAMPED, UNDAMPED = 10.0, 0.1  # times as much after a step that leads nowhere, or somewhere
_NOTHING_MOVES = 1e-20  # square of what moves per what moves at home
_HALF_A_TURN = 1e-6  # from half a turn, rad, within which sines do not tell the axis
_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_SQUARINGS = 32  # of a matrix: a largest eigenvalue to 1e-10, with others as near as may be


class Wanted:
    """The pose that a frame is to have; components and axes that are NaN do not matter.

    Parameters
    ----------
    position : sequence of number, length 3
        Of its origin, m, base axes.
    rotation : sequence of number, length 9
        From its axes to the base's, row by row.

    Attributes
    ----------
    sound : number
        1 where it is one: something is asked for, and axes are orthonormal.
    """

    def __init__(self, position: Vector, rotation: Vector):
        self._position, columns = position, [rotation[k::3] for k in range(3)]
        self._placed = [_present(x) for x in position]
        self._asked = [1.0 - _none(map(_present, column)) for column in columns]
        self.count, self.sound = total(self._asked), 1.0
        for i in range(3):
            for j in range(i + 1):
                off = absolute(vec.dot(columns[i], columns[j]) - (1.0 if i == j else 0.0))
                both = self._asked[i] * self._asked[j]
                self._require(select(both, ORTHONORMAL - off, 1.0))
        all_three = self.count - 2.5
        self._require(select(all_three, vec.dot(columns[0], vec.cross(*columns[1:])), 1.0))
        self._require(1.0 - _none(self._placed) * _none(self._asked))
        self._single = [total(select(a, x, 0.0) for a, x in zip(self._asked, row, strict=True))
                        for row in zip(*columns, strict=True)]  # fmt: skip
        others = [vec.cross(columns[(k + 1) % 3], columns[(k + 2) % 3]) for k in range(3)]
        full = [
            [select(asked, x, y) for x, y in zip(column, other, strict=True)]
            for asked, column, other in zip(self._asked, columns, others, strict=True)
        ]
        self._axes = _orthonormal([*zip(*full, strict=True)])

    def _require(self, condition: Any) -> None:
        self.sound = select(condition, self.sound, 0.0)

    def missing(self, position: Vector) -> list[Any]:
        """Of a frame's position, m."""
        places = zip(self._placed, self._position, position, strict=True)
        return [select(placed, x - here, 0.0) for placed, x, here in places]

    def turn(self, rotation: Matrix) -> Vector:
        """The rotation vector, rad, that turns a frame as asked, the short way."""
        here = self._present_axis(rotation)
        between = [[vec.dot(a, b) for b in rotation] for a in self._axes]
        skew = [0.5 * (between[k - 1][k - 2] - between[k - 2][k - 1]) for k in range(3)]
        trace = 0.5 * (total(between[k][k] for k in range(3)) - 1.0)
        one = 1.5 - self.count
        sines = [
            select(one, a, b) for a, b in zip(vec.cross(here, self._single), skew, strict=True)
        ]
        cosine = select(one, vec.dot(here, self._single), trace)
        sine = square_root(vec.dot(sines, sines))
        # About half a turn, any axis across the only one will do, or the one that is turned least.
        opposite = select(cosine, 0.0, _HALF_A_TURN - sine)
        across = [vec.cross(here, unit) for unit in _UNITS]
        along = [vec.add(column, vec.scale(unit, -cosine))
                 for column, unit in zip(_halved(between), _UNITS, strict=True)]  # fmt: skip
        axis = _longest([[select(one, x, y) for x, y in zip(a, b, strict=True)]
                         for a, b in zip(across, along, strict=True)])  # fmt: skip
        by = reciprocal(square_root(sine * sine + cosine * cosine))
        angle = angle_of(sine * by, cosine * by)
        factor = select(sine, angle * reciprocal(sine), 1.0)
        some = self.count - 0.5
        return [select(some, select(opposite, a * angle, x * factor), 0.0)
                for a, x in zip(axis, sines, strict=True)]  # fmt: skip

    def _present_axis(self, rotation: Matrix) -> list[Any]:
        """The axis of which the direction is asked for, if it is one alone."""
        return [total(a * x for a, x in zip(self._asked, row, strict=True)) for row in rotation]

    def reduced(self, linear: Vector, angular: Vector, rotation: Matrix) -> list[Any]:
        """What a velocity of the frame reduces of all that is missing (6,)."""
        axis = self._present_axis(rotation)
        about_itself = select(1.5 - self.count, vec.dot(axis, angular), 0.0)
        some = self.count - 0.5
        turning = [select(some, x - a * about_itself, 0.0)
                   for x, a in zip(angular, axis, strict=True)]  # fmt: skip
        moving = [select(placed, x, 0.0) for placed, x in zip(self._placed, linear, strict=True)]
        return [*moving, *turning]


def placed_frame(kernels: Kernels, frame: str, from_home: bool = False) -> RowCode:
    """From a pose and a start to whether it is reached, and the end of the descent.

    Inputs are position (3,) and rotation (9,), as :class:`Wanted`, the start (n_y,), the
    mechanism's size, m, how far the frame moves at home, m, per unit of each coordinate (n_y,), and
    1 to descend, or 0 to stay at the start. Outputs are 1 where it is reached, independent
    positions (n_y,), 1 where this is certain, size of what is missing, m (infinite where loops do
    not close at the start), and what is missing, m and rad (6,).

    Parameters
    ----------
    from_home : bool
        Close loops in as many steps as it takes, and shun poses where they do not close.
    """
    n = kernels.freedoms
    parts = consecutive({'position': 3, 'rotation': 9, 'start': n, 'extent': 1, 'scale': n,
                         'descends': 1})  # fmt: skip
    count = parts['descends'].stop
    of_state = consecutive({'certain': 1, 'size': 1, 'damping': 1, 'y': n, 'missing': 6,
                            'jacobian': 6 * n, 'next': n})  # fmt: skip

    def function(inputs: Sequence[Any], _: bool) -> list[Any]:
        of, graph = kernels.recorded(inputs[count:]), graph_of(inputs)
        position, rotation, start, (extent,), scale, (descends,) = (
            inputs[part] for part in parts.values()
        )  # fmt: skip
        wanted, end = Wanted(position, rotation), of[1].tree.frames[frame]

        def closed(y: Vector) -> tuple[Evaluation, Any, Any]:
            """A pose, whether it is certain, and whether the loops close there."""
            still, nothing = [0.0] * n, [0.0] * 6
            if not from_home:
                run = Evaluation(*of, y, (y, still, still), nothing, (), False)
                return run, run.valid(), 1.0
            run = ClosedFromHome(*of, [*y, *still, *still, *nothing])
            return run, 1.0 if graph is None else run.valid(), select(run.report[0], 0.0, 1.0)

        def at(y: Vector) -> tuple[Any, Any, list[Any], list[Any]]:
            """The same, what is missing, and what unit velocities reduce of it."""
            try:
                run, certain, closes = closed(y)
            except (RefusedError, OverflowError, ValueError):  # on floats
                return 1.0, 0.0, [math.inf] * 6, [0.0] * 6 * n
            body = run.plan.body(end.body)
            turned = vec.product(body.rotation, end.rotation.tolist())
            arm = vec.apply(body.rotation, end.position.tolist())
            missing = [*wanted.missing(vec.add(body.position, arm)), *wanted.turn(turned)]
            rates = [wanted.reduced(vec.add(linear, vec.cross(turning, arm)), turning, turned)
                     for linear, turning in body.twists]  # fmt: skip
            return certain, closes, missing, vec.flat(rates)

        def step(state: list[Any]) -> tuple[Any, list[Any]]:
            _, (size,), (damping,), y, missing, jacobian, y_next = (
                state[part] for part in of_state.values()
            )  # fmt: skip
            certain, closes, *news = at(y_next)
            turning = vec.scale(news[0][3:], extent)
            square = vec.dot(news[0][:3], news[0][:3]) + vec.dot(turning, turning)
            smaller = square_root(square)
            lower = select(closes, select(LARGEST_SQUARE - square, size - smaller, 0.0), 0.0)
            damping = select(lower, damping * UNDAMPED, greater(damping, LEAST_DAMPING) * DAMPED)
            goes_on = select(lower, (1.0 - PROGRESS) * size - smaller, MOST_DAMPING - damping)
            y, missing, jacobian, (size,) = (
                [select(lower, a, b) for a, b in zip(new, old, strict=True)]
                for new, old in zip((y_next, *news, [smaller]), (y, missing, jacobian, [size]),
                                    strict=True)
            )  # fmt: skip
            moves = _damped_step(jacobian, missing, scale, extent, damping)
            unfinished = select(size - SMALLEST, LARGEST_SQUARE - size, 0.0)
            for condition in (unfinished, certain - 0.5, descends - 0.5):
                goes_on = select(condition, goes_on, 0.0)
            return goes_on, [certain, size, damping, *y, *missing, *jacobian, *vec.add(y, moves)]

        nothing = [math.inf] * 6, [0.0] * 6 * n
        begin = [0.0, math.inf, DAMPING / UNDAMPED, *start, *vec.flat(nothing), *start]
        state = repeat(graph, ITERATIONS + 1, begin, step)
        (certain,), (size,), y, missing = (
            state[of_state[name]] for name in ('certain', 'size', 'y', 'missing')
        )  # fmt: skip
        certain = select(certain - 0.5, 1.0, 0.0)
        arrived = select(TOLERANCE - largest(missing), wanted.sound, 0.0)
        return [select(arrived, certain, 0.0), *y, certain, size, *missing]

    fixed = kernels.structure.tree.frames[frame].body < 0
    return RowCode(
        f'inverse kinematics of {frame}, {from_home}', count, 9 + n, function,
        lambda: kernels.identity[:-1], largest=60_000, constants=kernels.constants,
        impossible='' if n and not fixed else 'it has no freedoms, or the frame does not move',
    )  # fmt: skip


def _damped_step(
    jacobian: Vector, missing: Vector, scale: Vector, extent: Any, damping: Any
) -> Vector:
    """A step (n_y,) of damped least squares, not longer than is sensible.

    Of least squares with as many more rows, so that the condition number is not squared.
    """
    units = [1.0, 1.0, 1.0, extent, extent, extent]
    inverted = [reciprocal(x) for x in scale]
    columns = [
        [x * unit * by for x, unit in zip(jacobian[6 * k : 6 * k + 6], units, strict=True)]
        for k, by in enumerate(inverted)
    ]
    most = _largest_eigenvalue([[vec.dot(a, b) for b in columns] for a in columns])
    # Where nothing moves but by rounding, there is no step.
    root = select(most - _NOTHING_MOVES, square_root(damping * most), math.nan)
    damped = [[*column, *(root if i == k else 0.0 for i in range(len(columns)))]
              for k, column in enumerate(columns)]  # fmt: skip
    basis, triangle = orthogonal(damped)
    wanted = [x * unit for x, unit in zip(missing, units, strict=True)]
    step = solve_triangle(triangle, [vec.dot(column[:6], wanted) for column in basis])
    longest = LARGEST_STEP * extent
    part = longest * reciprocal(greater(square_root(vec.dot(step, step)), longest))
    return [x * part * by for x, by in zip(step, inverted, strict=True)]


def _largest_eigenvalue(matrix: Matrix) -> Any:
    """Of a symmetric matrix without negative ones: its square's square's square ... is of it alone.

    A matrix of trace 1 weighs the eigenvalues, which the squares of these weights follow.
    """
    size = len(matrix)
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]

    def squared(state: list[Any]) -> tuple[Any, list[Any]]:
        rows = _symmetric(state)
        square = [vec.dot(rows[i], rows[j]) for i, j in pairs]
        by = reciprocal(_trace(square))
        return 1.0, [x * by for x in square]

    flat = [matrix[i][j] for i, j in pairs]
    by = reciprocal(_trace(flat))
    weights = repeat(graph_of(flat), _SQUARINGS, [x * by for x in flat], squared)
    return total(vec.dot(a, b) for a, b in zip(matrix, _symmetric(weights), strict=True))


def _symmetric(lower: Vector) -> list[list[Any]]:
    """Rows of a matrix from its lower triangle, row by row."""
    size = math.isqrt(2 * len(lower))
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(size)]
            for i in range(size)]  # fmt: skip


def _trace(lower: Vector) -> Any:
    return total(row[i] for i, row in enumerate(_symmetric(lower)))


def _orthonormal(axes: Matrix) -> Matrix:
    """The nearest rotation to axes that are orthonormal up to ORTHONORMAL: to rounding.

    Two steps of Newton and Schulz, each of which squares what is missing.
    """
    for _ in range(2):
        inner = [[vec.dot(vec.column(axes, i), vec.column(axes, j)) for j in range(3)]
                 for i in range(3)]  # fmt: skip
        correction = [[(1.5 if i == j else 0.0) - 0.5 * inner[i][j] for j in range(3)]
                      for i in range(3)]  # fmt: skip
        axes = vec.product(axes, correction)
    return axes


def _halved(matrix: Matrix) -> Matrix:
    """The symmetric part of a matrix."""
    return [[0.5 * (matrix[i][j] + matrix[j][i]) for j in range(3)] for i in range(3)]


def _longest(vectors: Matrix) -> Vector:
    """The longest of some vectors, as a unit vector."""
    square, *best = vec.dot(vectors[0], vectors[0]), *vectors[0]
    for other in vectors[1:]:
        news = [vec.dot(other, other), *other]
        square, *best = (select(news[0] - square, a, b)
                         for a, b in zip(news, (square, *best), strict=True))  # fmt: skip
    return vec.scale(best, reciprocal(square_root(square)))


def _present(x: Any) -> Any:
    """1 for a number, 0 for NaN."""
    return select(absolute(x) + 1.0, 1.0, 0.0)


def _none(flags: Any) -> Any:
    """1 where none of some flags is 1."""
    return functools.reduce(lambda a, b: a * (1.0 - b), flags, 1.0)
