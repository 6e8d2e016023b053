# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that chew: demo, experiment, and the study of feedforward."""

from __future__ import annotations

import functools
import pathlib
from typing import TYPE_CHECKING, Any

import click

from masticator_dynamics.commands.options import (
    check_matplotlib,
    folder_option,
    incisor_option,
    number_option,
    processes_option,
    scheduler_option,
    write_plot,
)
from masticator_dynamics.commands.terminal import Stages, share_done
from masticator_dynamics.drives.configuration import RANGES
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import write_table, write_text
from masticator_dynamics.optional import needed

if TYPE_CHECKING:
    from masticator_dynamics.motion.path import MotionPath
    from masticator_dynamics.robot.laboratory.experiment_run import Experiment, Progress


@click.command()
@click.argument('mechanism', default='masticator')
@folder_option('Folder for what the demo writes.', 'masticator_demo')
@incisor_option
@click.option(
    '--closed-loop',
    is_flag=True,
    help='With simulated drives on a CAN bus, the mechanism they move, and food, in real time.',
)
@click.option(
    '--force', is_flag=True,
    help='Bites at a force, creep and a crack, in the same closed loop.',
)  # fmt: skip
@click.option(
    '--rate',
    type=float,
    metavar='HZ',
    help='Cycles of the drives per second, with --closed-loop or --force. Default: 250.',
)
@click.option(
    '--food',
    metavar='NAME',
    help='A shipped food, or the path of a YAML file, with --closed-loop. Default: soft.',
)
def demo(
    mechanism: str,
    output: pathlib.Path,
    incisor: pathlib.Path | None,
    closed_loop: bool,
    force: bool,
    rate: float | None,
    food: str | None,
) -> int:
    """Chew, with no robot: from a recorded incisor to motor torques, with plots.

    By default MECHANISM is masticator; one that cannot chew swings about home, with a push on
    its platform.

    With --closed-loop the torques go to simulated drives, and how well the jaw follows is judged;
    with --force it bites at a force, and how well it keeps that is judged.
    """
    from masticator_dynamics.robot.demo import run_closed_loop, run_demo

    loop_options: dict[str, Any] = {
        name: value for name, value in (('rate', rate), ('food', food)) if value is not None
    }
    if force:
        if closed_loop or incisor or food or mechanism != 'masticator':
            raise InputError('--force bites with masticator and foods of its own: only --rate')
        from masticator_dynamics.robot.force_demo import run_force_demo
        from masticator_dynamics.robot.recording.nodes import ClosedLoop

        return run_force_demo(output, ClosedLoop(**loop_options))
    if not closed_loop:
        if loop_options:
            raise InputError(f'--{next(iter(loop_options))} needs --closed-loop')
        return run_demo(output, incisor, mechanism)
    if mechanism != 'masticator':
        raise InputError(f'--closed-loop chews with masticator, not with {mechanism}')
    from masticator_dynamics.robot.recording.nodes import ClosedLoop

    return run_closed_loop(output, incisor, loop=ClosedLoop(**loop_options))


@click.command()
@click.argument('protocol', type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@folder_option('New folder, or that of an interrupted run of the same protocol.')
@processes_option
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

    Writes a bag for every mouthful, strokes.csv, mouthfuls.csv, conditions.csv,
    effects.csv, comparisons.csv, figures (SVG and PDF) and report.html. Recordings in FOLDER are
    kept: an interrupted experiment goes on where it stopped.
    """
    check_matplotlib('the report', '')
    # Only here: these take longer to import than help to show.
    from masticator_dynamics.robot.laboratory.experiment_run import Experiment
    from masticator_dynamics.robot.laboratory.report import REPORT, write_report
    from masticator_dynamics.robot.laboratory.report_parts import Formats

    needed('statsmodels')  # before any long work
    formats = Formats(parquet, xlsx, curves)
    formats.check()

    asked = Experiment(protocol, output, robot)
    if only_plan:
        for mouthful in asked.mouthfuls:
            levels = ', '.join(f'{name} {level}' for name, level in mouthful.levels.items())
            click.echo(
                f'{mouthful.name}: {levels or mouthful.food.name}, {mouthful.strokes} strokes'
            )
        return
    progress = functools.partial(Stages(lines=True), 'mouthfuls')
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
    from masticator_dynamics.robot.laboratory.chewing_robot import Robot

    model = Mechanism.load('masticator')
    with (
        stopped_at_the_end([]),  # SIGTERM ends like Ctrl-C: safely
        Robot(model, asked.protocol.stop, lambda line: click.echo(line, err=True)) as robot,
    ):
        asked.run(progress, robot=robot.chew)


_MOST_STROKES = 3600  # of a second each


@click.command('study-feedforward')
@folder_option('Folder for table, time series and plot.', 'feedforward_study')
@click.option('--rate', type=float, help='Cycle rate of the drives, Hz. Default: of drives.yaml.')
@click.option(
    '--food', default='soft', show_default=True, help='A shipped food, or the path of a YAML file.'
)
@click.option('--strokes', type=int, default=5, show_default=True, help='Built-in strokes.')
@incisor_option
@click.option(
    '--gains',
    type=float,
    nargs=2,
    metavar='POSITION VELOCITY',
    help='Of all drives, N m/rad and N m s/rad at the joint. Default: of drives.yaml.',
)
@click.option('--tune', is_flag=True, help='Find the best gains for PD alone, and use them.')
@number_option(
    '--known-friction', 0.0, 10.0, 1.0,
    "Part of the drives' own friction that the drive layer knows of.",
)  # fmt: skip
@click.option(
    '--own-numbers', type=int, metavar='SEED',
    help='Chew also with a robot whose masses and friction are not those of the files: with these, '
    'with what its recording tells, and with the true ones; its bite by a sensor and without.',
)  # fmt: skip
def study_feedforward(
    output: pathlib.Path,
    rate: float | None,
    food: str,
    strokes: int,
    incisor: pathlib.Path | None,
    gains: tuple[float, float] | None,
    tune: bool,
    known_friction: float,
    own_numbers: int | None,
) -> None:
    """Chew with simulated drives, with ever more feedforward and the same gains.

    Writes feedforward.csv (figures of each run), errors.csv (over time), feedforward.png, and with
    --tune gains.csv (all trials of PD alone).
    """
    position, velocity = gains or (None, None)
    _check('--rate', 'cycle_rate', rate)
    _check('--gains', 'gains.position', position)
    _check('--gains', 'gains.velocity', velocity)
    if gains is not None and tune:
        raise InputError('--gains are given: nothing to --tune')
    check_matplotlib('the report', '')
    # Only here: these take longer to import than help to show.
    from masticator_dynamics.drives.configuration import Gains
    from masticator_dynamics.robot.twin import study, tuning
    from masticator_dynamics.robot.twin.own_numbers import cases
    from masticator_dynamics.robot.twin.study import plot_study

    setting = study.StudySetting.shipped(_path(incisor, strokes), food, rate, known_friction)
    chosen = None if gains is None else Gains(position=gains[0], velocity=gains[1])
    names = ['feedforward.csv', 'errors.csv', 'feedforward.txt', 'feedforward.png']
    with results_in(output, [*names, 'gains.csv'] if tune else names, incisor) as work:
        if tune:
            with share_done(0.0, 1.0, 'gains') as progress:
                tuned = tuning.tune(setting, progress=progress)
            write_table(str(work / 'gains.csv'), *tuned.table())
            click.echo(tuned.text() + '\n')
            chosen = tuned.best.gains
        with share_done(0.0, 1.0, 'runs') as progress:
            more = [] if own_numbers is None else list(cases(setting, own_numbers))
            result = study.study_feedforward(setting, chosen, progress=progress, more=more)
        write_table(str(work / 'feedforward.csv'), *result.table())
        write_table(str(work / 'errors.csv'), *result.series())
        write_text(str(work / 'feedforward.txt'), result.text() + '\n')
        write_plot(str(work / 'feedforward.png'), lambda picture: plot_study(picture, result))
    click.echo(result.text())


@click.command('study-force')
@folder_option('Folder for table and picture.', 'force_study')
@click.option('--only', default='', help='Runs whose title has this in it, such as crack.')
@number_option('--seeds', 1, 1000, 5, "With how many seeds of the sensor's noise each runs.")
def study_force(output: pathlib.Path, only: str, seeds: int) -> None:
    """Press with a wanted force on the simulated robot: steps, sines, creep, cracks, faults.

    Writes force.txt, what is reached and what is wanted (median and worst over the seeds), and
    force.png. Some minutes.
    """
    check_matplotlib('the report', '')
    from masticator_dynamics.robot.twin import force_study

    with results_in(output, ['force.txt', 'force.png']) as work:
        with share_done(0.0, 1.0, 'runs') as progress:
            runs, numbers = force_study.cases(only), range(1, seeds + 1)
            study = force_study.study_force(runs, progress=progress, seeds=numbers)
        write_text(str(work / 'force.txt'), study.text() + '\n')
        write_plot(
            str(work / 'force.png'), lambda picture: force_study.plot_force_study(picture, study)
        )
    click.echo(study.text())


def _check(option: str, key: str, value: float | None) -> None:
    """Refuse what a drives file could not have."""
    low, high, reason = RANGES[key]
    if value is not None and not low <= value <= high:
        raise InputError(f'{option} {value:g} is not from {low:g} to {high:g}: {reason}')


def _path(incisor: pathlib.Path | None, strokes: int) -> MotionPath:
    if incisor is None:
        if strokes > _MOST_STROKES:
            raise InputError(f'--strokes {strokes}: at most {_MOST_STROKES} are chewed')
        from masticator_dynamics.motion import chewing_stroke

        return chewing_stroke(strokes=strokes)
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.robot.recording.script import recorded_script

    return recorded_script(Mechanism.load('masticator'), incisor).path
