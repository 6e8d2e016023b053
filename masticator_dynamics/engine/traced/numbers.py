# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: D105 - operators are what they are
"""Numbers that record what is done to them.

An algorithm in plain Python runs on floats and computes, or runs on :class:`Number` and leaves a
graph of operations behind: straight-line code without loops, indices or branches. What is known
when a mechanism is loaded is a float and is folded; equal operations are one node; what no output
needs is never emitted. :class:`Lanes` are floats with one value per limb, so that limbs of the same
kind, or sign patterns, share one sequence of operations and one SIMD register.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

NEGLIGIBLE = 1e-15  # of geometry in m or of unit vectors; rounding of the files, taken for zero

# Operations of a node that act on single numbers or on all lanes alike.
LANEWISE = ('add', 'sub', 'mul', 'div', 'neg', 'sqrt', 'round', 'abs', 'copysign', 'select')
# 'sum', 'least' and 'pick' reduce a node with lanes to one number.
# A function with a recording of its own is a node 'call' of its name, number of results and
# arguments; its results are nodes 'result'.
# A loop is a node 'repeat' of its number, the most steps, the condition to go on, and of the start
# and the next value of each number that it carries; these are nodes 'carried' within it, 'final'
# after it, whose last argument is how many lanes they have.


class TooLargeError(Exception):
    """A recording has more operations than machine code is generated for."""


class Graph:
    """Operations in the order in which they were recorded, each only once.

    Attributes
    ----------
    nodes : list of tuple
        Operation and its arguments: indices of nodes, or for ``input``, ``constant``, ``lanes``
        and ``pick`` also plain values.
    lanes : list of int
        Per node, how many lanes it has a value for; 0: a single number.

    Raises
    ------
    TooLargeError
        When there are more than ``largest`` operations.
    """

    def __init__(self, largest: int = 1_000_000) -> None:
        self.largest = largest
        self.nodes: list[tuple[Any, ...]] = []
        self.lanes: list[int] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self.loops = 0  # how many there are
        self.functions: dict[str, tuple[Graph, list[Scalar]]] = {}  # see `control_flow.call`

    def record(self, operation: str, *arguments: Any) -> Number:
        """The node of an operation, new or known."""
        key = (operation, *arguments)
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self.nodes)
            if index >= self.largest:
                raise TooLargeError(f'more than {self.largest} operations')
            self.nodes.append(key)
            counts = {len(arguments[0])} if operation == 'lanes' else {0}
            if operation in ('carried', 'final'):
                counts = {arguments[-1]}
            if operation in LANEWISE:
                counts = {0, *(self.lanes[a] for a in arguments)}
            *_, count = sorted(counts)
            assert counts <= {0, count}, 'lanes of two kinds'
            self.lanes.append(count)
        return Number(self, index)

    def lift(self, x: Scalar) -> int:
        """Index of a node for any kind of number."""
        if isinstance(x, Number):
            return x.index
        if isinstance(x, Lanes):
            return self.record('lanes', tuple(x.values.tolist())).index
        return self.record('constant', float(x)).index

    def inputs(self, count: int) -> list[Number]:
        """Numbers that are known only when the code runs."""
        return [self.record('input', i) for i in range(count)]


def _lane_by_lane(function: Callable[[Any, Any], Any]) -> Callable[[Lanes, Scalar], Any]:
    def run(self: Lanes, other: Scalar) -> Any:
        if isinstance(other, Number):
            return NotImplemented
        return lanes(function(self.values, other.values if isinstance(other, Lanes) else other))

    return run


class Lanes:
    """Known numbers, one per lane."""

    __slots__ = ('values',)

    def __init__(self, values: FloatArray):
        self.values = values

    __add__ = __radd__ = _lane_by_lane(operator.add)
    __mul__ = __rmul__ = _lane_by_lane(operator.mul)
    __sub__ = _lane_by_lane(operator.sub)
    __rsub__ = _lane_by_lane(lambda a, b: b - a)
    __truediv__ = _lane_by_lane(operator.truediv)
    __rtruediv__ = _lane_by_lane(lambda a, b: b / a)

    def __neg__(self) -> Any:
        return lanes(-self.values)


class Number:
    """A node of a graph that stands for a number; arithmetic on it records."""

    __slots__ = ('graph', 'index')

    def __init__(self, graph: Graph, index: int):
        self.graph, self.index = graph, index

    def _negated(self) -> Number | None:
        """The number of which this is the negative, if it is recorded as one."""
        node = self.graph.nodes[self.index]
        return Number(self.graph, node[1]) if node[0] == 'neg' else None

    def _commuting(self, operation: str, other: Scalar) -> Number:
        a, b = self.index, self.graph.lift(other)
        return self.graph.record(operation, min(a, b), max(a, b))

    def __neg__(self) -> Number:
        return self._negated() or self.graph.record('neg', self.index)

    def __add__(self, other: Scalar) -> Scalar:
        if is_known(other, 0.0):
            return self
        if isinstance(other, Number):
            if positive := other._negated():
                return self - positive
            if positive := self._negated():
                return other - positive
        return self._commuting('add', other)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        if is_known(other, 0.0):
            return self
        if isinstance(other, Number):
            if other.index == self.index:
                return 0.0
            if positive := other._negated():
                return self + positive
            if positive := self._negated():
                return -(other + positive)
        return self.graph.record('sub', self.index, self.graph.lift(other))

    def __rsub__(self, other: Scalar) -> Scalar:
        if is_known(other, 0.0):
            return -self
        return self.graph.record('sub', self.graph.lift(other), self.index)

    def __mul__(self, other: Scalar) -> Scalar:
        if is_known(other, 0.0):
            return 0.0
        if is_known(other, 1.0):
            return self
        if positive := self._negated():
            return -(positive * other)
        if isinstance(other, Number):
            if positive := other._negated():
                return -(self * positive)
        elif not isinstance(other, Lanes) and other < 0.0:
            return -(self * -other)
        return self._commuting('mul', other)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, Number):
            return self.graph.record('div', self.index, other.index)
        return self * (1.0 / other)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        if is_known(other, 0.0):
            return 0.0
        return self.graph.record('div', self.graph.lift(other), self.index)


Scalar = Number | Lanes | float


def is_known(x: Scalar, value: float) -> bool:
    """Whether a number is known to have a value in all lanes."""
    return not isinstance(x, Number | Lanes) and x == value


def lanes(values: FloatArray) -> Lanes | float:
    """Known numbers of the lanes; one float where all are the same."""
    return float(values[0]) if np.all(values == values[0]) else Lanes(values)


def stacked(arrays: Sequence[Any]) -> Any:
    """Known arrays of one shape, one per lane, as nested lists of floats and lanes.

    Geometry that is zero or one up to the rounding of its file becomes exactly so, and then folds.
    """
    if any(isinstance(x, Number) for x in np.array(arrays, dtype=object).ravel()):
        (single,) = arrays
        return _rounded(single)
    table = np.array(arrays, dtype=float)
    for value in (0.0, 1.0, -1.0):
        table[np.abs(table - value) < NEGLIGIBLE] = value

    def nested(part: FloatArray) -> Any:
        if part.ndim == 1:
            return lanes(part)
        return [nested(part[:, i]) for i in range(part.shape[1])]

    return nested(table)


def _rounded(part: Any) -> Any:
    """Nested lists of which some numbers are recorded, others rounded as by :func:`stacked`."""
    if isinstance(part, Number):
        return part
    if np.ndim(part):
        return [_rounded(x) for x in part]
    return stacked([[part]])[0]


def per_lane(values: Iterable[float]) -> Any:
    """Known numbers, one per lane, rounded as by :func:`stacked`."""
    return stacked([[value] for value in values])[0]


def in_lane(lane: int, count: int) -> Any:
    """1 in one lane and 0 in the others."""
    return per_lane(float(i == lane) for i in range(count))


def _function(operation: str, evaluate: Callable[[Any], Any]) -> Callable[[Scalar], Any]:
    def run(x: Scalar) -> Scalar:
        if isinstance(x, Number):
            return x.graph.record(operation, x.index)
        return lanes(evaluate(x.values)) if isinstance(x, Lanes) else float(evaluate(x))

    return run


# Roots of negative floats are NaN, as in machine code; conditions on them fail.
square_root = _function('sqrt', lambda x: np.sqrt(np.where(np.asarray(x) < 0.0, np.nan, x)))
nearest_integer = _function('round', np.rint)
absolute = _function('abs', np.abs)


def reciprocal(x: Scalar) -> Any:
    """One over a number; NaN for a known zero, so that conditions on it fail."""
    if isinstance(x, Number):
        return 1.0 / x
    if isinstance(x, Lanes):
        return lanes(1.0 / np.where(x.values == 0.0, np.nan, x.values))
    return 1.0 / x if x else math.nan


def sign_of(x: Scalar) -> Any:
    """1 with the sign of a number."""
    if isinstance(x, Number):
        return x.graph.record('copysign', x.graph.lift(1.0), x.index)
    if isinstance(x, Lanes):
        return lanes(np.copysign(1.0, x.values))
    return math.copysign(1.0, x)


def select(condition: Scalar, positive: Scalar, other: Scalar) -> Any:
    """``positive`` where a condition is above zero; ``other`` elsewhere and for NaN.

    Parameters
    ----------
    condition, positive, other : number
        Each a float, a recorded number or lanes of numbers.
    """
    if not isinstance(condition, Number | Lanes):
        return positive if condition > 0.0 else other
    arguments = condition, positive, other
    for x in arguments:
        if isinstance(x, Number):
            return x.graph.record('select', *map(x.graph.lift, arguments))
    plain: list[Any] = [x.values if isinstance(x, Lanes) else x for x in arguments]
    return lanes(np.where(plain[0] > 0.0, *plain[1:]))


def lesser(a: Scalar, b: Scalar) -> Any:
    """The smaller of two numbers."""
    return select(b - a, a, b)


def greater(a: Scalar, b: Scalar) -> Any:
    """The larger of two numbers."""
    return select(a - b, a, b)


def greatest(numbers: Sequence[Scalar]) -> Any:
    """The largest of some numbers, by pairs: few of the comparisons wait for one another."""
    while len(numbers) > 1:
        pairs = zip(numbers[::2], numbers[1::2], strict=False)
        numbers = [*(greater(a, b) for a, b in pairs), *numbers[len(numbers) // 2 * 2 :]]
    return numbers[0]


def total(terms: Iterable[Scalar]) -> Any:
    """Sum without a leading zero."""
    result: Scalar = 0.0
    for term in terms:
        result = result + term  # type: ignore[operator]
    return result


def lane_sum(x: Scalar, count: int) -> Any:
    """Sum over this many lanes; a number without lanes counts once per lane.

    For one lane it is the number itself, even if that has lanes of another kind.
    """
    if count == 1:
        return x
    if isinstance(x, Number):
        return x.graph.record('sum', x.index) if x.graph.lanes[x.index] else x * float(count)
    return float(x.values.sum()) if isinstance(x, Lanes) else x * count


def lane_least(x: Scalar) -> Any:
    """Least over lanes."""
    if isinstance(x, Number):
        return x.graph.record('least', x.index) if x.graph.lanes[x.index] else x
    return float(x.values.min()) if isinstance(x, Lanes) else x


def lane_greatest(x: Scalar) -> Any:
    """Greatest over lanes."""
    return -lane_least(-x)


def lane_pack(numbers: Sequence[Scalar]) -> Any:
    """One number with a lane for each of some."""
    if len(numbers) == 1:
        return numbers[0]
    return total(x * in_lane(i, len(numbers)) for i, x in enumerate(numbers))


def largest(numbers: Iterable[Scalar]) -> Any:
    """Largest absolute value over numbers and their lanes, whose count may differ."""
    wide: dict[int, Any] = {}
    for x in numbers:
        count = len(x.values) if isinstance(x, Lanes) else 0
        count = x.graph.lanes[x.index] if isinstance(x, Number) else count
        wide[count] = greater(absolute(x), wide.get(count, 0.0))
    largest_so_far: Any = 0.0
    for x in wide.values():
        largest_so_far = greater(lane_greatest(x), largest_so_far)
    return largest_so_far


def lane_count(numbers: Iterable[Scalar]) -> int:
    """How many lanes recorded numbers have; 0: none has lanes."""
    return max((x.graph.lanes[x.index] for x in numbers if isinstance(x, Number)), default=0)


def lane_pick(x: Scalar, lane: int) -> Any:
    """The number of one lane."""
    if isinstance(x, Number):
        # The lane is not a node, which the sign of the argument indicates.
        return x.graph.record('pick', x.index, -1 - lane) if x.graph.lanes[x.index] else x
    return float(x.values[lane]) if isinstance(x, Lanes) else x


def reachable(
    graph: Graph, outputs: Iterable[int], on: Callable[[int], Iterable[int]] | None = None
) -> list[int]:
    """Nodes that some depend on, these included, in the order in which they can be computed.

    Parameters
    ----------
    outputs : iterable of int
        Nodes.
    on : callable, optional
        Gives the nodes on which one depends, if not its arguments.
    """
    needed: set[int] = set()
    pending = list(outputs)
    while pending:
        index = pending.pop()
        if index not in needed:
            needed.add(index)
            pending.extend(on(index) if on else arguments(graph.nodes[index]))
    return sorted(needed)


def slots(
    graph: Graph,
    parts: Sequence[Sequence[int]],
    on: Callable[[int], Iterable[int]],
    results: Iterable[int] = (),
) -> tuple[dict[int, int], int]:
    """Places in memory for nodes that later parts need, and how many places there are.

    Constants need none. A place serves another node after the last part that needs the first.

    Parameters
    ----------
    parts : sequence of sequence of int
        Nodes in their order.
    on : callable
        Gives the nodes on which one depends.
    results : iterable of int
        Nodes that are needed after all parts.
    """
    last: dict[int, int] = {}
    for i, part in enumerate(parts):
        for index in part:
            last.update(dict.fromkeys([index, *on(index)], i))
    last.update(dict.fromkeys(results, len(parts)))
    places: dict[int, int] = {}
    size, free = 0, []
    ends: list[list[int]] = [[] for _ in [*parts, None]]
    for i, part in enumerate(parts):
        free += ends[i - 1] if i else []
        for index in part:
            if last[index] > i and graph.nodes[index][0] != 'constant':
                if not free:
                    free.append(size)
                    size += 1
                places[index] = free.pop()
                ends[last[index]].append(places[index])
    return places, size


def arguments(node: tuple[Any, ...]) -> tuple[int, ...]:
    """Nodes that a node is computed from."""
    operation = node[0]
    if operation in LANEWISE or operation in ('sum', 'least'):
        return node[1:]
    if operation == 'call':
        return node[3:]
    if operation == 'repeat':
        return (node[3], *node[4], *node[5])
    return (node[1],) if operation in ('pick', 'result', 'final') else ()
