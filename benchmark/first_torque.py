# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A fresh process from start to first torque: ``python -m benchmark.first_torque engine``.

As a program, this module loads the masticator by the named method, prints the torques at home and
exits; :func:`time_first_torque` starts it and waits for the line. Imports are inside functions,
since they are part of the time measured.
"""

from __future__ import annotations

import functools
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from benchmark.states import Array

_ROOT = pathlib.Path(__file__).resolve().parents[1]
METHODS = ('engine', 'Pinocchio')


def first_torque(method: str) -> Array:
    """Torques (6,) that hold the masticator at home, by a method not yet imported."""
    rest, wrench = np.zeros(4), np.zeros(6)
    if method == 'engine':
        from masticator_dynamics import Mechanism

        return Mechanism.load('masticator').feedforward(rest, rest, rest, wrench).actuated
    from benchmark.pinocchio_method import PinocchioMethod

    file = _ROOT / 'config' / 'mechanisms' / 'masticator.yaml'
    return PinocchioMethod(file).torques(rest, rest, rest, wrench)


def time_first_torque(methods: Sequence[str], rounds: int) -> dict[str, Array]:
    """Times (s) from the start of a process to its torques, per method and round."""
    from benchmark.timing import in_turns

    return in_turns({method: functools.partial(_turn, method) for method in methods}, rounds)


def _turn(method: str, _: int) -> float:
    command = [sys.executable, '-m', 'benchmark.first_torque', method]
    start = perf_counter()
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ''
        elapsed = perf_counter() - start
    if process.returncode != 0 or len(line.split()) != 6:
        raise RuntimeError(f'{" ".join(command)} gave no torques: {line!r}')
    return elapsed


if __name__ == '__main__':
    print(*first_torque(sys.argv[1]), flush=True)
