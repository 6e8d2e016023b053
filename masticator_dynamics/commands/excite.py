# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator excite``: a motion to identify a robot with."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.commands.terminal import progress_bar
from masticator_dynamics.files.tables import check_writable, write_table
from masticator_dynamics.identification.excitation import exciting_motion
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import motion_columns


@click.command('excite')
@mechanism_argument
@click.option(
    '--output', 'output_file', metavar='FILE', required=True,
    help="Motion with derivatives (CSV); '-': standard output.",
)  # fmt: skip
@click.option(
    '--duration', type=click.FloatRange(1.0, 3600.0), metavar='S', default=20.0, show_default=True,
    help='How long the motion takes, s.',
)  # fmt: skip
@click.option(
    '--highest', type=click.FloatRange(0.01, 100.0), metavar='HZ', default=2.0, show_default=True,
    help='Highest frequency, Hz; the lowest is a sixth of it.',
)  # fmt: skip
@click.option(
    '--rate', type=click.FloatRange(1.0, 10000.0), metavar='HZ', default=250.0, show_default=True,
    help='Rows of the motion per second.',
)  # fmt: skip
@click.option(
    '--tries', type=click.IntRange(2, 100_000), default=100, show_default=True,
    help='Motions to compare.',
)  # fmt: skip
@click.option('--seed', type=int, default=0, show_default=True, help='Same seed, same motion.')
def excite(
    mechanism: str,
    output_file: str,
    duration: float,
    highest: float,
    rate: float,
    tries: int,
    seed: int,
) -> None:
    """A motion from which `masticator identify` learns much.

    Sums of sines in the independent coordinates, from rest in the middle of all ranges and back, as
    large as the ranges of joints and sockets and the limits of the motors allow, and chosen for the
    information in the efforts that it takes.
    """
    check_writable(output_file, mechanism)
    loaded = Mechanism.load(mechanism)
    with progress_bar('excite', tries) as bar:
        found = exciting_motion(loaded, duration, highest, rate, tries, seed, bar.update)
    # y, y_dot and y_ddot of the first coordinate, then of the second, as the header has them.
    values = np.swapaxes(found.rows, 1, 2).reshape(len(found.time), -1)
    write_table(output_file, motion_columns(loaded), np.column_stack([found.time, values]))
    before, after = found.condition
    click.echo(
        f'{len(found.time)} rows; condition of the equations {before:.3g} at first, {after:.3g} '
        f'now; directions that such a recording tells: {found.learnt[0]} at first, '
        f'{found.learnt[1]} now',
        err=True,
    )
