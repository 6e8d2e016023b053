# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator close``: find a closed pose of a description, its home."""

from __future__ import annotations

import dataclasses
import pathlib
import warnings
from collections.abc import Collection, Iterator

import click
import yaml

from masticator_dynamics.commands.options import named_values
from masticator_dynamics.commands.terminal import warn
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.description.urdf import FARTHEST
from masticator_dynamics.engine.evaluation.closed_pose import ClosedPose, closed_pose
from masticator_dynamics.errors import (
    ClosureError,
    DescriptionError,
    DescriptionWarning,
    MasticatorError,
)
from masticator_dynamics.files.tables import replacing
from masticator_dynamics.mechanism import Mechanism

_ZERO = 1e-14  # rad or m
_ILL_CONDITIONED = 1000.0  # shipped mechanisms have at most 900 at home


def _number(text: str) -> float:
    number = float(text)
    if not abs(number) <= FARTHEST:
        raise ValueError
    return number


@click.command()
@click.argument('file')
@click.option(
    '--from', 'guess', metavar='JOINT=VALUE', multiple=True,
    callback=named_values(f'JOINT=VALUE with a number of at most {FARTHEST:g}', _number),
    help='Where to begin, rad or m; may be given again. Default: home as it stands, or 0.',
)  # fmt: skip
@click.option(
    '--hold', 'held', metavar='JOINT=VALUE', multiple=True,
    callback=named_values(f'JOINT=VALUE with a number of at most {FARTHEST:g}', _number),
    help='A position that stays as it is, rad or m; may be given again.',
)  # fmt: skip
@click.option('--write', is_flag=True, help='Write the pose found into FILE, as its home.')
def close(file: str, guess: dict[str, float], held: dict[str, float], write: bool) -> None:
    """Find a closed pose of a description and print it as its home.

    Searches from home as it stands (or from 0), with the positions of --from, then from many
    starts around it. All joints move, also those of --from; those of --hold stay. Where no start
    leads to a closed pose, the closures that stay open are named.
    """
    both = sorted({*guess, *held} - ({*guess} ^ {*held}))
    if both:
        raise click.BadParameter(f'{both[0]!r} is in --from as well', param_hint="'--hold'")
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DescriptionWarning)  # about a home that will be replaced
        description = load_description(file)
    found = closed_pose(description, guess, held)
    if not found.closed:
        raise ClosureError(_why(description, found, held))
    text = yaml.safe_dump({'home': _home(found)}, sort_keys=False, allow_unicode=True)
    for joint, amount in found.outside.items():
        warn(f'{joint} is {amount:.6g} outside its range')
    for doubt in _doubts(description, found):
        warn(doubt)
    if write:
        write_home(description.file, text)
        click.echo(f'wrote home of {len(_home(found))} joints to {description.file}', err=True)
    else:
        click.echo(text, nl=False)


def _home(found: ClosedPose) -> dict[str, float]:
    """Joints that are not at 0, apart from rounding."""
    return {joint: value for joint, value in found.home.items() if abs(value) > _ZERO}


def _doubts(description: MechanismDescription, found: ClosedPose) -> Iterator[str]:
    """Why the pose found may be a bad home."""
    try:
        mechanism = Mechanism(dataclasses.replace(description, home=found.home))
        home = mechanism.home
    except MasticatorError as error:
        yield f'with this home the mechanism does not load: {error}'
        return
    for what, condition in (
        ('loops are', home.condition_number_loops),
        ('motors are', home.condition_number_actuation),
    ):
        if condition > _ILL_CONDITIONED:
            yield (
                f'home is close to a pose in which {what} singular (condition number '
                f'{condition:.4g}); begin elsewhere with --from, or keep a joint away from there '
                'with --hold'
            )


def _why(description: MechanismDescription, found: ClosedPose, held: Collection[str]) -> str:
    """Which closures remain open, and by how much."""
    open_by = {name: size for name, size in found.gaps.items() if size > 1e-6}
    parts = ', '.join(f'{name} by {size:.6g} m or rad' for name, size in open_by.items())
    return (
        f'{description.file}: no closed pose from {found.starts} starts; at the nearest, open stay '
        f'{parts}; try --from with positions nearer to a closed one, '
        + (f'hold less than {", ".join(held)}, ' if held else '')
        + 'or look at the frames of these'
    )


def write_home(file: pathlib.Path, text: str) -> None:
    """Replace the ``home: ...`` of a file, or append it; everything else stays.

    Raises
    ------
    DescriptionError
        When the file cannot be written.
    """
    content = file.read_text(encoding='utf-8')
    node = yaml.compose(content)
    start = end = len(content)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == 'home':
                start, end = key.start_mark.index, value.end_mark.index
    before = content[:start].rstrip('\n') + '\n' if start == len(content) else content[:start]
    after = content[end:]
    try:
        with replacing(file) as stream:
            stream.write(before + text.rstrip('\n') + ('\n' + after if after.strip() else '\n'))
    except OSError as error:
        raise DescriptionError(file, '', error.strerror or 'cannot be written') from error
