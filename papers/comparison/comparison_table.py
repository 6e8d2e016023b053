# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A table of a comparison: what was printed, what is computed here, and why they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

Cell = str | float | None
Rows = tuple[tuple[Cell, ...], ...]


def rows_of(values: Mapping[str, Any]) -> Rows:
    """Rows by name, of which each is an array, a sequence or a single cell."""
    single = (str, float, int, type(None))
    return tuple(
        (name, value) if isinstance(value, single) else (name, *np.asarray(value, object).tolist())
        for name, value in values.items()
    )


@dataclasses.dataclass(frozen=True)
class ComparisonTable:
    """Printed figures next to ours.

    Attributes
    ----------
    title : str
        What is compared, with the conditions.
    source : str
        Paper and equation, table or figure, e.g. 'S1 Table 3, Eqs. 73-74'.
    columns : tuple of str
        Headings with units; the first is that of the row names.
    rows : tuple of tuples
        Cells, one per column: text is shown unchanged (printed figures, so that they keep their
        digits), numbers are ours, None is a gap.
    notes : tuple of str
        Why numbers differ, and what else a reader must know; a few sentences each.
    digits : int
        Significant digits of our numbers in text and Markdown; CSV and JSON hold all digits.
    """

    title: str
    source: str
    columns: tuple[str, ...]
    rows: Rows
    notes: tuple[str, ...] = ()
    digits: int = 4

    def __post_init__(self) -> None:
        """Refuse ragged rows."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f'{self.title}: row {row[0]!r} has {len(row)} cells, '
                    f'there are {len(self.columns)} columns'
                )

    def shown(self, cell: Cell) -> str:
        """Text of a cell, rounded to ``digits``."""
        if cell is None:
            return '-'
        if isinstance(cell, str):
            return cell
        if isinstance(cell, int):
            return str(cell)
        # '#' keeps trailing zeros, which are also significant.
        return f'{cell:#.{self.digits}g}'.rstrip('.')
