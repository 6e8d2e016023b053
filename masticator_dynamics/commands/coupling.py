# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator coupling``: inertia coupling of the actuators along a motion."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument, motion_option, output_option
from masticator_dynamics.commands.terminal import chunks
from masticator_dynamics.files.tables import check_writable, write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import errors_located, read_motion

CHUNK = 100  # rows; some ten milliseconds of work


@click.command()
@mechanism_argument
@motion_option
@output_option
def coupling(mechanism: str, motion_file: str, output_file: str) -> None:
    """Inertia coupling of the actuators along a motion.

    The index MCI of an actuator compares the inertia it feels from the others with its own: 0
    when it is alone, ln 2 = 0.69 when they are as large on average (S0 Sec. 6).
    """
    check_writable(output_file, motion_file, mechanism)
    loaded = Mechanism.load(mechanism)
    motion = read_motion(motion_file, loaded)
    indices = []
    for part in chunks(len(motion.time), CHUNK, 'coupling'):
        with errors_located(motion.table, part.start):
            indices.append(loaded.inertia_coupling(loaded.attempt(motion.y[part]).all()))
    header = ['time', *(f'mci_{joint}' for joint in loaded.actuated)]
    write_table(output_file, header, np.column_stack([motion.time, np.vstack(indices)]))
