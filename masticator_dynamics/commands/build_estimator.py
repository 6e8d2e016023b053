# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator build-estimator``: load inertia at any pose without the model."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import click

from masticator_dynamics.analysis.load_inertia import build
from masticator_dynamics.analysis.load_inertia.estimator import FITTED, FittedEstimator
from masticator_dynamics.analysis.load_inertia.sampling import element_indices
from masticator_dynamics.analysis.load_inertia.storage import as_text
from masticator_dynamics.commands.options import mechanism_argument, named_values
from masticator_dynamics.commands.terminal import progress_bar
from masticator_dynamics.files.tables import STANDARD_STREAM, check_writable, write_text
from masticator_dynamics.mechanism import Mechanism

DEFAULTS = build.BuildOptions()


def _range(interval: str) -> tuple[float, float]:
    low, high = (float(end) for end in interval.split(':'))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError
    return low, high


def _number(name: str, low: int, high: int, text: str) -> Callable[[Any], Any]:
    return click.option(
        f'--{name.replace("_", "-")}', type=click.IntRange(low, high),
        default=getattr(DEFAULTS, name), show_default=True, help=text,
    )  # fmt: skip


@click.command('build-estimator')
@mechanism_argument
@click.option('--kind', type=click.Choice(list(FITTED)), required=True, help='Kind of estimator.')
@click.option(
    '--output', 'output_file', metavar='FILE', required=True, help='File to write (JSON).'
)
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
    found = build.build_estimator(loaded, kind, build.BuildOptions(**options), _stage)
    text = as_text(found)
    write_text(output_file, text)
    click.echo(_report(found, len(text.encode())), err=output_file == STANDARD_STREAM)


@contextlib.contextmanager
def _stage(label: str, steps: int) -> Iterator[Callable[[int], object]]:
    with progress_bar(label, steps) as bar:
        yield bar.update


def _report(found: FittedEstimator, size: int) -> str:
    """Errors per element, in SI units."""
    error = found.error
    lines = [
        f'{found.mechanism}: {found.kind} estimator, {size / 1024:.1f} KiB',
        f'region: {len(found.region.offsets)} planes around '
        + ', '.join(
            f'{name} {center - half:.4g} to {center + half:.4g}'
            for name, center, half in zip(
                found.independent, found.region.center, found.region.half_width, strict=True
            )
        ),
        f'  the loops close at {found.built["percent_closed"]} % of its poses',
        f'error against the model at {error.poses} poses that were not fitted (kg m^2, kg)',
        f'  {"":<24}{"largest":>11}{"mean":>11}{"mean |M|":>11}',
    ]
    names = found.actuated
    for k, (i, j) in enumerate(zip(*element_indices(len(names)), strict=True)):
        label = names[i] if i == j else f'{names[i]}, {names[j]}'
        figures = error.maximum[k], error.mean[k], error.inertia[k]
        lines.append(f'  {label:<24}' + ''.join(f'{figure:>11.3g}' for figure in figures))
    return '\n'.join(lines)
