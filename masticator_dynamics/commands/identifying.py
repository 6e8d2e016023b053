# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that learn about a robot from recordings, and make motions to record."""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import click
import numpy as np

from masticator_dynamics.commands.options import (
    check_joints,
    check_matplotlib,
    file_option,
    mechanism_argument,
    number_option,
    recording_options,
    split_names,
)
from masticator_dynamics.commands.terminal import progress_bar, share_done, warn
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.joint_limits import in_order
from masticator_dynamics.drives.scaling import Scaling, with_rotors
from masticator_dynamics.engine.parameters import INERTIAL
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.recorded_joints import read_joints
from masticator_dynamics.files.tables import check_writable, read_table, write_table, write_text
from masticator_dynamics.identification.calibration import SUSPICIOUS, Calibration, refuse_worse
from masticator_dynamics.identification.calibration import calibrate as found_by
from masticator_dynamics.identification.calibration_search import Fixture
from masticator_dynamics.identification.excitation import exciting_motion, steps
from masticator_dynamics.identification.identify import Identified, passes, with_motor_friction
from masticator_dynamics.identification.identify import identify as identified
from masticator_dynamics.identification.measured_motion import DEFAULT_CUTOFF, usual_cutoff
from masticator_dynamics.identification.report import report
from masticator_dynamics.identification.robot_log import RobotLog, checked, parted, read_log
from masticator_dynamics.identification.unknowns import Beliefs
from masticator_dynamics.identification.verdict import NEGLIGIBLE, doubts
from masticator_dynamics.identification.written import (
    check_loads,
    description_files,
    drives_text,
    with_drive_friction,
    without_drive_friction,
)
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import actuated_positions, motion_columns

_MORE = 1.1  # times what is left with offsets
_HELD_OUT = 0.25  # of the recording, its end
_WIDTH = 96  # of a comment


@click.command('identify')
@mechanism_argument
@click.option(
    '--log', 'log_file', metavar='FILE', required=True,
    help='Recording with positions and efforts of all motors: CSV, or a bag or a file of one.',
)  # fmt: skip
@click.option(
    '-o', '--output', type=click.Path(path_type=pathlib.Path), metavar='FILE', required=True,
    help='Description to write (YAML); URDF and report (HTML) of the same name go beside it.',
)  # fmt: skip
@click.option(
    '--held-out', metavar='FILE',
    help='Recording to judge by. Default: the last quarter of --log, not learnt from.',
)  # fmt: skip
@click.option(
    '--drives', 'drives_file', type=click.Path(dir_okay=False, path_type=pathlib.Path),
    metavar='FILE',
    help="Drives file: motors' constant and viscous friction is the drives', and a drives file "
    'with the new numbers is written, too.',
)  # fmt: skip
@recording_options()
@number_option(
    '--cutoff', 1.0, 200.0, None,
    'Of the filter, Hz: above what the motion holds, below what only shakes. Default: '
    f'{DEFAULT_CUTOFF:g}, or a tenth of the rows per second where that is less.', 'HZ',
)  # fmt: skip
@number_option(
    '--torque-constants', 0.0, 1.0, 0.0,
    'How far measured efforts may err by a factor (standard deviation).',
)  # fmt: skip
@number_option(
    '--sensor', 0.0, 1.0, 0.0,
    'How far the force sensor may err, in scale and offset (standard deviation).',
)  # fmt: skip
@click.option(
    '--accept', is_flag=True,
    help='Write the description although much of the efforts is left unexplained.',
)  # fmt: skip
def identify(
    mechanism: str,
    log_file: str,
    output: pathlib.Path,
    held_out: str | None,
    drives_file: pathlib.Path | None,
    topic: str | None,
    names: dict[str, str],
    cutoff: float | None,
    torque_constants: float,
    sensor: float,
    accept: bool,
) -> None:
    """Find masses, friction and more of a robot from a recording of its motion.

    Columns of a CSV log: time; position_J and effort_J of every actuated joint J; fx fy fz tx ty tz
    on the platform, or none of these. Files that exist are not replaced.
    """
    files = _files(output, drives_file)
    check_matplotlib('the report', '; nothing was identified')
    description, motors = load_description(mechanism), None
    if drives_file is not None:
        drives = in_order(load_drives(drives_file), Mechanism(description))
        motors = Scaling([drive.motor for drive in drives.drives.values()])
        description = with_drive_friction(with_rotors(description, drives), drives)
    beliefs = Beliefs(effort=torque_constants, sensor=sensor)
    loaded = Mechanism(description)
    check_joints(loaded, names)
    log = checked(loaded, _read(log_file, loaded, topic, names))
    warn(*log.doubts)
    if held_out is None:
        log, other = parted(log, _HELD_OUT)
    else:
        other = checked(loaded, _read(held_out, loaded, topic, names))
    cutoff = cutoff or usual_cutoff(log, other)
    with progress_bar('identify', passes(description) * len(log.time) + len(other.time)) as bar:
        result = identified(description, log, other, beliefs, cutoff, bar.update, motors)
    suspicions = [*doubts(result)]
    refused = bool(suspicions) and not accept
    original = load_description(mechanism)
    texts = _texts(result, original, files, log_file, held_out, drives_file, suspicions)
    if refused:
        texts = {files.report: texts[files.report]}  # to be looked at; nothing that would be used
    with results_in(output.parent, list(texts)) as folder:
        for name, text in texts.items():
            write_text(str(folder / name), text)
    for line in [*_findings(result, log), *_figures(result)]:
        click.echo(line)
    for sentence in suspicions:
        click.echo(sentence, err=True)
    if refused:
        where = output.parent / files.report
        click.echo(f'only {where} is written; --accept writes the description, too', err=True)
    click.echo(_summary(result))
    if refused:
        raise click.exceptions.Exit(1)


def _read(file: str, mechanism: Mechanism, topic: str | None, names: dict[str, str]) -> RobotLog:
    """A recording; how far it is read is shown where that takes long."""
    with share_done(0.0, 1.0, f'reading {pathlib.Path(file).name}') as show:
        return read_log(file, mechanism, topic, names, lambda done, size: show(done / size))


def _findings(result: Identified, log: RobotLog) -> Iterator[str]:
    """What else a person should know."""
    yield from _scales(result)
    yield from (*result.remarks, *result.friction)
    if log.wrench is not None and result.measured.wrench is None:
        yield 'the force sensor shows noise alone: taken as no force'
    if masses := _no_weights(result):
        yield masses
    if result.kept:
        yield f'not determined, as in the file: {", ".join(result.kept)}'
    if len(result.mechanism.actuated) == len(result.mechanism.independent):
        yield 'no redundant motors: encoders and torque constants cannot be checked'


def _no_weights(result: Identified) -> str:
    """A sentence on masses that nobody should read off, empty if there are none."""
    masses = [name for name in result.combined if name.endswith(f'.{INERTIAL[0]}')]
    if not masses:
        return ''
    return f'known only together with other numbers, not to be read as weights: {", ".join(masses)}'


def _figures(result: Identified) -> Iterator[str]:
    """Errors of each motor's efforts."""
    names, held = result.mechanism.actuated, result.held_out
    width = max(map(len, names))
    yield f'{"":{width}}  with the file  least squares    now   (% of efforts, held out)'
    columns = (100.0 * held.error_by_motor(x) for x in (0.0, result.plain, result.x))
    for name, before, plain, now in zip(names, *columns, strict=True):
        yield f'{name:{width}}  {before:13.2f}  {plain:13.2f}  {now:5.2f}'
    now, written = (held.error_by_motor(x) for x in (result.x, result.written))
    if more := np.flatnonzero(written > np.maximum(_MORE * now, NEGLIGIBLE)).tolist():
        listed = ', '.join(f'{names[k]} {100.0 * written[k]:.4g} %' for k in more)
        yield (
            'without the offsets of efforts, which belong to sensors and are not written: '
            f'{listed}; together {100.0 * held.error(result.written):.2f} %'
        )


def _summary(result: Identified) -> str:
    before, after = result.errors
    return (
        f'{len(result.learnt.amounts)} combinations of {len(result.deviations)} parameters learnt; '
        f'error of efforts, held out: {100.0 * before:.2f} % with the file, '
        f'{100.0 * after:.2f} % now, {100.0 * result.held_out.error(result.plain):.2f} % by least '
        'squares'
    )


def _scales(result: Identified) -> Iterator[str]:
    """By how much motors and a force sensor err."""
    for name, scale in result.values.items():
        joint, _, kind = name.rpartition('.')
        sure = f'(standard deviation {result.deviations[name]:.2g})'
        if kind == 'effort_scale':
            yield f'{joint} gives {scale:.4g} times the efforts that are measured {sure}'
        elif name == 'sensor.scale':
            yield f'force sensor: forces are {scale:.4g} times what it shows {sure}'
        elif joint == 'sensor':
            yield f'force sensor: {scale:.3g} is to be added to {kind} {sure}'


class _Files(NamedTuple):
    """Names of the files to write; none of drives without a file of them."""

    description: str
    urdf: str
    report: str
    drives: str


def _files(output: pathlib.Path, drives_file: pathlib.Path | None) -> _Files:
    """Names of the files to write, none of which exists."""
    if output.suffix != '.yaml':
        raise InputError(f'{output}: the description should be called something.yaml')
    drives = f'{output.stem}_drives.yaml' if drives_file is not None else ''
    files = _Files(output.name, f'{output.stem}.urdf', f'{output.stem}.html', drives)
    for name in filter(None, files):
        if (output.parent / name).exists():
            raise InputError(f'{output.parent / name} exists; it is not replaced')
    return files


def _texts(
    result: Identified,
    original: MechanismDescription,
    files: _Files,
    log_file: str,
    held_out: str | None,
    drives_file: pathlib.Path | None,
    doubts: list[str],
) -> dict[str, str]:
    """All files, which were tried before."""
    before, after = result.errors
    if not (after < before or doubts):
        raise InputError(
            f'numbers found are no better than those of the file ({100.0 * after:.2f} % against '
            f'{100.0 * before:.2f} % error of efforts, held out): nothing is written'
        )
    comment = f'Identified by `masticator identify` from {pathlib.Path(log_file).name}.'
    values, stem = result.values, pathlib.Path(files.description).stem
    mechanism = result.mechanism
    if drives_file is not None:
        values = without_drive_friction(mechanism, original, values)
        mechanism = Mechanism(with_motor_friction(original))
    heading = '\n'.join([comment, *textwrap.wrap(_no_weights(result), _WIDTH)])
    texts = description_files(mechanism, values, stem, heading)
    if drives_file is not None:
        texts[files.drives] = drives_text(drives_file, result.values, comment)
    check_loads(texts, stem)
    judged = held_out or f'the end of {log_file}'
    return {**texts, files.report: report(result, log_file, judged, doubts)}


@click.command('excite')
@mechanism_argument
@file_option("Motion with derivatives (CSV); '-': standard output.")
@number_option('--duration', 1.0, 3600.0, 20.0, 'How long the motion takes, s.', 'S')
@number_option(
    '--highest', 0.01, 100.0, 2.0, 'Highest frequency, Hz; the lowest is a sixth of it.', 'HZ'
)
@number_option('--rate', 1.0, 1e4, 250.0, 'Rows of the motion per second.', 'HZ')
@number_option('--tries', 2, 100_000, 100, 'Motions to compare.')
@click.option('--seed', type=int, default=0, show_default=True, help='Same seed, same motion.')
@number_option(
    '--internal', 0.0, None, 0.0,
    'Largest effort that redundant motors give against one another, N m or N; columns internal_J '
    'tell it for every motor J.', 'EFFORT',
)  # fmt: skip
@number_option(
    '--conditioning', 0.0, 0.99, 0.2, "Part of home's distance from singularities that is kept.",
    'SHARE',
)  # fmt: skip
def excite(
    mechanism: str,
    output_file: str,
    duration: float,
    highest: float,
    rate: float,
    tries: int,
    seed: int,
    internal: float,
    conditioning: float,
) -> None:
    """A motion from which `masticator identify` learns much.

    Sums of sines in the independent coordinates, from rest in the middle of all ranges and back, as
    large as the ranges of joints and sockets and the limits of the motors allow, and chosen for the
    information in the efforts that it takes. Teeth (links incisor, molar_left, molar_right) stay
    below where they are at home.
    """
    from masticator_dynamics.robot.twin.stops import TEETH  # takes longer to import than help

    check_writable(output_file, mechanism)
    loaded = Mechanism.load(mechanism)
    teeth = [link for link in TEETH if link in loaded.frames]
    with progress_bar('excite', steps(loaded, tries)) as bar:
        motion = exciting_motion(
            loaded, duration, highest, rate, tries, seed, bar.update, internal, teeth, conditioning
        )
    # y, y_dot and y_ddot of the first coordinate, then of the second, as the header has them.
    values = np.stack(motion.rows, axis=2).reshape(len(motion), -1)
    names, values = motion_columns(loaded), np.column_stack([motion.time, values])
    if internal:
        names = [*names, *(f'internal_{joint}' for joint in loaded.actuated)]
        values = np.column_stack([values, motion.internal])
    write_table(output_file, names, values)
    before, after = motion.condition
    click.echo(
        f'{len(motion.time)} rows; condition of the equations {before:.3g} at first, {after:.3g} '
        f'now; directions that such a recording tells: {motion.learnt[0]} at first, '
        f'{motion.learnt[1]} now; singularities are never nearer than {motion.conditioning:.2g} of '
        "home's distance",
        err=True,
    )


_CONFIDENT = 1.96  # standard deviations on both sides of 95 % of a normal distribution


@click.command('calibrate')
@mechanism_argument
@click.option(
    '--joints', 'joints_file', metavar='FILE', required=True,
    help='Positions of the actuated joints while the mechanism moved through its range: CSV, or a '
    'bag or a file of one.',
)  # fmt: skip
@recording_options('--names')
@file_option("Parameters found (YAML); '-': standard output.")
@click.option(
    '--parameters', metavar='LIST', callback=split_names,
    help='What is unknown: crank_1.zero,coupler_1_tip_fixed.z, ... (default: all zeros).',
)  # fmt: skip
@number_option(
    '--tolerance', 0.0, None, 1e-5,
    'Standard deviation of each coordinate of all other parts, m.', 'M',
)  # fmt: skip
@click.option(
    '--resolution', type=click.FloatRange(min=0.0, min_open=True), metavar='RAD',
    help='One count of the encoders, rad or m (default: as the readings show).',
)  # fmt: skip
@click.option(
    '--fixture', 'fixture_file', metavar='FILE',
    help='The same readings in poses held by a fixture, with their independent coordinates (CSV).',
)  # fmt: skip
@click.option(
    '--fixture-error', type=click.FloatRange(min=0.0, min_open=True), metavar='M', default=1e-5,
    show_default=True, help='Standard deviation of these coordinates, m or rad.',
)  # fmt: skip
def calibrate(
    mechanism: str,
    joints_file: str,
    topic: str | None,
    names: dict[str, str],
    output_file: str,
    parameters: tuple[str, ...] | None,
    tolerance: float,
    resolution: float | None,
    fixture_file: str | None,
    fixture_error: float,
) -> None:
    """Zeros of the encoders, and dimensions, from redundant encoders alone.

    With more encoders than degrees of freedom, readings must agree with one another. What they do
    not tell is named, with the measurement that would.
    """
    import yaml

    check_writable(output_file, joints_file, fixture_file, mechanism)
    loaded = Mechanism.load(mechanism)
    check_joints(loaded, names)
    table = read_joints(joints_file, [loaded.actuated], topic=topic, names=names)
    warn(*table.doubts)
    readings = actuated_positions(table, loaded)
    noise = None if resolution is None else np.full(readings.shape[1], resolution / np.sqrt(12.0))
    try:
        calibration = found_by(
            loaded, readings, noise, parameters or (), tolerance=tolerance,
            fixture=_fixture(loaded, fixture_file, fixture_error),
        )  # fmt: skip
        refuse_worse(loaded, readings, calibration)
    except InputError as error:
        raise InputError(f'{joints_file}: {error}') from error
    for line in calibration_lines(loaded, calibration, tolerance):
        click.echo(line, err=output_file == '-')
    write_text(output_file, yaml.safe_dump({'parameters': calibration.parameters}, sort_keys=False))


def _fixture(mechanism: Mechanism, file: str | None, error: float) -> Fixture | None:
    if file is None:
        return None
    table = read_table(file)
    y = table.numbers(mechanism.independent)
    return Fixture(actuated_positions(table, mechanism), y, np.full(y.shape[1], error))


def calibration_lines(mechanism: Mechanism, result: Calibration, tolerance: float) -> list[str]:
    """What was found, line by line."""
    encoders, freedoms = len(mechanism.actuated), len(mechanism.independent)
    lines = []
    if encoders == freedoms:
        lines.append(
            f'{encoders} encoders for {freedoms} degrees of freedom: any readings agree, so they '
            'tell nothing by themselves'
        )
    for k, name in enumerate(result.names):
        unit, half = result.units[k], _CONFIDENT * result.sd[k]
        angle = f' ({np.degrees(half):.2g} degrees)' if unit == 'rad' else ''
        text = f'{result.values[k]:.6g} {unit}'.strip()
        text += f' within {half:.2g} {unit}'.rstrip() + angle if result.learnt[k] else ', not seen'
        lines.append(f'{name}: {text}')
    if any(result.learnt):
        lines.append(f'(95 %, other dimensions known to {tolerance * 1e3:g} mm each)')
    lines += [f'not seen: {u.text}; {u.remedy} would show it' for u in result.unseen]
    if np.isfinite(result.residual_after):
        lines.append(
            f'redundant encoders disagreed by {result.residual_before:.3g} and now by '
            f'{result.residual_after:.3g} (root mean square, rad or m, held-out poses)'
        )
    if result.misfit > SUSPICIOUS:
        lines.append(
            f'errors are {result.misfit:.2g} times what the encoders and the tolerance explain: '
            'something else is off, a dimension, play, or an encoder'
        )
    return lines
