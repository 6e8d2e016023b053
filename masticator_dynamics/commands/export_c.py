# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator export-c``: inverse dynamics of a mechanism as C99."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.files.tables import write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.traced.export_c import c_files


@click.command('export-c')
@mechanism_argument
@click.option('--output', 'folder', metavar='FOLDER', required=True, help='Folder to write.')
def export_c(mechanism: str, folder: str) -> None:
    """Write the inverse dynamics of a mechanism as C, for controllers without Python.

    FOLDER gets a header, a source file that needs math.h alone, and an example. The function
    gives the frictionless efforts of least norm, and returns 0 where they count.
    """
    loaded = Mechanism.load(mechanism)
    files = c_files(loaded.description, loaded.structure)
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(str(path / name), text)
        click.echo(path / name)
