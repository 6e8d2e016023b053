# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator close``: find a closed pose of a description, its home."""

from __future__ import annotations

import pathlib
import warnings

import click
import yaml

from masticator_dynamics.commands.options import named_values
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.description.urdf import FARTHEST
from masticator_dynamics.errors import ClosureError, DescriptionError, DescriptionWarning
from masticator_dynamics.evaluation.closed_pose import ClosedPose, closed_pose
from masticator_dynamics.files.tables import replacing

_ZERO = 1e-14  # rad or m


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
@click.option('--write', is_flag=True, help='Write the pose found into FILE, as its home.')
def close(file: str, guess: dict[str, float], write: bool) -> None:
    """Find a closed pose of a description and print it as its home.

    Searches from home as it stands (or from 0), with the positions of --from, then from many
    starts around it. Where none leads to a closed pose, the closures that stay open are named.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DescriptionWarning)  # about a home that will be replaced
        description = load_description(file)
    found = closed_pose(description, guess)
    if not found.closed:
        raise ClosureError(_why(description, found))
    text = yaml.safe_dump({'home': _home(found)}, sort_keys=False, allow_unicode=True)
    for joint, amount in found.outside.items():
        click.echo(f'warning: {joint} is {amount:.6g} outside its range', err=True)
    if write:
        write_home(description.file, text)
        click.echo(f'wrote home of {len(_home(found))} joints to {description.file}', err=True)
    else:
        click.echo(text, nl=False)


def _home(found: ClosedPose) -> dict[str, float]:
    """Joints that are not at 0, apart from rounding."""
    return {joint: value for joint, value in found.home.items() if abs(value) > _ZERO}


def _why(description: MechanismDescription, found: ClosedPose) -> str:
    """Which closures remain open, and by how much."""
    open_by = {name: size for name, size in found.gaps.items() if size > 1e-6}
    parts = ', '.join(f'{name} by {size:.6g} m or rad' for name, size in open_by.items())
    return (
        f'{description.file}: no closed pose from {found.starts} starts; at the nearest, open stay '
        f'{parts}; try --from with positions nearer to a closed one, or look at the frames of these'
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
