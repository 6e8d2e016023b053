# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A claim of a paper: what is printed where, which cells answer it, and the rule for a verdict."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence

from masticator_dynamics.papers.comparison.table import Cell


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
class At:
    """Cells of a section's table.

    Attributes
    ----------
    section, table : str
        Name of the section, and beginning of the table's title.
    row : str
        Name of the row.
    columns : tuple of str
        Headings; if there are none, all cells of the row that are not empty.
    """

    section: str
    table: str
    row: str
    columns: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Claim:
    """One claim, figure or table.

    Attributes
    ----------
    place : str
        Where it is printed, e.g. 'S0 Fig. 6a'.
    printed : str
        What is printed; words in double quotes are the paper's own.
    cells : tuple of At or float
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
    cells: tuple[At | float, ...]
    rule: Rule | None
    otherwise: Verdict
    reason: str

    @property
    def places(self) -> list[At]:
        """Those of the cells that are in tables."""
        return [cell for cell in self.cells if isinstance(cell, At)]


def at(section: str, table: str, row: str, *columns: str) -> At:
    """Short for :class:`At`.

    Parameters
    ----------
    section, table, row : str
        Name of the section, beginning of the table's title, and name of the row.
    columns : str
        Headings; if there are none, all cells of the row that are not empty.
    """
    return At(section, table, row, columns)


def refutable(place: str, printed: str, rule: Rule, *cells: At | float, proof: str = '') -> Claim:
    """A claim that is refuted if its rule does not hold: it depends on nothing unpublished.

    Parameters
    ----------
    place, printed : str
        Where the claim is printed, and what is printed.
    rule : Rule
        When the claim counts as reproduced.
    cells : At or float
        Cells that answer it, or values derived from printed figures.
    proof : str
        Why the claim is wrong if the rule does not hold.
    """
    return Claim(place, printed, cells, rule, Verdict.REFUTED, proof)


def depends(place: str, printed: str, rule: Rule, *cells: At, on: str) -> Claim:
    """A claim that cannot be known if its rule does not hold: it depends on unpublished inputs.

    Parameters
    ----------
    place, printed : str
        Where the claim is printed, and what is printed.
    rule : Rule
        When the claim counts as reproduced.
    cells : At
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
