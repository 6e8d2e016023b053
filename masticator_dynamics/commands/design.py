# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator design``: find out which geometry to build."""

from __future__ import annotations

import pathlib

import click

from masticator_dynamics.commands.options import (
    check_matplotlib,
    folder_option,
    processes_option,
    scheduler_option,
)
from masticator_dynamics.commands.terminal import Stages


@click.command()
@click.argument('study', type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@folder_option('New folder, or that of an interrupted run of the same study.')
@processes_option
@scheduler_option
def design(
    study: pathlib.Path, output: pathlib.Path, processes: int | None, scheduler: str | None
) -> None:
    """Judge many geometries of a mechanism over motions and loads, and search for the best.

    STUDY (YAML) names what is varied, the motions, the figures and what is to be minimised:
    masticator design jaw_design.yaml --output jaw

    Writes all samples (folder of Parquet files; samples.csv if they are few), front.csv,
    sensitivity.csv, best.yaml with best.urdf, and report.html. Results do not depend on the number
    of processes or workers. What is in FOLDER is kept: an interrupted study goes on.
    """
    check_matplotlib('the report', '')
    # Only here: these take longer to import than help to show.
    from masticator_dynamics.design.report import write_results
    from masticator_dynamics.design.study import Study
    from masticator_dynamics.optional import needed

    needed('pyarrow')
    asked = Study(study, output)
    if asked.content.search is not None:
        needed('pymoo')
    result = asked.run(Stages(), processes, scheduler)
    for line in write_results(asked, result):
        click.echo(line)
