# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Counts arithmetic operations by running numpy code on symbols instead of numbers.

Operations are stored as a graph; only those that the results depend on are counted.

- Structural zeros and ones are free: x + 0, 0 x, 1 x, x - x, x / x.
- A change of sign is free; a subtraction counts as an addition.
- Operations between parameters are free, as they are done once in advance. Division by a parameter
  counts as multiplication by its reciprocal.
- A square counts as a multiplication; roots, sines and cosines are counted separately.
- With ``share``, an operation repeated on the same operands, in either order, counts once.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

ADD, MULTIPLY, DIVIDE = 'add', 'multiply', 'divide'
SQUARE_ROOT, SINE, COSINE = 'sqrt', 'sin', 'cos'
VARIABLE, PARAMETER = 'variable', 'parameter'
COUNTED = (ADD, MULTIPLY, DIVIDE)


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation on nodes given by number, or a leaf: a variable, a parameter or a value."""

    operation: str
    operands: tuple[int, ...] = ()
    minus: bool = False  # whether the second operand of a sum is subtracted
    value: str | float = ''  # of leaves: name or number
    free: bool = False  # known in advance, so not counted


class Tracer:
    """Makes symbols and records the operations on them.

    Parameters
    ----------
    share : bool
        Whether equal operations count once.
    """

    def __init__(self, share: bool = True):
        self.share = share
        self.nodes: list[Operation] = []
        self._numbers: dict[Operation, int] = {}

    def variables(self, name: str, count: int) -> FloatArray:
        """Symbols (count,) of variables, on which operations are counted."""
        return np.array([self._leaf(VARIABLE, f'{name}_{k}') for k in range(count)])

    def parameter(self, name: str) -> Symbol:
        """Symbol of a value known in advance."""
        return self._leaf(PARAMETER, name)

    def count(self, results: Iterable[object]) -> collections.Counter[str]:
        """Number of operations by kind; only those that the results depend on are counted."""
        waiting = [r.node for r in results if isinstance(r, Symbol)]
        seen: set[int] = set()
        kinds: collections.Counter[str] = collections.Counter()
        while waiting:
            number = waiting.pop()
            node = self.nodes[number]
            if number not in seen and not node.free:
                seen.add(number)
                kinds[node.operation] += 1
                waiting.extend(node.operands)
        del kinds[VARIABLE]
        return kinds

    def _leaf(self, kind: str, value: str | float) -> Symbol:
        return Symbol(self, self.keep(Operation(kind, value=value, free=kind == PARAMETER)))

    def symbol(self, value: Symbol | float) -> Symbol:
        """Symbol of a number; a symbol is returned unchanged."""
        if isinstance(value, Symbol):
            return value
        leaf = self._leaf(PARAMETER, abs(float(value)))
        return -leaf if value < 0.0 else leaf

    def operate(self, operation: str, *operands: int, minus: bool = False) -> Symbol:
        """Result of an operation on nodes.

        Parameters
        ----------
        operation : str
            Kind of operation.
        operands : int
            Numbers of the nodes.
        minus : bool
            Whether the second operand of a sum is subtracted.
        """
        free = all(self.nodes[k].free for k in operands)
        return Symbol(self, self.keep(Operation(operation, operands, minus, free=free)))

    def keep(self, node: Operation) -> int:
        """Store a node and return its number; shared and free nodes reuse that of an equal one."""
        if not (self.share or node.free):
            self.nodes.append(node)
            return len(self.nodes) - 1
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]


class Symbol:
    """A node or its negative; numpy code can use it like a number, in arrays of objects.

    Parameters
    ----------
    tracer : Tracer
        Has the nodes.
    node : int
        Number of one.
    negative : bool, optional
    """

    def __init__(self, tracer: Tracer, node: int, negative: bool = False):
        self.tracer, self.node, self.negative = tracer, node, negative

    def __neg__(self) -> Symbol:
        """Change of sign, free."""
        return Symbol(self.tracer, self.node, not self.negative)

    def __add__(self, other: Symbol | float) -> Symbol | float:
        """Sum."""
        if not isinstance(other, (Symbol, float, int)):
            return NotImplemented
        if not isinstance(other, Symbol) and other == 0:
            return self
        other = self.tracer.symbol(other)
        if self.node == other.node and self.negative != other.negative:
            return 0.0
        first, second = sorted((self, other), key=lambda symbol: symbol.node)
        minus = first.negative != second.negative
        result = self.tracer.operate(ADD, first.node, second.node, minus=minus)
        return -result if first.negative else result

    __radd__ = __add__

    def __sub__(self, other: Symbol | float) -> Symbol | float:
        """Difference."""
        return self + -other

    def __rsub__(self, other: Symbol | float) -> Symbol | float:
        """Difference."""
        return -self + other

    def __mul__(self, other: Symbol | float) -> Symbol | float:
        """Product."""
        if not isinstance(other, (Symbol, float, int)):
            return NotImplemented
        if not isinstance(other, Symbol):
            if other == 0:
                return 0.0
            if abs(other) == 1:
                return self if other == 1 else -self
        other = self.tracer.symbol(other)
        nodes = sorted((self.node, other.node))
        return self._signed(other, self.tracer.operate(MULTIPLY, *nodes))

    __rmul__ = __mul__

    def __truediv__(self, other: Symbol | float) -> Symbol | float:
        """Quotient."""
        if not isinstance(other, (Symbol, float, int)):
            return NotImplemented
        if not isinstance(other, Symbol) and abs(other) == 1:
            return self * other
        other = self.tracer.symbol(other)
        if self.node == other.node:
            return -1.0 if self.negative != other.negative else 1.0
        return self._over(other)

    def __rtruediv__(self, other: float) -> Symbol | float:
        """Quotient."""
        return 0.0 if other == 0 else self.tracer.symbol(other) / self

    def __pow__(self, exponent: int) -> Symbol | float:
        """Square; other powers are refused."""
        if exponent != 2:
            raise ValueError(f'a power of {exponent} cannot be counted, only a square')
        return self * self

    def sqrt(self) -> Symbol:
        """For numpy."""
        if self.negative:
            raise ValueError('the root of a negated symbol cannot be counted')
        return self.tracer.operate(SQUARE_ROOT, self.node)

    def cos(self) -> Symbol:
        """For numpy."""
        return self.tracer.operate(COSINE, self.node)

    def sin(self) -> Symbol:
        """For numpy."""
        sine = self.tracer.operate(SINE, self.node)
        return -sine if self.negative else sine

    def _over(self, other: Symbol) -> Symbol:
        tracer = self.tracer
        if not tracer.nodes[other.node].free:
            return self._signed(other, tracer.operate(DIVIDE, self.node, other.node))
        one = tracer.symbol(1.0)
        reciprocal = tracer.operate(DIVIDE, one.node, other.node)
        nodes = sorted((self.node, reciprocal.node))
        return self._signed(other, tracer.operate(MULTIPLY, *nodes))

    def _signed(self, other: Symbol, result: Symbol) -> Symbol:
        return -result if self.negative != other.negative else result


def elements(matrix: FloatArray) -> Iterator[object]:
    """Elements of a matrix of symbols and numbers."""
    return iter(np.asarray(matrix, dtype=object).ravel())
