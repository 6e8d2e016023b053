# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator track-tool``: motion of a five-axis machine whose tool follows tips and axes."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument, output_option
from masticator_dynamics.commands.terminal import chunks, warn
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.tables import check_writable, read_table, write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.tool import ToolKinematics

CHUNK = 20  # rows; about half a second of work
_FLIP = np.radians(60.0)  # a wrist that turns further between rows has flipped


@click.command('track-tool')
@mechanism_argument
@click.option(
    '--tool',
    'tool_file',
    metavar='FILE',
    required=True,
    help='Tips and axes of the tool, base axes (CSV).',
)
@output_option
@click.option(
    '--frame',
    default='tool',
    show_default=True,
    metavar='FRAME',
    help='URDF link: its origin is the tip, its z axis the tool axis.',
)
def track_tool(mechanism: str, tool_file: str, output_file: str, frame: str) -> None:
    """Five-axis inverse kinematics: motion whose tool follows tips and axes.

    Columns: time (increasing), tip_x tip_y tip_z in m, axis_x axis_y axis_z of any length, away
    from the spindle. Writes the independent coordinates, which inverse-dynamics takes, and the
    positions of the actuated joints. Of the wrist's two ways to point, the first row takes the one
    that turns it least from home, and every other row the one nearest to the row before.
    """
    check_writable(output_file, tool_file, mechanism)
    loaded = Mechanism.load(mechanism)
    kinematics = ToolKinematics(loaded, frame)
    table = read_table(tool_file)
    time = table.times()
    tips = table.numbers([f'tip_{axis}' for axis in 'xyz'])
    axes = table.numbers([f'axis_{axis}' for axis in 'xyz'])
    rows, near = [], loaded.home.y
    for part in chunks(len(time), CHUNK, 'track tool'):
        for row in range(part.start, part.stop):
            try:
                motion = kinematics.inverse(tips[row], axes[row], near)
            except MasticatorError as error:
                raise type(error)(f'{table.place(row)}: {error}') from error
            turn = np.degrees(np.abs(motion.y - near)[kinematics.wrist].max())
            if row and turn > np.degrees(_FLIP):
                place = table.place(row)
                warn(f'{place}: the wrist turns by {turn:.4g}° from the row before')
            near = motion.y
            rows.append(np.concatenate([[time[row]], motion.y, motion.position]))
    columns = [*loaded.independent, *(f'position_{joint}' for joint in loaded.actuated)]
    write_table(output_file, ['time', *columns], np.array(rows))
