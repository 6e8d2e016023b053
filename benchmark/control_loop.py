# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A 1 kHz loop with sleeps next to a busy process: what an evaluation costs on a robot."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmark.states import Array, States
from benchmark.timing import Method, in_turns

PERIOD = 1e-3  # s
TURN = 250  # ticks before the next method's turn
# Arithmetic on more memory than a core's own caches hold, so that it also disturbs shared caches.
_BUSY = """
import numpy as np
numbers = np.ones(1 << 21)
while True:
    numbers *= 1.0000001
"""


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep ``count`` processes computing without a pause."""
    command = [sys.executable, '-c', _BUSY]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        time.sleep(0.5)  # while they start
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def time_loop(methods: Sequence[Method], states: States, rounds: int) -> dict[str, Array]:
    """Times (s) of all evaluations, ``rounds * TURN`` per method."""
    turns = {
        method.name: functools.partial(_turn, method, [method.prepare(s) for s in states.rows()])
        for method in methods
    }
    return in_turns(turns, rounds)


def _turn(method: Method, pool: list[tuple], _: int) -> list[float]:
    call, seconds = method.call, []
    deadline = time.perf_counter()
    for tick in range(TURN):
        deadline = max(deadline + PERIOD, time.perf_counter())  # missed ticks are not made up for
        time.sleep(max(0.0, deadline - time.perf_counter()))
        argument = pool[tick % len(pool)]
        start = time.perf_counter()
        call(*argument)
        seconds.append(time.perf_counter() - start)
    return seconds
