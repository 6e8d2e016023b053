# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded graph as LLVM's intermediate language.

Two forms of the same operations: one row, with the limbs of a stage in the lanes of a vector, and
several rows side by side, each in a lane of its own. No operation mixes rows, so a row's results
do not depend on its neighbours.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm

from masticator_dynamics.traced.numbers import Graph, Number, Scalar, reachable

# Contraction to fused multiply-add and reciprocals only: NaN and infinity keep their meaning.
FLAGS = 'contract nsz arcp'
_BINARY = ('add', 'sub', 'mul', 'div')
_ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer
_OPAQUE = llvm.llvm_version_info[0] >= 15


def pointer(to: str) -> str:
    """Pointer type; up to LLVM 14 it tells to what."""
    return 'ptr' if _OPAQUE else f'{to}*'


def row_function(graph: Graph, outputs: Sequence[Scalar], name: str) -> str:
    """``void name(double *given, double *out)``: one row.

    ``out`` gets one number after the other; it must not overlap what is given.

    Parameters
    ----------
    graph : Graph
        The operations recorded.
    outputs : sequence of number
        What the function writes.
    name : str
        Of the function.
    """
    lanes = max([len(n[1]) for n in graph.nodes if n[0] == 'lanes'], default=1)
    return _Writer(graph, name, 1 << (lanes - 1).bit_length(), lanes, rows=False).function(outputs)


def rows_function(
    graph: Graph, outputs: Sequence[Scalar], name: str, width: int, asked: int
) -> str:
    """``void name(i64 n, double *given, double *out)``: n rows, a multiple of ``width``.

    Rows given have ``asked`` numbers, rows put out as many as there are outputs. The graph must
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
        Rows computed side by side.
    asked : int
        Numbers in a row of input.
    """
    strides = asked, len(outputs)
    writer = _Writer(graph, f'{name}_group', width, 1, rows=True, strides=strides)
    return writer.function(outputs) + _loop(name, width, *strides)


def _loop(name: str, width: int, asked: int, told: int) -> str:
    double = pointer('double')
    return f"""
define void @{name}(i64 %n, {double} %given, {double} %out) nounwind #0 {{
entry:
  %any = icmp sge i64 %n, {width}
  br i1 %any, label %loop, label %done
loop:
  %row = phi i64 [0, %entry], [%next, %loop]
  %from = mul i64 %row, {asked}
  %to = mul i64 %row, {told}
  %in_row = getelementptr inbounds double, {double} %given, i64 %from
  %out_row = getelementptr inbounds double, {double} %out, i64 %to
  call void @{name}_group({double} %in_row, {double} %out_row)
  %next = add i64 %row, {width}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def declarations(text: str) -> str:
    """Of the intrinsic functions that a text calls."""
    found = []
    for name, arguments in (('sqrt', 1), ('fabs', 1), ('copysign', 2)):
        for width in (0, 2, 4, 8, 16, 32, 64):
            suffix, kind = _suffix(width), _type(width)
            if f'@llvm.{name}.{suffix}(' in text:
                taken = ', '.join([kind] * arguments)
                found.append(f'declare {kind} @llvm.{name}.{suffix}({taken})\n')
    return ''.join(found)


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


def _type(width: int) -> str:
    return f'<{width} x double>' if width else 'double'


def _suffix(width: int) -> str:
    return f'v{width}f64' if width else 'f64'


class _Writer:
    """Writes one function; ``width`` numbers are in a vector, of which ``lanes`` count."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        width: int,
        lanes: int,
        rows: bool,
        strides: tuple[int, int] = (0, 0),
    ):
        self._graph, self._name, self._width, self._lanes = graph, name, width, lanes
        self._rows, self._strides = rows, strides
        self._lines: list[str] = []
        self._spread: set[int] = set()

    def function(self, outputs: Sequence[Scalar]) -> str:
        numbers = [x for x in outputs if isinstance(x, Number)]
        for index in reachable(self._graph, numbers):
            node = self._graph.nodes[index]
            if node[0] not in ('constant', 'lanes'):
                getattr(self, f'_{node[0]}', self._arithmetic)(index, node)
        for position, x in enumerate(outputs):
            self._store(position, x)
        double = pointer('double')
        return (
            f'\ndefine void @{self._name}({double} noalias %given, {double} noalias %out) '
            f'nounwind #0 {{\n' + '\n'.join(self._lines) + '\n  ret void\n}\n'
        )

    def _say(self, line: str) -> None:
        self._lines.append('  ' + line)

    def _wide(self, index: int) -> int:
        """Width of a node's vector; 0 for a single number."""
        return self._width if self._rows or self._graph.lanes[index] else 0

    def _value(self, index: int, width: int) -> str:
        """A node as an operand, spread over a vector where one is wanted."""
        operation, *arguments = self._graph.nodes[index]
        if operation == 'constant':
            literal = _literal(arguments[0])
            return self._vector([literal] * width) if width else literal
        if operation == 'lanes':
            values = list(arguments[0])
            # Lanes that do not count repeat the first, so that they raise no exceptions.
            values += [values[0]] * (width - len(values))
            return self._vector([_literal(x) for x in values])
        if not width or self._wide(index):
            return f'%t{index}'
        if index not in self._spread:
            self._spread.add(index)
            kind = _type(width)
            self._say(f'%s{index} = insertelement {kind} undef, double %t{index}, i32 0')
            zeros = f'<{width} x i32> zeroinitializer'
            self._say(f'%b{index} = shufflevector {kind} %s{index}, {kind} undef, {zeros}')
        return f'%b{index}'

    @staticmethod
    def _vector(values: Sequence[str]) -> str:
        return '<' + ', '.join(f'double {value}' for value in values) + '>'

    def _arithmetic(self, index: int, node: tuple[Any, ...]) -> None:
        assert node[0] in _BINARY
        width = self._wide(index)
        a, b = (self._value(i, width) for i in node[1:])
        self._say(f'%t{index} = f{node[0]} {FLAGS} {_type(width)} {a}, {b}')

    def _neg(self, index: int, node: tuple[Any, ...]) -> None:
        width = self._wide(index)
        self._say(f'%t{index} = fneg {_type(width)} {self._value(node[1], width)}')

    def _intrinsic(self, index: int, name: str, *arguments: int) -> None:
        width = self._wide(index)
        kind = _type(width)
        values = ', '.join(f'{kind} {self._value(i, width)}' for i in arguments)
        self._say(f'%t{index} = call {kind} @llvm.{name}.{_suffix(width)}({values})')

    def _sqrt(self, index: int, node: tuple[Any, ...]) -> None:
        self._intrinsic(index, 'sqrt', node[1])

    def _abs(self, index: int, node: tuple[Any, ...]) -> None:
        self._intrinsic(index, 'fabs', node[1])

    def _copysign(self, index: int, node: tuple[Any, ...]) -> None:
        self._intrinsic(index, 'copysign', node[1], node[2])

    def _round(self, index: int, node: tuple[Any, ...]) -> None:
        """To the nearest integer, without the library call that processors before SSE4 need."""
        width = self._wide(index)
        kind, x = _type(width), self._value(node[1], width)
        rounder = _literal(_ROUNDER)
        rounder = self._vector([rounder] * width) if width else rounder
        self._say(f'%r{index} = fadd {kind} {x}, {rounder}')
        self._say(f'%t{index} = fsub {kind} %r{index}, {rounder}')

    def _select(self, index: int, node: tuple[Any, ...]) -> None:
        width = self._wide(index)
        kind, truth = _type(width), f'<{width} x i1>' if width else 'i1'
        condition, a, b = (self._value(i, width) for i in node[1:])
        zero = 'zeroinitializer' if width else _literal(0.0)
        self._say(f'%c{index} = fcmp ogt {kind} {condition}, {zero}')
        self._say(f'%t{index} = select {truth} %c{index}, {kind} {a}, {kind} {b}')

    def _input(self, index: int, node: tuple[Any, ...]) -> None:
        double = pointer('double')
        if not self._rows:
            at = f'getelementptr inbounds double, {double} %given, i64 {node[1]}'
            self._say(f'%p{index} = {at}')
            self._say(f'%t{index} = load double, {double} %p{index}')
            return
        before, kind = 'undef', _type(self._width)
        for row in range(self._width):
            at = node[1] + row * self._strides[0]
            name = f'%t{index}' if row == self._width - 1 else f'%y{index}_{row}'
            self._say(f'%p{index}_{row} = getelementptr inbounds double, {double} %given, i64 {at}')
            self._say(f'%x{index}_{row} = load double, {double} %p{index}_{row}')
            self._say(f'{name} = insertelement {kind} {before}, double %x{index}_{row}, i32 {row}')
            before = name

    def _call(self, index: int, node: tuple[Any, ...]) -> None:
        """A function of one row, with memory for what it is given and what it tells."""
        _, name, told, *arguments = node
        double = pointer('double')
        for memory, count in (('given', len(arguments)), ('told', told)):
            self._say(f'%{memory}_{index} = alloca double, i64 {count}')
        for i, argument in enumerate(arguments):
            at = f'%at_{index}_{i}'
            self._say(f'{at} = getelementptr inbounds double, {double} %given_{index}, i64 {i}')
            self._say(f'store double {self._value(argument, 0)}, {double} {at}')
        self._say(f'call void @{name}({double} %given_{index}, {double} %told_{index})')

    def _result(self, index: int, node: tuple[Any, ...]) -> None:
        double, (_, call, position) = pointer('double'), node
        at = f'getelementptr inbounds double, {double} %told_{call}, i64 {position}'
        self._say(f'%p{index} = {at}')
        self._say(f'%t{index} = load double, {double} %p{index}')

    def _lane(self, index: int, number: int, lane: int) -> str:
        """One lane of a node, as an operand of the node being written."""
        name, kind = f'%e{index}_{lane}', _type(self._width)
        self._say(f'{name} = extractelement {kind} {self._value(number, self._width)}, i32 {lane}')
        return name

    def _pick(self, index: int, node: tuple[Any, ...]) -> None:
        kind, lane = _type(self._width), -1 - node[2]
        self._say(
            f'%t{index} = extractelement {kind} {self._value(node[1], self._width)}, i32 {lane}'
        )

    def _sum(self, index: int, node: tuple[Any, ...]) -> None:
        """In pairs of neighbours, always in the same order."""
        terms = [self._lane(index, node[1], lane) for lane in range(self._lanes)]
        step = 0
        while len(terms) > 1:
            pairs = list(zip(terms[::2], terms[1::2], strict=False))
            added = []
            for a, b in pairs:
                name = f'%t{index}' if len(terms) == 2 else f'%a{index}_{step}'
                step += 1
                self._say(f'{name} = fadd {FLAGS} double {a}, {b}')
                added.append(name)
            terms = added + terms[2 * len(pairs) :]

    def _least(self, index: int, node: tuple[Any, ...]) -> None:
        least = self._lane(index, node[1], 0)
        for lane in range(1, self._lanes):
            x = self._lane(index, node[1], lane)
            name = f'%t{index}' if lane == self._lanes - 1 else f'%a{index}_{lane}'
            self._say(f'%c{index}_{lane} = fcmp olt double {x}, {least}')
            self._say(f'{name} = select i1 %c{index}_{lane}, double {x}, double {least}')
            least = name

    def _store(self, position: int, x: Scalar) -> None:
        index = self._graph.lift(x)
        double, kind = pointer('double'), _type(self._width)
        for row in range(self._width if self._rows else 1):
            value = self._value(index, self._width if self._rows else 0)
            name, at = f'{position}_{row}', position + row * self._strides[1]
            if self._rows:
                self._say(f'%o{name} = extractelement {kind} {value}, i32 {row}')
                value = f'%o{name}'
            self._say(f'%q{name} = getelementptr inbounds double, {double} %out, i64 {at}')
            self._say(f'store double {value}, {double} %q{name}')
