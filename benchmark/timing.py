# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timing of methods in one process, in turns, so that drift of the machine affects all alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmark.states import Array, States

TURN = 1e-3  # s


@dataclasses.dataclass(frozen=True)
class Method:
    """One way to do the job.

    ``call(*prepare(state))`` returns the torques of one state; only ``call`` is timed.
    ``batch(*columns)`` returns those of many; without it, a batch is a loop over ``call``.
    """

    name: str
    call: Callable[..., Array]
    prepare: Callable[[tuple[Array, ...]], tuple[Any, ...]] = tuple
    batch: Callable[..., Array] | None = None

    def torques(self, states: States) -> Array:
        """Torques (N, n_u), state by state."""
        return np.array([self.call(*self.prepare(state)).copy() for state in states.rows()])


def disagreement(methods: Sequence[Method], states: States) -> dict[str, float]:
    """Largest difference from the first method over the largest torque, by method."""
    expected = methods[0].torques(states)
    scale = np.abs(expected).max()
    differences = {}
    for method in methods:
        found = [method.torques(states)]
        if method.batch is not None:
            found.append(method.batch(*states.columns()))
        differences[method.name] = max(float(np.abs(f - expected).max() / scale) for f in found)
    return differences


def in_turns(turns: Mapping[str, Callable[[int], Any]], rounds: int) -> dict[str, Array]:
    """All times (s) that the turns return, given the round, one after the other, by name."""
    seconds: dict[str, list[Any]] = {name: [] for name in turns}
    for r in range(rounds):
        for name, turn in turns.items():
            seconds[name].append(turn(r))
    return {name: np.ravel(times) for name, times in seconds.items()}


def time_calls(methods: Sequence[Method], states: States, rounds: int) -> dict[str, Array]:
    """Mean time of a call (s), per method and round.

    A method's turn takes about ``TURN`` seconds, short enough that most turns are not interrupted
    by other processes. It starts with calls that do not count, since the other methods have emptied
    the caches, and uses the next states of the pool.
    """
    return in_turns({method.name: _calls(method, states) for method in methods}, rounds)


def _calls(method: Method, states: States) -> Callable[[int], float]:
    call, arguments = method.call, [method.prepare(state) for state in states.rows()]
    calls = _calls_per_turn(call, arguments)

    def turn(r: int) -> float:
        chosen = [arguments[(r * calls + i) % len(arguments)] for i in range(-calls // 2, calls)]
        for argument in chosen[:-calls]:
            call(*argument)
        counted = chosen[-calls:]
        start = perf_counter()
        for argument in counted:
            call(*argument)
        return (perf_counter() - start) / calls

    return turn


def _calls_per_turn(call: Callable[..., Array], arguments: Sequence[tuple[Any, ...]]) -> int:
    """Number of calls that fill a turn, from a first measurement that also warms up."""
    seconds = []
    for argument in arguments[:32]:
        start = perf_counter()
        call(*argument)
        seconds.append(perf_counter() - start)
    return int(np.clip(TURN / np.median(seconds), 4, 64))


def time_batches(
    methods: Sequence[Method], states: States, rounds: int, samples: int
) -> dict[str, Array]:
    """Time (s) for all states, per method and round.

    For methods without a batch, the time of a loop over the first ``samples`` states is scaled up.
    """
    turns = {method.name: _batches(method, states, samples) for method in methods}
    return {name: times[1:] for name, times in in_turns(turns, rounds + 1).items()}


def _batches(method: Method, states: States, samples: int) -> Callable[[int], float]:
    batch, call = method.batch, method.call
    pool = [] if batch else [method.prepare(state) for state in states.rows()[:samples]]

    def turn(_: int) -> float:
        start = perf_counter()
        if batch is not None:
            batch(*states.columns())
            return perf_counter() - start
        for argument in pool:
            call(*argument)
        return (perf_counter() - start) * len(states.y) / len(pool)

    return turn


def percentiles(seconds: dict[str, Array], percentile: float, scale: float) -> dict[str, float]:
    """A percentile of the times, multiplied by ``scale``, by method."""
    return {name: float(np.percentile(s, percentile)) * scale for name, s in seconds.items()}
