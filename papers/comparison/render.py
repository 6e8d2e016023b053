# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of comparisons as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import textwrap
from collections.abc import Mapping, Sequence

from papers.comparison.claims import CLAIMS_SECTION as CLAIMS
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.sections import PAPERS, SECTIONS

Report = Mapping[str, Sequence[ComparisonTable]]
WIDTH = 100
_INTRODUCTION = (
    'Written by `python -m papers`: what the papers print next to what is computed here, and '
    'why they differ. Printed numbers are shown as printed, ours with a few digits; times are '
    'from one machine on one day.'
)
_ABOUT_CLAIMS = (
    'Every table, figure and number of the papers. Reproduced: our numbers satisfy the rule next '
    'to them. Refuted: they do not, whatever the unpublished inputs were; the proof follows. '
    "Cannot be known: the result depends on unpublished inputs or on the authors' machine. Given: "
    'a drawing, or an input that is used.'
)


def as_text(report: Report) -> str:
    """Aligned tables for a terminal."""
    blocks = []
    for name, tables in report.items():
        blocks.append(textwrap.fill(f'{name}: {_about(name)}', WIDTH))
        for table in tables:
            heading = textwrap.wrap(table.title, WIDTH)
            notes = [
                textwrap.fill(note, WIDTH, initial_indent='  * ', subsequent_indent='    ')
                for note in table.notes
            ]
            body = _sentences(table) if name == CLAIMS else _grid(table)
            lines = [*heading, f'[{table.source}]', *body, *notes]
            blocks.append('\n'.join(lines))
    return '\n\n'.join(blocks) + '\n'


def as_markdown(report: Report) -> str:
    """Headings, tables and lists."""
    papers = '\n'.join(
        f'- {short}: {paper}' for short, paper in PAPERS.items() if _cited(report, short)
    )
    blocks = ['# Printed figures and ours', textwrap.fill(_INTRODUCTION, WIDTH), papers]
    for name, tables in report.items():
        blocks += [f'## {name}', textwrap.fill(_about(name), WIDTH)]
        for table in tables:
            rule = ['---', *['---:'] * (len(table.columns) - 1)]
            rows = [table.columns, rule, *(map(table.shown, row) for row in table.rows)]
            grid = '\n'.join(f'| {" | ".join(map(_escaped, row))} |' for row in rows)
            notes = '\n'.join(
                textwrap.fill(f'- {note}', WIDTH, subsequent_indent='  ') for note in table.notes
            )
            blocks += [f'### {table.title}', f'*{table.source}*', grid, notes]
    return '\n\n'.join(block for block in blocks if block) + '\n'


def as_csv(report: Report) -> str:
    """One line per cell, with all digits; notes are lines without a column."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(['section', 'table', 'source', 'row', 'column', 'value'])
    for name, tables in report.items():
        for table in tables:
            place = (name, table.title, table.source)
            for row in table.rows:
                for column, cell in zip(table.columns[1:], row[1:], strict=True):
                    writer.writerow([*place, row[0], column, '' if cell is None else cell])
            for number, note in enumerate(table.notes, 1):
                writer.writerow([*place, f'note {number}', '', note])
    return stream.getvalue()


def as_json(report: Report) -> str:
    """Lists of tables by section, with all digits."""
    content = {
        name: [dataclasses.asdict(table) for table in tables] for name, tables in report.items()
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + '\n'


# By file name extension.
FORMATS = {'.txt': as_text, '.md': as_markdown, '.csv': as_csv, '.json': as_json}


def _about(name: str) -> str:
    return _ABOUT_CLAIMS if name == CLAIMS else SECTIONS[name]


def _sentences(table: ComparisonTable) -> list[str]:
    """Rows too wide for columns, each as text: 'heading: cell', the first cell without heading."""
    return [
        textwrap.fill(
            '; '.join(
                f'{heading}: {cell}' if heading else str(cell)
                for heading, cell in zip(table.columns, row, strict=True)
                if cell is not None
            ),
            WIDTH,
            initial_indent='  ',
            subsequent_indent='    ',
        )
        for row in table.rows
    ]


def _grid(table: ComparisonTable) -> list[str]:
    """Aligned columns: names flush left, numbers flush right."""
    rows = [table.columns, *([table.shown(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        '  '.join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = '-' * max(map(len, lines))
    return [lines[0], rule, *lines[1:]]


def _cited(report: Report, short: str) -> bool:
    return any(short in table.source for tables in report.values() for table in tables)


def _escaped(cell: str) -> str:
    return cell.replace('|', '\\|')
