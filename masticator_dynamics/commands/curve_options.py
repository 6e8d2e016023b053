# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of commands that read measured curves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import click

from masticator_dynamics.robot.laboratory.units import SI, UNITS, size

_ONE = re.compile(rf'\s*,?\s*({"|".join(SI)})\s*=')


def by_quantity(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """``force=NAME,time=NAME`` as a mapping (a callback for click); names may have commas."""
    found: dict[str, str] = {}
    for value in values:
        parts = _ONE.split(value)
        if parts[0].strip() or len(parts) < 3:
            raise click.BadParameter(
                f'{value!r} is not QUANTITY=…, of {", ".join(SI)}', context, parameter
            )
        for quantity, text in zip(parts[1::2], parts[2::2], strict=True):
            if quantity in found:
                raise click.BadParameter(f'{quantity} is there twice', context, parameter)
            found[quantity] = text.strip()
    return found


def units_by_quantity(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """Units that are known, as :func:`by_quantity`."""
    found = by_quantity(context, parameter, values)
    for quantity, unit in found.items():
        if unit.casefold() not in UNITS[quantity]:
            raise click.BadParameter(
                f'{unit!r} is no unit of {quantity}; there are {", ".join(UNITS[quantity])}',
                context, parameter,
            )  # fmt: skip
    return found


def size_of(quantity: str) -> Callable[[click.Context, click.Parameter, str], float]:
    """A callback for click that reads a size such as ``8mm``, in SI units without a unit."""

    def callback(context: click.Context, parameter: click.Parameter, value: str) -> float:
        try:
            return size(value, quantity)
        except ValueError:
            example = f'0.008 ({SI[quantity]}) or 8{next(iter(UNITS[quantity]))}'
            raise click.BadParameter(
                f'{value!r} is no size such as {example}', context, parameter
            ) from None

    return callback


columns_option = click.option(
    '--columns', multiple=True, callback=by_quantity, metavar='QUANTITY=NAME,…',
    help='Columns of displacement, force and time, by name or number. Default: by the header.',
)  # fmt: skip
units_option = click.option(
    '--units', multiple=True, callback=units_by_quantity, metavar='QUANTITY=UNIT,…',
    help='Such as displacement=mm,force=g. Default: as in the header.',
)  # fmt: skip
