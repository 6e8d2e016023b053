# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded graph as C99: straight-line arithmetic that needs only math.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from masticator_dynamics.traced.numbers import Graph, Number, Scalar, reachable

_OPERATORS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}
_FUNCTIONS = {'sqrt': 'sqrt', 'abs': 'fabs', 'round': 'rint', 'copysign': 'copysign'}


def statements(
    graph: Graph,
    wanted: Sequence[Scalar],
    inputs: Sequence[str],
    comments: Mapping[int, str],
) -> tuple[list[str], list[str]]:
    """C lines that compute numbers, and the expressions for their values.

    Parameters
    ----------
    inputs : sequence of str
        Expressions of the graph's inputs.
    comments : mapping of int to str
        Comment on the section that begins at a node.

    Returns
    -------
    lines, expressions : list of str
    """
    numbers = [x for x in wanted if isinstance(x, Number)]
    lines: list[str] = []
    pending = sorted(comments)
    for index in reachable(graph, numbers):
        node = graph.nodes[index]
        if node[0] in ('constant', 'input'):
            continue
        while pending and pending[0] <= index:
            lines += ['', f'  /* {comments[pending.pop(0)]} */']
        lines.append(f'  const double t{index} = {_expression(graph, node, inputs)};')
    return lines, [_operand(graph, graph.lift(x), inputs) for x in wanted]


def _operand(graph: Graph, index: int, inputs: Sequence[str]) -> str:
    operation, *rest = graph.nodes[index]
    if operation == 'constant':
        return literal(rest[0])
    return inputs[rest[0]] if operation == 'input' else f't{index}'


def literal(x: float) -> str:
    """A number, exactly; in parentheses if negative."""
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
