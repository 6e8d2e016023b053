# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of papers: what is printed where, which cells answer it, and the rule for a verdict."""

from __future__ import annotations

import dataclasses
import enum
import pathlib
from typing import Any

import yaml

from papers.comparison.claims.rules import Rule, read_rule


class Verdict(enum.Enum):
    """What our numbers say about a claim."""

    REPRODUCED = 'reproduced'
    REFUTED = 'refuted'
    UNKNOWN = 'cannot be known'
    GIVEN = 'given'


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


@dataclasses.dataclass(frozen=True)
class Cells:
    """Cells of a table, row by row, by names of rows and headings of columns.

    Without headings: all cells of the row that are not empty.
    """

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
        Verdict if the rule does not hold, or if nothing can be computed: refuted if the claim
        depends on nothing unpublished.
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


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Claims of a paper, in page order, from its file in this folder."""
    file = pathlib.Path(__file__).with_name(f'{paper.lower()}.yaml')
    return tuple(map(_claim, yaml.safe_load(file.read_text(encoding='utf-8'))))


def _claim(written: dict[str, Any]) -> Claim:
    rule = written.get('if')
    return Claim(
        written['place'],
        written['printed'],
        tuple(map(_cells, written.get('cells', ()))),
        read_rule(rule) if rule else None,
        Verdict(written['otherwise']),
        written.get('reason', ''),
    )


def _cells(written: float | dict[str, Any]) -> Cells | float:
    if not isinstance(written, dict):
        return float(written)
    section, title = written['in'].split(': ', 1)
    rows, columns = (
        ((written['row'],), written.get('under', ()))
        if 'row' in written
        else (tuple(written['rows']), (written['column'],))
    )
    return Cells(SectionTable(section, title), rows, tuple(columns))
