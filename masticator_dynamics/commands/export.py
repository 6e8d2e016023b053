# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that write a mechanism for other programs: C99, and MJCF for MuJoCo."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.commands.options import (
    file_option,
    friction_option,
    goal_option,
    mechanism_argument,
)
from masticator_dynamics.commands.terminal import warn
from masticator_dynamics.engine.traced.c_files import c_files
from masticator_dynamics.engine.traced.effort_goals import check_goals
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.tables import check_writable, write_text
from masticator_dynamics.interchange.mjcf_export import export_mjcf as exported
from masticator_dynamics.mechanism import Mechanism


@click.command('export-c')
@mechanism_argument
@click.option('-o', '--output', 'folder', metavar='FOLDER', required=True, help='Folder to write.')
@goal_option
@friction_option
@click.option('--derivatives', is_flag=True, help='Write derivatives of the efforts, too.')
@click.option(
    '--controller/--no-controller',
    default=True,
    show_default=True,
    help='Write what a controller needs, too: pose from measured joints, mass matrix, limits.',
)
@click.option('--name', default='', help="Of files and functions; by default the mechanism's.")
@click.option('--drives', default='', help='Drives file whose rotors the efforts accelerate, too.')
def export_c(
    mechanism: str, folder: str, goal: str, friction: bool, derivatives: bool, controller: bool,
    name: str, drives: str,
) -> None:  # fmt: skip
    """Write the inverse dynamics of a mechanism as C, for controllers without Python.

    FOLDER gets a header, a source file that needs math.h alone, and an example. The function
    gives the efforts that are best for the goal, and returns 0 where they are valid.
    """
    if not folder:
        raise InputError('--output: is empty')
    loaded = Mechanism.load(mechanism)
    if drives:
        # Only here: the command needs neither pydantic's models of drives nor their package.
        from masticator_dynamics.drives.configuration import load_drives
        from masticator_dynamics.drives.scaling import with_rotors

        loaded = Mechanism(with_rotors(loaded.description, load_drives(drives)), loaded.driving)
    check_goals(loaded.description, {goal: 1.0}, len(loaded.driving), friction)
    efforts = loaded.effort_range if controller else None
    files = c_files(
        loaded.description, loaded.structure, goal, friction, derivatives, efforts, name
    )
    path = pathlib.Path(folder)
    with results_in(path) as work:
        for name, text in files.items():
            write_text(str(work / name), text)
    for name in files:
        click.echo(path / name)


@click.command('export-mjcf')
@mechanism_argument
@file_option('File to write (MJCF).')
def export_mjcf(mechanism: str, output_file: str) -> None:
    """Write a mechanism as MJCF, for MuJoCo: a second simulator and an outside check.

    Loops become stiff equalities, contacts balls between plates, motors <motor>. What MuJoCo has
    no equal of is said on standard error and in the file.
    """
    check_writable(output_file, mechanism)
    made = exported(Mechanism.load(mechanism).description)
    write_text(output_file, made.text)
    warn(*(f'left out: {sentence}' for sentence in made.left_out))
