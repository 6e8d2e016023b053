# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same chewing in simulated time, unaffected by load, with more and more feedforward."""

from __future__ import annotations

import pathlib

from masticator_dynamics.demo.closed_loop import ClosedLoop
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.stages import Progress
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.twin import study
from masticator_dynamics.twin.feedforward import Kind
from masticator_dynamics.twin.study_plot import plot_study

STUDY_RESULTS = ('closed_loop_study.csv', 'closed_loop_study.png')


def study_in_process(
    work: pathlib.Path, script: Script, loop: ClosedLoop, progress: Progress
) -> str:
    """Run motion, food and drives of a demo with each kind of feedforward; return the table.

    Leaves ``closed_loop_study.csv`` (a row for each kind) and ``closed_loop_study.png``.

    Parameters
    ----------
    work : pathlib.Path
        Folder of the results.
    script : Script
        The motion.
    loop : ClosedLoop
        Food, rate and drives.
    progress : Progress
        Shows the progress of the runs.
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
