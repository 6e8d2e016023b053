# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What each question costs, by machine code and from Python: ``python -m benchmark.questions``.

Processor time in µs, 10th percentile of turns within one process: machine code of one row alone
(without the time of ctypes; all codes up to the one that is certain), a call from Python for one
row, a row of a batch of 512; and the processor time that it takes to make the code of one row, in
s, where none is kept. Names of mechanisms may follow; by default, the shipped ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import process_time, thread_time
from typing import Any

import numpy as np

from benchmark.multiples import states_near_home
from benchmark.timing import in_turns, percentiles
from masticator_dynamics import Mechanism
from masticator_dynamics.description import shipped_mechanisms
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced import row_code
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import RowCode, address
from masticator_dynamics.engine.traced.row_code import library as _library
from masticator_dynamics.errors import MasticatorError

CALLS, BATCHES, ROWS, TURNS = 100, 8, 512, 15
FAR = 100.0  # times the limits of the description
BINDS = 0.97  # of the largest effort without limits


@dataclasses.dataclass(frozen=True)
class Question:
    """One question: a call, codes that are asked in turn with their input rows, and a batch."""

    call: Callable[[], Any]
    codes: Sequence[tuple[RowCode, FloatArray]] = ()
    batch: Callable[[], Any] | None = None


def asked(
    mechanism: Mechanism, name: str, given: Mapping[str, Any],
    batch: Callable[[], Any] | None = None,
    read: str = '', public: str = '',
) -> Question:  # fmt: skip
    """A question by the name of a method and its arguments.

    Parameters
    ----------
    read : str
        Attribute of the result that is read, too.
    public : str
        Method that is called, where another name has the machine code.
    """
    method = getattr(mechanism, public or name)
    source = next(vars(c)[name] for c in type(mechanism).__mro__ if name in vars(c))
    arguments = [x for n, x in given.items() if n not in CHOICES or n == 'frame']
    named = {n: x for n, x in given.items() if n in CHOICES[1:]}

    def call() -> Any:
        answer = method(*arguments, **named)
        return getattr(answer, read) if read else answer

    return Question(call, _codes(source.answers(mechanism, given), given), batch)


CHOICES = ('frame', 'goal', 'friction', 'limits', 'nearest')


def _codes(answers: Sequence[Answer], given: Mapping[str, Any]) -> list[tuple[RowCode, FloatArray]]:
    """Machine code up to that which is certain, with input rows."""
    arrays = {n: np.frombuffer(x._numbers) if n == 'motion' else x.ravel()
              for n, x in given.items() if n not in CHOICES}  # fmt: skip
    codes = []
    for answer in answers:
        code, parts = answer.code, answer.parts or {n: [(0, len(x))] for n, x in arrays.items()}
        row = [arrays[n][a : a + k] for n, places in parts.items() for a, k in places]
        codes.append((code, np.concatenate([*row, code.followed_by(answer.numbers)])))
        if code.of_complete(codes[-1][1])[0] == 1.0:
            break
    return codes


def questions_of(mechanism: Mechanism) -> dict[str, Question]:
    """Questions by name."""
    states = states_near_home(mechanism, ROWS)
    columns = states.columns()
    row = dict(zip(('y', 'y_dot', 'y_ddot', 'wrench'), states.rows()[0], strict=True))
    table = {}
    limits = mechanism.load_limits
    far = dataclasses.replace(
        limits, **{f.name: FAR * part for f in dataclasses.fields(limits)
                   if (part := getattr(limits, f.name)) is not None}
    )  # fmt: skip

    def efforts(name: str, method: str = 'feedforward', **choice: Any) -> None:
        batch = getattr(mechanism, f'{method}_batch')
        with_batch = choice.get('limits', far) is far  # others are searched for row by row
        with_batch = with_batch and (choice.get('goal') != 'power' or choice['friction'])
        table[name] = asked(
            mechanism, method, row | choice,
            (lambda: batch(*columns, **choice).actuated) if with_batch else None,
            'actuated',
        )  # fmt: skip

    for friction in (False, True):
        rubs, with_friction = ', friction' if friction else '', {'friction': friction}
        efforts(f'torque{rubs}', **with_friction)
        efforts(f'goal power{rubs}', goal='power', **with_friction)
        efforts(f'limits, none binds{rubs}', limits=far, **with_friction)
        effort = np.abs(mechanism.feedforward(*row.values(), **with_friction).actuated).max()
        tight = dataclasses.replace(
            limits, effort_low=None, effort=np.full(len(mechanism.actuated), BINDS * effort)
        )
        for name, nearest in (('one binds', False), ('nearest motion', True)):
            efforts(f'limits, {name}{rubs}', limits=tight, nearest=nearest, **with_friction)
        for goal in ('torque', 'power'):
            efforts(f'derivatives, {goal}{rubs}', 'feedforward_derivatives', goal=goal,
                    **with_friction)  # fmt: skip
    return table | _of_motion(mechanism, row)


def _of_motion(mechanism: Mechanism, row: dict[str, FloatArray]) -> dict[str, Question]:
    """Questions about a motion, and about efforts."""
    y, y_dot, y_ddot, wrench = row.values()
    motion, frame = mechanism.solve(y, y_dot, y_ddot), mechanism.description.platform
    effort = mechanism.feedforward(*row.values())
    state = {'y': y, 'y_dot': y_dot, 'effort': effort.actuated.copy(), 'wrench': wrench}
    at = {'motion': motion}
    ask = functools.partial(asked, mechanism)
    other = mechanism.with_parameters(dict([next(iter(mechanism.parameters().items()))]))
    table = {
        'solve': ask('solve', {k: row[k] for k in ('y', 'y_dot', 'y_ddot')}),
        'inverse dynamics': ask('inverse_dynamics', at | {'wrench': wrench}),
        'mass matrix': ask('mass_matrix', at),
        'bias': ask('bias', at),
        'energy': ask('_energies', at, public='energy'),
        'frame pose': ask('_placed', at | {'frame': frame}, public='frame_pose'),
        'frame Jacobian': ask('frame_jacobian', at | {'frame': frame}),
        'frame twist': ask('frame_twist', at | {'frame': frame}),
        'forward kinematics': ask('forward_kinematics', {'u': effort.position.copy()}),
        'regressor': ask('regressor', at),
        'torque, other parameters': asked(other, 'feedforward', row, read='actuated'),
    }  # fmt: skip
    for friction in (False, True):
        rubs, choice = ', friction' if friction else '', {'friction': friction}
        table[f'forward dynamics{rubs}'] = ask('forward_dynamics', state | choice)
        derived = ask('forward_dynamics_derivatives', state | choice)
        table[f'its derivatives{rubs}'] = derived
    try:
        table['actuated inertia'] = ask('actuated_inertia', at)
        table['inertia coupling'] = ask('_coupling', at, public='inertia_coupling')
    except MasticatorError:
        pass  # not defined for these limbs
    pose = mechanism.frame_pose(motion, frame)
    place = {'frame': frame, 'position': pose.position.copy(), 'rotation': np.full((3, 3), np.nan),
             'start': mechanism.home.y.copy()}  # fmt: skip
    table['inverse kinematics, position'] = ask('inverse_kinematics', place)
    whole = place | {'rotation': pose.rotation.copy()}
    table['inverse kinematics, pose'] = ask('inverse_kinematics', whole)
    for kind, name in (('mass', _first(mechanism, '.mass')), ('place', _first(mechanism, '.x'))):
        value = mechanism.parameters(geometry=True)[name]
        values = itertools.count(value, 1e-9)
        table[f'with_parameters, a {kind}'] = Question(
            functools.partial(_changed, mechanism, name, values)
        )
    return table


def _first(mechanism: Mechanism, ending: str) -> str:
    names = mechanism.parameters(geometry=True)
    return next(name for name in names if name.endswith(ending))


def _changed(mechanism: Mechanism, name: str, values: Iterator[float]) -> Mechanism:
    return mechanism.with_parameters({name: next(values)})


def figures(mechanism: Mechanism) -> dict[str, tuple[float, float, float, float]]:
    """Machine code, call and row of a batch, µs, and making the code, s, by question."""
    turns: dict[str, Callable[[int], float]] = {}
    questions = questions_of(mechanism)
    for name, question in questions.items():
        try:
            question.call()
        except MasticatorError:
            continue
        turns[f'{name}|call'] = _turn(question.call, CALLS, 1)
        if question.batch:
            with contextlib.suppress(MasticatorError):  # limits that are too narrow for a row
                question.batch()
                turns[f'{name}|batch'] = _turn(question.batch, BATCHES, ROWS)
        for k, (code, given) in enumerate(question.codes):
            alone = _Alone(code, np.array(given), np.empty(code.outputs))
            turns[f'{name}|code {k}'] = _turn(alone, CALLS, 1)
    turns['|'] = _turn(_Alone(NOTHING, np.zeros(1), np.zeros(1)), CALLS, 1)
    times = percentiles(in_turns(turns, TURNS), 10.0, 1e6)
    by_itself = times.pop('|')  # what ctypes takes
    return {
        name: (sum(times[f'{name}|code {k}'] - by_itself for k, _ in enumerate(q.codes)) or np.nan,
               times[f'{name}|call'], times.get(f'{name}|batch', np.nan),
               MADE.get(q.codes[-1][0].kind, np.nan) if q.codes else np.nan)
        for name, q in questions.items() if f'{name}|call' in times
    }  # fmt: skip


MADE: dict[str, float] = {}  # processor time to make machine code, s, by its kind


def library(kind: str, *of: Any) -> Library:
    """Machine code, with the time that it took to make it."""
    start = process_time()
    made = _library(kind, *of)
    MADE[kind] = max(MADE.get(kind, 0.0), process_time() - start)
    return made


NOTHING = RowCode('nothing', 1, 1, lambda numbers, share: numbers, list)


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


def as_text(name: str) -> str:
    """A table of one mechanism."""
    MADE.clear()
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
    row_code.library = library
    with tempfile.TemporaryDirectory() as nothing_kept:
        os.environ['MASTICATOR_CACHE_DIR'] = nothing_kept
        for name in sys.argv[1:] or shipped_mechanisms():
            print(as_text(name), flush=True)


if __name__ == '__main__':
    main()
