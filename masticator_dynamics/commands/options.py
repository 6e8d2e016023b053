# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from masticator_dynamics.engine.evaluation.goals import GOALS

Value = TypeVar('Value')

mechanism_argument = click.argument('mechanism')
motion_option = click.option(
    '--motion', 'motion_file', metavar='FILE', required=True,
    help='Motion in independent coordinates (CSV).',
)  # fmt: skip


def _no_description(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse to put a table in the place of a robot's file (a callback for click)."""
    path = pathlib.Path(value)
    if path.suffix in ('.urdf', '.xacro', '.yaml', '.yml', '.xml', '.sdf') and path.exists():
        raise click.BadParameter(
            f'{value} is a file of a robot, which the table would replace; choose another file',
            context,
            parameter,
        )
    return value


output_option = click.option(
    '--output', 'output_file', metavar='FILE', required=True, callback=_no_description,
    help='File to write (CSV).',
)  # fmt: skip
goal_option = click.option(
    '--goal', type=click.Choice(GOALS), default='torque', show_default=True,
    help='What redundant actuators minimise.',
)  # fmt: skip
friction_option = click.option(
    '--friction', is_flag=True, help='Include friction of joints and contacts.'
)
incisor_option = click.option(
    '--incisor', metavar='FILE',
    type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    help='Recorded incisor to chew along (CSV), instead of the built-in strokes.',
)  # fmt: skip
strict_option = click.option(
    '--strict', is_flag=True, help='Refuse motions that leave a range of a joint, socket or motor.'
)
scheduler_option = click.option(
    '--scheduler', metavar='ADDRESS',
    help='Dask scheduler, such as tcp://host:8786, whose workers compute instead of this machine.',
)  # fmt: skip


def split_names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Comma-separated names, each once (a callback for click).

    Parameters
    ----------
    context, parameter
        From click, for its messages.
    value : str or None
        Names as typed; None if the option is not given.
    """
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(','))
    for name in names:
        if not name:
            raise click.BadParameter(f'{value!r} has an empty name', context, parameter)
        if names.count(name) > 1:
            raise click.BadParameter(f'{name!r} is there twice', context, parameter)
    return names


actuators_option = click.option(
    '--actuators', metavar='LIST', callback=split_names,
    help='Actuated joints that drive, comma separated; the others idle. Default: all.',
)  # fmt: skip


def named_values(
    form: str, read: Callable[[str], Value]
) -> Callable[[click.Context, click.Parameter, Sequence[str]], dict[str, Value]]:
    """A callback for click that reads values by name, each name once.

    ``form`` is how one is written, for messages; ``read`` reads what stands behind the ``=``, or
    raises ValueError.
    """

    def callback(
        context: click.Context, parameter: click.Parameter, values: Sequence[str]
    ) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for value in values:
            name, equals, text = value.partition('=')
            if name in found:
                raise click.BadParameter(f'{name!r} is there twice', context, parameter)
            try:
                if not (name and equals):
                    raise ValueError
                found[name] = read(text)
            except ValueError:
                raise click.BadParameter(f'{value!r} is not {form}', context, parameter) from None
        return found

    return callback
