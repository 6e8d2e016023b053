# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator fit-food``: a food for the twin, from a measured compression curve."""

from __future__ import annotations

import click


@click.command('fit-food')
@click.argument('curve', metavar='CURVE')
@click.option('--output', required=True, metavar='FILE', help="Food (YAML); '-': standard output.")
@click.option('--thickness', type=float, required=True, help='Of the sample, m.')
@click.option(
    '--softening',
    type=click.FloatRange(0.0, 1.0),
    default=1.0,
    show_default=True,
    help='Force of a bite over that of the bite before; one compression does not tell.',
)
def fit_food(curve: str, output: str, thickness: float, softening: float) -> None:
    """Fit stiffness, yield force and fracture to CURVE (CSV: displacement in m, force in N)."""
    import yaml

    from masticator_dynamics.errors import InputError
    from masticator_dynamics.files.tables import check_writable, read_table, write_text
    from masticator_dynamics.robot.laboratory.food_fit import fit_food as fit

    check_writable(output, curve)
    table = read_table(curve)
    displacement, force = table.numbers(['displacement', 'force']).T
    try:
        found = fit(displacement, force, thickness=thickness, softening=softening)
    except InputError as error:
        raise InputError(f'{curve}: {error}') from error
    kept = {k: v for k, v in dict(found.food).items() if k not in ('side', 'bites')}
    broken = 'with a fracture' if found.breaks else 'without a fracture'
    note = (
        f'# Fitted to {curve}, {broken}; the law differs from the curve by '
        f'{found.residual:.1%} of its peak (root mean square).\n'
    )
    write_text(output, note + yaml.safe_dump(kept, sort_keys=False))
    click.echo(
        f'{found.food.stiffness / 1e3:.4g} N/mm, yields at {found.food.yield_force:.4g} N, '
        f'{broken}, residual {found.residual:.1%} of the peak',
        err=True,
    )
