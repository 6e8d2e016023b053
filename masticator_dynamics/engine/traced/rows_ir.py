# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded graph as LLVM's intermediate language for several rows side by side.

Each row has a lane of its own and no operation mixes them, so a row's results do not depend on its
neighbours. Rows are read and written as square blocks of numbers, transposed in registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from masticator_dynamics.engine.traced.llvm_ir import PAST_CACHES, Writer, pointer, type_of
from masticator_dynamics.engine.traced.numbers import (
    Graph,
    Number,
    Scalar,
    arguments,
    reachable,
    slots,
)

LINE = 8  # numbers in a cache line
PART = 300  # operations of a function


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
    outputs : sequence of number
        What the function writes for each row.
    name : str
        Of the function.
    width : int
        Rows computed side by side, a power of two.
    inputs : int
        Numbers in a row of input.
    streamed : bool
        Write rows past the caches; they must begin at a cache line, and fill whole ones.
    """
    writer = _RowsWriter(graph, f'{name}_group', width, (inputs, len(outputs)), streamed)
    return writer.function(outputs) + _loop(name, width, inputs, len(outputs), streamed)


def table_function(
    graph: Graph, outputs: Sequence[Scalar], name: str, width: int, inputs: int, constants: int
) -> str:
    """``void name(i64 m, i64 n, double *given, i64 apart, double *constants, double *out)``.

    For m tables of n rows each as :func:`rows_function`, with constants that all rows of a table
    share: they follow the inputs in the recording. What depends on these alone is computed once for
    each table. Inputs of successive tables are ``apart`` numbers apart, 0 for the same ones.
    """
    shared = _same_for_all(graph, outputs, inputs)
    sizes = inputs, len(outputs)
    once = Writer(graph, f'{name}_once', inputs)
    writer = _RowsWriter(graph, f'{name}_rows_group', width, sizes, False, shared)
    loop = _loop(f'{name}_rows', width, inputs, len(outputs), False, True)
    double = pointer('double')
    return (
        once.function([Number(graph, index) for index in shared])
        + writer.function(outputs)
        + loop
        + f"""
define void @{name}(i64 %m, i64 %n, {double} %given, i64 %apart, {double} %constants, {double} %out)
nounwind #0 {{
entry:
  %shared = alloca double, i64 {max(len(shared), 1)}
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
  call void @{name}_once({double} %own, {double} %shared)
  call void @{name}_rows(i64 %n, {double} %in_table, {double} %out_table, {double} %shared)
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


def _same_for_all(graph: Graph, outputs: Sequence[Scalar], inputs: int) -> dict[int, int]:
    """Nodes that depend on inputs from this number on alone, and are needed by others; numbered."""
    same: set[int] = set()
    for index, node in enumerate(graph.nodes):
        if node[0] == 'input':
            alone = node[1] >= inputs
        else:
            on = [i for i in arguments(node) if graph.nodes[i][0] != 'constant']
            alone = bool(on) and same.issuperset(on)
        if alone:
            same.add(index)
    wanted = [graph.lift(x) for x in outputs]
    others = (i for i in reachable(graph, wanted) if i not in same)
    needed = {*wanted, *(j for i in others for j in arguments(graph.nodes[i]))} & same
    return {index: place for place, index in enumerate(sorted(needed))}


def close_to_use(on: Mapping[int, Sequence[int]]) -> list[int]:
    """Nodes in an order in which fewer are to be kept for later ones.

    First, what is the last to need another node comes as soon as it can be computed. Then, from the
    end, what only needs one node that is not kept anyway comes as late as it can be.

    Parameters
    ----------
    on : mapping of int to sequence of int
        The nodes on which each depends; in an order in which they can be computed.
    """
    users: dict[int, list[int]] = {i: [] for i in on}
    for i, needed in on.items():
        for j in needed:
            users[j].append(i)
    order = _drawn(on, users, lambda k, _, waiting: any(waiting[j] == 1 for j in on[k]))
    later = {-i: [-j for j in users[i]] for i in reversed(order)}
    before = {-i: [-j for j in needed] for i, needed in on.items()}

    def late(k: int, missing: Mapping[int, int], _: Mapping[int, int]) -> bool:
        return sum(missing[j] == len(later[j]) for j in before[k]) <= 1

    return [-i for i in reversed(_drawn(later, before, late))]


def _drawn(
    on: Mapping[int, Sequence[int]], users: Mapping[int, Sequence[int]], early: Callable[..., bool]
) -> list[int]:
    """The nodes in their order, but some follow others at once.

    Parameters
    ----------
    early : callable
        Whether a node that can follow shall do so, from how many nodes each node still misses, and
        how many still wait for it.
    """
    missing = {i: len(needed) for i, needed in on.items()}
    waiting = {i: len(users[i]) for i in on}
    order: dict[int, None] = {}
    for first in on:
        following = [first]
        while following:
            i = following.pop()
            if i in order or missing[i]:
                continue
            order[i] = None
            for j in users[i]:
                missing[j] -= 1
            for j in on[i]:
                waiting[j] -= 1
            others = {k for j in (i, *on[i]) for k in users[j] if not missing[k]}
            soon = (k for k in others if k not in order and early(k, missing, waiting))
            following += sorted(soon, reverse=True)
    return [*order]


class _RowsWriter(Writer):
    """Writes the function of one group of rows.

    Parameters
    ----------
    strides : (int, int)
        Numbers in an input row and in an output row.
    shared : dict of int to int
        Nodes that are the same for all rows, and their places in the memory ``shared``.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        width: int,
        strides: tuple[int, int],
        streamed: bool,
        shared: Mapping[int, int] | None = None,
    ):
        super().__init__(graph, name)
        if shared is not None:
            self._memory.append('shared')
        self._shared = shared or {}
        # Halves of a line that go past the caches must follow each other.
        self._width, self._together = width, max(width, LINE) if streamed else width
        self._strides = strides
        self._how = f'align {8 * width}, {PAST_CACHES}' if streamed else 'align 8'
        self._columns: dict[int, str] = {}  # of the inputs
        self._names = 0
        self._slots: dict[int, int] = {}  # of nodes that later parts need, in the memory `kept`
        self._here: set[int] = set()  # nodes that the part has that is being written

    def function(self, outputs: Sequence[Scalar]) -> str:
        """The text of the function that writes these numbers.

        A long one calls its parts: the compiler takes less time for short ones, and moves less to
        and from memory. What a part needs of earlier ones is handed on in memory, where most of it
        would be anyway.
        """
        if self._graph.loops or self._graph.functions:
            return super().function(outputs)
        needed = self._ordered(outputs)
        # Inputs are in registers in the first part alone.
        begin = max([PART, *(i + 1 for i, x in enumerate(needed) if self._is_column(x))])
        ends = [0, *range(begin, len(needed), PART), len(needed)]
        parts = [needed[first:last] for first, last in itertools.pairwise(ends)]
        self._slots, size = slots(self._graph, parts, self._read_with)
        shared = list(self._memory)
        if len(parts) > 1:
            self._memory.append('kept')
        self._begin()
        if len(parts) == 1:
            return self._defined(self._name, needed)
        texts = []
        for i, part in enumerate(parts):
            texts.append(self._defined(f'{self._name}_{i}', part))
            for memory in (self._lines, self._spread, self._columns, self._here):
                memory.clear()
        kind, double = type_of(self._width), pointer('double')
        buffer = self._new(f'alloca {kind}, i64 {size}, align {8 * self._width}')
        if double != pointer(kind):
            buffer = self._new(f'bitcast {pointer(kind)} {buffer} to {double}')
        arguments_text = ', '.join(f'{double} %{name}' for name in shared)
        for i in range(len(parts)):
            self._say(f'call void @{self._name}_{i}({arguments_text}, {double} {buffer})')
        self._memory = shared
        return ''.join(texts) + self._defined(self._name, [])

    def _sorted_nodes(self, needed: list[int]) -> list[int]:
        if self._graph.loops or self._graph.functions:
            return needed
        first = [i for i in needed if self._graph.nodes[i][0] in ('constant', 'input')]
        apart = set(first)
        rest = [i for i in needed if i not in apart]
        on = {i: [j for j in dict.fromkeys(self._on(i)) if j not in apart] for i in rest}
        return [*first, *close_to_use(on)]

    def _read_with(self, index: int) -> list[int]:
        """Nodes that are read when one is written, and outputs that are written then."""
        blocks = (self._outputs[k : k + self._together] for k in self._ready.get(index, ()))
        return [*self._on(index), *itertools.chain(*blocks)]

    def _write(self, index: int) -> None:
        if index in self._shared:
            self._load(index, '%shared', self._shared[index])
        else:
            super()._write(index)
        self._here.add(index)
        if index in self._slots:
            place, kind = self._slot(index)
            value = self._value(index, self._wide(index))
            self._say(f'store {kind} {value}, {pointer(kind)} {place}, align 8')

    def _slot(self, index: int) -> tuple[str, str]:
        """Place of a node in memory, and its type."""
        kind = type_of(self._wide(index))
        return self._place('kept', self._slots[index] * self._width, kind), kind

    def _wide(self, index: int) -> int:
        return 0 if index in self._shared else self._width

    def _value(self, index: int, width: int) -> str:
        if index in self._slots and index not in self._here:
            self._here.add(index)
            place, kind = self._slot(index)
            self._say(f'%t{index} = load {kind}, {pointer(kind)} {place}, align 8')
            if self._is_column(index):
                self._columns[self._graph.nodes[index][1]] = f'%t{index}'
        if self._is_column(index):
            return self._columns[self._graph.nodes[index][1]]
        return super()._value(index, width)

    def _is_column(self, index: int) -> bool:
        """Whether a node is an input of which each row has a number."""
        return self._graph.nodes[index][0] == 'input' and index not in self._shared

    def _input(self, index: int, node: tuple[Any, ...]) -> None:
        """It is in a register already."""

    def _on(self, index: int) -> tuple[int, ...]:
        return () if index in self._shared else super()._on(index)

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
        width, outputs = self._width, self._strides[1]
        columns = [self._value(index, width) for index in block]
        columns += ['undef'] * (-len(block) % width)
        parts = [self._turned_over(columns[i : i + width]) for i in range(0, len(block), width)]
        for row, vectors in enumerate(zip(*parts, strict=True)):
            for done, vector in zip(range(0, len(block), width), vectors, strict=True):
                size = min(width, len(block) - done)
                if size < width:
                    vector = self._shuffled(vector, 'undef', list(range(size)))
                kind = type_of(size)
                place = self._place('out', row * outputs + first + done, kind)
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
