# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules by which claims count as reproduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from masticator_dynamics.papers.comparison.claims.claim import Rule
from masticator_dynamics.papers.comparison.comparison_table import Cell


def number(cell: Cell) -> float:
    """The number in a cell, printed or ours."""
    if cell is None:
        raise ValueError('an empty cell is not a number')
    return float(cell)


def numbers(text: str, holds: Callable[..., bool]) -> Rule:
    """A rule on all cells together, as numbers in order."""
    return Rule(text, lambda cells: bool(cells) and bool(holds(*map(number, cells))))


def by_pairs(text: str, holds: Callable[[float, float], bool]) -> Rule:
    """A rule on each number of the first half of the cells and its partner in the second."""

    def all_hold(*f: float) -> bool:
        half = len(f) // 2
        return all(holds(a, b) for a, b in zip(f[:half], f[half:], strict=True))

    return numbers(text, all_hold)


def each(text: str, holds: Callable[[float], bool]) -> Rule:
    """A rule that every cell, as a number, must satisfy."""
    return numbers(text, lambda *f: all(map(holds, f)))


def above(limit: float) -> Rule:
    """All cells must be above a limit."""
    return each(f'above {limit:g}', lambda value: value > limit)


def below(limit: float) -> Rule:
    """All cells must be below a limit."""
    return each(f'below {limit:g}', lambda value: value < limit)


def between(low: float, high: float) -> Rule:
    """All cells must be in an interval."""
    return each(f'{low:g} to {high:g}', lambda value: low <= value <= high)


def within(percent: float, *printed: float) -> Rule:
    """Cells must be as printed, within a percentage."""

    def holds(cells: Sequence[Cell]) -> bool:
        pairs = zip(cells, printed, strict=True)
        return all(abs(number(cell) - p) <= 0.01 * percent * abs(p) for cell, p in pairs)

    return Rule(f'within {percent:g} %', holds)


def digits(*printed: str) -> Rule:
    """Cells must be as printed, to half a unit of the last printed digit."""

    def holds(cells: Sequence[Cell]) -> bool:
        pairs = zip(cells, printed, strict=True)
        return all(abs(number(cell) - float(p)) <= _half_unit(p) for cell, p in pairs)

    return Rule('all printed digits', holds)


FIRST_LARGER = numbers('the first larger', lambda a, *rest: all(a > b for b in rest))
FIRST_LEAST = numbers(
    'the first of each three least',
    lambda *f: all(a < min(b, c) for a, b, c in zip(f[::3], f[1::3], f[2::3], strict=True)),
)


def _half_unit(printed: str) -> float:
    mantissa = printed.lower().partition('e')[0]
    return 0.501 * 10.0 ** -len(mantissa.partition('.')[2])
