# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator load-inertia``: inertia at each motor, along a motion or over the workspace."""

from __future__ import annotations

import dataclasses

import click
import numpy as np

from masticator_dynamics.analysis.grid import Axis, PoseNet, make_grid
from masticator_dynamics.analysis.load_inertia.plot import LoadInertiaPlot
from masticator_dynamics.analysis.load_inertia.sampling import load_inertia as along
from masticator_dynamics.analysis.load_inertia.sampling import (
    load_inertia_where_possible,
)
from masticator_dynamics.commands.grid_options import (
    axis_option,
    check_matplotlib,
    check_targets,
    fix_option,
    plot_option,
    write_plot,
)
from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.commands.terminal import chunks
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import errors_located, read_motion

CHUNK = 100  # poses; some tenths of a second
STEPS = 61  # of a coordinate


@click.command('load-inertia')
@mechanism_argument
@click.option(
    '--motion', 'motion_file', metavar='FILE',
    help='Motion in independent coordinates (CSV). Default: a grid of poses.',
)  # fmt: skip
@axis_option
@fix_option
@click.option(
    '--disc', is_flag=True,
    help='Poses on rings and spokes in the ellipse inside the grid, as in S4 Fig. 5.',
)  # fmt: skip
@click.option('--output', 'output_file', metavar='FILE', help='Data to write (CSV).')
@plot_option
def load_inertia(
    mechanism: str,
    motion_file: str | None,
    axes: tuple[Axis, ...],
    fixed: dict[str, float],
    disc: bool,
    output_file: str | None,
    plot_file: str | None,
) -> None:
    """Load inertia of the motors, along a motion or over a grid of one or two coordinates.

    What a motor feels when it alone accelerates, its own rotor included: the diagonal of the
    inertia matrix in actuated space (S4 Eq. 21). Without --motion and --axis the grid is over the
    first two independent coordinates. Poses of a grid that cannot be reached are left out and
    counted on standard error.

    Writes time and inertia_JOINT along a motion, the coordinates and inertia_JOINT over a grid.
    """
    if output_file is None and plot_file is None:
        raise click.UsageError('nothing to write: give --output, --plot or both')
    if motion_file is not None and (plot_file or axes or fixed or disc):
        raise click.UsageError('--axis, --fix, --disc and --plot are for grids, not for --motion')
    check_targets(output_file, plot_file, motion_file, mechanism)
    loaded = Mechanism.load(mechanism)
    if motion_file is not None and output_file is not None:
        _along_motion(loaded, motion_file, output_file)
        return
    net = _net(loaded, axes, fixed, disc)
    parts = chunks(len(net.poses), CHUNK, 'load inertia')
    values = np.vstack([load_inertia_where_possible(loaded, net.poses[part]) for part in parts])
    reached = np.flatnonzero(np.isfinite(values).all(axis=1))
    if output_file is not None:
        columns = [*loaded.independent, *_columns(loaded)]
        write_table(output_file, columns, np.hstack([net.poses, values])[reached])
    missing = len(values) - len(reached)
    if missing:
        line = f'masticator: {missing} of {len(values)} poses cannot be reached and are left out'
        click.echo(line, err=True)
    if plot_file is not None:
        check_matplotlib()
        write_plot(plot_file, LoadInertiaPlot(loaded, net, values).write)


def _along_motion(mechanism: Mechanism, motion_file: str, output_file: str) -> None:
    motion = read_motion(motion_file, mechanism)
    rows = []
    for part in chunks(len(motion.time), CHUNK, 'load inertia'):
        with errors_located(motion.table, part.start):
            rows.append(along(mechanism, motion.y[part]))
    values = np.column_stack([motion.time, np.vstack(rows)])
    write_table(output_file, ['time', *_columns(mechanism)], values)


def _columns(mechanism: Mechanism) -> list[str]:
    return [f'inertia_{joint}' for joint in mechanism.actuated]


def _net(
    mechanism: Mechanism, axes: tuple[Axis, ...], fixed: dict[str, float], disc: bool
) -> PoseNet:
    """The poses, over one or two coordinates."""
    free = [name for name in mechanism.independent if name not in fixed]
    chosen = axes or tuple(Axis(name) for name in free[:2])
    if len(chosen) > 2:
        raise click.UsageError(f'--axis is there {len(chosen)} times; one or two can be drawn')
    chosen = tuple(dataclasses.replace(axis, steps=axis.steps or STEPS) for axis in chosen)
    grid = make_grid(mechanism, chosen, fixed)
    return PoseNet.disc(grid) if disc else PoseNet.over(grid)
