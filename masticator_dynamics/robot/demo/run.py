# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demo as one call: play, record, check, summarise.

With the dynamics node alone, or in closed loop with drives, mechanism and food.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import pathlib
from collections.abc import Iterator

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.rotors import with_rotors
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_table, write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.acceptance.checks import closed_loop_checks, run_checks
from masticator_dynamics.robot.acceptance.plot import plot_closed_loop, plot_run
from masticator_dynamics.robot.acceptance.run_evaluation import evaluate
from masticator_dynamics.robot.acceptance.run_table import closed_loop_table, run_table
from masticator_dynamics.robot.acceptance.summary import Summary, summarise, summarise_closed_loop
from masticator_dynamics.robot.acceptance.tracking import LoopRun, Pass, track
from masticator_dynamics.robot.demo.output import check_packages, leave_results, loading
from masticator_dynamics.robot.recording.closed_loop import ClosedLoop, logs, running_nodes
from masticator_dynamics.robot.recording.processes import RunError
from masticator_dynamics.robot.recording.record import read_closed_loop, read_record
from masticator_dynamics.robot.recording.script import Script, script_for
from masticator_dynamics.robot.recording.session import dynamics_alone, record_session
from masticator_dynamics.robot.recording.stages import Progress
from masticator_dynamics.robot.twin import Food, MechanismPlant, load_food, study
from masticator_dynamics.robot.twin.feedforward import Kind
from masticator_dynamics.robot.twin.study_plot import plot_study
from masticator_dynamics.robot.view.played_run import load_run
from masticator_dynamics.robot.view.scene_player import page_of

RESULTS = ('run.mcap', 'run.csv', 'run.png', 'summary.json', 'summary.txt', 'node.log')
PAGE = 'run.html'  # if the packages for it are installed
PACKAGES = {
    'ros': ('rclpy', 'diagnostic_msgs', 'geometry_msgs', 'sensor_msgs', 'trajectory_msgs'),
    'demo': ('matplotlib', 'mcap', 'rosbags'),
}
FORWARD, ALONE = 'closed_loop', 'closed_loop_pd_alone'  # names of the passes
CLOSED_LOOP_RESULTS = (
    'closed_loop.mcap', 'closed_loop.csv', 'closed_loop.png', 'closed_loop.json',
    'closed_loop.txt', 'closed_loop.log',
)  # fmt: skip
COMPARISONS = (f'{ALONE}.mcap', 'closed_loop_study.csv', 'closed_loop_study.png')
CLOSED_LOOP_PACKAGES = PACKAGES | {'drives': ('can', 'canopen')}
_WARM_UP_STEP = 1e-3  # s
_STUDY = 'the same in one process, in simulated time'


def run_demo(
    output: pathlib.Path,
    incisor: pathlib.Path | None = None,
    mechanism: str = 'masticator',
    *,
    strokes: int = 5,
    rate: float = 500.0,
) -> int:
    """Play a chewing motion to the dynamics node over ROS 2 and judge what comes back.

    Leaves ``run.mcap`` (every message, sent and received), ``run.csv`` (a row per cycle),
    ``run.png``, ``summary.json``, ``summary.txt`` and ``node.log`` in a folder, in place of those
    of an earlier run; prints the summary. With the extra ``view`` also ``run.html``, to view the
    run in a browser.

    Parameters
    ----------
    output : pathlib.Path
        Folder, created if missing. Other files in it stay.
    incisor : pathlib.Path, optional
        Recorded incisor path to follow (CSV: ``time incisor_x incisor_y incisor_z``, optionally
        ``bolus_force``); without it a built-in motion is chewed.
    mechanism : str
        Name or path. One whose coordinates are not x, y, alpha, beta swings about home.
    strokes : int
        Built-in strokes, one second each.
    rate : float
        Control cycles per second, Hz.

    Returns
    -------
    int
        0 when all checks passed, else 1.

    Raises
    ------
    MasticatorError
        For unusable input, or when a needed package is not installed.
    """
    check_packages(PACKAGES)
    progress = loading()
    model = Mechanism.load(mechanism)
    script = script_for(model, incisor, strokes)
    page = [PAGE] if importlib.util.find_spec('viser') else []

    def produce(work: pathlib.Path) -> Summary:
        progress.stage('Starting the dynamics node')
        node = functools.partial(dynamics_alone, mechanism=model, rate=rate)
        record_session(work, 'run', node, script, progress, '--contacts', *model.contacts)
        progress.stage('Checking and plotting')
        with _incomplete_is_no_run():
            record = read_record(work / 'run.mcap', model.contacts)
        evaluation = evaluate(model, script, record)
        summary = summarise(evaluation, run_checks(evaluation, rate), rate)
        write_table(str(work / 'run.csv'), *run_table(evaluation))
        plot_run(work / 'run.png', evaluation)
        (work / 'summary.json').write_text(summary.as_json(), encoding='utf-8')
        (work / 'summary.txt').write_text(summary.as_text(), encoding='utf-8')
        for name in page:
            write_text(str(work / name), page_of([load_run(work / 'run.mcap', mechanism)])[0])
        return summary

    return leave_results(output, [*RESULTS, *page], produce, progress, incisor)


@contextlib.contextmanager
def _incomplete_is_no_run() -> Iterator[None]:
    """A record that lacks messages is no bad input: the run was aborted."""
    try:
        yield
    except InputError as error:
        raise RunError(str(error)) from error


# In closed loop


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
        As for :func:`masticator_dynamics.robot.demo.run_demo`; the recorded force is not used.
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
    check_packages(CLOSED_LOOP_PACKAGES)
    loop = loop or ClosedLoop()
    food = load_food(loop.food)
    passes = {FORWARD: True} | ({ALONE: False} if compare else {})
    progress = loading()
    model = Mechanism(with_rotors(mechanism, load_drives(loop.drives)))
    script = script_for(model, incisor, strokes)
    _warm_up(model, food)

    def produce(work: pathlib.Path) -> Summary:
        for name, forward in passes.items():
            what = 'with feedforward' if forward else 'with PD alone, for comparison'
            progress.stage(f'Starting dynamics, drives and twin: {what}')
            nodes = functools.partial(
                running_nodes, name=name, mechanism=model, loop=loop, forward_effort=forward
            )
            record_session(work, name, nodes, script, progress, '--drives')
        progress.stage('Checking and plotting')
        (work / 'closed_loop.log').write_text(logs(work, tuple(passes)), encoding='utf-8')
        judged = [_pass(work / f'{name}.mcap', model, script) for name in passes]
        run = LoopRun(model, script, loop, judged[0], judged[1] if compare else None)
        summary = summarise_closed_loop(run, closed_loop_checks(run))
        write_table(str(work / 'closed_loop.csv'), *closed_loop_table(run))
        plot_closed_loop(work / 'closed_loop.png', run)
        (work / 'closed_loop.json').write_text(summary.as_json(), encoding='utf-8')
        if compare:
            progress.stage('The same in simulated time, with ever more feedforward')
            table = _study_in_process(work, script, loop, progress)
            summary = dataclasses.replace(summary, more=f'\n{_STUDY}\n{table}\n')
        (work / 'closed_loop.txt').write_text(summary.as_text(), encoding='utf-8')
        return summary

    results = (*CLOSED_LOOP_RESULTS, *COMPARISONS) if compare else CLOSED_LOOP_RESULTS
    return leave_results(output, results, produce, progress, incisor)


def _warm_up(model: Mechanism, food: Food) -> None:
    """Compile everything here: otherwise all processes that start together would do it."""
    plant = MechanismPlant(model, step=_WARM_UP_STEP, food=food)
    plant.advance([0.0] * len(model.actuated))
    model.forward_kinematics(model.home.position)


def _study_in_process(
    work: pathlib.Path, script: Script, loop: ClosedLoop, progress: Progress
) -> str:
    """The same chewing in simulated time, unaffected by load, with each kind of feedforward.

    Leaves a table, with a row for each kind, and a figure; returns the table for people.
    """
    same = study.StudySetting.shipped(script.path, loop.food, loop.rate, drives_file=loop.drives)
    whole = len(Kind) * script.duration
    result = study.study_feedforward(
        same, progress=lambda share: progress.motion(share * whole, whole)
    )
    write_table(str(work / 'closed_loop_study.csv'), *result.table())
    with open(work / 'closed_loop_study.png', 'wb') as file:
        plot_study(file, result)
    return result.text()


def _pass(file: pathlib.Path, model: Mechanism, script: Script) -> Pass:
    with _incomplete_is_no_run():
        record = read_closed_loop(file)
    return Pass(record, track(model, script, record))
