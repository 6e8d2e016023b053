# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops, and functions that are called: run on floats, or recorded for machine code.

A loop records its step once; a function that several loops or calls share is recorded once for all
of them, and takes and gives numbers without lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from masticator_dynamics.engine.traced.numbers import (
    Graph,
    Number,
    Scalar,
    lane_greatest,
    select,
)


def graph_of(numbers: Iterable[Scalar]) -> Graph | None:
    """The graph in which any of these is recorded."""
    return next((x.graph for x in numbers if isinstance(x, Number)), None)


def repeat(
    graph: Graph | None,
    most: int,
    state: Sequence[Scalar],
    step: Callable[[list[Any]], tuple[Any, list[Any]]],
    lanes: int = 0,
) -> list[Any]:
    """Numbers after steps that are repeated while a condition is above zero.

    Parameters
    ----------
    graph : Graph or None
        Where the loop is recorded; None: it runs, on floats.
    most : int
        Steps at most; one is done in any case.
    state : sequence of number
        What the first step begins with.
    step : callable
        Gives the condition to go on, and the next state, from a state.
    lanes : int
        How many lanes the state has, 0: none. Each ends by itself; the last one ends the loop.
    """
    if graph is None:
        numbers = list(state)
        for _ in range(most):
            go_on, numbers = step(numbers)
            if not go_on > 0.0:
                break
        return numbers
    graph.loops += 1
    loop, start = graph.loops, tuple(graph.lift(x) for x in ([1.0] if lanes else []) + [*state])
    carried = [graph.record('carried', loop, i, lanes) for i in range(len(start))]
    if lanes:
        on, *before = carried
        go_on, after = step(before)
        goes_on = select(on, select(go_on, 1.0, 0.0), 0.0)
        after = [goes_on, *(select(on, a, b) for a, b in zip(after, before, strict=True))]
        go_on = lane_greatest(goes_on)
    else:
        go_on, after = step(carried)
    following = tuple(graph.lift(x) for x in after)
    done = graph.record('repeat', loop, most, graph.lift(go_on), start, following)
    return [graph.record('final', done.index, i, lanes) for i in range(len(start))][bool(lanes) :]


def call(
    graph: Graph | None,
    name: str,
    function: Callable[[list[Any]], list[Any]],
    arguments: Sequence[Scalar],
) -> list[Any]:
    """Results of a function, which is recorded once, however often it is called.

    Parameters
    ----------
    graph : Graph or None
        Where the call is recorded; None: the function runs, on floats.
    name : str
        Of the function, shared by all its calls.
    function : callable
        From numbers to numbers.
    arguments : sequence of number
        What it is called with.
    """
    if graph is None:
        return function(list(arguments))
    if name not in graph.functions:
        inner = Graph(graph.largest)
        graph.functions[name] = inner, function(list(inner.inputs(len(arguments))))
    return recorded_call(graph, name, len(graph.functions[name][1]), arguments)


def recorded_call(graph: Graph, name: str, outputs: int, arguments: Sequence[Scalar]) -> list[Any]:
    """Results of a function of one row that is written elsewhere.

    Parameters
    ----------
    graph : Graph
        Where the call is recorded.
    name : str
        Of the function.
    outputs : int
        How many results it has.
    arguments : sequence of number
        What it is called with.
    """
    called = graph.record('call', name, outputs, *(graph.lift(x) for x in arguments))
    return [graph.record('result', called.index, i) for i in range(outputs)]
