# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output for people: tables, warnings, and on a terminal the progress of long work."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

Row = Sequence[str]
BETWEEN_LINES = 2.0  # s


def section(title: str, rows: Sequence[Row]) -> str:
    """Title and rows with aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        '  ' + '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return '\n'.join([title, *(line.rstrip() for line in lines)])


def warn(*texts: object) -> None:
    """A line for each on standard error."""
    for text in texts:
        click.echo(f'masticator: warning: {text}', err=True)


def progress_bar(label: str, steps: int) -> Any:
    """Context manager: a bar of the steps done and the time left, if there is a terminal."""
    file = sys.stderr if sys.stderr.isatty() else io.StringIO()
    return click.progressbar(length=steps, label=label, file=file)


def chunks(rows: int, size: int, label: str) -> Iterator[slice]:
    """Divide rows into slices of at most ``size``, showing how many are done.

    Parameters
    ----------
    rows, size : int
        Number of rows, and largest number in a slice.
    label : str
        Stands before the bar.
    """
    parts = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    if len(parts) == 1:
        yield from parts
        return
    with progress_bar(label, rows) as bar:
        for part in parts:
            yield part
            bar.update(part.stop - part.start)


@contextlib.contextmanager
def share_done(start: float, end: float, label: str) -> Iterator[Callable[[float], None]]:
    """Give a function that shows how far the work has come between start and end.

    Elsewhere than on a terminal, a line every few seconds.

    Parameters
    ----------
    start, end : float
        In any unit.
    label : str
        Stands before the bar.
    """
    terminal, last_line = sys.stderr.isatty(), time.monotonic()

    def show(now: float) -> None:
        nonlocal last_line
        share = (now - start) / (end - start)
        bar.update(int(1000.0 * share) - bar.pos)
        if not terminal and time.monotonic() - last_line > BETWEEN_LINES:
            last_line = time.monotonic()
            click.echo(f'{label}: {100.0 * share:.0f} %', err=True)

    with progress_bar(label, 1000) as bar:
        yield show


class Stages:
    """Shows how far each stage of long work has come, and the time left.

    Elsewhere than on a terminal, steps have a line each if ``lines`` says so, or are not shown.
    """

    def __init__(self, lines: bool = False) -> None:
        self._stage, self._start, self._before = '', 0.0, 0
        self._lines = lines

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell what is done, of a total."""
        if stage != self._stage:
            self._stage, self._start, self._before = stage, time.monotonic(), done
        terminal = sys.stderr.isatty()
        if not (terminal or self._lines):
            return
        new, spent = done - self._before, time.monotonic() - self._start
        remaining = f', {spent / new * (total - done):.0f} s left' if new else ''
        text = f'{stage}: {done} of {total}{remaining}'
        click.echo(
            f'\r{text}    ' if terminal else text, nl=done == total or not terminal, err=True
        )
