# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a tree of elementary motions with closed loops, as machine code.

Every body is a set of generalised points X_a (origin, axes, bent axes; all vectors in the base)
with a matrix G of mass integrals: kinetic energy is ``sum G_ab dX_a/dt . dX_b/dt / 2``, so that
``M = sum G_ab J_a^T J_b`` and the velocity-dependent forces are ``sum G_ab J_a^T (dJ_b/dt v)``.
Written once on numbers that record (``engine/traced/numbers.py``), as all dynamics are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray, consecutive
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.control_flow import graph_of, repeat
from masticator_dynamics.engine.traced.functions import sine_cosine
from masticator_dynamics.engine.traced.matrices import cholesky, inverse, solve, solve_factored
from masticator_dynamics.engine.traced.numbers import absolute, greatest, select, total
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.files import file_cache

STEPS = 15  # of Newton's method; from a nearby pose three or four are needed
ENOUGH = 1e-7  # step after which only rounding is left
SOLVED, OPEN = 0, 1

Row = list[Any]


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
    body_node: IntArray  # (B,)
    points: IntArray  # (B,)
    gram: FloatArray  # (B, P, P)
    point_coordinate: IntArray  # (B, P)
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


class Node:
    """A node of the tree at a pose.

    Attributes
    ----------
    origin, rotation
        In the base.
    linear, angular : dict of int to vector
        Velocities per rate of each coordinate that moves it.
    """

    def __init__(self, m: Arrays, k: int, parent: Node | None, q: Sequence[Any]):
        self.linear: dict[int, Any] = {}
        self.angular: dict[int, Any] = {}
        self.axis: Any = vec.ZERO
        self.terms = [
            (int(m.term_coordinate[t]), float(m.term_factor[t]))
            for t in range(m.first_term[k], m.first_term[k + 1])
        ]
        if parent is None:
            self.origin: Any = [0.0, 0.0, 0.0]
            self.rotation: Any = np.eye(3).tolist()
            return
        turned = vec.product(parent.rotation, m.rotation[k].tolist())
        arm: Any = vec.apply(parent.rotation, m.position[k].tolist())
        amount = total(factor * q[c] for c, factor in self.terms)
        axis = vec.apply(turned, m.axis[k].tolist())
        turns, slides = m.kind[k] == 1, m.kind[k] == 2
        self.rotation = vec.product(turned, _turn(m.axis[k].tolist(), amount)) if turns else turned
        if slides:
            arm = vec.add(arm, vec.scale(axis, amount))
        self.origin, self.axis, self.arm = vec.add(parent.origin, arm), axis, arm
        self.angular = dict(parent.angular)
        for c, linear in parent.linear.items():
            turn = parent.angular.get(c)
            self.linear[c] = linear if turn is None else vec.add(linear, vec.cross(turn, arm))
        for c, turn in parent.angular.items():
            if c not in parent.linear:
                self.linear[c] = vec.cross(turn, arm)
        into = self.angular if turns else self.linear
        for c, factor in self.terms:
            into[c] = vec.add(into.get(c, vec.ZERO), vec.scale(axis, factor))

    def rates(self, m: Arrays, k: int, parent: Rates | None, v: Sequence[Any]) -> Rates:
        """Angular velocity, and accelerations when coordinates do not accelerate.

        The base accelerates against gravity, so that the inertia forces include weight.
        """
        if parent is None:
            return Rates(vec.ZERO, vec.ZERO, (-m.gravity).tolist())
        rate, alpha, a = parent
        along = vec.scale(self.axis, total(factor * v[c] for c, factor in self.terms))
        bent = vec.cross(rate, vec.cross(rate, self.arm))
        a = vec.add(vec.add(a, bent), vec.cross(alpha, self.arm))
        turned = vec.cross(rate, along)
        if m.kind[k] == 1:
            return Rates(vec.add(rate, along), vec.add(alpha, turned), a)
        if m.kind[k] == 2:
            a = vec.add(a, vec.scale(turned, 2.0))
        return Rates(rate, alpha, a)


class Rates(NamedTuple):
    """Angular velocity and acceleration of a node, and acceleration of its origin."""

    rate: Any
    alpha: Any
    acceleration: Any


def _turn(axis: Sequence[float], angle: Any) -> Any:
    """A rotation about an axis (Rodrigues)."""
    s, c = sine_cosine(angle)
    x, y, z = axis
    d = 1.0 - c
    return [
        [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
        [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
        [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
    ]


def nodes_at(m: Arrays, q: Sequence[Any]) -> list[Node]:
    """All nodes at positions (n,)."""
    nodes: list[Node] = []
    for k, p in enumerate(m.parent):
        nodes.append(Node(m, k, nodes[p] if k else None, q))
    return nodes


def rates_of(m: Arrays, nodes: Sequence[Node], v: Sequence[Any]) -> list[Rates]:
    """Of all nodes, for velocities (n,)."""
    rates: list[Rates] = []
    for k, node in enumerate(nodes):
        rates.append(node.rates(m, k, rates[m.parent[k]] if k else None, v))
    return rates


def loops(m: Arrays, nodes: Sequence[Node]) -> tuple[Row, list[Row]]:
    """Gaps (R,) of the loops, m, and their Jacobian (R, n)."""
    gaps, jacobian = [], []
    for a, b, row, offset in zip(m.node_a, m.node_b, m.row.tolist(), m.offset, strict=True):
        apart = vec.subtract(nodes[b].origin, nodes[a].origin)
        gaps.append(vec.dot(row, apart) + float(offset))
        slopes: Row = [0.0] * len(m.stiffness)
        for node, sign in ((nodes[b], 1.0), (nodes[a], -1.0)):
            for c, linear in node.linear.items():
                slopes[c] = slopes[c] + sign * vec.dot(row, linear)
        jacobian.append(slopes)
    return gaps, jacobian


def inertial(
    m: Arrays, nodes: Sequence[Node], rates: Sequence[Rates], q: Sequence[Any], v: Sequence[Any]
) -> tuple[list[Row], Row]:
    """Mass matrix (n, n) and forces (n,) due to velocity and weight: ``M a + h = efforts``."""
    n = len(m.stiffness)
    mass = [[float(m.rotor[i]) if i == j else 0.0 for j in range(n)] for i in range(n)]
    force: Row = [0.0] * n
    for b, k in enumerate(m.body_node):
        points = [_point(m, b, x, nodes[k], rates[k], q, v) for x in range(m.points[b])]
        for x, (jacobian, _) in enumerate(points):
            weights = [(float(m.gram[b, x, y]), points[y]) for y in range(len(points))]
            weights = [(g, point) for g, point in weights if g]
            pull = [total(g * drift[i] for g, (_, drift) in weights) for i in range(3)]
            for c, direction in jacobian.items():
                force[c] = force[c] + vec.dot(direction, pull)
            for d in sorted({d for _, (other, _) in weights for d in other}):
                column = [
                    total(g * other[d][i] for g, (other, _) in weights if d in other)
                    for i in range(3)
                ]
                for c, direction in jacobian.items():
                    if c <= d:
                        mass[c][d] = mass[c][d] + vec.dot(direction, column)
    return [[mass[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)], force


def _point(
    m: Arrays, b: int, x: int, node: Node, rates: Rates, q: Sequence[Any], v: Sequence[Any]
) -> tuple[dict[int, Any], Any]:
    """Jacobian of a generalised point of a body, by coordinate, and its drift."""
    if x == 0:
        return node.linear, rates.acceleration
    c = int(m.point_coordinate[b, x])
    bent = vec.apply(node.rotation, m.point_direction[b, x].tolist())
    arm = bent if c < 0 else vec.scale(bent, q[c])
    jacobian = {k: vec.cross(turn, arm) for k, turn in node.angular.items()}
    drift = vec.add(vec.cross(rates.rate, vec.cross(rates.rate, arm)), vec.cross(rates.alpha, arm))
    if c >= 0:
        jacobian[c] = vec.add(jacobian.get(c, vec.ZERO), bent)
        drift = vec.add(drift, vec.scale(vec.cross(rates.rate, bent), 2.0 * v[c]))
    return jacobian, drift


def close(m: Arrays, q: Sequence[Any], typical: FloatArray) -> tuple[Any, Row]:
    """Status and ``q`` (n,) with dependent coordinates at which the loops close (Newton)."""
    dependent = m.dependent.tolist()
    if not dependent:
        return 0.0, list(q)

    def step(state: Row) -> tuple[Any, Row]:
        at = list(q)
        for c, x in zip(dependent, state[1:], strict=True):
            at[c] = x
        gaps, jacobian = loops(m, nodes_at(m, at))
        matrix = [[row[c] for c in dependent] for row in jacobian]
        change, _ = solve(matrix, typical, gaps)
        moved = vec.subtract(state[1:], change)
        longest = greatest([absolute(x) for x in change])
        status = select(1.0 - longest, select(longest - ENOUGH, 2.0, 0.0), 1.0)
        return select(status - 1.5, 1.0, 0.0), [status, *moved]

    start = [2.0, *(q[c] for c in dependent)]
    status, *positions = repeat(graph_of(q), STEPS, start, step)
    closed = list(q)
    for c, x in zip(dependent, positions, strict=True):
        closed[c] = x
    return select(0.5 - absolute(status), 0.0, 1.0), closed


def tangent(m: Arrays, jacobian: list[Row], typical: FloatArray) -> tuple[list[Row], Any]:
    """Null space of the loops, and the inverse of their Jacobian over dependent coordinates.

    The former (n, f) are rates of all coordinates per rate of the free ones (S3 Eqs. 35-36).
    """
    free, dependent = m.free.tolist(), m.dependent.tolist()
    null: list[Row] = [[0.0] * len(free) for _ in m.stiffness]
    for i, c in enumerate(free):
        null[c][i] = 1.0
    if not dependent:
        return null, []
    inverted, _ = inverse([[row[c] for c in dependent] for row in jacobian], typical)
    for i, c in enumerate(dependent):
        null[c] = [-vec.dot(inverted[i], [row[f] for row in jacobian]) for f in free]
    return null, inverted


class Equations:
    """Machine code of a model.

    Parameters
    ----------
    home : array, shape (n,)
        A typical pose.
    """

    def __init__(self, arrays: Arrays, home: FloatArray):
        self.arrays = arrays
        _, jacobian = loops(arrays, nodes_at(arrays, home.tolist()))
        matrix: FloatArray = np.array(jacobian).reshape(-1, len(home))[:, arrays.dependent]
        self._typical: FloatArray = matrix
        n, f, rows, nodes = len(home), len(arrays.free), len(arrays.offset), len(arrays.parent)
        d = len(arrays.dependent)
        self._of_pose = consecutive(
            {'origin': 3 * nodes, 'rotation': 9 * nodes, 'rate': 3 * nodes, 'gap': rows,
             'jacobian': rows * n, 'kinetic': 1}
        )  # fmt: skip
        self._of_closed = consecutive(
            {'q': n, 'jacobian': rows * n, 'null': n * f, 'inverse': d * d}
        )
        self._of_equations = consecutive({'mass': f * f, 'force': f, 'null': n * f})

    # Functions of numbers

    def _code(
        self, kind: str, inputs: int, outputs: int, function: Callable[[Sequence[Any]], list[Any]]
    ) -> RowCode:
        return RowCode(
            f'flexible {kind}', inputs, outputs, lambda numbers, _: function(numbers),
            lambda: [file_cache.sources('engine/traced', 'flexible'), *self.arrays, self._typical],
        )  # fmt: skip

    @functools.cached_property
    def _pose_code(self) -> RowCode:
        m, n = self.arrays, len(self.arrays.stiffness)

        def function(numbers: Sequence[Any]) -> list[Any]:
            q, v = numbers[:n], numbers[n:]
            nodes = nodes_at(m, q)
            rates = rates_of(m, nodes, v)
            gaps, jacobian = loops(m, nodes)
            mass, _ = inertial(m, nodes, rates, q, v)
            return [
                *vec.flat(node.origin for node in nodes),
                *vec.flat(row for node in nodes for row in node.rotation),
                *vec.flat(rate.rate for rate in rates), *gaps, *vec.flat(jacobian),
                0.5 * vec.dot(v, vec.apply(mass, v)),
            ]  # fmt: skip

        return self._code('pose', 2 * n, self._of_pose['kinetic'].stop, function)

    @functools.cached_property
    def _closed_code(self) -> RowCode:
        m = self.arrays

        def function(numbers: Sequence[Any]) -> list[Any]:
            status, q = close(m, numbers, self._typical)
            _, jacobian = loops(m, nodes_at(m, q))
            null, inverted = tangent(m, jacobian, self._typical)
            return [status, *q, *vec.flat(jacobian), *vec.flat(null), *vec.flat(inverted)]

        n = len(m.stiffness)
        return self._code('closed', n, 1 + self._of_closed['inverse'].stop, function)

    def _set_up(self, numbers: Sequence[Any]) -> tuple[Any, list[Row], Row, list[Row], Row]:
        """Status, mass matrix, force, null space, velocities; see :meth:`equations`."""
        m, n, f = self.arrays, len(self.arrays.stiffness), len(self.arrays.free)
        guess, free, rate, effort = (
            numbers[a:b] for a, b in ((0, n), (n, n + f), (n + f, n + 2 * f), (n + 2 * f, None))
        )
        q = list(guess)
        for c, x in zip(m.free.tolist(), free, strict=True):
            q[c] = x
        status, q = close(m, q, self._typical)
        nodes = nodes_at(m, q)
        _, jacobian = loops(m, nodes)
        null, inverted = tangent(m, jacobian, self._typical)
        v = vec.apply(null, rate)
        rates = rates_of(m, nodes, v)
        mass, force = inertial(m, nodes, rates, q, v)
        right = [
            e - h - float(s) * x for e, h, s, x in zip(effort, force, m.stiffness, q, strict=True)
        ]
        drift = [
            vec.dot(row, vec.subtract(rates[b].acceleration, rates[a].acceleration))
            for a, b, row in zip(m.node_a, m.node_b, m.row.tolist(), strict=True)
        ]
        # d(null)/dt free_rate: accelerations of dependent coordinates when free ones have none
        for c, row in zip(m.dependent.tolist(), inverted, strict=True):
            extra = vec.dot(row, drift)
            right = [r + line[c] * extra for r, line in zip(right, mass, strict=True)]
        columns = [[row[i] for row in null] for i in range(f)]
        pushed = [vec.apply(mass, column) for column in columns]
        reduced = [[vec.dot(a, b) for b in pushed] for a in columns]
        return status, reduced, [vec.dot(a, right) for a in columns], null, v

    @property
    def _inputs(self) -> int:
        return 2 * (len(self.arrays.stiffness) + len(self.arrays.free))

    @functools.cached_property
    def _equations_code(self) -> RowCode:
        def function(numbers: Sequence[Any]) -> list[Any]:
            status, mass, force, null, _ = self._set_up(numbers)
            return [status, *vec.flat(mass), *force, *vec.flat(null)]

        return self._code('equations', self._inputs, 1 + self._of_equations['null'].stop, function)

    @functools.cached_property
    def _rates_code(self) -> RowCode:
        n, f = len(self.arrays.stiffness), len(self.arrays.free)

        def function(numbers: Sequence[Any]) -> list[Any]:
            status, mass, force, _, v = self._set_up(numbers)
            lower, _ = cholesky(mass)
            power = vec.dot(numbers[n + 2 * f :], v)
            return [status, *numbers[n + f : n + 2 * f], *solve_factored(lower, force), power]

        return self._code('rates', self._inputs, 2 + 2 * f, function)

    # Arrays

    def pose(self, q: FloatArray, v: FloatArray | None = None) -> dict[str, FloatArray]:
        """Of positions and velocities (..., n): where nodes are and how they move.

        ``origin`` (..., N, 3), ``rotation`` (..., N, 3, 3) and angular velocity ``rate`` of the
        nodes, ``gap`` (..., R) of the loops, m, their ``jacobian`` (..., R, n) and ``kinetic``
        energy (...), J.
        """
        inputs = np.concatenate([q, np.zeros_like(q) if v is None else v], axis=-1)
        outputs = self._pose_code.one_by_one(np.atleast_2d(inputs)).reshape(*q.shape[:-1], -1)
        n, nodes = q.shape[-1], len(self.arrays.parent)
        shapes = {
            'origin': (nodes, 3), 'rotation': (nodes, 3, 3), 'rate': (nodes, 3),
            'gap': (len(self.arrays.offset),),
            'jacobian': (len(self.arrays.offset), n), 'kinetic': (),
        }  # fmt: skip
        return {
            name: outputs[..., self._of_pose[name]].reshape((*q.shape[:-1], *shape))
            for name, shape in shapes.items()
        }

    def closed(self, q: FloatArray) -> tuple[bool, dict[str, FloatArray]]:
        """Move dependent coordinates of ``q`` (n,) until the loops close.

        Whether they do; ``q`` (n,), the ``jacobian`` (R, n) of the loops, their ``null`` space
        (n, f), and the ``inverse`` of their Jacobian over dependent coordinates.
        """
        outputs = self._closed_code(q)
        n, d = len(q), len(self.arrays.dependent)
        shapes = {'q': (n,), 'jacobian': (len(self.arrays.offset), n),
                  'null': (n, len(self.arrays.free)),
                  'inverse': (d, d)}  # fmt: skip
        parts = {
            name: outputs[1:][self._of_closed[name]].reshape(shape)
            for name, shape in shapes.items()
        }
        return bool(outputs[0] == SOLVED and np.isfinite(outputs).all()), parts

    def equations(
        self, guess: FloatArray, free: FloatArray, free_rate: FloatArray, effort: FloatArray
    ) -> tuple[bool, FloatArray, FloatArray, FloatArray]:
        """Close the loops and set up ``mass @ acceleration = force`` of the free coordinates.

        Parameters
        ----------
        guess : (n,) array
            A pose nearby.
        free, free_rate : (f,) array
            Positions and velocities of the free coordinates.
        effort : (n,) array
            On all coordinates, N and N m.

        Returns
        -------
        closed, mass, force, null
            Whether the loops close, mass matrix (f, f), force (f,), null space (n, f) of the loops.
        """
        outputs = self._equations_code(np.concatenate([guess, free, free_rate, effort]))
        mass, force, null = (outputs[1:][where] for where in self._of_equations.values())
        f = len(free)
        return bool(outputs[0] == SOLVED), mass.reshape(f, f), force, null.reshape(-1, f)

    def rates(self, inputs: FloatArray) -> FloatArray:
        """Time derivative (2 f + 1,) of free positions, rates and work; NaN where loops are open.

        Parameters
        ----------
        inputs : (2 n + 2 f,) array
            The arguments of :meth:`equations`, one after the other.
        """
        outputs = self._rates_code(inputs)
        return outputs[1:] if outputs[0] == SOLVED else np.full(len(outputs) - 1, np.nan)
