# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator export-mjcf``: a mechanism for MuJoCo."""

from __future__ import annotations

import click

from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.commands.terminal import warn
from masticator_dynamics.files.tables import check_writable, write_text
from masticator_dynamics.interchange.mjcf_export import export_mjcf as exported
from masticator_dynamics.mechanism import Mechanism


@click.command('export-mjcf')
@mechanism_argument
@click.option(
    '--output', 'output_file', metavar='FILE', required=True, help='File to write (MJCF).'
)
def export_mjcf(mechanism: str, output_file: str) -> None:
    """Write a mechanism as MJCF, for MuJoCo: a second simulator and an outside check.

    Loops become stiff equalities, contacts balls between plates, motors <motor>. What MuJoCo has
    no equal of is said on standard error and in the file.
    """
    check_writable(output_file, mechanism)
    made = exported(Mechanism.load(mechanism).description)
    write_text(output_file, made.text)
    for sentence in made.left_out:
        warn(f'left out: {sentence}')
