# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules by which claims count as reproduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from masticator_dynamics.papers.comparison.claims.claim import Rule
from masticator_dynamics.papers.comparison.table import Cell


def number(cell: Cell) -> float:
    """The number in a cell; a printed one, too."""
    if cell is None:
        raise ValueError('an empty cell is no number')
    return float(cell)


def numbers(text: str, holds: Callable[..., bool]) -> Rule:
    """A rule on all cells as numbers, in their order."""
    return Rule(text, lambda cells: bool(holds(*map(number, cells))))


def each(text: str, holds: Callable[[float], bool]) -> Rule:
    """A rule that every cell as a number must keep."""
    return Rule(text, lambda cells: bool(cells) and all(holds(number(cell)) for cell in cells))


def above(limit: float) -> Rule:
    """All cells above a limit."""
    return each(f'above {limit:g}', lambda value: value > limit)


def below(limit: float) -> Rule:
    """All cells below a limit."""
    return each(f'below {limit:g}', lambda value: value < limit)


def between(low: float, high: float) -> Rule:
    """All cells in an interval."""
    return each(f'{low:g} to {high:g}', lambda value: low <= value <= high)


def within(percent: float, *printed: float) -> Rule:
    """Cells as printed, within some per cent."""

    def holds(cells: Sequence[Cell]) -> bool:
        pairs = zip(cells, printed, strict=True)
        return all(abs(number(cell) - p) <= 0.01 * percent * abs(p) for cell, p in pairs)

    return Rule(f'within {percent:g} %', holds)


def digits(*printed: str) -> Rule:
    """Cells as printed, to half a unit of the last printed digit."""

    def holds(cells: Sequence[Cell]) -> bool:
        pairs = zip(cells, printed, strict=True)
        return all(abs(number(cell) - float(p)) <= _half_unit(p) for cell, p in pairs)

    return Rule('all printed digits', holds)


def verdict_cells() -> Rule:
    """Cells that a section has judged itself."""
    return Rule('holds', lambda cells: bool(cells) and all(cell == 'holds' for cell in cells))


HOLDS = verdict_cells()
FIRST_LARGER = numbers('the first larger', lambda a, *rest: all(a > b for b in rest))


def _half_unit(printed: str) -> float:
    mantissa = printed.lower().partition('e')[0]
    return 0.501 * 10.0 ** -len(mantissa.partition('.')[2])
