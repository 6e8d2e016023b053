# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demo as one call: play, record, check, summarise."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
from collections.abc import Sequence

from masticator_dynamics.demo.checks import TIMING, Check, run_checks
from masticator_dynamics.demo.output import check_packages, leave_results
from masticator_dynamics.demo.plot import plot_run
from masticator_dynamics.demo.processes import RunError
from masticator_dynamics.demo.record import read_record
from masticator_dynamics.demo.run_evaluation import evaluate
from masticator_dynamics.demo.run_table import run_table
from masticator_dynamics.demo.script import Script, script_for
from masticator_dynamics.demo.session import NODE_MODULE, dynamics_alone, record_session
from masticator_dynamics.demo.stages import Progress
from masticator_dynamics.demo.summary import Summary, summarise
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_table, write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.view.played_run import load_run
from masticator_dynamics.view.scene_player import page_of

RESULTS = ('run.mcap', 'run.csv', 'run.png', 'summary.json', 'summary.txt', 'node.log')
PAGE = 'run.html'  # if the packages for it are installed
PACKAGES = {
    'ros': ('rclpy', 'diagnostic_msgs', 'geometry_msgs', 'sensor_msgs', 'trajectory_msgs'),
    'demo': ('matplotlib', 'mcap', 'mcap_ros2', 'tqdm'),
}


def run_demo(
    output: pathlib.Path,
    incisor: pathlib.Path | None = None,
    mechanism: str = 'masticator',
    *,
    strokes: int = 5,
    rate: float = 500.0,
    node_module: str = NODE_MODULE,
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
    node_module : str
        Module that runs the node.

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

    def load() -> tuple[Mechanism, Script]:
        model = Mechanism.load(mechanism)
        return model, script_for(model, incisor, strokes)

    def produce(
        work: pathlib.Path, model: Mechanism, script: Script, progress: Progress
    ) -> tuple[str, Sequence[Check]]:
        progress.stage('Starting the dynamics node')
        node = functools.partial(dynamics_alone, mechanism=model, rate=rate, module=node_module)
        record_session(work, 'run', node, script, progress, '--contacts', *model.contacts)
        progress.stage('Checking and plotting')
        summary = _judge(work, model, script, rate)
        if importlib.util.find_spec('viser'):
            write_text(str(work / PAGE), page_of([load_run(work / 'run.mcap', mechanism)])[0])
        return summary.as_text(), summary.checks

    results = (*RESULTS, PAGE) if importlib.util.find_spec('viser') else RESULTS
    return leave_results(output, results, TIMING, load, produce)


def _judge(work: pathlib.Path, model: Mechanism, script: Script, rate: float) -> Summary:
    """Evaluate the record and write everything derived from it to the same folder."""
    try:
        record = read_record(work / 'run.mcap', model.contacts)
    except InputError as error:
        raise RunError(str(error)) from error
    evaluation = evaluate(model, script, record)
    checks = run_checks(model, script, record, evaluation, rate)
    summary = summarise(model, script, record, evaluation, checks, rate)
    write_table(str(work / 'run.csv'), *run_table(model, record, evaluation))
    plot_run(work / 'run.png', model, script, record, evaluation)
    (work / 'summary.json').write_text(summary.as_json(), encoding='utf-8')
    (work / 'summary.txt').write_text(summary.as_text(), encoding='utf-8')
    return summary
