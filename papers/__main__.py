# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m papers``: printed figures of the papers next to those computed here."""

from __future__ import annotations

import io
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click
import numpy as np

from masticator_dynamics.cli import main
from masticator_dynamics.files.tables import STANDARD_STREAM, check_writable, write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import read_motion
from papers.comparison.claims import as_section
from papers.comparison.inputs import ChewingMotion, Inputs
from papers.comparison.render import FORMATS, as_text
from papers.comparison.run_sections import run_sections
from papers.comparison.sections import SECTIONS


class _HelpWithSections(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the sections."""
        with formatter.section('Sections'):
            formatter.write_dl(list(SECTIONS.items()))


@click.command('papers', cls=_HelpWithSections)
@click.argument('sections', nargs=-1, type=click.Choice(list(SECTIONS)), metavar='[SECTIONS]...')
@click.option(
    '--motion',
    'motion_file',
    metavar='FILE',
    help='Motion of the masticator to compare on, with its wrench if it has one (CSV). '
    'Default: five built-in chewing strokes.',
)
@click.option(
    '--output',
    'output_file',
    metavar='FILE',
    default=STANDARD_STREAM,
    help=f'File to write, by its ending {", ".join(FORMATS)}. Default: text on standard output.',
)
@click.option(
    '--processes',
    type=click.IntRange(min=1),
    metavar='N',
    help='How many may compute at a time; sections that measure time run alone. '
    'Default: as many as there are processors.',
)
def compare(
    sections: Sequence[str], motion_file: str | None, output_file: str, processes: int | None
) -> None:
    """Printed figures of the papers next to ours, and why they differ.

    All sections unless some are named. Claims of the papers that they answer come first, each with
    its verdict, on the built-in motion.
    """
    rendered = as_text
    if output_file != STANDARD_STREAM:
        ending = pathlib.Path(output_file).suffix
        if ending not in FORMATS:
            raise click.BadParameter(
                f'{output_file}: the ending is {ending!r}, expected one of {", ".join(FORMATS)}',
                param_hint="'--output'",
            )
        rendered = FORMATS[ending]
        check_writable(output_file, motion_file)
    inputs = Inputs(_reader(motion_file) if motion_file else None, _shown)
    if motion_file:
        _ = inputs.motion  # refused now, not after minutes, and even if no section uses it
    report = run_sections(
        inputs, sections or list(SECTIONS), processes or len(os.sched_getaffinity(0))
    )
    if not motion_file:  # verdicts are on built-in chewing
        report = as_section(report) | report
    write_text(output_file, rendered(report))


def _reader(file: str) -> Callable[[Mechanism], ChewingMotion]:
    """Function that reads a motion file once the masticator is loaded."""

    def read(masticator: Mechanism) -> ChewingMotion:
        motion = read_motion(file, masticator)
        wrench = motion.wrench if motion.wrench is not None else np.zeros((len(motion.time), 6))
        return ChewingMotion(file, motion.time, motion.y, motion.y_dot, motion.y_ddot, wrench)

    return read


def _shown(steps: Iterable[Any], label: str, count: int) -> Iterator[Any]:
    """Iterate over steps; on a terminal, show how many are done and the time left."""
    file = sys.stderr if sys.stderr.isatty() else io.StringIO()
    with click.progressbar(length=count, label=label, file=file) as bar:
        for step in steps:
            yield step
            bar.update(1)


if __name__ == '__main__':
    sys.exit(main(command=compare))
