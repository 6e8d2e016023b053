# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator identify``: the numbers of a robot from a recording of it."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.commands.grid_options import check_matplotlib
from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.commands.terminal import progress_bar
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import write_text
from masticator_dynamics.identification.identify import Identified, passes, with_motor_friction
from masticator_dynamics.identification.identify import identify as identified
from masticator_dynamics.identification.report import report
from masticator_dynamics.identification.robot_log import checked, read_log
from masticator_dynamics.identification.unknowns import Beliefs
from masticator_dynamics.identification.written import (
    check_loads,
    description_files,
    drives_text,
    with_drive_friction,
    without_drive_friction,
)
from masticator_dynamics.mechanism import Mechanism

_HELD_OUT = 0.25  # of the recording, its end


@click.command('identify')
@mechanism_argument
@click.option(
    '--log', 'log_file', metavar='FILE', required=True,
    help='Recording (CSV or MCAP) with positions and efforts of all motors.',
)  # fmt: skip
@click.option(
    '--output', 'output', type=click.Path(path_type=pathlib.Path), metavar='FILE', required=True,
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
@click.option('--topic', help='Of joint states in an MCAP file. Default: the one that fits.')
@click.option(
    '--cutoff', type=click.FloatRange(1.0, 200.0), default=15.0, show_default=True,
    help='Of the filter, Hz: above what the motion holds, below what only shakes.',
)  # fmt: skip
@click.option(
    '--torque-constants', type=click.FloatRange(0.0, 1.0), default=0.0, show_default=True,
    help='How far measured efforts may err by a factor (standard deviation).',
)  # fmt: skip
@click.option(
    '--sensor', type=click.FloatRange(0.0, 1.0), default=0.0, show_default=True,
    help='How far the force sensor may err, in scale and offset (standard deviation).',
)  # fmt: skip
def identify(
    mechanism: str,
    log_file: str,
    output: pathlib.Path,
    held_out: str | None,
    drives_file: pathlib.Path | None,
    topic: str | None,
    cutoff: float,
    torque_constants: float,
    sensor: float,
) -> None:
    """Find masses, friction and more of a robot from a recording of its motion.

    Columns of a CSV log: time; position_J and effort_J of every actuated joint J; fx fy fz tx ty tz
    on the platform, or none of these. Files that exist are not replaced.

    Example: masticator identify masticator --log run.csv --output mine.yaml
    """
    files = _files(output, drives_file)
    check_matplotlib()
    description = load_description(mechanism)
    if drives_file is not None:
        description = with_rotors(description, load_drives(drives_file))
        description = with_motor_friction(description)
        description = with_drive_friction(description, load_drives(drives_file))
    beliefs = Beliefs(effort=torque_constants, sensor=sensor)
    loaded = Mechanism(description)
    log = checked(loaded, read_log(log_file, loaded, topic))
    if held_out is None:
        end = round((1.0 - _HELD_OUT) * len(log.time))
        log, other = log.part(slice(0, end)), log.part(slice(end, None))
    else:
        other = checked(loaded, read_log(held_out, loaded, topic))
    with progress_bar('identify', passes(description) * len(log.time) + len(other.time)) as bar:
        found = identified(description, log, other, beliefs, cutoff, bar.update)
    texts = _texts(found, load_description(mechanism), files, log_file, held_out, drives_file)
    with results_in(output.parent, list(texts)) as folder:
        for name, text in texts.items():
            write_text(str(folder / name), text)
    before, after = found.errors
    click.echo(
        f'{len(found.learnt.amounts)} combinations of {len(found.deviations)} parameters learnt; '
        f'error of efforts, held out: {100.0 * before:.2f} % with the file, '
        f'{100.0 * after:.2f} % now'
    )
    if found.kept:
        click.echo(f'not determined, as in the file: {", ".join(found.kept)}')
    if len(loaded.actuated) == len(loaded.independent):
        click.echo('no redundant motors: encoders and torque constants cannot be checked')


def _files(output: pathlib.Path, drives_file: pathlib.Path | None) -> list[str]:
    """Names of the files to write, none of which exists."""
    if output.suffix != '.yaml':
        raise InputError(f'{output}: the description should be called something.yaml')
    names = [output.name, f'{output.stem}.urdf', f'{output.stem}.html']
    names += [f'{output.stem}_drives.yaml'] if drives_file is not None else []
    for name in names:
        if (output.parent / name).exists():
            raise InputError(f'{output.parent / name} exists; it is not replaced')
    return names


def _texts(
    found: Identified,
    original: MechanismDescription,
    files: list[str],
    log_file: str,
    held_out: str | None,
    drives_file: pathlib.Path | None,
) -> dict[str, str]:
    """All files, which were tried before."""
    before, after = found.errors
    if not after < before:
        raise InputError(
            f'numbers found are no better than those of the file ({100.0 * after:.2f} % against '
            f'{100.0 * before:.2f} % error of efforts, held out): nothing is written'
        )
    comment = f'Identified by `masticator identify` from {pathlib.Path(log_file).name}.'
    values, stem = found.values, pathlib.Path(files[0]).stem
    mechanism = found.mechanism
    if drives_file is not None:
        values = without_drive_friction(mechanism, original, values)
        mechanism = Mechanism(with_motor_friction(original))
    written = description_files(mechanism, values, stem, comment)
    check_loads(written, stem)
    judged = held_out or f'the end of {log_file}'
    texts = {**written.texts, files[2]: report(found, log_file, judged)}
    if drives_file is not None:
        texts[files[3]] = drives_text(drives_file, found.values, comment)
    return texts
