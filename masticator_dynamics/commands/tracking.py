# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that make motions whose incisor or tool follows a recording."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument, number_option, output_option
from masticator_dynamics.commands.terminal import chunks, warn
from masticator_dynamics.engine.evaluation.frames import check_frame
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.files.tables import check_writable, read_table, write_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.incisor import RECORDING_STEP
from masticator_dynamics.motion.incisor import track_incisor as track
from masticator_dynamics.motion.least_contact_motion import CRITERIA
from masticator_dynamics.motion.motion_file import motion_columns
from masticator_dynamics.motion.tool import ToolKinematics


@click.command('track-incisor')
@mechanism_argument
@click.option(
    '--incisor',
    'incisor_file',
    metavar='FILE',
    required=True,
    help='Recorded displacement from occlusion, base axes (CSV).',
)
@output_option
@click.option(
    '--frame',
    default='incisor',
    show_default=True,
    metavar='FRAME',
    help='URDF link whose origin follows; the columns are called FRAME_x FRAME_y FRAME_z.',
)
@number_option(
    '--tolerance', 0.0, None, RECORDING_STEP,
    'How far smoothing may move a recorded coordinate, m; the recording is also left by up to '
    'this, or 0.2 mm, where ranges or speeds of joints ask for it.', 'M',
)  # fmt: skip
@click.option(
    '--criterion',
    type=click.Choice(list(CRITERIA)),
    default='contacts',
    show_default=True,
    help='What the freedom that three coordinates leave keeps least: motion of the contacts from '
    'home, the same with sideways weighing tenfold, or motion of the platform.',
)
def track_incisor(
    mechanism: str,
    incisor_file: str,
    output_file: str,
    frame: str,
    tolerance: float,
    criterion: str,
) -> None:
    """Motion whose incisor follows a recording, inside the ranges of sockets and joints.

    Columns of the recording: time (increasing), incisor_x, incisor_y, incisor_z. Writes a motion
    with consistent derivatives at the recorded times, and the tracking error to standard error.
    Acceleration is continuous. Freedom that is left is used by a criterion and to stay inside the
    sockets; where that is not enough, the motion leaves the recording by as little as it takes, and
    is refused where that is too much.
    """
    check_writable(output_file, incisor_file, mechanism)
    loaded = Mechanism.load(mechanism)
    check_frame(loaded, frame)
    table = read_table(incisor_file)
    time = table.times()
    displacement = table.numbers([f'{frame}_{axis}' for axis in 'xyz'])
    try:
        answer = track(
            loaded, time, displacement, frame=frame, tolerance=tolerance, criterion=criterion
        )
    except LimitError as error:
        raise LimitError(
            f'{table.source}: {error}; --tolerance, now {tolerance:g} m, lets the motion leave the '
            'recording further'
        ) from error
    except MasticatorError as error:
        raise type(error)(f'{table.source}: {error}') from error
    off = int(np.argmax(answer.deviation))
    criterion_text = ''
    if answer.deviation[off] > 0.0:
        criterion_text = (
            f'; ranges keep it up to {answer.deviation[off] * 1e3:.2g} mm off the recording, most '
            f'at t = {time[off]:.6g} s'
        )
    values = np.stack(answer.path.sample(time), axis=-1).reshape(len(time), -1)
    write_table(output_file, motion_columns(loaded), np.column_stack([time, values]))
    click.echo(
        f'masticator: {len(time)} samples; tracking error of {frame}: '
        f'max {answer.error_max * 1e3:.4g} mm, rms {answer.error_rms * 1e3:.4g} mm; '
        f'socket margin {answer.socket_margin * 1e3:.4g} mm{criterion_text}',
        err=True,
    )


_TIPS = 20  # rows; about half a second of work
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
    for part in chunks(len(time), _TIPS, 'track tool'):
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
