# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator new``: start a new description from a common mechanism."""

from __future__ import annotations

import pathlib
import re

import click

from masticator_dynamics.description import archetypes, load_description
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import write_text


@click.command()
@click.argument('name')
@click.option(
    '--like', 'archetype', metavar='ARCHETYPE', required=True,
    help='What to begin with: delta, stewart, five_bar, slider_crank, palletiser, excavator, '
    'scissor_lift, cable_planar, ankle, three_rrs, scara or jaw_6pus.',
)  # fmt: skip
def new(name: str, archetype: str) -> None:
    """Begin a description of your own with a common mechanism.

    Writes a folder NAME (or the folder of that path) with two files of that name, to change.
    """
    if archetype not in archetypes():
        known = ', '.join(archetypes())
        raise InputError(f'--like: no archetype {archetype!r}; there are: {known}')
    if not name:
        raise InputError('NAME: is empty')
    folder = pathlib.Path(name).absolute()
    if not re.fullmatch(r'[A-Za-z]\w*', folder.name, re.ASCII):
        raise InputError(f'NAME: {folder.name!r} is not letters, digits and _, a letter first')
    described = load_description(archetype)
    texts = {
        folder / f'{folder.name}.urdf.xacro': described.urdf_file.read_text(encoding='utf-8'),
        folder / f'{folder.name}.yaml': described.file.read_text(encoding='utf-8'),
    }
    for file in texts:
        if file.exists():
            raise InputError(f'{file} exists; choose another NAME')
    with results_in(folder) as work:
        for file, text in texts.items():
            text = text.replace(f'name: {archetype}\n', f'name: {folder.name}\n')
            text = text.replace(f'<robot name="{archetype}"', f'<robot name="{folder.name}"')
            text = text.replace(f'{archetype}.urdf.xacro', f'{folder.name}.urdf.xacro')
            # Their author is the user who changes them.
            text = re.sub(r'(?m)^(# |<!-- )(Copyright|SPDX).*\n', '', text).replace('#\n', '', 1)
            write_text(str(work / file.name), text)
    for file in texts:
        click.echo(str(file))
    click.echo(f'next: masticator check {folder / folder.name}.yaml')
