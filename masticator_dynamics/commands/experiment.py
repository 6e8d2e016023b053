# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator experiment``: chew a protocol of mouthfuls and report on it."""

from __future__ import annotations

import functools
import pathlib
from typing import TYPE_CHECKING

import click

from masticator_dynamics.commands.grid_options import check_matplotlib
from masticator_dynamics.commands.options import scheduler_option
from masticator_dynamics.commands.terminal import Stages

if TYPE_CHECKING:
    from masticator_dynamics.robot.laboratory.experiment_run import Experiment, Progress


@click.command()
@click.argument('protocol', type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option(
    '--output',
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    metavar='FOLDER',
    required=True,
    help='New folder, or that of an interrupted run of the same protocol.',
)
@click.option(
    '--processes',
    type=click.IntRange(min=1),
    help='Mouthfuls to simulate at once. Default: one for each processor.',
)
@scheduler_option
@click.option('--robot', is_flag=True, help='Chew with the robot, through its running nodes.')
@click.option('--parquet', is_flag=True, help='Write tables as Parquet, too (extra "parquet").')
@click.option('--xlsx', is_flag=True, help='Write tables as a workbook, too (extra "xlsx").')
@click.option('--curves', is_flag=True, help='Write time, gap and force of every mouthful, too.')
@click.option('--plan', 'only_plan', is_flag=True, help='List the mouthfuls and chew nothing.')
def experiment(
    protocol: pathlib.Path,
    output: pathlib.Path,
    processes: int | None,
    scheduler: str | None,
    robot: bool,
    parquet: bool,
    xlsx: bool,
    curves: bool,
    only_plan: bool,
) -> None:
    """Chew the mouthfuls of PROTOCOL (YAML) and report their texture.

    On the twin by default; with --robot through nodes dynamics and servo_drives, which must be
    running, with the drives homed: it enables the drives, and leaves them torque-free.

    Writes a recording for every mouthful (MCAP), strokes.csv, mouthfuls.csv, conditions.csv,
    effects.csv, comparisons.csv, figures (SVG and PDF) and report.html. Recordings in FOLDER are
    kept: an interrupted experiment goes on where it stopped.
    """
    check_matplotlib('the report', '')
    # Only here: these take longer to import than help to show.
    from masticator_dynamics.robot.laboratory.experiment_run import Experiment
    from masticator_dynamics.robot.laboratory.factor_effects import check_statsmodels
    from masticator_dynamics.robot.laboratory.report import REPORT, write_report
    from masticator_dynamics.robot.laboratory.table_files import Formats

    check_statsmodels()
    formats = Formats(parquet, xlsx, curves)
    formats.check()

    asked = Experiment(protocol, output, robot)
    if only_plan:
        for mouthful in asked.mouthfuls:
            levels = ', '.join(f'{name} {level}' for name, level in mouthful.levels.items())
            click.echo(
                f'{mouthful.name}: {levels or mouthful.food_name}, {mouthful.strokes} strokes'
            )
        return
    progress = functools.partial(Stages(), 'mouthfuls')
    with asked.alone():  # before touching the robot, which another experiment may be using
        if robot:
            _on_the_robot(asked, progress)
        else:
            asked.run(progress, processes, scheduler=scheduler)
        write_report(asked, formats)
    click.echo(output / REPORT)


def _on_the_robot(asked: Experiment, progress: Progress) -> None:
    from masticator_dynamics.robot.demo import PACKAGES, check_packages
    from masticator_dynamics.robot.recording.processes import stopped_at_the_end

    check_packages({'ros': PACKAGES['ros']})
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.robot.laboratory.robot import Robot

    model = Mechanism.load('masticator')
    with (
        stopped_at_the_end([]),  # SIGTERM ends like Ctrl-C: safely
        Robot(model, asked.protocol.stop, lambda line: click.echo(line, err=True)) as found,
    ):
        asked.run(progress, robot=found.chew)
