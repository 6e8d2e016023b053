# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of a recording, recorded in the same graph.

Forward mode is for few inputs and many results, reverse mode for one result and many inputs. Loops
that a formula or an iteration closed are not differentiated: rules give the derivatives of such
numbers (implicit function theorem). Other rules only save work: rates of joints and bodies per rate
of an independent joint have been recorded already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.traced.numbers import (
    Graph,
    Lanes,
    Number,
    Scalar,
    arguments,
    in_lane,
    is_known,
    lane_pick,
    lane_sum,
    lesser,
    reachable,
    select,
    sign_of,
)

Slopes = Callable[[Scalar], Any]  # the derivative of a number on which another depends


class Rules(dict[int, dict[int, Any]]):
    """Node to known derivatives by input; derivatives by other inputs follow from its operation.

    Attributes
    ----------
    implicit : dict
        Node to numbers that its derivatives follow from instead, and how they do: shorter than
        through all operations by which an equation was solved. For :func:`forward`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.implicit: dict[int, tuple[list[int], Callable[[Slopes], Any]]] = {}

    def add_implicit(self, x: Scalar, on: Iterable[Scalar], slope: Callable[[Slopes], Any]) -> None:
        """Set how the derivatives of a number follow from those of numbers recorded before it."""
        if not isinstance(x, Number):
            return
        earlier, last = [other.index for other in on if isinstance(other, Number)], x.index
        if (positive := x._negated()) is not None:  # sums refer to what a 'neg' negates
            last = positive.index
        if max(earlier, default=-1) >= last:
            return  # it is one of these numbers itself
        self.implicit[x.index] = earlier, slope
        if positive is not None:
            self.implicit[last] = earlier, lambda slopes: -slope(slopes)


_LEAVES = ('constant', 'lanes', 'input')
_STEPS = ('round', 'copysign')  # their slope is zero


def add_rule(rules: Rules, x: Scalar, slopes: dict[int, Any]) -> None:
    """Set derivatives of a number; it must not be an input itself."""
    if not isinstance(x, Number):
        return
    rules.setdefault(x.index, {}).update(slopes)
    if (positive := x._negated()) is not None:  # sums refer to what a 'neg' negates
        rules.setdefault(positive.index, {}).update({k: -v for k, v in slopes.items()})


def forward(
    outputs: Sequence[Scalar], inputs: Sequence[int], rules: Rules | None = None
) -> list[list[Any]]:
    """Derivatives of each output by each of some inputs.

    Parameters
    ----------
    outputs : sequence of number
        Of one graph.
    inputs : sequence of int
        Numbers of the inputs.
    rules : dict, optional
        Known derivatives.
    """
    graph = next((x.graph for x in outputs if isinstance(x, Number)), None)
    if graph is None:
        return [[0.0] * len(inputs) for _ in outputs]
    indices = [x.index if isinstance(x, Number) else None for x in outputs]
    columns = []
    for k in inputs:
        slopes = _along(graph, [i for i in indices if i is not None], k, rules or Rules())
        columns.append([0.0 if i is None else slopes[i] for i in indices])
    return [list(row) for row in zip(*columns, strict=True)]


def reverse(output: Scalar, inputs: Sequence[int], rules: Rules | None = None) -> list[Any]:
    """Derivatives of one output by each of some inputs, in one sweep, whatever their number.

    Parameters
    ----------
    output, inputs, rules
        As for :func:`forward`.
    """
    adjoints: dict[int, Any] = {k: 0.0 for k in inputs}
    if isinstance(output, Number):
        _Reverse(output.graph, rules or Rules(), adjoints).sweep(output)
    return list(adjoints.values())


def _along(graph: Graph, outputs: list[int], k: int, rules: Rules) -> dict[int, Any]:
    """Derivatives of nodes by one input."""
    slopes: dict[int, Any] = {}
    closed = {i for i, zero in rules.items() if k in zero}
    implicit = rules.implicit

    def of(x: Scalar) -> Any:
        return slopes[x.index] if isinstance(x, Number) else 0.0

    def on(i: int) -> Iterable[int]:
        if i in closed:
            return ()
        return implicit[i][0] if i in implicit else _smooth_arguments(graph.nodes[i])

    for i in reachable(graph, outputs, on):
        node = graph.nodes[i]
        if i in closed:
            slopes[i] = rules[i][k]
        elif i in implicit:
            slopes[i] = implicit[i][1](of)
        elif node[0] in _LEAVES or node[0] in _STEPS:
            slopes[i] = 1.0 if node == ('input', k) else 0.0
        else:
            parts = [slopes[j] for j in _smooth_arguments(node)]
            zero = all(is_known(part, 0.0) for part in parts)
            slopes[i] = 0.0 if zero else _chain(graph, i, parts)
    return slopes


def _smooth_arguments(node: tuple[Any, ...]) -> tuple[int, ...]:
    """Arguments of a node with which it changes: what only decides between others is none."""
    return node[2:] if node[0] == 'select' else arguments(node)


def _of_least(x: Scalar, slope: Scalar, count: int) -> Any:
    """Derivative of the smallest of a number's lanes: that lane's, the first of equal ones."""
    least, least_slope = lane_pick(x, 0), lane_pick(slope, 0)
    for lane in range(1, count):
        other = lane_pick(x, lane)
        least_slope = select(least - other, lane_pick(slope, lane), least_slope)
        least = lesser(least, other)
    return least_slope


def _operands(graph: Graph, i: int) -> list[Any]:
    """Arguments of a node as numbers; known ones fold."""

    def operand(j: int) -> Any:
        operation, *rest = graph.nodes[j]
        if operation == 'lanes':
            return Lanes(np.array(rest[0]))
        return rest[0] if operation == 'constant' else Number(graph, j)

    return [operand(j) for j in arguments(graph.nodes[i])]


def _chain(graph: Graph, i: int, parts: list[Any]) -> Any:
    """Derivative of a node from those of its arguments."""
    node, value, at = graph.nodes[i], Number(graph, i), _operands(graph, i)
    match node[0]:
        case 'add':
            return parts[0] + parts[1]
        case 'sub':
            return parts[0] - parts[1]
        case 'mul':
            if node[1] == node[2]:
                return 2.0 * (at[0] * parts[0])
            return at[0] * parts[1] + at[1] * parts[0]
        case 'div':
            return (parts[0] - value * parts[1]) * _over(value, at)
        case 'neg':
            return -parts[0]
        case 'sqrt':
            return parts[0] * (0.5 / value)
        case 'abs':
            return parts[0] * sign_of(at[0])
        case 'select':
            return select(at[0], *parts)
        case 'sum':
            return lane_sum(parts[0], graph.lanes[node[1]])
        case 'least':
            return _of_least(at[0], parts[0], graph.lanes[node[1]])
        case 'pick':
            return lane_pick(parts[0], -1 - node[2])
    raise NotImplementedError(f'derivative of {node[0]!r}')


def _over(value: Number, at: list[Any]) -> Any:
    """One over the denominator of a quotient."""
    return value if is_known(at[0], 1.0) else 1.0 / at[1]


class _Reverse:
    """One sweep from an output back to the inputs.

    Parameters
    ----------
    adjoints : dict
        Derivatives by the wanted inputs, filled in.
    """

    def __init__(self, graph: Graph, rules: Rules, adjoints: dict[int, Any]):
        self._graph, self._rules, self._found = graph, rules, adjoints
        self._adjoints: dict[int, Any] = {}

    def sweep(self, output: Number) -> None:
        """Add the derivatives of an output."""
        wanted = set(self._found)
        closed = {i for i, rule in self._rules.items() if wanted <= rule.keys()}
        self._adjoints[output.index] = 1.0
        nodes = self._graph.nodes

        def on(i: int) -> Iterable[int]:
            return () if i in closed else arguments(nodes[i])

        for i in reversed(reachable(self._graph, [output.index], on)):
            if i in self._adjoints:
                self._hand_on(i, self._adjoints[i], i in closed)

    def _hand_on(self, i: int, adjoint: Any, closed: bool) -> None:
        node = self._graph.nodes[i]
        if closed:
            for k in self._found:
                slope = self._rules[i][k]
                lanes = max(self._graph.lanes[i], 1)
                self._found[k] = self._found[k] + lane_sum(adjoint * slope, lanes)
        elif node[0] == 'input' and node[1] in self._found:
            self._found[node[1]] = self._found[node[1]] + adjoint
        elif node[0] not in _LEAVES and node[0] not in _STEPS:
            for j, part in zip(arguments(node), self._parts(i, adjoint), strict=True):
                self._give(i, j, part)

    def _give(self, i: int, j: int, part: Any) -> None:
        """Add to the adjoint of an argument of a node."""
        if self._graph.nodes[j][0] in ('constant', 'lanes') or is_known(part, 0.0):
            return
        if self._graph.lanes[i] and not self._graph.lanes[j]:
            part = lane_sum(part, self._graph.lanes[i])
        self._adjoints[j] = self._adjoints[j] + part if j in self._adjoints else part

    def _parts(self, i: int, adjoint: Any) -> list[Any]:
        """Adjoints of the arguments of a node."""
        graph, value, at = self._graph, Number(self._graph, i), _operands(self._graph, i)
        node = graph.nodes[i]
        match node[0]:
            case 'add':
                return [adjoint, adjoint]
            case 'sub':
                return [adjoint, -adjoint]
            case 'mul':
                return [adjoint * at[1], adjoint * at[0]]
            case 'div':
                part = adjoint * _over(value, at)
                return [part, -(part * value)]
            case 'neg':
                return [-adjoint]
            case 'sqrt':
                return [adjoint * (0.5 / value)]
            case 'abs':
                return [adjoint * sign_of(at[0])]
            case 'select':
                return [0.0, select(at[0], adjoint, 0.0), select(at[0], 0.0, adjoint)]
            case 'sum':
                return [adjoint]
            case 'pick':
                return [adjoint * in_lane(-1 - node[2], graph.lanes[node[1]])]
        raise NotImplementedError(f'derivative of {node[0]!r}')


def evaluated(graph: Graph, outputs: Sequence[Scalar], rows: Any) -> Any:
    """Outputs (N, outputs) of a recording for rows (N, inputs), in numpy: no code is made.

    Of the type of the rows, which may be longer than float64. For recordings without loops and
    calls.
    """
    operations: dict[str, Any] = {
        'add': np.add, 'sub': np.subtract, 'mul': np.multiply, 'div': np.divide,
        'neg': np.negative, 'sqrt': np.sqrt, 'abs': np.abs, 'round': np.rint,
        'copysign': np.copysign, 'select': lambda c, a, b: np.where(c > 0.0, a, b),
        'sum': lambda x: x.sum(axis=0), 'least': lambda x: x.min(axis=0),
    }  # fmt: skip
    values: dict[int, Any] = {}
    indices = [graph.lift(x) for x in outputs]
    with np.errstate(all='ignore'):
        for i in reachable(graph, indices):
            operation, *rest = graph.nodes[i]
            if operation == 'input':
                values[i] = rows[:, rest[0]]
            elif operation in ('constant', 'lanes'):
                values[i] = np.array(rest[0], dtype=rows.dtype)
                values[i] = values[i][:, None] if operation == 'lanes' else values[i]
            elif operation == 'pick':
                values[i] = values[rest[0]][-1 - rest[1]]
            else:
                values[i] = operations[operation](*(values[j] for j in rest))
    columns = [np.broadcast_to(values[i], len(rows)) for i in indices]
    return np.stack(columns, axis=1) if columns else np.empty((len(rows), 0), rows.dtype)
