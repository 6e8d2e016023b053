# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands for measured force curves: a food for the twin, and texture profiles."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from masticator_dynamics.commands.options import check_matplotlib, file_option, number_option
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.units import SI, UNITS, size

if TYPE_CHECKING:
    from masticator_dynamics.robot.laboratory.curves import FoodFit
    from masticator_dynamics.robot.twin.food import Food

_ONE = re.compile(rf'\s*,?\s*({"|".join(SI)})\s*=')


def by_quantity(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """``force=NAME,time=NAME`` as a mapping (a callback for click); names may have commas."""
    units: dict[str, str] = {}
    for value in values:
        parts = _ONE.split(value)
        if parts[0].strip() or len(parts) < 3:
            raise click.BadParameter(f'{value!r} is not QUANTITY=…, of {", ".join(SI)}')
        for quantity, text in zip(parts[1::2], parts[2::2], strict=True):
            if quantity in units:
                raise click.BadParameter(f'{quantity} is there twice')
            units[quantity] = text.strip()
    return units


def units_by_quantity(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """Units that are known, as :func:`by_quantity`."""
    units = by_quantity(context, parameter, values)
    for quantity, unit in units.items():
        if unit.casefold() not in UNITS[quantity]:
            raise click.BadParameter(
                f'{unit!r} is no unit of {quantity}; there are {", ".join(UNITS[quantity])}'
            )
    return units


def size_of(
    quantity: str, example: str
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """A callback for click that reads a size such as the example, in SI units without a unit."""

    def callback(
        context: click.Context, parameter: click.Parameter, value: str | None
    ) -> float | None:
        try:
            return None if value is None else size(value, quantity)
        except InputError:
            raise click.BadParameter(f'{value!r} is no size such as {example}') from None

    return callback


columns_option = click.option(
    '--columns', multiple=True, callback=by_quantity, metavar='QUANTITY=NAME,…',
    help='Columns of displacement, force and time, by name or number. Default: by the header.',
)  # fmt: skip
units_option = click.option(
    '--units', multiple=True, callback=units_by_quantity, metavar='QUANTITY=UNIT,…',
    help='Such as displacement=mm,force=g. Default: as in the header.',
)  # fmt: skip


@click.command('fit-food')
@click.argument('curve', metavar='CURVE')
@file_option("Food (YAML); '-': standard output.")
@click.option(
    '--thickness', required=True, callback=size_of('displacement', '8mm or 0.008 (m)'),
    help='Of the sample: 8mm, or 0.008 (m).',
)  # fmt: skip
@number_option(
    '--softening', 0.0, 1.0, 1.0,
    'Force of a bite over that of the bite before; one compression does not determine it.',
)  # fmt: skip
@click.option(
    '--relaxation', is_flag=True,
    help='Fit what relaxes in place of yield and fracture. CURVE has time, too, and is held.',
)  # fmt: skip
@click.option('--plot', metavar='FILE', help='Picture of curve and fit: PNG, SVG or PDF.')
@columns_option
@units_option
def fit_food(
    curve: str,
    output_file: str,
    thickness: float,
    softening: float,
    relaxation: bool,
    plot: str | None,
    columns: dict[str, str],
    units: dict[str, str],
) -> None:
    """Fit stiffness, yield force and fracture to CURVE, a compression as analysers export it.

    With --relaxation: stiffness, the part of it that relaxes, and in which time.

    CURVE has displacement and force; units are read from its header. A file with the columns
    displacement and force alone is in m and N.
    """
    import io

    import yaml

    from masticator_dynamics.files.tables import check_writable, write_bytes, write_text
    from masticator_dynamics.robot.laboratory.curves import fit_figure, read_curve
    from masticator_dynamics.robot.laboratory.curves import fit_food as fit
    from masticator_dynamics.robot.laboratory.relaxing_food import fit_relaxing_food
    from masticator_dynamics.robot.laboratory.units import check_possible

    check_writable(output_file, curve)
    if plot is not None:
        _check_picture(plot, curve, output_file)
    check_possible('--thickness', 'thickness', thickness, 'write a unit, such as 8mm')
    read = read_curve(curve, columns, units, timed=relaxation)
    try:
        rows = read.displacement, read.force
        if relaxation:
            fitted = fit_relaxing_food(read.time, *rows, thickness=thickness, softening=softening)
        else:
            fitted = fit(*rows, thickness=thickness, softening=softening)
    except InputError as error:
        raise InputError(f'{curve}: {error}') from error
    values = {k: v for k, v in dict(fitted.food).items() if k not in ('name', 'side', 'bites')}
    rounded = {k: float(f'{v:.6g}') if isinstance(v, float) else v for k, v in values.items()}
    failure = _relaxation(fitted.food) if relaxation else _failure(fitted)
    notes = [
        f'Fitted to {curve}, {failure}; the law differs from the curve by '
        f'{fitted.residual:.1%} of its peak (root mean square).',
        *fitted.notes,
    ]
    note = ''.join(f'# {" ".join(text.split())}\n' for text in notes)
    write_text(output_file, note + yaml.safe_dump(rounded, sort_keys=False))
    if plot is not None:
        picture = io.BytesIO()
        fit_figure(fitted).savefig(picture, format=_format(plot), dpi=160)
        write_bytes(plot, picture.getvalue())
    click.echo(read.reading, err=True)
    click.echo(
        f'{fitted.food.stiffness / 1e3:.4g} N/mm, {failure}, '
        f'residual {fitted.residual:.1%} of the peak',
        err=True,
    )
    for text in fitted.notes:
        click.echo(f'{curve}: {text}', err=True)


def _format(plot: str) -> str:
    """Format of a picture, by the ending of its file's name."""
    return pathlib.PurePath(plot).suffix.lstrip('.').lower()


def _check_picture(plot: str, *others: str) -> None:
    """Refuse a picture that cannot be drawn, or would replace one of the other files."""
    from masticator_dynamics.files.tables import check_writable

    check_matplotlib('--plot', '')
    check_writable(plot, *others)
    if _format(plot) not in ('png', 'svg', 'pdf'):
        raise InputError(f'--plot {plot}: pictures are .png, .svg or .pdf')


def _relaxation(food: Food) -> str:
    return f'{food.relaxing_share:.1%} of it relax in {food.relaxation_time:.4g} s'


def _failure(fitted: FoodFit) -> str:
    yielded = f'yields at {fitted.food.yield_force:.4g} N' if fitted.yields else 'does not yield'
    return f'{yielded}, {"breaks" if fitted.breaks else "does not break"}'


@click.command()
@click.argument('curves', metavar='CURVE...', nargs=-1, required=True)
@file_option("Table (CSV); '-': standard output.")
@click.option(
    '--touch', callback=size_of('force', '0.1N or 0.1'),
    help='Force above which the plunger touches the sample. Default: from noise and peak.',
)  # fmt: skip
@columns_option
@units_option
def texture(
    curves: tuple[str, ...],
    output_file: str,
    touch: float | None,
    columns: dict[str, str],
    units: dict[str, str],
) -> int:
    """Two-bite profile of every CURVE, a file of a texture analyser or a folder of them.

    A file has time, displacement and force in any of the usual forms; units are read from its
    header. Offset and drift of the force are taken off: they are read where the plunger is free.
    The table has one row per file, in SI units, with the figures by work and deformation and,
    behind analyser_, those that instruments print. Their means and standard deviations are shown
    with their units.

    A file without figures is named with the reason; all others are in the table, and the status
    is 1.
    """
    import numpy as np

    from masticator_dynamics.files.tables import check_writable, write_table
    from masticator_dynamics.robot.laboratory.curves import curve_files, read_curve
    from masticator_dynamics.robot.laboratory.two_bites import judge

    if touch is not None and not 0.0 < touch < math.inf:
        raise InputError(f'--touch is {touch:g} N, expected a positive number')
    files = curve_files(curves)
    check_writable(output_file, *files)
    rows, refused = [], []
    for file in files:
        try:
            curve = read_curve(file, columns, units, timed=True)
            judged = judge(curve, touch)
        except InputError as error:
            text = str(error)
            refused.append(text if text.startswith(file) else f'{file}: {text}')
            continue
        rows.append({'curve': file, **judged.figures})
        bites = '' if judged.bites == 2 else f'; bites: {judged.bites}, not two'
        click.echo(f'{curve.reading}; {judged.reading}{bites}', err=True)
    if rows:
        cells = np.array([list(row.values()) for row in rows], dtype=object)
        write_table(output_file, list(rows[0]), cells)
        _show_means(rows)
    for text in refused:
        click.echo(f'refused: {" ".join(text.split())}', err=True)
    if refused:
        click.echo(f'{len(refused)} of {len(files)} files have no figures', err=True)
    return 1 if refused else 0


def _show_means(rows: Sequence[Mapping[str, Any]]) -> None:
    """Means and standard deviations of the main figures, with their units."""
    import numpy as np

    from masticator_dynamics.robot.laboratory.units import (
        SHOWN,
        decimals_for,
        mean_and_deviation,
        named_figure,
    )

    for figure in SHOWN:
        values = np.array([row.get(figure, math.nan) for row in rows], dtype=float)
        values = values[np.isfinite(values)] * SHOWN[figure][1]
        if len(values):
            mean, deviation = values.mean(), values.std(ddof=1) if len(values) > 1 else math.nan
            text = mean_and_deviation(mean, deviation, decimals_for(math.nan, deviation, mean))
            click.echo(f'{named_figure(figure)}: {text}', err=True)
