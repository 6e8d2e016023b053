# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded graph as LLVM's intermediate language for several rows side by side.

Each row has a lane of its own and no operation mixes them, so a row's results do not depend on its
neighbours. Rows are read and written as square blocks of numbers, transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masticator_dynamics.engine.traced.llvm_ir import PAST_CACHES, Writer, pointer, type_of
from masticator_dynamics.engine.traced.numbers import Graph, Scalar, arguments

LINE = 8  # numbers in a cache line


def rows_function(
    graph: Graph,
    outputs: Sequence[Scalar],
    name: str,
    width: int,
    inputs: int,
    streamed: bool = False,
) -> str:
    """``void name(i64 n, double *given, double *out)``: n rows, a multiple of ``width``.

    Input rows have ``inputs`` numbers, output rows as many as there are outputs. The graph must
    have no lanes.

    Parameters
    ----------
    graph : Graph
        The operations recorded.
    outputs : sequence of number
        What the function writes for each row.
    name : str
        Of the function.
    width : int
        Rows computed side by side, a power of two.
    inputs : int
        Numbers in a row of input.
    streamed : bool
        Write rows past the caches, if registers are as long as a cache line; rows must begin at
        one, and fill whole ones.
    """
    streamed = streamed and width == LINE
    writer = _RowsWriter(graph, f'{name}_group', width, (inputs, len(outputs)), streamed)
    return writer.function(outputs) + _loop(name, width, inputs, len(outputs), streamed)


def table_function(
    graph: Graph, outputs: Sequence[Scalar], name: str, width: int, inputs: int, constants: int
) -> str:
    """``void name(i64 m, i64 n, double *given, i64 apart, double *constants, double *out)``.

    For m tables of n rows each as :func:`rows_function`, with constants that all rows of a table
    share: they follow the inputs in the recording. What depends on these alone is computed once for
    each group. Inputs of successive tables are ``apart`` numbers apart, 0 for the same ones.
    """
    writer = _RowsWriter(graph, f'{name}_rows_group', width, (inputs, len(outputs)), False, True)
    loop = _loop(f'{name}_rows', width, inputs, len(outputs), False, True)
    double = pointer('double')
    return (
        writer.function(outputs)
        + loop
        + f"""
define void @{name}(i64 %m, i64 %n, {double} %given, i64 %apart, {double} %constants, {double} %out)
nounwind #0 {{
entry:
  %any = icmp sge i64 %m, 1
  %length = mul i64 %n, {len(outputs)}
  br i1 %any, label %loop, label %done
loop:
  %table = phi i64 [0, %entry], [%next, %loop]
  %from = mul i64 %table, %apart
  %of = mul i64 %table, {constants}
  %to = mul i64 %table, %length
  %in_table = getelementptr inbounds double, {double} %given, i64 %from
  %own = getelementptr inbounds double, {double} %constants, i64 %of
  %out_table = getelementptr inbounds double, {double} %out, i64 %to
  call void @{name}_rows(i64 %n, {double} %in_table, {double} %out_table, {double} %own)
  %next = add i64 %table, 1
  %more = icmp slt i64 %next, %m
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    )


def _loop(
    name: str, width: int, inputs: int, outputs: int, streamed: bool, shared: bool = False
) -> str:
    double = pointer('double')
    more = f', {double} %shared' if shared else ''
    return f"""
define void @{name}(i64 %n, {double} %given, {double} %out{more}) nounwind #0 {{
entry:
  %any = icmp sge i64 %n, {width}
  br i1 %any, label %loop, label %done
loop:
  %row = phi i64 [0, %entry], [%next, %loop]
  %from = mul i64 %row, {inputs}
  %to = mul i64 %row, {outputs}
  %in_row = getelementptr inbounds double, {double} %given, i64 %from
  %out_row = getelementptr inbounds double, {double} %out, i64 %to
  call void @{name}_group({double} %in_row, {double} %out_row{more})
  %next = add i64 %row, {width}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  {'fence seq_cst' if streamed else ''}
  ret void
}}
"""


def _same_for_all(graph: Graph, inputs: int) -> set[int]:
    """Nodes that depend on inputs from this number on, and on no others."""
    found: set[int] = set()
    for index, node in enumerate(graph.nodes):
        if node[0] == 'input':
            alone = node[1] >= inputs
        else:
            on = [i for i in arguments(node) if graph.nodes[i][0] != 'constant']
            alone = bool(on) and found.issuperset(on)
        if alone:
            found.add(index)
    return found


class _RowsWriter(Writer):
    """Writes the function of one group of rows.

    Parameters
    ----------
    strides : (int, int)
        Numbers in an input row and in an output row.
    shared : bool
        What the recording has as further inputs is the same for all rows.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        width: int,
        strides: tuple[int, int],
        streamed: bool,
        shared: bool = False,
    ):
        super().__init__(graph, name)
        if shared:
            self._memory.append('shared')
        self._same = _same_for_all(graph, strides[0] if shared else len(graph.nodes))
        self._width = self._together = width
        self._strides = strides
        self._how = f'align {8 * LINE}, {PAST_CACHES}' if streamed else 'align 8'
        self._columns: dict[int, str] = {}  # of the inputs
        self._names = 0

    def _wide(self, index: int) -> int:
        return 0 if index in self._same else self._width

    def _value(self, index: int, width: int) -> str:
        operation, *arguments = self._graph.nodes[index]
        if operation == 'input' and index not in self._same:
            return self._columns[arguments[0]]
        return super()._value(index, width)

    def _input(self, index: int, node: tuple[Any, ...]) -> None:
        if index in self._same:
            self._load(index, '%shared', node[1] - self._strides[0])

    def _begin(self) -> None:
        inputs, width = self._strides[0], self._width
        for first in range(0, inputs, width):
            size = min(width, inputs - first)
            kind, rows = type_of(size), []
            for row in range(width):
                place = self._place('given', row * inputs + first, kind)
                vector = self._new(f'load {kind}, {pointer(kind)} {place}, align 8')
                lanes = [min(lane, size) for lane in range(width)]
                whole = size == width
                rows.append(vector if whole else self._shuffled(vector, 'undef', lanes, size))
            for column, vector in enumerate(self._turned_over(rows)[:size]):
                self._columns[first + column] = vector

    def _store(self, first: int, block: list[int]) -> None:
        width, size, outputs = self._width, len(block), self._strides[1]
        columns = [self._value(index, width) for index in block] + ['undef'] * (width - size)
        kind = type_of(size)
        for row, vector in enumerate(self._turned_over(columns)):
            if size < width:
                vector = self._shuffled(vector, 'undef', list(range(size)))
            place = self._place('out', row * outputs + first, kind)
            self._say(f'store {kind} {vector}, {pointer(kind)} {place}, {self._how}')

    def _turned_over(self, rows: list[str]) -> list[str]:
        """Columns of a square of vectors, i.e. its transpose."""
        pairs, halves = list(zip(rows[::2], rows[1::2], strict=True)), []
        for side in (0, 1):
            lanes = [lane for i in range(side, self._width, 2) for lane in (i, self._width + i)]
            halves.append(self._sorted([self._shuffled(a, b, lanes) for a, b in pairs]))
        return [column for both in zip(*halves, strict=True) for column in both]

    def _sorted(self, vectors: list[str]) -> list[str]:
        """Of vectors of pairs of numbers: all first pairs, all second ones, and so on."""
        if len(vectors) == 1:
            return vectors
        couples, parts = list(zip(vectors[::2], vectors[1::2], strict=True)), []
        for side in (0, 2):
            lanes = [lane for i in range(side, 2 * self._width, 4) for lane in (i, i + 1)]
            parts.append(self._sorted([self._shuffled(a, b, lanes) for a, b in couples]))
        return [vector for both in zip(*parts, strict=True) for vector in both]

    def _shuffled(self, a: str, b: str, lanes: Sequence[int], width: int = 0) -> str:
        kind = type_of(width or self._width)
        mask = ', '.join(f'i32 {lane}' for lane in lanes)
        return self._new(f'shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{mask}>')

    def _place(self, memory: str, number: int, kind: str) -> str:
        double = pointer('double')
        place = self._new(f'getelementptr inbounds double, {double} %{memory}, i64 {number}')
        if double == pointer(kind):
            return place
        return self._new(f'bitcast {double} {place} to {pointer(kind)}')

    def _new(self, operation: str) -> str:
        self._names += 1
        self._say(f'%v{self._names} = {operation}')
        return f'%v{self._names}'
