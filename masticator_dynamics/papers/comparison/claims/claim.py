# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A claim of a paper: what is printed where, which cells answer it, and the rule of the verdict."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence

from masticator_dynamics.papers.comparison.table import Cell


class Verdict(enum.Enum):
    """What our numbers say of a claim."""

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
        For people: 'within 5 %'.
    holds : callable
        Of the cells that answer the claim.
    """

    text: str
    holds: Callable[[Sequence[Cell]], bool]


@dataclasses.dataclass(frozen=True)
class At:
    """Cells of a section's table.

    Attributes
    ----------
    section, table : str
        Name of the section, and how the table's title begins.
    row : str
        Name of the row.
    columns : tuple of str
        Headings; none: all cells of the row that are not empty.
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
        'S0 Fig. 6a'.
    printed : str
        What it says; words in double quotes are the paper's own.
    cells : tuple of At
        What answers it; none where nothing can be computed.
    rule : Rule, optional
        When it is reproduced.
    otherwise : Verdict
        The verdict when it is not, or where nothing can be computed.
    reason : str
        Of that verdict: the proof, or why it cannot be known.
    computed : tuple of float
        What follows from printed figures by arithmetic; it answers the claim instead of cells.
    """

    place: str
    printed: str
    cells: tuple[At, ...]
    rule: Rule | None
    otherwise: Verdict
    reason: str
    computed: tuple[float, ...] = ()


def at(section: str, table: str, row: str, *columns: str) -> At:
    """Short for :class:`At`.

    Parameters
    ----------
    section, table, row : str
        Name of the section, how the table's title begins, and name of the row.
    columns : str
        Headings; none: all cells of the row that are not empty.
    """
    return At(section, table, row, columns)


def refutable(place: str, printed: str, rule: Rule, *cells: At, proof: str = '') -> Claim:
    """A claim that is refuted when its rule does not hold: it depends on nothing unpublished.

    Parameters
    ----------
    place, printed : str
        'S0 Fig. 6a', and what it says.
    rule : Rule
        When it is reproduced.
    cells : At
        What answers it.
    proof : str
        Why it is wrong where the rule does not hold.
    """
    return Claim(place, printed, cells, rule, Verdict.REFUTED, proof)


def depends(place: str, printed: str, rule: Rule, *cells: At, on: str) -> Claim:
    """A claim that cannot be known when its rule does not hold: it depends on what is unknown.

    Parameters
    ----------
    place, printed : str
        'S0 Fig. 6a', and what it says.
    rule : Rule
        When it is reproduced.
    cells : At
        What answers it.
    on : str
        What is not published.
    """
    return Claim(place, printed, cells, rule, Verdict.UNKNOWN, on)


def arithmetic(place: str, printed: str, rule: Rule, *computed: float, proof: str = '') -> Claim:
    """A claim that printed figures alone confirm or refute.

    Parameters
    ----------
    place, printed : str
        'S0 Fig. 6a', and what it says.
    rule : Rule
        When it is reproduced.
    computed : float
        What follows from printed figures.
    proof : str
        Why it is wrong where the rule does not hold.
    """
    return Claim(place, printed, (), rule, Verdict.REFUTED, proof, computed)


def unknown(place: str, printed: str, reason: str) -> Claim:
    """A claim that no computation of ours can answer.

    Parameters
    ----------
    place, printed : str
        'S0 Fig. 6a', and what it says.
    reason : str
        Why nothing can be computed.
    """
    return Claim(place, printed, (), None, Verdict.UNKNOWN, reason)


def given(place: str, printed: str, use: str) -> Claim:
    """A drawing, or an input, that claims nothing.

    Parameters
    ----------
    place, printed : str
        'S0 Fig. 6a', and what it says.
    use : str
        What becomes of it here.
    """
    return Claim(place, printed, (), None, Verdict.GIVEN, use)
