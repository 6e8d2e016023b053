# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The main use case, end to end, without a robot: play, record, check, summarise.

With the dynamics node alone, or in closed loop with drives, mechanism and food.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.bag import METADATA
from masticator_dynamics.files.bag_writer import bag_metadata
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import write_table, write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.optional import from_checkout
from masticator_dynamics.robot.acceptance.checks import TIMING, judge
from masticator_dynamics.robot.acceptance.passes import Pass, Run
from masticator_dynamics.robot.acceptance.plot import plot_run
from masticator_dynamics.robot.acceptance.summary import Summary, run_table, summarise
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.demo_motion import script_for
from masticator_dynamics.robot.recording.nodes import (
    ClosedLoop,
    NodeSetup,
    Progress,
    dynamics_alone,
    logs,
    record_session,
)
from masticator_dynamics.robot.recording.processes import RunError, load_in_words
from masticator_dynamics.robot.recording.record import read_record
from masticator_dynamics.robot.recording.script import Script
from masticator_dynamics.robot.twin import Food, MechanismPlant, load_food, study
from masticator_dynamics.robot.twin.control_chain import ControlKind
from masticator_dynamics.robot.twin.study import plot_study
from masticator_dynamics.robot.view.played_run import load_run
from masticator_dynamics.robot.view.scene_player import page_of

# What is left of each kind of run: messages, rows, figure, numbers, text and log; and what makes a
# bag of the folder.
RESULTS = (
    'run.mcap', 'run.csv', 'run.png', 'summary.json', 'summary.txt', 'node.log', METADATA
)  # fmt: skip
PAGE = 'run.html'  # if the packages for it are installed
FORWARD, ALONE = 'closed_loop', 'closed_loop_pd_alone'  # names of the passes
CLOSED_LOOP_RESULTS = (
    *(f'closed_loop.{kind}' for kind in 'mcap csv png json txt log'.split()), METADATA
)  # fmt: skip
COMPARISONS = (f'{ALONE}.mcap', 'closed_loop_study.csv', 'closed_loop_study.png')
PACKAGES = {
    'ros': ('rclpy', 'diagnostic_msgs', 'geometry_msgs', 'sensor_msgs', 'trajectory_msgs'),
    'demo': ('matplotlib', 'mcap', 'rosbags'),
}
CLOSED_LOOP_PACKAGES = PACKAGES | {'drives': ('can', 'canopen')}
_WARM_UP_STEP = 1e-3  # s


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
    of an earlier run; ``metadata.yaml`` makes a bag of rosbag2 of it. Prints the summary. With the
    extra ``view`` also ``run.html``, to view the run in a browser.

    Parameters
    ----------
    output : pathlib.Path
        Folder, created if missing. Other files in it stay.
    incisor : pathlib.Path, optional
        Recorded incisor path to follow (CSV: ``time incisor_x incisor_y incisor_z``, optionally
        ``bolus_force``); without it a built-in motion is chewed.
    mechanism : str
        Name or path. One that has no jaw (link incisor; x, y, alpha, beta) swings about home.
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
    progress = _loading()
    model = Mechanism.load(mechanism)
    script = script_for(model, incisor, strokes)
    page = [PAGE] if importlib.util.find_spec('viser') else []
    demo = _Demo(model, script, progress)
    needed = topics.SENT | topics.received_topics(model.contacts)
    del needed[topics.ACTUATED_TRAJECTORY]  # a check says whether it came

    def produce(work: pathlib.Path) -> Summary:
        nodes = dynamics_alone(model, rate, script.limits)
        options = '--contacts', *model.contacts
        run = Run(demo.played(work, 'run', 'the dynamics node', nodes, needed, *options), rate)
        summary = demo.judged(work, run, RESULTS, ('run',))
        for name in page:
            write_text(str(work / name), page_of([load_run(work / 'run.mcap', mechanism)])[0])
        return summary

    return leave_results(output, [*RESULTS, *page], produce, progress, incisor)


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
        As for :func:`run_demo`; the recorded force is not used.
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
    setting = loop or ClosedLoop()
    food = load_food(setting.food)
    passes = {FORWARD: 'with feedforward'}
    if compare:
        passes[ALONE] = 'with PD alone, for comparison'
    progress = _loading()
    model = Mechanism(with_rotors(mechanism, load_drives(setting.drives)))
    script = script_for(model, incisor, strokes)
    _warm_up(model, food)
    demo = _Demo(model, script, progress)
    needed = (topics.TRAJECTORY, *topics.CLOSED_LOOP)

    def produce(work: pathlib.Path) -> Summary:
        played = []
        for name, how in passes.items():
            nodes = setting.nodes(work, model, forward_effort=name == FORWARD)
            what = f'dynamics, drives and twin: {how}'
            played.append(demo.played(work, name, what, nodes, needed, '--drives'))
        run = Run(played[0], setting.rate, setting.food, played[1] if compare else None)
        more = _study_in_process(work, script, setting, progress) if compare else ''
        return demo.judged(work, run, CLOSED_LOOP_RESULTS, tuple(passes), more)

    results = (*CLOSED_LOOP_RESULTS, *COMPARISONS) if compare else CLOSED_LOOP_RESULTS
    return leave_results(output, results, produce, progress, incisor)


@dataclasses.dataclass(frozen=True)
class _Demo:
    """What moves and what is played, in all passes of a demo."""

    model: Mechanism
    script: Script
    progress: Progress

    def played(
        self,
        work: pathlib.Path,
        name: str,
        what: str,
        nodes: Sequence[NodeSetup],
        needed: Iterable[str],
        *options: str,
    ) -> Pass:
        """Play to nodes; options are those of the player, needed are topics."""
        self.progress.stage(f'Starting {what}')
        file = record_session(work, name, nodes, self.script, self.progress, *options)
        try:
            return Pass(self.model, self.script, read_record(file, needed))
        except InputError as error:  # no bad input: the run was aborted
            raise RunError(str(error)) from error

    def judged(
        self,
        work: pathlib.Path,
        run: Run,
        results: Sequence[str],
        passes: Sequence[str],
        more: str = '',
    ) -> Summary:
        """Judge a run and write all files but the recordings."""
        self.progress.stage('Checking and plotting')
        summary = dataclasses.replace(summarise(run, judge(run)), more=more)
        record, table, plot, numbers, text, log, bag = (work / name for name in results)
        write_text(str(bag), bag_metadata(record))
        write_table(str(table), *run_table(run))
        plot_run(plot, run)
        write_text(str(numbers), summary.as_json())
        write_text(str(text), summary.as_text())
        write_text(str(log), logs(work, passes))
        return summary


def _loading() -> Progress:
    progress = Progress()
    progress.stage('Loading the mechanism (the first time, compiling takes some seconds)')
    return progress


def _warm_up(model: Mechanism, food: Food) -> None:
    """Compile everything here: otherwise all processes that start together would do it."""
    plant = MechanismPlant(model, step=_WARM_UP_STEP, food=food)
    plant.advance([0.0] * len(model.actuated))
    model.forward_kinematics(model.home.position)


def _study_in_process(
    work: pathlib.Path, script: Script, loop: ClosedLoop, progress: Progress
) -> str:
    """Chewing in simulated time, unaffected by load, with each kind of feedforward.

    Leaves a table, with a row for each kind, and a figure; returns the table for people.
    """
    progress.stage('The same in simulated time, with ever more feedforward')
    same = study.StudySetting.shipped(script.path, loop.food, loop.rate, drives_file=loop.drives)
    whole = len(ControlKind) * script.duration
    result = study.study_feedforward(
        same, progress=lambda share: progress.motion(share * whole, whole)
    )
    _, table, figure = COMPARISONS
    write_table(str(work / table), *result.table())
    with open(work / figure, 'wb') as file:
        plot_study(file, result)
    return f'\nthe same in one process, in simulated time\n{result.text()}\n'


def check_packages(needed: Mapping[str, Sequence[str]]) -> None:
    """Refuse early if packages are missing, naming what to install; packages are given by extra.

    Raises
    ------
    MasticatorError
        When one is missing.
    """
    for extra, packages in needed.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise MasticatorError(
                f'the demo needs {", ".join(missing)}: source a ROS 2 installation that has it, or '
                f'{from_checkout(extra)}'
            )


def leave_results(
    output: pathlib.Path,
    names: Sequence[str],
    produce: Callable[[pathlib.Path], Summary],
    progress: Progress,
    recording: pathlib.Path | None = None,
) -> int:
    """Produce results in a folder, and print their summary and location.

    What failed goes to standard error.

    Parameters
    ----------
    output : pathlib.Path
        See :func:`masticator_dynamics.files.folder.results_in`.
    names : sequence of str
        Files that are left.
    produce : callable
        Writes the files to the folder it is given; returns the summary of the run.
    progress : Progress
        Is closed before anything is printed.
    recording : pathlib.Path, optional
        What is read, and must not be replaced.

    Returns
    -------
    int
        0 when all checks passed, else 1.
    """
    try:
        with results_in(output, names, recording) as work:
            summary = produce(work)
    except RunError as failure:
        progress.close()
        print(f'demo: {failure}', file=sys.stderr)
        return 1
    finally:
        progress.close()
    print(summary.as_text())
    checks = summary.checks
    print(f'{output.resolve()}: {", ".join(names)}', flush=True)
    failed = {check.name: check.detail for check in checks if check.passed is False}
    unknown = [check.name for check in checks if check.passed is None and not check.cause]
    sentences = []
    if failed:
        sentences.append(f'{len(failed)} of {len(checks)} checks failed: {", ".join(failed)}')
        if len(failed) == 1:
            sentences[0] += f': {", ".join(failed.values())}'
        if set(failed) <= TIMING:
            sentences[0] += f' (timing only: {load_in_words()}; is it busy?)'
    if unknown:
        sentences.append(f'{len(unknown)} of {len(checks)} were not judged: {", ".join(unknown)}')
    if sentences:
        print(f'demo: {"; ".join(sentences)}', file=sys.stderr)
    return 1 if sentences else 0
