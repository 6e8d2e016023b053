# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A claim of a paper: what is printed where, which cells answer it, and the rule for a verdict."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence

from masticator_dynamics.papers.comparison.comparison_table import Cell


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
    place, printed : str
        Where the claim is printed, and what is printed.
    rule : Rule
        When the claim counts as reproduced.
    cells : Cells or float
        Cells that answer it, or values derived from printed figures.
    proof : str
        Why the claim is wrong if the rule does not hold.
    """
    return Claim(place, printed, cells, rule, Verdict.REFUTED, proof)


def depends(place: str, printed: str, rule: Rule, *cells: Cells, on: str) -> Claim:
    """A claim that cannot be known if its rule does not hold: it depends on unpublished inputs.

    Parameters
    ----------
    place, printed : str
        Where the claim is printed, and what is printed.
    rule : Rule
        When the claim counts as reproduced.
    cells : Cells
        Cells that answer it.
    on : str
        What is not published.
    """
    return Claim(place, printed, cells, rule, Verdict.UNKNOWN, on)


def unknown(place: str, printed: str, reason: str) -> Claim:
    """A claim that we cannot answer by computation.

    Parameters
    ----------
    place, printed : str
        Where the claim is printed, and what is printed.
    reason : str
        Why nothing can be computed.
    """
    return Claim(place, printed, (), None, Verdict.UNKNOWN, reason)


def given(place: str, printed: str, use: str) -> Claim:
    """A drawing or an input, which claims nothing.

    Parameters
    ----------
    place, printed : str
        Where it is printed, and what is printed.
    use : str
        How it is used here.
    """
    return Claim(place, printed, (), None, Verdict.GIVEN, use)
