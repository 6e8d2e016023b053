# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator calibrate``: zeros of encoders, and dimensions, from what the encoders show."""

from __future__ import annotations

import click
import numpy as np

from masticator_dynamics.commands.options import mechanism_argument, split_names
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import check_writable, read_table, write_text
from masticator_dynamics.identification.calibration import Calibration
from masticator_dynamics.identification.calibration import calibrate as found_by
from masticator_dynamics.identification.calibration_search import Fixture
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import actuated_positions

_CONFIDENT = 1.96  # standard deviations on both sides of 95 % of a normal distribution
_NOT_MUCH = 2.0  # times what noise explains, from which a sentence says that something is wrong


@click.command('calibrate')
@mechanism_argument
@click.option(
    '--joints', 'joints_file', metavar='FILE', required=True,
    help='Positions of the actuated joints while the mechanism moved through its range (CSV).',
)  # fmt: skip
@click.option(
    '--output', 'output_file', metavar='FILE', required=True,
    help="Parameters found (YAML); '-': standard output.",
)  # fmt: skip
@click.option(
    '--parameters', 'names', metavar='LIST', callback=split_names,
    help='What is unknown: crank_1.zero,coupler_1_tip_fixed.z, ... (default: all zeros).',
)  # fmt: skip
@click.option(
    '--tolerance', type=click.FloatRange(min=0.0), metavar='M', default=1e-5, show_default=True,
    help='Standard deviation of each coordinate of all other parts, m.',
)  # fmt: skip
@click.option(
    '--resolution', type=click.FloatRange(min=0.0, min_open=True), metavar='RAD',
    help='One count of the encoders, rad or m (default: the smallest step in the file).',
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
    output_file: str,
    names: tuple[str, ...] | None,
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
    readings = actuated_positions(read_table(joints_file), loaded)
    count = np.full(readings.shape[1], resolution) if resolution else _smallest_steps(readings)
    try:
        found = found_by(
            loaded, readings, count / np.sqrt(12.0), names or (), tolerance=tolerance,
            fixture=_fixture(loaded, fixture_file, fixture_error),
        )  # fmt: skip
    except InputError as error:
        raise InputError(f'{joints_file}: {error}') from error
    for line in report(loaded, found, tolerance):
        click.echo(line, err=output_file == '-')
    write_text(output_file, yaml.safe_dump({'parameters': found.parameters}, sort_keys=False))


def _smallest_steps(readings: FloatArray) -> FloatArray:
    """The smallest step (n_u,) of each encoder in a recording: a count, or what text has left."""
    steps = np.abs(np.diff(readings, axis=0))
    steps = np.where(steps > 1e-12, steps, np.inf).min(axis=0, initial=np.inf)
    if np.isinf(steps).all():
        return np.full(len(steps), 1e-6)
    return np.where(np.isfinite(steps), steps, steps[np.isfinite(steps)].max())


def _fixture(mechanism: Mechanism, file: str | None, error: float) -> Fixture | None:
    if file is None:
        return None
    table = read_table(file)
    y = table.numbers(mechanism.independent)
    return Fixture(actuated_positions(table, mechanism), y, np.full(y.shape[1], error))


def report(mechanism: Mechanism, found: Calibration, tolerance: float) -> list[str]:
    """What was found, line by line."""
    encoders, freedoms = len(mechanism.actuated), len(mechanism.independent)
    lines = []
    if encoders == freedoms:
        lines.append(
            f'{encoders} encoders for {freedoms} degrees of freedom: any readings agree, so they '
            'tell nothing by themselves'
        )
    for k, name in enumerate(found.names):
        unit, half = found.units[k], _CONFIDENT * found.sd[k]
        angle = f' ({np.degrees(half):.2g} degrees)' if unit == 'rad' else ''
        text = f'{found.values[k]:.6g} {unit}'.strip()
        text += f' within {half:.2g} {unit}'.rstrip() + angle if found.learnt[k] else ', not seen'
        lines.append(f'{name}: {text}')
    if any(found.learnt):
        lines.append(f'(95 %, other dimensions known to {tolerance * 1e3:g} mm each)')
    lines += [f'not seen: {u.text}; {u.remedy} would show it' for u in found.unseen]
    if np.isfinite(found.residual_after):
        lines.append(
            f'redundant encoders disagreed by {found.residual_before:.3g} and now by '
            f'{found.residual_after:.3g} (root mean square, rad or m, held-out poses)'
        )
    if found.misfit > _NOT_MUCH:
        lines.append(
            f'errors are {found.misfit:.2g} times what the encoders and the tolerance explain: '
            'something else is off, a dimension, play, or an encoder'
        )
    return lines
