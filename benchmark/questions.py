# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What each question costs, by machine code and from Python: ``python -m benchmark.questions``.

Processor time in µs, 10th percentile of turns within one process: machine code of one row alone
(through ctypes, some tenths of a microsecond), a call from Python for one row, a row of a batch;
and the processor time that it takes to make the code of one row, in s. Names of mechanisms may
follow; by default, the shipped ones.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable
from time import process_time, thread_time
from typing import Any

import numpy as np

from benchmark.multiples import states_near_home
from benchmark.timing import in_turns, percentiles
from masticator_dynamics import Mechanism
from masticator_dynamics.description import shipped_mechanisms
from masticator_dynamics.engine.evaluation.mass_and_bias import equations_code
from masticator_dynamics.engine.traced.actuated_step import fit_code
from masticator_dynamics.engine.traced.machine_code import object_code, this_processor
from masticator_dynamics.engine.traced.row_code import RowCode, address
from masticator_dynamics.engine.traced.simulation import acceleration_code
from masticator_dynamics.engine.traced.simulation_data import Setting
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.limits.within_limits import WithinLimits

CALLS, ROWS, TURNS = 100, 512, 15
FAR = 100.0  # times the limits of the description
BINDS = 0.97  # of the largest effort without limits


@dataclasses.dataclass(frozen=True)
class Question:
    """One question: its machine code with an input row, the call, and the call of a batch."""

    call: Callable[[], Any]
    code: tuple[RowCode, np.ndarray] | None = None
    batch: Callable[[], Any] | None = None


def questions_of(mechanism: Mechanism) -> dict[str, Question]:
    """Questions by name."""
    states = states_near_home(mechanism, ROWS)
    columns, kernels = states.columns(), mechanism.kernels
    row = states.rows()[0]
    found = {}

    def efforts(name: str, code: tuple[RowCode, np.ndarray] | None, **choice: Any) -> None:
        found[name] = Question(
            lambda: mechanism.feedforward(*row, **choice).actuated, code,
            lambda: mechanism.feedforward_batch(*columns, **choice).actuated,
        )  # fmt: skip

    given = np.concatenate(row)
    torque = {'torque': 1.0}
    efforts('torque', (kernels.evaluate, given))
    efforts('with friction', (kernels.best(torque, True), given), friction=True)
    limits = mechanism.load_limits
    far = dataclasses.replace(
        limits, **{f.name: FAR * part for f in dataclasses.fields(limits)
                   if (part := getattr(limits, f.name)) is not None}
    )  # fmt: skip
    for friction in (False, True):
        rubs = ', friction' if friction else ''
        kind = mechanism.solver.distribution('torque', friction)
        code, numbers = WithinLimits(mechanism, kind, far).codes[0]
        followed = np.concatenate([given, numbers])
        efforts(f'limits, none binds{rubs}', (code, followed), friction=friction, limits=far)
        largest = np.abs(mechanism.feedforward(*row, friction=friction).actuated).max()
        tight = dataclasses.replace(
            limits, effort_low=None,
            effort=np.full(len(mechanism.actuated), BINDS * largest),
        )  # fmt: skip
        within = WithinLimits(mechanism, kind, tight)
        for name, place, nearest in (('one binds', 1, False), ('nearest motion', 2, True)):
            code, numbers = within.codes[place]
            choice = {'friction': friction, 'limits': tight, 'nearest': nearest}
            found[f'limits, {name}{rubs}'] = Question(
                lambda choice=choice: mechanism.feedforward(*row, **choice).actuated,
                (code, np.concatenate([given, numbers])),
            )
        found[f'derivatives{rubs}'] = Question(
            lambda f=friction: mechanism.feedforward_derivatives(*row, friction=f),
            (kind.derivatives if friction else kernels.derivatives, given),
            lambda f=friction: mechanism.feedforward_derivatives_batch(*columns, friction=f),
        )
    return found | _of_motion(mechanism, row)


def _of_motion(mechanism: Mechanism, row: tuple[np.ndarray, ...]) -> dict[str, Question]:
    """Questions about a motion."""
    kernels, motion = mechanism.kernels, mechanism.solve(*row[:3])
    effort, frame = mechanism.feedforward(*row), mechanism.description.platform
    at_rest = np.concatenate([motion.y_dot, motion.q])
    equations = equations_code(kernels), at_rest
    efforts, u = effort.actuated.copy(), effort.position.copy()
    state = np.concatenate([row[0], row[1], efforts, row[3]])
    chain = mechanism.frame_chain(frame)
    of_row = chain.code, motion.rows
    return {
        'solve': Question(lambda: mechanism.solve(*row[:3]), (kernels.everything, effort.given())),
        'mass matrix': Question(lambda: mechanism.mass_matrix(motion), equations),
        'bias': Question(lambda: mechanism.bias(motion), equations),
        'energy': Question(lambda: mechanism.energy(motion), equations),
        'forward dynamics': Question(
            lambda: mechanism.forward_dynamics(row[0], row[1], efforts, row[3]),
            (acceleration_code(kernels, Setting()), state),
        ),
        'frame pose': Question(lambda: mechanism.frame_pose(motion, frame), of_row),
        'frame Jacobian': Question(lambda: mechanism.frame_jacobian(motion, frame), of_row),
        'frame twist': Question(lambda: mechanism.frame_twist(motion, frame), of_row),
        'forward kinematics': Question(
            lambda: mechanism.forward_kinematics(u), (fit_code(kernels), u)
        ),
        'regressor': Question(lambda: mechanism.regressor(motion)),
        'actuated inertia': Question(lambda: mechanism.actuated_inertia(motion)),
        'inertia coupling': Question(lambda: mechanism.inertia_coupling(motion)),
    }  # fmt: skip


def figures(mechanism: Mechanism) -> dict[str, tuple[float, float, float, float]]:
    """Machine code, call and row of a batch, µs, and making the code, s, by question."""
    turns: dict[str, Callable[[int], float]] = {}
    made: dict[str, float] = {}
    for name, question in questions_of(mechanism).items():
        try:
            question.call()
        except MasticatorError:
            continue
        turns[f'{name}|call'] = _turn(question.call, CALLS, 1)
        if question.batch:
            question.batch()
            turns[f'{name}|batch'] = _turn(question.batch, 1, ROWS)
        if question.code:
            code, given = question.code
            made[name] = _compiled(code)
            out = np.empty(code.outputs)
            # Both arrays are kept by the call itself.
            run = _Alone(code, np.array(given), out)
            turns[f'{name}|code'] = _turn(run, CALLS, 1)
    times = percentiles(in_turns(turns, TURNS), 10.0, 1e6)
    names = dict.fromkeys(turn.partition('|')[0] for turn in turns)
    return {
        name: (*(times.get(f'{name}|{kind}', np.nan) for kind in ('code', 'call', 'batch')),
               made.get(name, np.nan))
        for name in names
    }  # fmt: skip


class _Alone:
    """Machine code of a row by itself."""

    def __init__(self, code: RowCode, given: np.ndarray, out: np.ndarray):
        self._held, self._row = (given, out, code.row), code.row.row
        self._addresses = address(given), address(out)

    def __call__(self) -> None:
        self._row(*self._addresses)


def _turn(run: Callable[[], Any], calls: int, rows: int) -> Callable[[int], float]:
    def turn(_: int) -> float:
        start = thread_time()
        for _ in range(calls):
            run()
        return (thread_time() - start) / (calls * rows)

    return turn


def _compiled(code: RowCode) -> float:
    """Processor time to make the code of one row, s."""
    start = process_time()
    object_code(code.text(), this_processor())
    return process_time() - start


def as_text(name: str) -> str:
    """A table of one mechanism."""
    lines = [f'{name:<32}{"code":>8}{"call":>8}{"batch":>8}{"made, s":>9}']
    for question, numbers in figures(Mechanism.load(name)).items():
        cells = ['-' if np.isnan(x) else f'{x:.2f}' for x in numbers]
        lines.append(
            f'{question:<32}'
            + ''.join(f'{c:>{w}}' for c, w in zip(cells, (8, 8, 8, 9), strict=True))
        )
    return '\n'.join(lines)


def main() -> None:
    """Print the tables."""
    warnings.simplefilter('ignore')
    for name in sys.argv[1:] or shipped_mechanisms():
        print(as_text(name), flush=True)


if __name__ == '__main__':
    main()
