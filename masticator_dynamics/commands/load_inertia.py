# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load inertia at each motor: along a motion, over the workspace, and without the model."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np

from masticator_dynamics.analysis.grid import Axis, PoseNet, make_grid
from masticator_dynamics.analysis.load_inertia import build, sampling
from masticator_dynamics.analysis.load_inertia.estimator import FITTED, FittedEstimator
from masticator_dynamics.analysis.load_inertia.plot import LoadInertiaPlot
from masticator_dynamics.analysis.load_inertia.storage import as_text
from masticator_dynamics.commands.options import (
    Option,
    axis_option,
    check_matplotlib,
    check_targets,
    file_option,
    fix_option,
    mechanism_argument,
    named_values,
    number_option,
    plot_option,
    write_plot,
)
from masticator_dynamics.commands.terminal import chunks, progress_bar
from masticator_dynamics.files.tables import (
    STANDARD_STREAM,
    check_writable,
    write_table,
    write_text,
)
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
@click.option('-o', '--output', 'output_file', metavar='FILE', help='Data to write (CSV).')
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
    values = np.vstack(
        [sampling.load_inertia(loaded, net.poses[part], where_possible=True) for part in parts]
    )
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
            rows.append(sampling.load_inertia(mechanism, motion.y[part]))
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


DEFAULTS = build.BuildOptions()


def _range(interval: str) -> tuple[float, float]:
    low, high = (float(end) for end in interval.split(':'))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError
    return low, high


def _number(name: str, low: int, high: int, text: str) -> Option:
    return number_option(f'--{name.replace("_", "-")}', low, high, getattr(DEFAULTS, name), text)


@click.command('build-estimator')
@mechanism_argument
@click.option('--kind', type=click.Choice(list(FITTED)), required=True, help='Kind of estimator.')
@file_option('File to write (JSON).')
@click.option(
    '--range',
    'ranges',
    metavar='NAME=LOW:HIGH',
    multiple=True,
    callback=named_values('NAME=LOW:HIGH', _range),
    help="Range of an independent coordinate, m or rad. Default: the URDF's.",
)
@_number('reached', 100, 1000000, 'Reachable poses that the region is laid around.')
@_number('planes', 0, 1000, "Planes that cut the region's box, at most.")
@_number('samples', 50, 1000000, 'Poses that ellipses and circles are fitted to.')
@_number('held_out', 50, 1000000, 'Other poses, that the error is measured at.')
@_number('levels', 2, 10, 'Ellipsoids of a family.')
@_number('families', 1, 5, 'Families of ellipsoids that are added up.')
@_number('nodes', 2, 1000, "The grid's nodes along each coordinate.")
@_number('seed', 0, 2**31, 'Of the random numbers.')
def build_estimator(mechanism: str, kind: str, output_file: str, **options: Any) -> None:
    """Fit an estimator of load inertia to a mechanism.

    Poses are drawn from the reachable workspace; an estimator is fitted to the inertia there and
    measured at other poses. A file holds it with its errors. The report goes to standard output,
    or to standard error when the file does.
    """
    check_writable(output_file, mechanism)
    loaded = Mechanism.load(mechanism)
    estimator = build.build_estimator(loaded, kind, build.BuildOptions(**options), _stage)
    text = as_text(estimator)
    write_text(output_file, text)
    click.echo(_report(estimator, len(text.encode())), err=output_file == STANDARD_STREAM)


@contextlib.contextmanager
def _stage(label: str, steps: int) -> Iterator[Callable[[int], object]]:
    with progress_bar(label, steps) as bar:
        yield bar.update


def _report(estimator: FittedEstimator, size: int) -> str:
    """Errors per element, in SI units."""
    error, region = estimator.error, estimator.region
    lines = [
        f'{estimator.mechanism}: {estimator.kind} estimator, {size / 1024:.1f} KiB',
        f'region: {len(region.offsets)} planes around '
        + ', '.join(
            f'{name} {center - half:.4g} to {center + half:.4g}'
            for name, center, half in zip(
                estimator.independent, region.center, region.half_width, strict=True
            )
        ),
        f'  the loops close at {estimator.built["percent_closed"]} % of its poses',
        f'error against the model at {error.poses} poses that were not fitted (kg m^2, kg)',
        f'  {"":<24}{"largest":>11}{"mean":>11}{"mean |M|":>11}',
    ]
    names = estimator.actuated
    for k, (i, j) in enumerate(zip(*sampling.element_indices(len(names)), strict=True)):
        label = names[i] if i == j else f'{names[i]}, {names[j]}'
        figures = error.maximum[k], error.mean[k], error.inertia[k]
        lines.append(f'  {label:<24}' + ''.join(f'{figure:>11.3g}' for figure in figures))
    return '\n'.join(lines)
