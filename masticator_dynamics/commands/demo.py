# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator demo``: the main job, end to end, with no robot."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.demo import run_demo


@click.command()
@click.option(
    '--output',
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    metavar='DIR',
    default='masticator_demo',
    show_default=True,
    help='Folder for what the demo writes.',
)
@click.option(
    '--incisor',
    type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    metavar='FILE',
    help='Recorded incisor to chew along (CSV); default: a built-in stroke.',
)
def demo(output: pathlib.Path, incisor: pathlib.Path | None) -> int:
    """Chew, with no robot: from a recorded incisor to motor torques, with plots."""
    return run_demo(output, incisor)
