# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator forward-kinematics``: from actuated to independent positions."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument, output_option
from masticator_dynamics.commands.terminal import chunks
from masticator_dynamics.files.tables import check_writable, read_table, write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import actuated_positions, errors_located

CHUNK = 50  # rows; about a fifth of a second of work


@click.command('forward-kinematics')
@mechanism_argument
@click.option(
    '--joints',
    'joints_file',
    metavar='FILE',
    required=True,
    help='Positions of the actuated joints (CSV).',
)
@output_option
@click.option(
    '--tolerance',
    type=click.FloatRange(min=0.0),
    metavar='M',
    default=1e-4,
    show_default=True,
    help='Largest gap in the loops that is accepted, m.',
)
def forward_kinematics(
    mechanism: str, joints_file: str, output_file: str, tolerance: float
) -> None:
    """Independent coordinates from positions of the actuated joints.

    Columns: time (increasing) and, for every actuated joint j, j or position_j. Other columns are
    ignored.
    """
    check_writable(output_file, joints_file, mechanism)
    loaded = Mechanism.load(mechanism)
    table = read_table(joints_file)
    time, positions = table.times(), actuated_positions(table, loaded)
    rows = []
    for part in chunks(len(time), CHUNK, 'forward kinematics'):
        with errors_located(table, part.start):
            answer = loaded.forward_kinematics_batch(positions[part], tolerance)
        rows.append(np.column_stack([time[part], answer.y, answer.closure_residual]))
    write_table(output_file, ['time', *loaded.independent, 'closure_residual'], np.vstack(rows))
