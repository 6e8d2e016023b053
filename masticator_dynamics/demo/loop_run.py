# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The closed loop as one call: chew, with and without feedforward, check, summarise."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Sequence

from masticator_dynamics.demo.checks import Check
from masticator_dynamics.demo.closed_loop import ClosedLoop, logs, running_nodes
from masticator_dynamics.demo.loop_checks import TIMING, run_checks
from masticator_dynamics.demo.loop_plot import plot_closed_loop
from masticator_dynamics.demo.loop_summary import LoopSummary, summarise
from masticator_dynamics.demo.output import check_packages, leave_results
from masticator_dynamics.demo.processes import RunError
from masticator_dynamics.demo.record import read_closed_loop
from masticator_dynamics.demo.run import PACKAGES
from masticator_dynamics.demo.run_table import closed_loop_table
from masticator_dynamics.demo.script import Script, script_for
from masticator_dynamics.demo.session import record_session
from masticator_dynamics.demo.simulated_study import STUDY_RESULTS, study_in_process
from masticator_dynamics.demo.stages import Progress
from masticator_dynamics.demo.tracking import Pass, track
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.rotors import with_rotors
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.twin import Food, MechanismPlant, load_food

FORWARD, ALONE = 'closed_loop', 'closed_loop_pd_alone'  # names of the passes
RESULTS = (
    'closed_loop.mcap', 'closed_loop.csv', 'closed_loop.png', 'closed_loop.json',
    'closed_loop.txt', 'closed_loop.log',
)  # fmt: skip
COMPARISONS = (f'{ALONE}.mcap', *STUDY_RESULTS)
NEEDED = PACKAGES | {'drives': ('can', 'canopen')}
_WARM_UP_STEP = 1e-3  # s
_STUDY = 'the same in one process, in simulated time'


def run_closed_loop(
    output: pathlib.Path,
    incisor: pathlib.Path | None = None,
    mechanism: str = 'masticator',
    *,
    loop: ClosedLoop | None = None,
    strokes: int = 5,
    compare: bool = True,
) -> int:
    """Chew food with simulated drives, in real time, and judge the result.

    Planner, dynamics node, drives' node and the twin are processes; commands go over ROS 2 and a
    CAN bus to simulated drives, which move the mechanism into the food, whose force is fed back.
    Leaves ``closed_loop.mcap`` (every message), ``closed_loop.csv`` (a row per cycle of the
    drives), ``closed_loop.png``, ``closed_loop.json``, ``closed_loop.txt``, ``closed_loop.log``
    of the pass without feedforward ``closed_loop_pd_alone.mcap``, and of the same in simulated time
    ``closed_loop_study.csv`` and ``closed_loop_study.png``, in place of those of an earlier run;
    prints the summary.

    Parameters
    ----------
    output, incisor, mechanism, strokes
        As for :func:`masticator_dynamics.demo.run_demo`; the recorded force is not used.
    loop : ClosedLoop, optional
        Rate, food and drives.
    compare : bool
        Chew a second time with the drives' position loops alone, and in simulated time with every
        kind of feedforward.

    Returns
    -------
    int
        0 when all checks passed, else 1.

    Raises
    ------
    MasticatorError
        For unusable input, or when a needed package is not installed.
    """
    check_packages(NEEDED)
    loop = loop or ClosedLoop()
    food = load_food(loop.food)
    passes = {FORWARD: True} | ({ALONE: False} if compare else {})

    def load() -> tuple[Mechanism, Script]:
        model = Mechanism(with_rotors(mechanism, load_drives(loop.drives)))
        script = script_for(model, incisor, strokes)
        _warm_up(model, food)
        return model, script

    def produce(
        work: pathlib.Path, model: Mechanism, script: Script, progress: Progress
    ) -> tuple[str, Sequence[Check]]:
        for name, forward in passes.items():
            what = 'with feedforward' if forward else 'with PD alone, for comparison'
            progress.stage(f'Starting dynamics, drives and twin: {what}')
            nodes = functools.partial(
                running_nodes, name=name, mechanism=model, loop=loop, forward_effort=forward
            )
            record_session(work, name, nodes, script, progress, '--drives')
        progress.stage('Checking and plotting')
        (work / 'closed_loop.log').write_text(logs(work, tuple(passes)), encoding='utf-8')
        summary = _judge(work, model, script, loop, compare)
        text = summary.as_text()
        if compare:
            progress.stage('The same in simulated time, with ever more feedforward')
            text += f'\n{_STUDY}\n{study_in_process(work, script, loop, progress)}\n'
        (work / 'closed_loop.txt').write_text(text, encoding='utf-8')
        return text, summary.checks

    results = (*RESULTS, *COMPARISONS) if compare else RESULTS
    return leave_results(output, results, TIMING, load, produce)


def _warm_up(model: Mechanism, food: Food) -> None:
    """Compile everything here: otherwise all processes that start together would do it."""
    plant = MechanismPlant(model, step=_WARM_UP_STEP, food=food)
    plant.advance([0.0] * len(model.actuated))
    model.forward_kinematics(model.home.position)


def _judge(
    work: pathlib.Path, model: Mechanism, script: Script, loop: ClosedLoop, compare: bool
) -> LoopSummary:
    """Evaluate the records and write everything derived from them to the same folder."""
    forward = _pass(work / f'{FORWARD}.mcap', model, script)
    alone = _pass(work / f'{ALONE}.mcap', model, script) if compare else None
    checks = run_checks(script, load_food(loop.food), forward, alone, loop.rate)
    summary = summarise(model, script, loop, forward, alone, checks)
    write_table(str(work / 'closed_loop.csv'), *closed_loop_table(model, script, forward, alone))
    plot_closed_loop(work / 'closed_loop.png', model, script, loop, forward, alone)
    (work / 'closed_loop.json').write_text(summary.as_json(), encoding='utf-8')
    return summary


def _pass(file: pathlib.Path, model: Mechanism, script: Script) -> Pass:
    try:
        record = read_closed_loop(file)
    except InputError as error:
        raise RunError(str(error)) from error
    return Pass(record, track(model, script, record))
