# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator import``: make a description from another tool's file."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.commands.options import named_values, split_names
from masticator_dynamics.commands.terminal import section
from masticator_dynamics.description import description_from_text
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import check_writable, write_text
from masticator_dynamics.interchange.robot_import import import_robot
from masticator_dynamics.mechanism import Mechanism


@click.command('import')
@click.argument('source')
@click.option('--output', 'folder', metavar='FOLDER', required=True, help='Folder to write.')
@click.option(
    '--actuated', metavar='NAMES', callback=split_names,
    help='Joints with motors, comma separated, instead of those that the file gives motors.',
)  # fmt: skip
@click.option(
    '--independent',
    metavar='NAMES',
    callback=split_names,
    help='Joints that are the degrees of freedom, instead of a choice.',
)
@click.option(
    '--lock', metavar='NAMES', callback=split_names, help='Joints to hold at the closed pose.'
)
@click.option('--platform', metavar='LINK', default='', help='Platform, instead of a choice.')
@click.option(
    '--argument', 'arguments', metavar='NAME=VALUE', multiple=True,
    callback=named_values('NAME=VALUE', str),
    help='Argument of a xacro file; may be given several times.',
)  # fmt: skip
@click.option(
    '--ignore', metavar='ELEMENT', multiple=True,
    help='Name or type of an element that would be refused, to leave out; may be given several '
    'times.',
)  # fmt: skip
def import_(
    source: str,
    folder: str,
    actuated: tuple[str, ...] | None,
    independent: tuple[str, ...] | None,
    lock: tuple[str, ...] | None,
    platform: str,
    arguments: dict[str, str],
    ignore: tuple[str, ...],
) -> None:
    """Make a description of SOURCE that every command takes.

    SOURCE is a URDF or xacro file (with loops as other tools write them, or <mimic>), MJCF, SDF,
    or the YAML file of Gepetto's example-parallel-robots. FOLDER gets a YAML and a URDF file
    named after it. What was left out or decided is printed, and written into the YAML file.
    Elements that tie links or joints to each other and are not understood are refused.
    """
    path = pathlib.Path(folder).absolute()
    file = path / f'{path.name}.yaml'
    for written in (path / f'{path.name}.urdf', file):
        if written.exists():
            check_writable(str(written), source)
    made = import_robot(
        pathlib.Path(source), path.name,
        actuated=actuated or (), independent=independent or (), locked=lock or (),
        platform=platform, arguments=arguments, ignore=ignore,
    )  # fmt: skip
    loaded = Mechanism(description_from_text(file, made.yaml, made.urdf))
    with results_in(path) as work:
        write_text(str(work / f'{path.name}.urdf'), made.urdf)
        write_text(str(work / file.name), made.yaml)
    rows = [
        ('joints', str(len(loaded.tree_joints)), ''),
        ('independent', str(len(loaded.independent)), ' '.join(loaded.independent)),
        ('actuated', str(len(loaded.actuated)), ' '.join(loaded.actuated)),
        ('closures', str(len(loaded.closures)), ' '.join(loaded.closures)),
        ('platform', '', loaded.description.platform),
    ]
    click.echo(section(str(file), rows))
    for note in made.notes:
        click.echo(f'- {note}')
