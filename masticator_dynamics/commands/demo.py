# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator demo``: the main use case, end to end, without a robot."""

from __future__ import annotations

import pathlib
from typing import Any

import click

from masticator_dynamics.commands.options import incisor_option
from masticator_dynamics.errors import InputError


@click.command()
@click.argument('mechanism', default='masticator')
@click.option(
    '--output',
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    metavar='DIR',
    default='masticator_demo',
    show_default=True,
    help='Folder for what the demo writes.',
)
@incisor_option
@click.option(
    '--closed-loop',
    is_flag=True,
    help='With simulated drives on a CAN bus, the mechanism they move, and food, in real time.',
)
@click.option(
    '--rate',
    type=float,
    metavar='HZ',
    help='Cycles of the drives per second, with --closed-loop. Default: 250.',
)
@click.option(
    '--food',
    metavar='NAME',
    help='A shipped food, or the path of a YAML file, with --closed-loop. Default: soft.',
)
def demo(
    mechanism: str,
    output: pathlib.Path,
    incisor: pathlib.Path | None,
    closed_loop: bool,
    rate: float | None,
    food: str | None,
) -> int:
    """Chew, with no robot: from a recorded incisor to motor torques, with plots.

    By default MECHANISM is masticator; one that cannot chew swings about home, with a push on
    its platform.

    With --closed-loop the torques go to simulated drives, and how well the jaw follows is judged.
    """
    from masticator_dynamics.robot.demo import run_closed_loop, run_demo

    given: dict[str, Any] = {
        name: value for name, value in (('rate', rate), ('food', food)) if value is not None
    }
    if not closed_loop:
        if given:
            raise InputError(f'--{next(iter(given))} needs --closed-loop')
        return run_demo(output, incisor, mechanism)
    if mechanism != 'masticator':
        raise InputError(f'--closed-loop chews with masticator, not with {mechanism}')
    from masticator_dynamics.robot.recording.nodes import ClosedLoop

    return run_closed_loop(output, incisor, loop=ClosedLoop(**given))
