# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion in multiples of the torque alone: ``python -m benchmark.equations``.

Machine code on packed rows, in turns within one process, in processor time: one row after another,
and many side by side. A call from Python adds the same few microseconds of numpy to each.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from time import thread_time

import numpy as np

from benchmark.multiples import states_near_home
from benchmark.timing import in_turns, percentiles
from masticator_dynamics import Mechanism
from masticator_dynamics.description import shipped_mechanisms
from masticator_dynamics.engine.evaluation.accelerations import JUMP
from masticator_dynamics.engine.evaluation.mass_and_bias import equations_code
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.simulation import acceleration_code
from masticator_dynamics.engine.traced.simulation_data import Setting

ROWS = 2000
Turn = Callable[[int], float]


def turns_of(mechanism: Mechanism) -> dict[str, Turn]:
    """What is timed, by name: CPU time of a row, s, for a turn."""
    kernels = mechanism.kernels
    states = states_near_home(mechanism, ROWS)
    torque = np.hstack(states.columns())
    batch = mechanism.feedforward_batch(*states.columns(), friction=True)
    with_efforts = np.hstack([batch.y, batch.y_dot, batch.actuated, batch.wrench])
    with_positions = np.hstack([batch.y_dot, batch.q])
    rubbing = Setting(True, JUMP.transitions)
    codes: dict[str, tuple[RowCode, np.ndarray]] = {
        'torque': (kernels.evaluate, torque),
        'mass matrix and bias': (equations_code(kernels), with_positions),
        'acceleration': (acceleration_code(kernels, Setting()), with_efforts),
        'acceleration, friction': (acceleration_code(kernels, rubbing), with_efforts),
    }  # fmt: skip
    found: dict[str, Turn] = {}
    for name, (code, given) in codes.items():
        for kind, run in (('row', code.one_by_one), ('batch', code)):
            run(given)  # compiled
            found[f'{name}, {kind}'] = functools.partial(_per_row, run, given)
    return found


def _per_row(run: Callable[[np.ndarray], object], given: np.ndarray, _: int) -> float:
    start = thread_time()
    run(given)
    return (thread_time() - start) / len(given)


def as_text(rounds: int) -> str:
    """A table with a column for each mechanism."""
    found = {}
    for name in shipped_mechanisms():
        print(f'Equations of motion, {name}', file=sys.stderr, flush=True)
        found[name] = percentiles(in_turns(turns_of(Mechanism.load(name)), rounds), 10.0, 1.0)
    lines = [
        f'{"us a row (multiples of the torque), p10":<40}' + ''.join(f'{n:>18}' for n in found)
    ]
    for turn in next(iter(found.values())):
        unit = 'torque, ' + turn.rpartition(', ')[2]
        cells = (f'{row[turn] * 1e6:.2f} ({row[turn] / row[unit]:.2f} x)' for row in found.values())
        lines.append(f'{turn:<40}' + ''.join(f'{cell:>18}' for cell in cells))
    return '\n'.join(lines)


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    print(as_text(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
