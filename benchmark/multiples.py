# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every shipped mechanism in multiples of ``floor.cpp``: ``python -m benchmark.multiples``.

The unit is the time that the C++ written for the masticator takes for a row of a batch, measured in
turns with the mechanisms. All times are processor times, so other processes only disturb the
caches. For fresh processes, the time is from start to first torque.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from time import thread_time
from typing import Any

import numpy as np

from benchmark.floor import CompilerMissingError, floor_method
from benchmark.states import States, random_states
from benchmark.timing import in_turns, percentiles
from masticator_dynamics import Mechanism
from masticator_dynamics.description import shipped_mechanisms
from masticator_dynamics.errors import MasticatorError
from papers.formulations.geometry import read_geometry

ROWS = 5000
RADIAN, METRE = 0.05, 0.005  # largest distance of states from home
# All results of an evaluation.
EVERYTHING = (
    'q', 'v', 'a', 'position', 'velocity', 'acceleration', 'tangent', 'actuated', 'contact',
    'closure_residual', 'balance_residual',
)  # fmt: skip
CHOICES: dict[str, dict[str, Any]] = {
    'torque': {},
    'torque, friction': {'friction': True},
    'power': {'goal': 'power'},
    'power, friction': {'goal': 'power', 'friction': True},
}
_PROGRAM = """
import json, sys
from masticator_dynamics import Mechanism
mechanism = Mechanism.load(sys.argv[1])
mechanism.feedforward(json.loads(sys.argv[2])).actuated
status = open('/proc/self/status').read()
print(status.split('VmHWM:')[1].split()[0])
"""


def states_near_home(mechanism: Mechanism, count: int) -> States:
    """Moving, loaded states near home with closed loops."""
    rng = np.random.default_rng(1)
    units = [
        next(j.unit for j in mechanism.description.tree.joints if j.name == name)
        for name in mechanism.independent
    ]
    reach = np.array([METRE if unit == 'm' else RADIAN for unit in units])
    drawn = mechanism.home.y + reach * rng.uniform(-1.0, 1.0, (2 * count, len(reach)))
    y = drawn[mechanism.attempt(drawn).closed][:count]
    rates, accelerations = (reach * rng.normal(size=y.shape) * scale for scale in (10.0, 200.0))
    wrench = np.zeros((len(y), 6))
    wrench[:, :3] = rng.uniform(-5.0, 5.0, (len(y), 3))
    return States(y, rates, accelerations, wrench)


def turns_of(mechanism: Mechanism) -> dict[str, tuple[Callable[[], object], int]]:
    """Functions to time by name, with their number of rows; without goals that are refused."""
    states = states_near_home(mechanism, ROWS)
    rows, columns = states.rows(), states.columns()
    found: dict[str, tuple[Callable[[], object], int]] = {}
    for name, choice in CHOICES.items():

        def calls(choice: dict[str, Any] = choice) -> None:
            for row in rows:
                _ = mechanism.feedforward(*row, **choice).actuated

        def batch(choice: dict[str, Any] = choice) -> object:
            return mechanism.feedforward_batch(*columns, **choice).actuated

        try:
            calls()
            batch()
        except MasticatorError:
            continue
        found[f'call, {name}'] = calls, len(rows)
        found[f'batch, {name}'] = batch, len(states.y)

    def everything() -> list[object]:
        effort = mechanism.feedforward_batch(*columns)
        return [getattr(effort, field) for field in EVERYTHING]

    found['batch, everything'] = everything, len(states.y)
    return found


def multiples(rounds: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Tenth percentile of the time of a row, us, and as a multiple of C++, by mechanism and name.

    Raises
    ------
    CompilerMissingError
    """
    masticator = Mechanism.load('masticator')
    with tempfile.TemporaryDirectory() as directory:
        floor = floor_method(read_geometry(masticator.description), pathlib.Path(directory))
    assert floor.batch is not None
    unit = functools.partial(floor.batch, *random_states('masticator', ROWS).columns())
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in shipped_mechanisms():
        print(f'Multiples of C++, {name}', file=sys.stderr, flush=True)
        turns = {'floor': (unit, ROWS)} | turns_of(Mechanism.load(name))
        timed = {turn: functools.partial(_per_row, *run) for turn, run in turns.items()}
        row = percentiles(in_turns(timed, rounds), 10.0, 1.0)
        floor_row = row.pop('floor')
        found[name] = {turn: (1e6 * time, time / floor_row) for turn, time in row.items()}
    return found


def _per_row(run: Callable[[], object], rows: int, _: int) -> float:
    """Processor time of a row, s."""
    start = thread_time()
    run()
    return (thread_time() - start) / rows


def fresh_process(mechanism: str) -> dict[str, float]:
    """Processor time (s) to the first torque with an empty and a filled cache; peak memory, MB."""
    home = Mechanism.load(mechanism).home.y.tolist()
    command = [sys.executable, '-W', 'ignore', '-c', _PROGRAM, mechanism, json.dumps(home)]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ('first torque, nothing kept', 'first torque, kept'):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE,
                env={**os.environ, 'MASTICATOR_CACHE_DIR': folder},
            )  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found[f'{kind}, CPU s'] = (
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            )
            found['largest resident memory, MB'] = int(done.stdout) / 1024.0
    return found


def as_text(found: dict[str, dict[str, tuple[float, float]]]) -> str:
    """A table with a column for each mechanism."""
    names = list(found)
    lines = [f'{"us a row (multiples of floor.cpp), p10":<40}' + ''.join(f'{n:>18}' for n in names)]
    for turn in dict.fromkeys(turn for turns in found.values() for turn in turns):
        cells = []
        for name in names:
            micro, times = found[name].get(turn, (np.nan, np.nan))
            cells.append('-' if np.isnan(micro) else f'{micro:.2f} ({times:.2f} x)')
        lines.append(f'{turn:<40}' + ''.join(f'{cell:>18}' for cell in cells))
    fresh = {name: fresh_process(name) for name in names}
    for kind in fresh[names[0]]:
        lines.append(f'{kind:<40}' + ''.join(f'{fresh[name][kind]:>18.2f}' for name in names))
    return '\n'.join(lines)


def main() -> None:
    """Print the table."""
    warnings.simplefilter('ignore')
    try:
        print(as_text(multiples(int(sys.argv[1]) if len(sys.argv) > 1 else 60)))
    except CompilerMissingError as error:
        print(f'The multiples of C++ are left out: {error}')


if __name__ == '__main__':
    main()
