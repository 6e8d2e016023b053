# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded arithmetic as statements and functions of C99, which need math.h alone."""

from __future__ import annotations

import dataclasses
import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from masticator_dynamics.engine.traced.numbers import Graph, Scalar, arguments, reachable, slots
from masticator_dynamics.files.share import config_text

PART, LONG = 1000, 4000  # statements of a part, and of a function that has none
_OPERATORS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}
_FUNCTIONS = {'sqrt': 'sqrt', 'abs': 'fabs', 'round': 'rint', 'copysign': 'copysign'}


class Statements(NamedTuple):
    """The arithmetic of a function."""

    parts: list[str]  # C lines; what a part needs of earlier ones is in the array ``kept``
    values: list[str]  # expressions for what is wanted
    kept: int  # length of that array


def statements(
    graph: Graph,
    wanted: Sequence[Scalar],
    inputs: Sequence[str],
    comments: Mapping[int, str],
    split: bool = True,
) -> Statements:
    """C that computes numbers.

    Parameters
    ----------
    inputs : sequence of str
        Expressions of the graph's inputs.
    comments : mapping of int to str
        Comment on the section that begins at a node.
    split : bool
        In parts if it is long.
    """
    results, pending = [graph.lift(x) for x in wanted], sorted(comments)
    leaves = ('constant', 'input')
    needed = [i for i in reachable(graph, results) if graph.nodes[i][0] not in leaves]
    size = PART if split and len(needed) > LONG else max(len(needed), 1)
    parts = [needed[first : first + size] for first in range(0, len(needed), size)]

    def on(index: int) -> Iterable[int]:
        return arguments(graph.nodes[index])

    places, count = slots(graph, parts, on, results) if len(parts) > 1 else ({}, 0)
    texts = []
    for part in parts:
        before = {j for index in part for j in on(index) if j in places} - {*part}
        lines = [f'  const double t{j} = kept[{places[j]}];' for j in sorted(before)]
        for index in part:
            while pending and pending[0] <= index:
                lines += ['', f'  /* {comments[pending.pop(0)]} */']
            value = _expression(graph, graph.nodes[index], inputs)
            lines.append(f'  const double t{index} = {value};')
            if index in places:
                lines.append(f'  kept[{places[index]}] = t{index};')
        texts.append('\n'.join(lines))
    values = [f'kept[{places[i]}]' if i in places else _operand(graph, i, inputs) for i in results]
    return Statements(texts, values, count)


def _operand(graph: Graph, index: int, inputs: Sequence[str]) -> str:
    operation, *rest = graph.nodes[index]
    if operation == 'constant':
        return literal(rest[0])
    return inputs[rest[0]] if operation == 'input' else f't{index}'


def literal(x: float) -> str:
    """A number, exactly; in parentheses if negative. Beyond a surface there is none: NAN."""
    if not math.isfinite(x):
        return 'NAN' if math.isnan(x) else f'({"-" if x < 0.0 else ""}INFINITY)'
    text = repr(float(x))
    return f'({text})' if text.startswith('-') else text


def _expression(graph: Graph, node: tuple[Any, ...], inputs: Sequence[str]) -> str:
    operation = node[0]
    parts = [_operand(graph, index, inputs) for index in node[1:]]
    if operation in _OPERATORS:
        return f'{parts[0]} {_OPERATORS[operation]} {parts[1]}'
    if operation == 'neg':
        return f'-{parts[0]}'
    if operation == 'select':
        return f'{parts[0]} > 0.0 ? {parts[1]} : {parts[2]}'
    return f'{_FUNCTIONS[operation]}({", ".join(parts)})'


@dataclasses.dataclass(frozen=True)
class CFunction:
    """A function of arrays that leaves its results as they were where they do not count.

    It returns 0; 1 where nothing counts; 2 outside the ranges of joints.
    """

    name: str
    graph: Graph
    inputs: Mapping[str, int]  # arrays and their lengths; the graph's inputs, one after the other
    results: Mapping[str, Sequence[Scalar]]  # arrays and what is stored in them
    guard: Scalar  # positive where the results count
    within: Scalar  # positive where joints are within their ranges
    comments: Mapping[int, str]
    # Comments on the elements of a result.
    notes: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    part: str = ''  # what tells this function's parts from another's
    static: bool = False  # for functions of the same file alone

    @property
    def arguments(self) -> list[str]:
        """Declarations of the parameters."""
        inputs = [f'const double *{name}' for name in self.inputs]
        return [*inputs, *(f'double *{name}' for name in self.results)]

    def text(self) -> str:
        """The function, after those that compute its parts."""
        names = [f'{array}[{i}]' for array, length in self.inputs.items() for i in range(length)]
        wanted = [x for numbers in self.results.values() for x in numbers]
        wanted += [self.guard, self.within]
        body = statements(self.graph, wanted, names, self.comments)
        *values, guard, within = body.values
        places = [(name, i) for name, numbers in self.results.items() for i in range(len(numbers))]
        stores = ''
        for (name, i), value in zip(places, values, strict=True):
            note = f' /* {self.notes[name][i]} */' if name in self.notes else ''
            stores += f'  {name}[{i}] = {value};{note}\n'
        unused = ''.join(f'  (void){name};\n' for name in self.inputs)
        text, before = '\n'.join(body.parts), ''
        if body.kept:
            inputs = ', '.join(self.arguments[: len(self.inputs)])
            before = ''.join(
                f'static APART void part{self.part}_{i}({inputs}, double *kept)\n'
                f'{{\n{unused}  (void)kept;\n{part}\n}}\n\n'
                for i, part in enumerate(body.parts)
            )
            calls = (f'  part{self.part}_{i}({", ".join(self.inputs)}, kept);'
                     for i in range(len(body.parts)))  # fmt: skip
            text = f'  double kept[{body.kept}];\n\n' + '\n'.join(calls)
        return f"""{before}\
{'static ' if self.static else ''}{declaration(self.name, self.arguments)}
{{
{unused}{text}

  if (!({guard} > 0.0)) {{
    return 1;
  }}
{stores}  return {within} > 0.0 ? 0 : 2;
}}
"""


def declaration(name: str, arguments: Sequence[str]) -> str:
    """``int name(arguments)``, on several lines if it is long."""
    lines = [f'int {name}(']
    for i, argument in enumerate(arguments):
        argument += ', ' if i < len(arguments) - 1 else ')'
        if len(lines[-1]) + len(argument.rstrip()) > 100:
            lines.append(' ' * len(f'int {name}('))
        lines[-1] += argument
    return '\n'.join(line.rstrip() for line in lines)


def quoted(text: str) -> str:
    """A string of C; names may have any letters."""
    return '"' + re.sub(r'[\\"?]', r'\\\g<0>', text) + '"'


def c_text(file: str, name: str, **values: object) -> str:
    """C for a mechanism of a name, from a file in config/c/ that such values complete."""
    text = string.Template(config_text(f'c/{file}'))
    return text.substitute(name=name, upper=name.upper(), **values)
