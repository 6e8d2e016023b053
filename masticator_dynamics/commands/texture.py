# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator texture``: the two-bite profile of measured curves."""

from __future__ import annotations

import math

import click

from masticator_dynamics.commands.grid_options import columns_option, size_of, units_option


@click.command()
@click.argument('curves', metavar='CURVE...', nargs=-1, required=True)
@click.option('--output', required=True, metavar='FILE', help="Table (CSV); '-': standard output.")
@click.option(
    '--touch', default='0.1N', show_default=True, callback=size_of('force'),
    help='Force above which the plunger touches the sample.',
)  # fmt: skip
@columns_option
@units_option
def texture(
    curves: tuple[str, ...],
    output: str,
    touch: float,
    columns: dict[str, str],
    units: dict[str, str],
) -> None:
    """Two-bite profile of every CURVE, a file of a texture analyser or a folder of them.

    A file has time, displacement and force in any of the usual forms; units are read from its
    header. The table has one row per file, in SI units, with the figures by work and deformation
    and, behind analyser_, those that instruments print.
    """
    import numpy as np

    from masticator_dynamics.errors import InputError
    from masticator_dynamics.files.tables import check_writable, write_table
    from masticator_dynamics.robot.laboratory.curves import curve_files, read_curve
    from masticator_dynamics.robot.laboratory.texture_profile import figures, strokes

    if not 0.0 < touch < math.inf:
        raise InputError(f'--touch is {touch:g} N, expected a positive number')
    files = curve_files(curves)
    check_writable(output, *files)
    rows, readings = [], []
    for file in files:
        curve = read_curve(file, columns, units, timed=True)
        gap = curve.displacement.max() - curve.displacement
        try:
            found = strokes(curve.time, gap, curve.force, touch)
        except InputError as error:
            raise InputError(f'{file}: {error}') from error
        bites = tuple(stroke for stroke in found if stroke.contact_time)
        rows.append({'curve': file, **figures(bites)})
        told = '' if len(bites) == 2 else f'; bites above {touch:g} N: {len(bites)}, not two'
        readings.append(curve.reading + told)
    names = list(rows[0])
    write_table(output, names, np.array([list(row.values()) for row in rows], dtype=object))
    click.echo('\n'.join(readings), err=True)
