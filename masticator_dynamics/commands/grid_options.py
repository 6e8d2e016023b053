# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of commands that compute something over a grid of poses and plot it."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Sequence
from typing import IO

import click

from masticator_dynamics.analysis.grid import Axis
from masticator_dynamics.commands.options import named_values
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import STANDARD_STREAM, check_writable, write_bytes


def _axes(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[Axis, ...]:
    """Read ``x``, ``x:41``, ``x:-0.01:0.01`` and ``x:-0.01:0.01:41`` (a callback for click)."""
    axes = []
    for value in values:
        name, *numbers = value.split(':')
        try:
            steps = int(numbers.pop()) if len(numbers) in (1, 3) else None
            lower, upper = (float(number) for number in numbers) if numbers else (None, None)
        except ValueError:
            raise click.BadParameter(
                f'{value!r} is none of NAME, NAME:STEPS, NAME:LOW:HIGH and NAME:LOW:HIGH:STEPS',
                context, parameter,
            ) from None  # fmt: skip
        axes.append(Axis(name, lower, upper, steps))
    return tuple(axes)


axis_option = click.option(
    '--axis', 'axes', metavar='NAME[:LOW:HIGH][:STEPS]', multiple=True, callback=_axes,
    help='Independent coordinate on the grid, rad or m; may be repeated. Default: all that are '
    'not fixed, over their limits in the URDF.',
)  # fmt: skip
fix_option = click.option(
    '--fix', 'fixed', metavar='NAME=VALUE', multiple=True,
    callback=named_values('NAME=VALUE', float),
    help='Value of a coordinate that is not on the grid; may be repeated. Default: home.',
)  # fmt: skip
plot_option = click.option('--plot', 'plot_file', metavar='FILE', help='Picture to write (PNG).')


def check_targets(output: str | None, plot: str | None, *sources: str | None) -> None:
    """Refuse to write data and picture to one place, or over what is read.

    Raises
    ------
    InputError
        Naming the place.
    """
    if output is not None and output == plot:
        where = 'standard output' if output == STANDARD_STREAM else output
        raise InputError(f'--output and --plot cannot both go to {where}')
    for target in (output, plot):
        if target is not None:
            check_writable(target, *sources)


def check_matplotlib(what: str = '--plot', done: str = '; everything else is done') -> None:
    """Refuse a plot that cannot be drawn; by default, the message says that all else is done.

    Raises
    ------
    InputError
        Without matplotlib.
    """
    if importlib.util.find_spec('matplotlib') is None:
        raise InputError(
            f'{what} needs matplotlib, which is not installed '
            f"(pip install 'masticator_dynamics[demo]'){done}"
        )


def write_plot(target: str, draw: Callable[[IO[bytes]], None]) -> None:
    """Write what ``draw`` draws, completely or not at all; ``-`` is standard output."""
    picture = io.BytesIO()
    draw(picture)
    write_bytes(target, picture.getvalue())
