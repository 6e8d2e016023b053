# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded graph as LLVM's intermediate language.

Here for one row, with the limbs of a stage in the lanes of a vector; several rows side by side are
in ``rows_ir.py``.
"""

from __future__ import annotations

import collections
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from masticator_dynamics.engine.traced.numbers import Graph, Scalar, arguments, reachable

# Contraction to fused multiply-add and reciprocals only: NaN and infinity keep their meaning.
FLAGS = 'contract nsz arcp'
PAST_CACHES = '!nontemporal !0'  # of a store; :func:`declarations` has what it refers to
_BINARY = ('add', 'sub', 'mul', 'div')
_INTRINSIC = {'sqrt': ('sqrt', 1), 'abs': ('fabs', 1), 'copysign': ('copysign', 2)}
_ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer


@functools.cache
def pointer(to: str) -> str:
    """Pointer type; up to LLVM 14 it names the type pointed to."""
    # Imported only here: it loads LLVM, and usually everything is compiled.
    import llvmlite.binding as llvm

    return 'ptr' if llvm.llvm_version_info[0] >= 15 else f'{to}*'


def row_function(graph: Graph, outputs: Sequence[Scalar], name: str) -> str:
    """``void name(double *given, double *out)``: one row.

    ``out`` gets one number after the other; it must not overlap ``given``.

    Parameters
    ----------
    outputs : sequence of number
        What the function writes.
    name : str
        Of the function.
    """
    called = [row_function(inner, results, f) for f, (inner, results) in graph.functions.items()]
    return ''.join(called) + Writer(graph, name).function(outputs)


def declarations(text: str) -> str:
    """Declarations of the intrinsic functions and metadata that a text uses."""
    lines = ['!0 = !{i32 1}\n'] if PAST_CACHES in text else []
    for name, count in _INTRINSIC.values():
        for width in (0, 2, 4, 8, 16, 32, 64):
            suffix, kind = _suffix(width), type_of(width)
            if f'@llvm.{name}.{suffix}(' in text:
                taken = ', '.join([kind] * count)
                lines.append(f'declare {kind} @llvm.{name}.{suffix}({taken})\n')
    return ''.join(lines)


def attributes(cpu: str, features: str, vector_bits: int) -> str:
    """Attribute group of all functions.

    Parameters
    ----------
    cpu, features : str
        Of the processor, as LLVM calls them.
    vector_bits : int
        Width of the vectors to prefer.
    """
    return (
        f'attributes #0 = {{ "prefer-vector-width"="{vector_bits}" "target-cpu"="{cpu}" '
        f'"target-features"="{features}" "no-trapping-math"="true" }}\n'
    )


def _literal(x: float) -> str:
    return '0x' + struct.pack('>d', float(x)).hex().upper()


def type_of(width: int) -> str:
    """Type of a vector of this width; 0: of a single number."""
    return f'<{width} x double>' if width else 'double'


def _suffix(width: int) -> str:
    return f'v{width}f64' if width else 'f64'


def loops(graph: Graph, needed: Sequence[int]) -> list[int]:
    """Innermost loop, by its number, in which each of these nodes changes; 0: none.

    Parameters
    ----------
    needed : sequence of int
        Nodes in their order, with all that they depend on.
    """
    changing: dict[int, frozenset[int]] = {}  # all loops with whose carried numbers a node changes
    for index in needed:
        node = graph.nodes[index]
        if node[0] == 'carried':
            changing[index] = frozenset((node[1],))
            continue
        inner = frozenset().union(*(changing.get(i, frozenset()) for i in arguments(node)))
        changing[index] = inner - {node[1]} if node[0] == 'repeat' else inner
    # Loops are numbered from the outer to the inner.
    return [max(changing[index], default=0) for index in needed]


class Writer:
    """Writes one function; a number with lanes is a vector, as wide as the next power of two.

    Parameters
    ----------
    first : int
        Number of the input that ``given`` begins with.
    """

    def __init__(self, graph: Graph, name: str, first: int = 0):
        self._graph, self._name, self._first = graph, name, first
        self._together = 1  # outputs written at once
        self._memory = ['given', 'out']  # addresses that the function takes
        self._lines: list[str] = []
        self._spread: set[str] = set()
        self._block = 'entry'  # that is being written
        self._outputs: list[int] = []  # nodes
        # First outputs of those that can be written once a node is known.
        self._ready: dict[int, list[int]] = collections.defaultdict(list)
        # Nodes by the loop that they are in; 0: none.
        self._inside: dict[int, list[int]] = collections.defaultdict(list)
        # Calls that a node is an argument of, and its place among these.
        self._passed: dict[int, list[tuple[int, int]]] = collections.defaultdict(list)

    def function(self, outputs: Sequence[Scalar]) -> str:
        """The text of the function that writes these numbers."""
        needed = self._ordered(outputs)
        for index, loop in zip(needed, loops(self._graph, needed), strict=True):
            self._inside[loop].append(index)
            if self._graph.nodes[index][0] == 'call':
                self._reserve(index)
        self._begin()
        return self._defined(self._name, self._inside[0])

    def _ordered(self, outputs: Sequence[Scalar]) -> list[int]:
        """Nodes in their order; numbers are written once available, so that none is kept long."""
        self._outputs = [self._graph.lift(x) for x in outputs]
        needed = self._sorted_nodes(reachable(self._graph, self._outputs, self._on))
        places = {index: place for place, index in enumerate(needed)}
        for first in range(0, len(outputs), self._together):
            block = self._outputs[first : first + self._together]
            self._ready[max(block, key=places.__getitem__)].append(first)
        return needed

    def _sorted_nodes(self, needed: list[int]) -> list[int]:
        """Nodes as they were recorded, in another order if that is better."""
        return needed

    def _on(self, index: int) -> tuple[int, ...]:
        """Nodes that are needed before this one."""
        return arguments(self._graph.nodes[index])

    def _defined(self, name: str, nodes: Sequence[int]) -> str:
        """A function of these nodes, after the lines that it has already."""
        for index in nodes:
            self._write(index)
            for first in self._ready[index]:
                self._store(first, self._outputs[first : first + self._together])
        double = pointer('double')
        taken = ', '.join(f'{double} noalias %{memory}' for memory in self._memory)
        return (
            f'\ndefine void @{name}({taken}) nounwind #0 {{\nentry:\n'
            + '\n'.join(self._lines)
            + '\n  ret void\n}\n'
        )

    def _begin(self) -> None:
        """What comes before all operations."""

    def _write(self, index: int) -> None:
        node = self._graph.nodes[index]
        if node[0] not in ('constant', 'lanes', 'carried', 'final'):
            getattr(self, f'_{node[0]}', self._arithmetic)(index, node)
        # Arguments are passed as soon as they are known: those that do not change, before a loop.
        for call, i in self._passed[index]:
            self._store_number(f'%a{call}_{i}', f'%given{call}', i, index)

    def _repeat(self, index: int, node: tuple[Any, ...]) -> None:
        """A loop with its condition at the end, so that its last values are available after it."""
        _, loop, most, go_on, start, following = node
        before, block = self._block, f'loop{loop}'
        # Of numbers as wide as what they become.
        values = [self._value(i, self._wide(j)) for i, j in zip(start, following, strict=True)]
        self._say(f'br label %{block}')
        self._lines.append(f'{block}:')
        head, self._block = len(self._lines), block
        for inner in self._inside[loop]:
            self._write(inner)
        self._say(f'%m{loop} = add i64 %n{loop}, 1')
        self._say(f'%u{loop} = fcmp ogt double {self._value(go_on, 0)}, {_literal(0.0)}')
        self._say(f'%v{loop} = icmp slt i64 %m{loop}, {most}')
        self._say(f'%w{loop} = and i1 %u{loop}, %v{loop}')
        back = [self._value(i, self._wide(i)) for i in following]
        self._say(f'br i1 %w{loop}, label %{block}, label %after{loop}')
        self._lines.append(f'after{loop}:')
        carried = [f'  %n{loop} = phi i64 [0, %{before}], [%m{loop}, %{self._block}]']
        carried += [
            f'  %k{loop}_{i} = phi {type_of(self._wide(j))} '
            f'[{values[i]}, %{before}], [{back[i]}, %{self._block}]'
            for i, j in enumerate(following)
        ]
        self._lines[head:head] = carried
        self._block = f'after{loop}'

    def _say(self, line: str) -> None:
        self._lines.append('  ' + line)

    def _wide(self, index: int) -> int:
        """Width of a node's vector; 0 for a single number."""
        count = self._graph.lanes[index]
        return 1 << (count - 1).bit_length() if count else 0

    def _value(self, index: int, width: int) -> str:
        """A node as an operand, spread over a vector where one is wanted."""
        operation, *parts = self._graph.nodes[index]
        if operation == 'constant':
            literal = _literal(parts[0])
            return self._vector([literal] * width) if width else literal
        if operation == 'lanes':
            values = list(parts[0])
            # Lanes that do not count repeat the first, so that they raise no exceptions.
            values += [values[0]] * (width - len(values))
            return self._vector([_literal(x) for x in values])
        if operation == 'carried':
            assert width == self._wide(index)
            return f'%k{parts[0]}_{parts[1]}'
        if operation == 'final':
            return self._value(self._graph.nodes[parts[0]][5][parts[1]], width)
        if not width or self._wide(index):
            return f'%t{index}'
        spread = f'%b{index}_{width}'
        if spread not in self._spread:
            self._spread.add(spread)
            kind, element = type_of(width), f'%s{index}_{width}'
            self._say(f'{element} = insertelement {kind} undef, double %t{index}, i32 0')
            zeros = f'<{width} x i32> zeroinitializer'
            self._say(f'{spread} = shufflevector {kind} {element}, {kind} undef, {zeros}')
        return spread

    @staticmethod
    def _vector(values: Sequence[str]) -> str:
        return '<' + ', '.join(f'double {value}' for value in values) + '>'

    def _arithmetic(self, index: int, node: tuple[Any, ...]) -> None:
        width = self._wide(index)
        kind, values = type_of(width), [self._value(i, width) for i in node[1:]]
        if node[0] in _INTRINSIC:
            name, taken = _INTRINSIC[node[0]][0], ', '.join(f'{kind} {x}' for x in values)
            self._say(f'%t{index} = call {kind} @llvm.{name}.{_suffix(width)}({taken})')
            return
        assert node[0] in _BINARY
        self._say(f'%t{index} = f{node[0]} {FLAGS} {kind} {", ".join(values)}')

    def _neg(self, index: int, node: tuple[Any, ...]) -> None:
        width = self._wide(index)
        self._say(f'%t{index} = fneg {type_of(width)} {self._value(node[1], width)}')

    def _round(self, index: int, node: tuple[Any, ...]) -> None:
        """To the nearest integer, without the library call that processors before SSE4 need."""
        width = self._wide(index)
        kind, x = type_of(width), self._value(node[1], width)
        rounder = _literal(_ROUNDER)
        rounder = self._vector([rounder] * width) if width else rounder
        self._say(f'%r{index} = fadd {kind} {x}, {rounder}')
        self._say(f'%t{index} = fsub {kind} %r{index}, {rounder}')

    def _select(self, index: int, node: tuple[Any, ...]) -> None:
        width = self._wide(index)
        kind, truth = type_of(width), f'<{width} x i1>' if width else 'i1'
        condition, a, b = (self._value(i, width) for i in node[1:])
        zero = 'zeroinitializer' if width else _literal(0.0)
        self._say(f'%c{index} = fcmp ogt {kind} {condition}, {zero}')
        self._say(f'%t{index} = select {truth} %c{index}, {kind} {a}, {kind} {b}')

    def _input(self, index: int, node: tuple[Any, ...]) -> None:
        self._load(index, '%given', node[1] - self._first)

    def _load(self, index: int, memory: str, position: int) -> None:
        """A node from its place in memory."""
        double = pointer('double')
        self._say(f'%p{index} = getelementptr inbounds double, {double} {memory}, i64 {position}')
        self._say(f'%t{index} = load double, {double} %p{index}')

    def _reserve(self, call: int) -> None:
        """Memory for inputs and outputs of a function, once, in whatever loop it is called."""
        _, _, outputs, *arguments = self._graph.nodes[call]
        self._say(f'%given{call} = alloca double, i64 {len(arguments)}')
        self._say(f'%out{call} = alloca double, i64 {outputs}')
        for i, argument in enumerate(arguments):
            self._passed[argument].append((call, i))

    def _call(self, index: int, node: tuple[Any, ...]) -> None:
        double = pointer('double')
        self._say(f'call void @{node[1]}({double} %given{index}, {double} %out{index})')

    def _result(self, index: int, node: tuple[Any, ...]) -> None:
        self._load(index, f'%out{node[1]}', node[2])

    def _pick(self, index: int, node: tuple[Any, ...]) -> None:
        width, lane = self._wide(node[1]), -1 - node[2]
        vector = f'{type_of(width)} {self._value(node[1], width)}'
        self._say(f'%t{index} = extractelement {vector}, i32 {lane}')

    def _sum(self, index: int, node: tuple[Any, ...]) -> None:
        """Sum of halves, or of the longest parts of equal length, always in the same order."""

        def added(name: str, kind: str, a: str, b: str) -> None:
            self._say(f'{name} = fadd {FLAGS} {kind} {a}, {b}')

        self._folded(index, node[1], added)

    def _least(self, index: int, node: tuple[Any, ...]) -> None:
        def lesser(name: str, kind: str, a: str, b: str) -> None:
            truth = kind.replace('double', 'i1')
            self._say(f'{name}_less = fcmp olt {kind} {b}, {a}')
            self._say(f'{name} = select {truth} {name}_less, {kind} {b}, {kind} {a}')

        self._folded(index, node[1], lesser)

    def _folded(self, index: int, number: int, join: Callable[[str, str, str, str], None]) -> None:
        """Reduce all lanes of a number to one, by joining parts until one lane is left."""
        count, width = self._graph.lanes[number], self._wide(number)
        value, step = self._value(number, width), 0
        while count > 1:
            size = count & -count  # the longest part of which there is a whole number
            size = size // 2 if size == count else size
            kind, parts = type_of(size if size > 1 else 0), []
            for first in range(0, count, size):
                parts.append(f'%e{index}_{step}_{first}')
                lanes = ', '.join(f'i32 {first + i}' for i in range(size))
                taken = f'{type_of(width)} {value}'
                if size > 1:
                    mask = f'<{size} x i32> <{lanes}>'
                    self._say(f'{parts[-1]} = shufflevector {taken}, {taken}, {mask}')
                else:
                    self._say(f'{parts[-1]} = extractelement {taken}, {lanes}')
            value = parts[0]
            for i, part in enumerate(parts[1:], 1):
                last = size == 1 and i == len(parts) - 1
                name = f'%t{index}' if last else f'%a{index}_{step}_{i}'
                join(name, kind, value, part)
                value = name
            count, width, step = size, size, step + 1

    def _store(self, position: int, block: list[int]) -> None:
        self._store_number(f'%q{position}', '%out', position, block[0])

    def _store_number(self, at: str, memory: str, position: int, index: int) -> None:
        """Store a node; ``at`` becomes the name of its place in memory."""
        double = pointer('double')
        self._say(f'{at} = getelementptr inbounds double, {double} {memory}, i64 {position}')
        self._say(f'store double {self._value(index, 0)}, {double} {at}')
