# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures as an aligned table, and as plain data for JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

_FIRST_COLUMN = 52
_COLUMN = 18


@dataclasses.dataclass(frozen=True)
class Row:
    """One line: figures per method, in ``unit``.

    ``remark`` takes the place of our figure if that is missing.
    """

    label: str
    unit: str
    figures: dict[str, float]
    budget: float | None = None
    remark: str = ''

    def ratios(self, ours: str) -> dict[str, float]:
        """Figures of the other methods over ours, by method."""
        mine = self.figures.get(ours)
        if mine is None:
            return {}
        return {name: value / mine for name, value in self.figures.items() if name != ours}

    def verdict(self, ours: str) -> str:
        """Whether our figure is within the budget; empty if there is no budget."""
        if self.budget is None or ours not in self.figures:
            return ''
        return 'within' if self.figures[ours] <= self.budget else 'over'


def as_text(rows: list[Row], methods: list[str]) -> str:
    """Aligned table; ``methods`` are the columns, ours first."""
    ours = methods[0]
    lines = [_line('', 'budget', ours, '', methods[1:])]
    lines.append('-' * len(lines[0]))
    for row in rows:
        if not row.figures and not row.remark:
            lines += ['', row.label]
            continue
        ratios = row.ratios(ours)
        others = [
            f'{_number(row.figures[name])} ({_number(ratios[name])} x)'
            if name in ratios
            else (_number(row.figures[name]) if name in row.figures else '-')
            for name in methods[1:]
        ]
        mine = _number(row.figures[ours]) if ours in row.figures else row.remark
        budget = '' if row.budget is None else _number(row.budget)
        lines.append(_line(f'  {row.label}, {row.unit}', budget, mine, row.verdict(ours), others))
    return '\n'.join(line.rstrip() for line in lines)


def as_data(rows: list[Row], ours: str) -> list[dict[str, Any]]:
    """The table as data: one mapping per row."""
    return [
        dataclasses.asdict(row) | {'ratios': row.ratios(ours), 'verdict': row.verdict(ours)}
        for row in rows
        if row.figures or row.remark
    ]


def _number(value: float) -> str:
    return f'{value:.0f}' if value >= 100.0 else f'{value:.3g}'


def _line(label: str, budget: str, ours: str, verdict: str, others: list[str]) -> str:
    head = f'{label:<{_FIRST_COLUMN}}{budget:>7}{ours:>15}  {verdict:<7}'
    return head + ''.join(f'{other:>{_COLUMN}}' for other in others)
