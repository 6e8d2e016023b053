# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the papers' claims from the tables of the sections."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from papers.comparison.claims.claim import Cells, Claim, SectionTable, Verdict, claims_of
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.sections import SECTIONS

# By paper, in page order.
CLAIMS = {paper: claims_of(paper) for paper in ('S0', 'S1', 'S2', 'S3', 'S4')}
SECTION = 'claims'  # name of the verdicts among the sections of a report
Report = Mapping[str, Sequence[ComparisonTable]]
COLUMNS = ('', 'printed', 'ours', 'reproduced if', 'verdict', 'section')


@dataclasses.dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict.

    Attributes
    ----------
    claim : Claim
    ours : str
        Text of the cells that answer it.
    verdict : Verdict
    """

    claim: Claim
    ours: str
    verdict: Verdict

    @property
    def reason(self) -> str:
        """Proof, or why the claim cannot be known; empty if it is reproduced."""
        return '' if self.verdict is Verdict.REPRODUCED else self.claim.reason

    @property
    def sections(self) -> str:
        """Names of the sections that answer the claim."""
        tables = self.claim.tables
        if self.claim.cells and not tables:
            return 'arithmetic'
        return ', '.join(dict.fromkeys(table.section for table in tables))

    def row(self) -> tuple[str | None, ...]:
        """Row of a table with ``COLUMNS``."""
        rule = self.claim.rule.text if self.claim.rule else None
        verdict = ': '.join(filter(None, (self.verdict.value, self.reason)))
        return (self.claim.place, self.claim.printed, self.ours or None, rule, verdict,
                self.sections or None)  # fmt: skip


def judge(report: Report) -> dict[str, list[JudgedClaim]]:
    """Verdicts by paper on the claims that a report answers.

    A claim is left out if its section or table is not in the report, as some tables exist only for
    built-in chewing. Claims without cells are included only if the report has all sections.

    Raises
    ------
    KeyError
        If a table lacks the row or column that a claim names.
    """
    complete = set(SECTIONS) <= set(report)
    judged = {
        paper: [
            _judged(claim, report)
            for claim in claims
            if _answered(claim, report) or (complete and not claim.tables)
        ]
        for paper, claims in CLAIMS.items()
    }
    return {paper: rows for paper, rows in judged.items() if rows}


def _answered(claim: Claim, report: Report) -> bool:
    tables = claim.tables
    return bool(tables) and all(_table(table, report) is not None for table in tables)


def as_section(report: Report) -> dict[str, list[ComparisonTable]]:
    """Verdicts as a section with a table per paper; empty if there are none."""
    tables = [
        ComparisonTable(
            f'{paper}, {len(rows)} lines: {_counts(rows)}', paper, COLUMNS,
            tuple(one.row() for one in rows),
        )
        for paper, rows in judge(report).items()
    ]  # fmt: skip
    return {SECTION: tables} if tables else {}


def _counts(rows: list[JudgedClaim]) -> str:
    counts = {v: sum(one.verdict is v for one in rows) for v in Verdict}
    return ', '.join(f'{count} {v.value}' for v, count in counts.items() if count)


def _judged(claim: Claim, report: Report) -> JudgedClaim:
    if claim.rule is None:
        return JudgedClaim(claim, '', claim.otherwise)
    cells: list[Cell] = []
    shown = []
    for wanted in claim.cells:
        if not isinstance(wanted, Cells):
            cells.append(wanted)
            shown.append(f'{wanted:.4g}')
            continue
        table = _table(wanted.table, report)
        assert table is not None  # checked by the caller
        found = _cells(table, wanted)
        cells += found
        shown += map(table.shown, found)
    verdict = Verdict.REPRODUCED if claim.rule.holds(cells) else claim.otherwise
    return JudgedClaim(claim, '; '.join(shown), verdict)


def _table(wanted: SectionTable, report: Report) -> ComparisonTable | None:
    found = [t for t in report.get(wanted.section, ()) if t.title.startswith(wanted.title)]
    return found[0] if found else None


def _cells(table: ComparisonTable, wanted: Cells) -> list[Cell]:
    rows = {row[0]: row for row in table.rows}
    where = f'section {wanted.table.section}: {table.title!r}'
    for name in wanted.rows:
        if name not in rows:
            raise KeyError(f'{where} has no row {name!r}')
    if not wanted.columns:
        return [cell for name in wanted.rows for cell in rows[name][1:] if cell is not None]
    for column in wanted.columns:
        if column not in table.columns:
            raise KeyError(f'{where} has no column {column!r}')
    indices = [table.columns.index(column) for column in wanted.columns]
    return [rows[name][k] for name in wanted.rows for k in indices]
