# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output for people: titles with aligned rows below."""

from collections.abc import Sequence

Row = Sequence[str]


def section(title: str, rows: Sequence[Row]) -> str:
    """Title and rows with aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        '  ' + '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return '\n'.join([title, *(line.rstrip() for line in lines)])
