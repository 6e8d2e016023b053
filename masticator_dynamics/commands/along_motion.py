# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that compute row by row along a table, such as inverse dynamics."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from masticator_dynamics.analysis.effort_plot import plot_efforts
from masticator_dynamics.commands.options import (
    actuators_option,
    check_joints,
    check_matplotlib,
    check_targets,
    friction_option,
    goal_option,
    mechanism_argument,
    motion_option,
    number_option,
    output_option,
    plot_option,
    recording_options,
    strict_option,
    write_plot,
)
from masticator_dynamics.commands.terminal import chunks, warn
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import check_frame, wrenches_on_platform
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import LimitError
from masticator_dynamics.files.recorded_joints import read_joints, times_in_doubt
from masticator_dynamics.files.tables import check_writable, write_table
from masticator_dynamics.limits.load_limits import (
    BINDING,
    Shortfall,
    largest_shortfalls,
    load_ranges,
)
from masticator_dynamics.limits.ranges import RangeSurvey, survey_ranges
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import (
    MotionFile,
    actuated_positions,
    errors_located,
    read_motion,
)


class RangeTally:
    """Counts the rows of a motion that leave a range of a joint, socket or motor."""

    def __init__(self, mechanism: Mechanism, motion: MotionFile):
        self._mechanism, self._motion = mechanism, motion
        self._count, self._worst_row = 0, 0
        self._worst: RangeSurvey | None = None

    def add(self, effort: Effort, first: int) -> None:
        """Count rows of a batch that started at row ``first``."""
        survey = survey_ranges(self._mechanism, effort)
        self._count += int(survey.outside.sum())
        if survey.worst_row is not None and (
            self._worst is None or survey.excess > self._worst.excess
        ):
            self._worst, self._worst_row = survey, first + survey.worst_row

    def report(self, strict: bool) -> None:
        """Say on standard error how many rows leave a range, or refuse them if strict.

        Raises
        ------
        LimitError
            If strict.
        """
        if self._worst is None:
            return
        rows, source = len(self._motion.time), self._motion.table.source
        line = (
            f'{source}: {self._count} of {rows} rows outside ranges; worst: '
            f'{_place(self._motion, self._worst_row)}, {self._worst.worst}'
        )
        if strict:
            raise LimitError(line)
        warn(line)


class LimitTally:
    """Counts the rows of a motion in which limits are active or the motion gives way to them."""

    def __init__(self, mechanism: Mechanism, motion: MotionFile):
        self._mechanism, self._motion = mechanism, motion
        self._bound, self._short = 0, 0
        self._loads: collections.Counter[str] = collections.Counter()
        self._largest: dict[str, tuple[Shortfall, int]] = {}  # by unit, with the row of the file

    def add(self, effort: Effort, first: int) -> None:
        """Count rows of a batch that started at row ``first``."""
        bound = np.zeros(len(effort.y), dtype=bool)
        for group in load_ranges(self._mechanism, effort, self._mechanism.load_limits):
            binding = group.signed_excess() >= -BINDING
            bound |= binding.any(axis=1)
            for name, rows in zip(group.names, binding.sum(axis=0).tolist(), strict=True):
                if rows:
                    self._loads[f'{name} {group.quantity}'] += rows
        self._bound += int(bound.sum())
        self._short += int(effort.shortfall.any(axis=1).sum())
        for largest in largest_shortfalls(self._mechanism, effort.shortfall):
            before = self._largest.get(largest.unit)
            if before is None or largest.value > before[0].value:
                self._largest[largest.unit] = largest, first + largest.row

    def report(self) -> None:
        """Say on standard error in how many rows limits are active, and how many gave way."""
        rows = len(self._motion.time)
        if self._bound:
            ((load, count),) = self._loads.most_common(1)
            self._warn(
                f'limits bind in {self._bound} of {rows} rows; most often: {load}, in {count}'
            )
        if self._short:
            largest = ', '.join(
                f'{shortfall} in {_place(self._motion, row)}'
                for shortfall, row in self._largest.values()
            )
            self._warn(f'the motion gives way in {self._short} of {rows} rows; most: {largest}')

    def _warn(self, text: str) -> None:
        warn(f'{self._motion.table.source}: {text}')


def _place(motion: MotionFile, row: int) -> str:
    """A row of the file, without the file's name."""
    return motion.table.place(row).removeprefix(motion.table.source + ': ')


WORDS = ('position', 'velocity', 'acceleration', 'effort')
_AT_REST = 0.01  # share of the fastest rate
CHUNK = 2000  # rows; some ten milliseconds of work, after which Ctrl-C takes effect


@click.command('inverse-dynamics')
@mechanism_argument
@motion_option
@recording_options()
@output_option
@goal_option
@actuators_option
@friction_option
@click.option(
    '--limits',
    is_flag=True,
    help="Keep efforts, powers, bearing and contact forces within the description's limits; a row "
    'that cannot is refused.',
)
@click.option(
    '--nearest',
    is_flag=True,
    help='With --limits: where a row cannot keep them, its acceleration is changed as little as '
    'possible; such rows are counted.',
)
@click.option(
    '--at-rest', is_flag=True, help='The spline through a motion without rates begins and ends so.'
)
@number_option(
    '--cutoff', 0.1, 1000.0, None,
    'Of a filter for measured positions, Hz: above what the motion holds, below what only shakes. '
    'Default: none, and derivatives show all noise.', 'HZ',
)  # fmt: skip
@click.option(
    '--wrench-axes',
    metavar='FRAME',
    help='URDF link along whose axes wrenches are given. Default: the base.',
)
@click.option(
    '--wrench-point',
    metavar='FRAME',
    help='URDF link at whose origin the force acts, about which the torque is. Default: the '
    'platform.',
)
@strict_option
@plot_option
def inverse_dynamics(
    mechanism: str,
    motion_file: str,
    topic: str | None,
    names: dict[str, str],
    output_file: str,
    goal: str,
    actuators: Sequence[str] | None,
    friction: bool,
    limits: bool,
    nearest: bool,
    at_rest: bool,
    cutoff: float | None,
    wrench_axes: str | None,
    wrench_point: str | None,
    strict: bool,
    plot_file: str | None,
) -> None:
    """Efforts of the actuators for a motion.

    Columns of the motion: time (increasing); every independent coordinate c (or position_c, or
    else positions of all actuated joints, which tell the coordinates); c_dot and c_ddot for
    all of them, or for none: a spline in time then supplies them; fx fy fz tx ty tz, the wrench
    of the environment on the platform, or none of these; fx@LINK fy@LINK fz@LINK tx@LINK ty@LINK
    tz@LINK, for any URDF links: the wrench of the environment on that link, the force at the
    link's origin and the torque about it. Wrenches add up. Other columns are ignored.

    Rows are independent of one another. Motions outside the ranges of joints, sockets and motors
    are computed and counted on standard error; with --limits, so are rows in which limits bind.
    With --nearest the accelerations in the output are those that the efforts produce.
    """
    if nearest and not limits:
        raise click.UsageError('--nearest needs --limits')
    check_targets(output_file, plot_file, motion_file, mechanism)
    if plot_file is not None:
        check_matplotlib('--plot', '')
    loaded = Mechanism.load(mechanism, actuators=actuators)
    for frame in (wrench_axes, wrench_point):
        if frame is not None:
            check_frame(loaded, frame)
    check_joints(loaded, names)
    motion = read_motion(motion_file, loaded, at_rest, topic, names, cutoff)
    _tell_doubts(motion)
    if not (motion.rates or at_rest):
        _tell_moving_ends(motion, loaded.independent)
    ranges, loads = RangeTally(loaded, motion), LimitTally(loaded, motion)
    values, efforts = [], []
    choice = {'goal': goal, 'friction': friction, 'limits': limits, 'nearest': nearest}
    for part in chunks(len(motion.time), CHUNK, 'inverse dynamics'):
        with errors_located(motion.table, part.start):
            effort = _efforts(loaded, motion, part, wrench_axes, wrench_point, choice)
        ranges.add(effort, part.start)
        if limits:
            loads.add(effort, part.start)
        values.append(_rows(motion.time[part], effort))
        efforts.append(effort.actuated)
    ranges.report(strict)
    loads.report()
    write_table(output_file, _columns(loaded), np.vstack(values))
    if plot_file is not None:
        curves = np.vstack(efforts)
        write_plot(plot_file, lambda file: plot_efforts(file, loaded, motion.time, curves))


def _tell_doubts(motion: MotionFile) -> None:
    """Warn of a recording that is not whole, and of times that may not be seconds."""
    warn(*motion.table.doubts)
    # Motions in coordinates are written for this program, with times in s.
    recorded = any(column.startswith('position_') for column in motion.table.columns)
    if recorded and (doubt := times_in_doubt(motion.table, motion.time)):
        warn(f'{motion.table.source}: {doubt}')


def _tell_moving_ends(motion: MotionFile, names: Sequence[str]) -> None:
    """Say how a spline begins and ends, where that is not at rest."""
    fastest = np.abs(motion.y_dot).max(axis=0)
    for row, word in ((0, 'begins'), (-1, 'ends')):
        rates = [
            f'{name}_dot={rate:.3g}'
            for name, rate, most in zip(names, motion.y_dot[row], fastest, strict=True)
            if abs(rate) > _AT_REST * most
        ]
        if rates:
            warn(
                f'{motion.table.source}: the spline through it {word} with {", ".join(rates)} '
                '(m/s or rad/s); --at-rest, or columns for rates, would change that'
            )


def _efforts(
    mechanism: Mechanism,
    motion: MotionFile,
    part: slice,
    axes: str | None,
    point: str | None,
    choice: dict[str, Any],
) -> Effort:
    """Evaluate some rows."""
    states = motion.y[part], motion.y_dot[part], motion.y_ddot[part]
    wrench = motion.wrench[part] if motion.wrench is not None else None
    links = {link: rows[part] for link, rows in motion.link_wrenches.items()}
    if (axes or point) and (links or wrench is not None):
        # The poses of frames are only known once the loops are closed.
        q = mechanism.feedforward_batch(states[0]).q
        if wrench is not None:
            wrench = wrenches_on_platform(mechanism, q, wrench, axes, point)
        links = {
            link: wrenches_on_platform(mechanism, q, rows, axes) for link, rows in links.items()
        }
    return mechanism.feedforward_batch(*states, wrench, link_wrenches=links, **choice)


def _columns(mechanism: Mechanism) -> list[str]:
    """Header of the output."""
    joints = [f'{word}_{joint}' for joint in mechanism.actuated for word in WORDS]
    contacts = [f'contact_{contact}' for contact in mechanism.contacts]
    return ['time', *joints, *contacts, 'closure_residual']


def _rows(time: FloatArray, effort: Effort) -> FloatArray:
    """Rows of the output."""
    quantities = (effort.position, effort.velocity, effort.acceleration, effort.actuated)
    joints = np.stack(quantities, axis=-1).reshape(len(time), -1)
    return np.column_stack([time, joints, effort.contact, effort.closure_residual])


_COUPLINGS = 100  # rows; some ten milliseconds of work


@click.command()
@mechanism_argument
@motion_option
@recording_options()
@output_option
def coupling(
    mechanism: str, motion_file: str, topic: str | None, names: dict[str, str], output_file: str
) -> None:
    """Inertia coupling of the actuators along a motion.

    The index MCI of an actuator compares the inertia it feels from the others with its own: 0
    when it is alone, ln 2 = 0.69 when they are as large on average (S0 Sec. 6).
    """
    check_writable(output_file, motion_file, mechanism)
    loaded = Mechanism.load(mechanism)
    check_joints(loaded, names)
    motion = read_motion(motion_file, loaded, topic=topic, names=names)
    _tell_doubts(motion)
    indices = []
    for part in chunks(len(motion.time), _COUPLINGS, 'inertia coupling'):
        with errors_located(motion.table, part.start):
            indices.append(loaded.inertia_coupling(loaded.attempt(motion.y[part]).all()))
    header = ['time', *(f'mci_{joint}' for joint in loaded.actuated)]
    write_table(output_file, header, np.column_stack([motion.time, np.vstack(indices)]))


_POSES = 50  # rows; about a fifth of a second of work


@click.command('forward-kinematics')
@mechanism_argument
@click.option(
    '--joints',
    'joints_file',
    metavar='FILE',
    required=True,
    help='Positions of the actuated joints (CSV), or a recording of them.',
)
@recording_options('--names')
@output_option
@number_option('--tolerance', 0.0, None, 1e-4, 'Largest gap in the loops that is accepted, m.', 'M')
def forward_kinematics(
    mechanism: str,
    joints_file: str,
    topic: str | None,
    names: dict[str, str],
    output_file: str,
    tolerance: float,
) -> None:
    """Independent coordinates from positions of the actuated joints.

    Columns: time (increasing) and, for every actuated joint j, j or position_j. Other columns are
    ignored.
    """
    check_writable(output_file, joints_file, mechanism)
    loaded = Mechanism.load(mechanism)
    check_joints(loaded, names)
    table = read_joints(joints_file, [loaded.actuated], topic=topic, names=names)
    warn(*table.doubts)
    time, positions = table.times(), actuated_positions(table, loaded)
    rows = []
    for part in chunks(len(time), _POSES, 'forward kinematics'):
        with errors_located(table, part.start):
            answer = loaded.forward_kinematics_batch(positions[part], tolerance)
        rows.append(np.column_stack([time[part], answer.y, answer.closure_residual]))
    write_table(output_file, ['time', *loaded.independent, 'closure_residual'], np.vstack(rows))
