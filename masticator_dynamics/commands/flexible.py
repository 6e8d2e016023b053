# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator flexible``: the actual motion of a mechanism whose links bend."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import click

from masticator_dynamics.commands.options import (
    check_matplotlib,
    check_targets,
    mechanism_argument,
    output_option,
    plot_option,
    split_names,
    write_plot,
)
from masticator_dynamics.commands.terminal import share_done
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import read_motion
from masticator_dynamics.motion.path import MotionPath

DRIVE_MODES = ('a', 'b', 'c')
BOUNDARIES = ('fixed-free', 'pinned-pinned', 'clamped-pinned')


@click.command()
@mechanism_argument
@output_option
@click.option(
    '--mode',
    type=click.Choice(DRIVE_MODES),
    default='b',
    show_default=True,
    help='Drive mode of S3: a as many motors as degrees of freedom, b least torques, c least '
    'powers.',
)
@click.option(
    '--motion',
    'motion_file',
    metavar='FILE',
    help="Motion in independent coordinates (CSV). Default: S3's spiral, for x, y, phi.",
)
@click.option(
    '--boundary',
    type=click.Choice(BOUNDARIES),
    help='Shapes of all flexible links, instead of those of the description.',
)
@click.option('--shapes', type=int, help='Shapes per link, instead of those of the description.')
@click.option('--samples', type=int, default=2001, show_default=True, help='Rows to write.')
@click.option(
    '--method',
    type=click.Choice(('radau', 'dop853')),
    default='radau',
    show_default=True,
    help='Integrator of scipy; dop853 is quicker for soft links.',
)
@click.option('--rtol', type=float, default=3e-6, show_default=True, help='Tolerance of a step.')
@plot_option
@click.option(
    '--against',
    metavar='LIST',
    callback=split_names,
    help='Drive modes to draw in the same picture, comma separated.',
)
def flexible(
    mechanism: str,
    output_file: str,
    mode: str,
    motion_file: str | None,
    boundary: str | None,
    shapes: int | None,
    samples: int,
    method: str,
    rtol: float,
    plot_file: str | None,
    against: Sequence[str] | None,
) -> None:
    """Motion of flexible links under the efforts of the rigid mechanism, open loop.

    The links of the description's section 'flexible' bend. Columns of the output: time; distance
    of the platform's origin from its path; every joint with its deviation; efforts; deflection,
    angle error and rate of every flexible link; energies and work; and partial, which is 1 in
    every row when the run ended early: the reason is then on standard error and the exit status 1.
    """
    check_targets(output_file, plot_file, motion_file, mechanism)
    for name in against or ():
        if name not in DRIVE_MODES:
            raise InputError(f'--against {name!r}: drive modes are {", ".join(DRIVE_MODES)}')
    if against and plot_file is None:
        raise InputError('--against is for the picture: it needs --plot')
    description = _overridden(load_description(mechanism), boundary, shapes)
    path = _path(description, motion_file)
    # Only here: scipy takes longer to import than help to show.
    from masticator_dynamics.flexible.flexible_run import run_flexible

    runs = {}
    for drive_mode in dict.fromkeys((mode, *(against or ()))):
        with share_done(path.start, path.end, f'drive mode {drive_mode}') as progress:
            runs[drive_mode] = run_flexible(
                description, path, drive_mode,
                samples=samples, method=method, rtol=rtol, progress=progress,
            )  # fmt: skip
    write_table(output_file, *runs[mode].table())
    if plot_file is not None:
        check_matplotlib()
        from masticator_dynamics.flexible.flexible_plot import plot_runs

        write_plot(plot_file, lambda picture: plot_runs(picture, runs))
    if runs[mode].stopped:
        click.echo(
            f'masticator: error: the run is partial, {len(runs[mode].time)} of {samples} rows: '
            f'{runs[mode].stopped}',
            err=True,
        )
        raise click.exceptions.Exit(1)


def _overridden(
    description: MechanismDescription, boundary: str | None, shapes: int | None
) -> MechanismDescription:
    """Set boundary and modes of all flexible links."""
    change: dict[str, object] = {}
    if boundary is not None:
        change['boundary'] = boundary
    if shapes is not None:
        change['modes'] = shapes
    links = {name: link.changed(**change) for name, link in description.flexible.items()}
    return dataclasses.replace(description, flexible=links)


def _path(description: MechanismDescription, motion_file: str | None) -> MotionPath:
    if motion_file is None:
        from masticator_dynamics.motion.spiral import Spiral

        path = Spiral().path()
        if description.independent != path.names:
            raise InputError(
                f'{description.name} moves in {", ".join(description.independent)}: give its '
                '--motion; only a platform in x, y, phi has a path of its own'
            )
        return path
    motion = read_motion(motion_file, Mechanism(description))
    if motion.wrench is not None:
        raise InputError(f'{motion_file}: a wrench on the platform is not for flexible links')
    return MotionPath.through(
        motion.time, motion.y, motion.y_dot, motion.y_ddot, names=description.independent
    )
