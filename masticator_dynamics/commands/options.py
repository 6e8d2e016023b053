# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share, and what reads them."""

from __future__ import annotations

import importlib.util
import io
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from masticator_dynamics.engine.traced.effort_goals import GOALS
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import STANDARD_STREAM, check_writable, write_bytes
from masticator_dynamics.optional import from_checkout

if TYPE_CHECKING:
    from masticator_dynamics.analysis.grid import Axis
    from masticator_dynamics.mechanism import Mechanism

Value = TypeVar('Value')
Option = Callable[[Any], Any]  # decorates a command

mechanism_argument = click.argument('mechanism')
motion_option = click.option(
    '--motion', 'motion_file', metavar='FILE', required=True,
    help='Motion in independent coordinates (CSV), or a recording of joints.',
)  # fmt: skip


def _no_description(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse to put a table in the place of a robot's file (a callback for click)."""
    path = pathlib.Path(value)
    if path.suffix in ('.urdf', '.xacro', '.yaml', '.yml', '.xml', '.sdf') and path.exists():
        raise click.BadParameter(
            f'{value} is a file of a robot, which the table would replace; choose another file'
        )
    return value


def file_option(text: str, **more: Any) -> Option:
    """``--output``, the file that a command writes."""
    return click.option(
        '-o', '--output', 'output_file', metavar='FILE', required=True, help=text, **more
    )


def folder_option(text: str, default: str | None = None) -> Option:
    """``--output``, the folder that a command writes to; without a default it must be given."""
    return click.option(
        '-o', '--output', type=click.Path(file_okay=False, path_type=pathlib.Path), default=default,
        metavar='FOLDER', required=default is None, show_default=default is not None, help=text,
    )  # fmt: skip


def number_option(
    name: str,
    low: float,
    high: float | None,
    default: float | None,
    text: str,
    unit: str | None = None,
) -> Option:
    """A number within bounds, whole where the lower one is; its unit stands in the help."""
    within: Any = click.IntRange if isinstance(low, int) else click.FloatRange
    return click.option(
        name, type=within(low, high), metavar=unit, default=default, show_default=True, help=text,
        callback=_finite,
    )  # fmt: skip


def _finite(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """Refuse NaN, which is within all bounds, and infinity (a callback for click)."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f'{value} is not a finite number')
    return value


output_option = file_option('File to write (CSV).', callback=_no_description)
goal_option = click.option(
    '--goal', type=click.Choice([*GOALS]), default='torque', show_default=True,
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
processes_option = click.option(
    '--processes', type=click.IntRange(min=1),
    help='How many at once. Default: one for each processor.',
)  # fmt: skip
scheduler_option = click.option(
    '--scheduler', metavar='ADDRESS',
    help='Dask scheduler, such as tcp://host:8786, whose workers compute instead of this machine.',
)  # fmt: skip


def _pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Names of joints in a recording by their names here (a callback for click)."""
    pairs: dict[str, str] = {}
    for text in (part.strip() for value in values for part in value.split(',')):
        here, equals, there = (part.strip() for part in text.partition('='))
        if not (here and equals and there):
            raise click.BadParameter(f'{text!r} is not of the form NAME=NAME_IN_THE_RECORDING')
        if here in pairs or there in pairs.values():
            raise click.BadParameter(f'{here if here in pairs else there} is there twice')
        pairs[here] = there
    return pairs


def joint_names_option(name: str = '--joints') -> Option:
    """How a recording calls joints; commands whose ``--joints`` is a file call it otherwise."""
    return click.option(
        name, 'names', multiple=True, metavar='NAME=NAME_IN_THE_RECORDING', callback=_pairs,
        help='How a recording calls joints: repeated, or a list with commas.',
    )  # fmt: skip


def recording_options(joints: str = '--joints') -> Option:
    """Where joints are in a recording, and :func:`joint_names_option`."""
    topic = click.option(
        '--topic', help='Of the joints in a recording. Default: the one that fits.'
    )
    return lambda command: topic(joint_names_option(joints)(command))


def check_joints(mechanism: Mechanism, names: Mapping[str, str]) -> None:
    """Refuse names of joints that a mechanism has not."""
    joints = dict.fromkeys((*mechanism.independent, *mechanism.tree_joints))
    for name in names:
        if name not in joints:
            raise InputError(
                f'{name}={names[name]}: {mechanism.name} has no joint {name}; it has '
                f'{", ".join(joints)}'
            )


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
            raise click.BadParameter(f'{value!r} has an empty name')
        if names.count(name) > 1:
            raise click.BadParameter(f'{name!r} is there twice')
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
        by_name: dict[str, Value] = {}
        for value in values:
            name, equals, text = value.partition('=')
            if name in by_name:
                raise click.BadParameter(f'{name!r} is there twice')
            try:
                if not (name and equals):
                    raise ValueError
                by_name[name] = read(text)
            except ValueError:
                raise click.BadParameter(f'{value!r} is not {form}') from None
        return by_name

    return callback


def _axes(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[Axis, ...]:
    """Read ``x``, ``x:41``, ``x:-0.01:0.01`` and ``x:-0.01:0.01:41`` (a callback for click)."""
    from masticator_dynamics.analysis.grid import Axis  # slow to import, and rarely needed

    axes = []
    for value in values:
        name, *numbers = value.split(':')
        try:
            steps = int(numbers.pop()) if len(numbers) in (1, 3) else None
            lower, upper = (float(number) for number in numbers) if numbers else (None, None)
        except ValueError:
            raise click.BadParameter(
                f'{value!r} is none of NAME, NAME:STEPS, NAME:LOW:HIGH and NAME:LOW:HIGH:STEPS'
            ) from None
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
            f'{what} needs matplotlib, which is not installed ({from_checkout("demo")}){done}'
        )


def write_plot(target: str, draw: Callable[[IO[bytes]], None]) -> None:
    """Write what ``draw`` draws, completely or not at all; ``-`` is standard output."""
    picture = io.BytesIO()
    draw(picture)
    write_bytes(target, picture.getvalue())
