# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator fit-food``: a food for the twin, from a measured compression curve."""

from __future__ import annotations

import click

from masticator_dynamics.commands.grid_options import check_matplotlib
from masticator_dynamics.commands.texture import columns_option, size_of, units_option


@click.command('fit-food')
@click.argument('curve', metavar='CURVE')
@click.option('--output', required=True, metavar='FILE', help="Food (YAML); '-': standard output.")
@click.option(
    '--thickness', required=True, callback=size_of('displacement'),
    help='Of the sample: 8mm, or 0.008 (m).',
)  # fmt: skip
@click.option(
    '--softening',
    type=click.FloatRange(0.0, 1.0),
    default=1.0,
    show_default=True,
    help='Force of a bite over that of the bite before; one compression does not determine it.',
)
@click.option('--plot', metavar='FILE', help='Picture of curve and fit: PNG, SVG or PDF.')
@columns_option
@units_option
def fit_food(
    curve: str,
    output: str,
    thickness: float,
    softening: float,
    plot: str | None,
    columns: dict[str, str],
    units: dict[str, str],
) -> None:
    """Fit stiffness, yield force and fracture to CURVE, a compression as analysers export it.

    CURVE has displacement and force; units are read from its header. A file with the columns
    displacement and force alone is in m and N.
    """
    import io
    import pathlib

    import yaml

    from masticator_dynamics.errors import InputError
    from masticator_dynamics.files.tables import check_writable, write_bytes, write_text
    from masticator_dynamics.robot.laboratory.curves import read_curve
    from masticator_dynamics.robot.laboratory.food_fit import fit_figure
    from masticator_dynamics.robot.laboratory.food_fit import fit_food as fit
    from masticator_dynamics.robot.laboratory.units import check_possible

    check_writable(output, curve)
    if plot is not None:
        check_matplotlib('--plot', '')
        check_writable(plot, curve, output)
        kind = pathlib.Path(plot).suffix.lstrip('.').lower()
        if kind not in ('png', 'svg', 'pdf'):
            raise InputError(f'--plot {plot}: pictures are .png, .svg or .pdf')
    check_possible('--thickness', 'thickness', thickness, 'write a unit, such as 8mm')
    read = read_curve(curve, columns, units)
    try:
        found = fit(read.displacement, read.force, thickness=thickness, softening=softening)
    except InputError as error:
        raise InputError(f'{curve}: {error}') from error
    values = {k: v for k, v in dict(found.food).items() if k not in ('side', 'bites')}
    kept = {k: float(f'{v:.6g}') if isinstance(v, float) else v for k, v in values.items()}
    broken = 'with a fracture' if found.breaks else 'without a fracture'
    note = (
        f'# Fitted to {curve}, {broken}; the law differs from the curve by '
        f'{found.residual:.1%} of its peak (root mean square).\n'
    )
    write_text(output, note + yaml.safe_dump(kept, sort_keys=False))
    if plot is not None:
        picture = io.BytesIO()
        figure = fit_figure(found, read.displacement, read.force)
        figure.savefig(picture, format=kind, dpi=160)
        write_bytes(plot, picture.getvalue())
    click.echo(read.reading, err=True)
    click.echo(
        f'{found.food.stiffness / 1e3:.4g} N/mm, yields at {found.food.yield_force:.4g} N, '
        f'{broken}, residual {found.residual:.1%} of the peak',
        err=True,
    )
