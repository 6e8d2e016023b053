# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work on standard error, for people: only when it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click


def chunks(rows: int, size: int, label: str) -> Iterator[slice]:
    """Divide rows into slices of at most ``size``, showing how many are done."""
    parts = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    if len(parts) == 1 or not sys.stderr.isatty():
        yield from parts
        return
    with click.progressbar(length=rows, label=label, file=sys.stderr) as bar:
        for part in parts:
            yield part
            bar.update(part.stop - part.start)
