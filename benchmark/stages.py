# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of one call goes: ``python -m benchmark.stages [MECHANISM]``.

The engine's kernels are run up to each stage in turn; differences are the stages' own times.
Compiled separately from the engine (half a minute, then cached), so that the sum may differ from
the engine's own time by some per cent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmark.states import random_states
from masticator_dynamics import Mechanism
from masticator_dynamics.actuation.causes import find_causes
from masticator_dynamics.actuation.distribute import report_forces, weigh
from masticator_dynamics.actuation.layout import unpack_tables
from masticator_dynamics.actuation.packing import pack_distribution
from masticator_dynamics.actuation.pieces import solve_pieces
from masticator_dynamics.engine import evaluate as engine
from masticator_dynamics.engine.closure import close_loops
from masticator_dynamics.engine.dynamics import (
    constraint_multipliers,
    least_norm_effort,
    tree_load,
)
from masticator_dynamics.engine.jit import entry_point
from masticator_dynamics.engine.layout import answer_of, unpack
from masticator_dynamics.engine.motion import (
    accelerate_bodies,
    linearise,
    tree_accelerations,
    tree_rates,
)
from masticator_dynamics.engine.packing import pack

STAGES = (
    'views of memory',
    'closing the loops',
    'Jacobians, inverses, tangent',
    'velocities',
    'accelerations',
    'bodies and load of the tree',
    'least-norm efforts',
    'multipliers, force balance',
)
FRICTION_STAGES = (
    'without friction',
    'causes of forces, weights',
    'best piece',
    'forces of all causes',
)
ROUNDS, POOL = 200, 64


@entry_point
def _run_until(memory, scratch, stage, given, out):
    """Rows as ``engine.evaluate`` does them, stopping after a stage."""
    model = unpack(memory, scratch)
    k = len(model.independent)
    asked, told = 3 * k + 6, model.answer[len(model.answer) - 1]
    for row in range(len(given) // asked):
        numbers = given[row * asked : (row + 1) * asked]
        answer = answer_of(out[row * told : (row + 1) * told], model.answer)
        y, y_dot, y_ddot = numbers[:k], numbers[k : 2 * k], numbers[2 * k : 3 * k]
        answer.report[0] = 0.0
        if stage < 1:
            continue
        close_loops(model, y, answer.q)
        if stage < 2:
            continue
        linearise(model)
        if stage < 3:
            continue
        tree_rates(model, y_dot, answer.v)
        if stage < 4:
            continue
        tree_accelerations(model, answer.v, y_ddot, answer.a)
        if stage < 5:
            continue
        accelerate_bodies(model, answer.v, answer.a)
        tree_load(model, answer.a, numbers[3 * k :])
        if stage < 6:
            continue
        least_norm_effort(model, answer.effort)
        if stage < 7:
            continue
        answer.report[4] = constraint_multipliers(model, answer.effort, answer.multipliers)


@entry_point
def _distribute_until(memory, scratch, block, table_memory, stage, given, out):
    """Rows as ``actuation.distribute`` does them, stopping after a stage."""
    model = unpack(memory, scratch)
    tables = unpack_tables(block, table_memory)
    asked, told = 3 * len(model.independent) + 6, model.answer[len(model.answer) - 1]
    rows = len(given) // asked
    width = len(out) // rows
    for row in range(rows):
        answer = answer_of(out[row * width : row * width + told], model.answer)
        forces = out[row * width + told : (row + 1) * width]
        engine.evaluate_row(model, engine.FEEDFORWARD, given[row * asked :][:asked], answer)
        if stage < 1:
            continue
        find_causes(model, tables, answer)
        weigh(model, tables, answer)
        if stage < 2:
            continue
        solve_pieces(model, tables, answer, forces)
        if stage < 3:
            continue
        report_forces(model, tables, answer, forces)


def kernel_stages(mechanism: Mechanism, given: np.ndarray) -> dict[str, float]:
    """Median time of each stage per row of input, us."""
    model = pack(mechanism.description, mechanism.structure, mechanism.driving)
    out = np.empty((len(given), mechanism.slices['tangent'].stop))
    flat = given.reshape(-1), out.reshape(-1)

    def run(stage: int) -> None:
        _run_until(model.memory, model.scratch, stage, *flat)

    run(len(STAGES))
    _check(out[:, mechanism.slices['effort']], _efforts(mechanism, given))
    return _own_times(run, STAGES, len(given))


def friction_stages(mechanism: Mechanism, given: np.ndarray) -> dict[str, float]:
    """The same for friction and goal torque."""
    model = pack(mechanism.description, mechanism.structure, mechanism.driving)
    description, driving = mechanism.description, len(mechanism.driving)
    distribution = pack_distribution(
        description, mechanism.structure, model, driving, {'torque': 1.0}, friction=True
    )
    out = np.empty((len(given), distribution.width))
    flat = given.reshape(-1), out.reshape(-1)

    def run(stage: int) -> None:
        _distribute_until(*distribution.run.args, stage, *flat)

    run(len(FRICTION_STAGES))
    expected = _efforts(mechanism, given, goal='torque', friction=True)
    _check(out[:, distribution.slices['effort']], expected)
    return _own_times(run, FRICTION_STAGES, len(given))


def _check(efforts: np.ndarray, expected: np.ndarray) -> None:
    if not np.allclose(efforts, expected, rtol=1e-9):
        raise SystemExit('the stages no longer do what the engine does')


def _own_times(run: Callable[[int], None], stages: tuple[str, ...], rows: int) -> dict[str, float]:
    """Differences of the medians of ``run`` up to each stage, us per row."""
    until = np.empty((ROUNDS, len(stages)))
    for r in range(ROUNDS):
        for stage in range(len(stages)):
            start = perf_counter()
            run(stage)
            until[r, stage] = perf_counter() - start
    reached = np.median(until, axis=0) / rows * 1e6
    return dict(zip(stages, np.diff(reached, prepend=0.0), strict=True))


def call_stages(mechanism: Mechanism, rows: list[tuple[Any, ...]]) -> dict[str, float]:
    """Median time per call of what Python does around the kernel, us, and of the whole."""
    model = pack(mechanism.description, mechanism.structure, mechanism.driving)
    out = np.empty(mechanism.slices['tangent'].stop)
    nothing = np.empty(0)
    task = engine.FEEDFORWARD
    times = _interleaved(
        {
            'loop': lambda *_: None,
            'dispatch': lambda *_: engine.evaluate(model.memory, model.scratch, task, nothing, out),
            'kernel': lambda *state: engine.evaluate(
                model.memory, model.scratch, task, np.concatenate(state), out
            ),
            'packing': lambda *state: np.concatenate(state),
            'call': mechanism.feedforward,
            'torques': lambda *state: mechanism.feedforward(*state).actuated,
        },
        rows,
    )
    dispatch = times['dispatch'] - times['loop']
    kernel = times['kernel'] - times['packing']
    return {
        "numba's dispatch, unpacking of arguments": dispatch,
        'kernel without it': kernel - dispatch,
        'packing, checks, result object': times['call'] - kernel - times['loop'],
        'reading Effort.actuated': times['torques'] - times['call'],
        'whole call': times['torques'] - times['loop'],
    }


def _efforts(mechanism: Mechanism, given: np.ndarray, **choice: Any) -> np.ndarray:
    k = len(mechanism.independent)
    columns = (given[:, :k], given[:, k : 2 * k], given[:, 2 * k : 3 * k], given[:, 3 * k :])
    return mechanism.feedforward_batch(*columns, **choice).actuated


def _interleaved(
    functions: dict[str, Callable[..., Any]], rows: list[tuple[Any, ...]]
) -> dict[str, float]:
    """Median time per call, us, turn by turn."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            start = perf_counter()
            for row in rows:
                function(*row)
            seconds[name].append(perf_counter() - start)
    return {name: float(np.median(s)) / len(rows) * 1e6 for name, s in seconds.items()}


def main() -> None:
    """Print all tables for one mechanism."""
    name = sys.argv[1] if len(sys.argv) > 1 else 'masticator'
    mechanism = Mechanism.load(name)
    states = random_states(name, POOL)
    given = np.hstack(states.columns())
    for title, times in (
        (f'{name}: one call from Python, µs', call_stages(mechanism, states.rows())),
        (
            f'{name}: stages of the kernel, µs per row',
            kernel_stages(mechanism, given),
        ),
        (
            f'{name}: kernel with friction and goal torque, µs per row',
            friction_stages(mechanism, given),
        ),
    ):
        print(title)
        for label, value in times.items():
            print(f'  {label:<42}{value:8.2f}')


if __name__ == '__main__':
    main()
