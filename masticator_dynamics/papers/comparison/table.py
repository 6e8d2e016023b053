# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A table of a comparison: what was printed, what is computed, and why they differ."""

from __future__ import annotations

import dataclasses

Cell = str | float | None


@dataclasses.dataclass(frozen=True)
class ComparisonTable:
    """Printed figures next to ours.

    Attributes
    ----------
    title : str
        What is compared, with the conditions.
    source : str
        Paper, equation, table or figure: 'S1 Table 3, Eqs. 73-74'.
    columns : tuple of str
        Headings with units; the first is that of the row names.
    rows : tuple of tuples
        Cells, as many as columns: text is shown as it is (printed figures, so that their digits
        stay), numbers are ours, None is a gap.
    notes : tuple of str
        Why numbers differ, and what else a reader must know; one sentence or a few each.
    digits : int
        Significant digits of numbers shown to people; files for machines hold all of them.
    """

    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
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
        """Text of a cell for people."""
        if cell is None:
            return '-'
        if isinstance(cell, str):
            return cell
        if isinstance(cell, int):
            return str(cell)
        # '#' keeps trailing zeros: they are digits, too.
        return f'{cell:#.{self.digits}g}'.rstrip('.')
