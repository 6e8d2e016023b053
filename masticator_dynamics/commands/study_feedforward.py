# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator study-feedforward``: tracking errors with and without feedforward."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import click

from masticator_dynamics.commands.grid_options import check_matplotlib, write_plot
from masticator_dynamics.commands.options import incisor_option
from masticator_dynamics.commands.terminal import share_done
from masticator_dynamics.drives.configuration import RANGES
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import write_table, write_text

if TYPE_CHECKING:
    from masticator_dynamics.motion.path import MotionPath

_MOST_STROKES = 3600  # of a second each
_MOST_FRICTION = 10.0  # times the drives' own


@click.command('study-feedforward')
@click.option(
    '--output',
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    metavar='DIR',
    default='feedforward_study',
    show_default=True,
    help='Folder for table, time series and plot.',
)
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
@click.option(
    '--known-friction',
    type=float,
    default=1.0,
    show_default=True,
    help="Part of the drives' own friction that the drive layer knows of.",
)
def study_feedforward(
    output: pathlib.Path,
    rate: float | None,
    food: str,
    strokes: int,
    incisor: pathlib.Path | None,
    gains: tuple[float, float] | None,
    tune: bool,
    known_friction: float,
) -> None:
    """Chew with simulated drives, with ever more feedforward and the same gains.

    Writes feedforward.csv (figures of each run), errors.csv (over time), feedforward.png, and with
    --tune gains.csv (all trials of PD alone).
    """
    position, velocity = gains or (None, None)
    _check('--rate', 'cycle_rate', rate)
    _check('--gains', 'gains.position', position)
    _check('--gains', 'gains.velocity', velocity)
    if not 0.0 <= known_friction <= _MOST_FRICTION:
        raise InputError(f'--known-friction {known_friction:g} is not from 0 to {_MOST_FRICTION:g}')
    if gains is not None and tune:
        raise InputError('--gains are given: nothing to --tune')
    check_matplotlib('the report', '')
    # Only here: these take longer to import than help to show.
    from masticator_dynamics.drives.configuration import Gains
    from masticator_dynamics.robot.twin import study, tuning
    from masticator_dynamics.robot.twin.study_plot import plot_study

    setting = study.StudySetting.shipped(_path(incisor, strokes), food, rate, known_friction)
    chosen = None if gains is None else Gains(position=gains[0], velocity=gains[1])
    names = ['feedforward.csv', 'errors.csv', 'feedforward.txt', 'feedforward.png']
    with results_in(output, [*names, 'gains.csv'] if tune else names, incisor) as work:
        if tune:
            with share_done(0.0, 1.0, 'gains') as progress:
                found = tuning.tune(setting, progress=progress)
            write_table(str(work / 'gains.csv'), *found.table())
            click.echo(found.text() + '\n')
            chosen = found.best.gains
        with share_done(0.0, 1.0, 'runs') as progress:
            result = study.study_feedforward(setting, chosen, progress=progress)
        write_table(str(work / 'feedforward.csv'), *result.table())
        write_table(str(work / 'errors.csv'), *result.series())
        write_text(str(work / 'feedforward.txt'), result.text() + '\n')
        write_plot(str(work / 'feedforward.png'), lambda picture: plot_study(picture, result))
    click.echo(result.text())


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
