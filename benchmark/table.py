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
    """One line: figures per method, in ``unit``; a heading without figures."""

    label: str
    unit: str
    figures: dict[str, float]
    budget: float | None = None

    def ratios(self, ours: str) -> dict[str, float]:
        """Figures of the other methods over ours, by method."""
        figures = self.figures.items()
        return {name: value / self.figures[ours] for name, value in figures if name != ours}

    def verdict(self, ours: str) -> str:
        """Whether our figure is within the budget; empty if there is no budget."""
        if self.budget is None:
            return ''
        return 'within' if self.figures[ours] <= self.budget else 'over'


def as_text(rows: list[Row], methods: list[str]) -> str:
    """Aligned table; ``methods`` are the columns, ours first."""
    ours = methods[0]
    lines = [_line('', 'budget', ours, '', methods[1:])]
    lines.append('-' * len(lines[0]))
    for row in rows:
        if not row.figures:
            lines += ['', row.label]
            continue
        ratios = row.ratios(ours)
        others = [
            f'{_number(row.figures[name])} ({_number(ratios[name])} x)' if name in ratios else '-'
            for name in methods[1:]
        ]
        mine = _number(row.figures[ours])
        budget = '' if row.budget is None else _number(row.budget)
        lines.append(_line(f'  {row.label}, {row.unit}', budget, mine, row.verdict(ours), others))
    return '\n'.join(line.rstrip() for line in lines)


def as_data(rows: list[Row], ours: str) -> list[dict[str, Any]]:
    """The table as data: one mapping per row."""
    return [
        dataclasses.asdict(row) | {'ratios': row.ratios(ours), 'verdict': row.verdict(ours)}
        for row in rows
        if row.figures
    ]


def _number(value: float) -> str:
    return f'{value:.0f}' if value >= 100.0 else f'{value:.3g}'


def _line(label: str, budget: str, ours: str, verdict: str, others: list[str]) -> str:
    head = f'{label:<{_FIRST_COLUMN}}{budget:>7}{ours:>15}  {verdict:<7}'
    return head + ''.join(f'{other:>{_COLUMN}}' for other in others)
