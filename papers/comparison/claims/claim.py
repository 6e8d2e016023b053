# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of papers: what is printed where, which cells answer it, and the rule for a verdict."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence

from papers.comparison.comparison_table import Cell


class Verdict(enum.Enum):
    """What our numbers say about a claim."""

    REPRODUCED = 'reproduced'
    REFUTED = 'refuted'
    UNKNOWN = 'cannot be known'
    GIVEN = 'given'


@dataclasses.dataclass(frozen=True)
class Rule:
    """When a claim counts as reproduced.

    Attributes
    ----------
    text : str
        The rule in words, e.g. 'within 5 %'.
    holds : callable
        Whether the rule holds, from the cells that answer the claim.
    """

    text: str
    holds: Callable[[Sequence[Cell]], bool]


@dataclasses.dataclass(frozen=True)
class SectionTable:
    """A table of a section, which holds cells that answer claims.

    Attributes
    ----------
    section, title : str
        Name of the section, and beginning of the table's title.
    """

    section: str
    title: str

    def row(self, name: str, *headings: str) -> Cells:
        """Cells of a row: those under the headings, or else all that are not empty."""
        return Cells(self, (name,), headings)

    def column(self, heading: str, *names: str) -> Cells:
        """Cells of several rows under one heading."""
        return Cells(self, names, (heading,))


@dataclasses.dataclass(frozen=True)
class Cells:
    """Cells of a table, row by row, by names of rows and headings of columns."""

    table: SectionTable
    rows: tuple[str, ...]
    columns: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Claim:
    """One claim, figure or table.

    Attributes
    ----------
    place : str
        Where it is printed, e.g. 'S0 Fig. 6a'.
    printed : str
        What is printed; words in double quotes are the paper's own.
    cells : tuple of Cells or float
        What answers the claim: cells, or values derived from printed figures by arithmetic; none
        if nothing can be computed.
    rule : Rule, optional
        When the claim counts as reproduced.
    otherwise : Verdict
        Verdict if the rule does not hold, or if nothing can be computed.
    reason : str
        Reason for that verdict: the proof, or why it cannot be known.
    """

    place: str
    printed: str
    cells: tuple[Cells | float, ...]
    rule: Rule | None
    otherwise: Verdict
    reason: str

    @property
    def tables(self) -> list[SectionTable]:
        """Tables of those cells that are in tables."""
        return [cells.table for cells in self.cells if isinstance(cells, Cells)]


def refutable(
    place: str, printed: str, rule: Rule, *cells: Cells | float, proof: str = ''
) -> Claim:
    """A claim that is refuted if its rule does not hold: it depends on nothing unpublished.

    Parameters
    ----------
    place, printed, rule, cells, proof
        Attributes of the :class:`Claim`; the proof is its reason.
    """
    return Claim(place, printed, cells, rule, Verdict.REFUTED, proof)


def depends(place: str, printed: str, rule: Rule, *cells: Cells, on: str) -> Claim:
    """A claim that cannot be known if its rule does not hold: it depends on unpublished inputs.

    Parameters
    ----------
    place, printed, rule, cells, on
        Attributes of the :class:`Claim`; what it depends on is its reason.
    """
    return Claim(place, printed, cells, rule, Verdict.UNKNOWN, on)


def unknown(place: str, printed: str, reason: str) -> Claim:
    """A claim that we cannot answer by computation.

    Parameters
    ----------
    place, printed, reason : str
        Attributes of the :class:`Claim`.
    """
    return Claim(place, printed, (), None, Verdict.UNKNOWN, reason)


def given(place: str, printed: str, use: str) -> Claim:
    """A drawing or an input, which claims nothing.

    Parameters
    ----------
    place, printed, use : str
        Attributes of the :class:`Claim`; its use here is its reason.
    """
    return Claim(place, printed, (), None, Verdict.GIVEN, use)


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
    return _near(f'within {percent:g} %', [(p, 0.01 * percent * abs(p)) for p in printed])


def digits(*printed: str) -> Rule:
    """Cells must be as printed, to half a unit of the last printed digit."""
    return _near('all printed digits', [(float(p), _half_unit(p)) for p in printed])


def _near(text: str, wanted: Sequence[tuple[float, float]]) -> Rule:
    """Cells must have these values, each within a tolerance."""
    return Rule(
        text,
        lambda cells: all(
            abs(number(cell) - value) <= tolerance
            for cell, (value, tolerance) in zip(cells, wanted, strict=True)
        ),
    )


FIRST_LARGER = numbers('the first larger', lambda a, *rest: all(a > b for b in rest))
FIRST_LEAST = numbers(
    'the first of each three least',
    lambda *f: all(a < min(b, c) for a, b, c in zip(f[::3], f[1::3], f[2::3], strict=True)),
)


def _half_unit(printed: str) -> float:
    mantissa = printed.lower().partition('e')[0]
    return 0.501 * 10.0 ** -len(mantissa.partition('.')[2])
