# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and their output formats."""

import csv
import io
import json

import pytest

from papers.comparison import sections
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.render import as_csv, as_json, as_markdown, as_text

TABLE = ComparisonTable(
    'A title',
    'S9 Table 1',
    ('', 'printed', '|ours| N', 'other'),
    (('one', '0.1200', 0.1 + 0.2, None), ('two', '12', 1.0, 3e-16)),
    ('Because.',),
)


@pytest.fixture
def report(monkeypatch):
    monkeypatch.setitem(sections.SECTIONS, 'trial', 'What is tried.')
    return {'trial': [TABLE]}


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"A title: row 'one' has 2 cells, there are 3 columns"):
        ComparisonTable('A title', 'S9', ('', 'a', 'b'), (('one', 1.0),))


@pytest.mark.parametrize(
    ('cell', 'shown'),
    [('0.1200', '0.1200'), (None, '-'), (0.30000000000000004, '0.3000'), (1234.5, '1234'),
     (12345.0, '1.234e+04'), (3e-16, '3.000e-16'), (0.0, '0.000'), (-2.5, '-2.500'), (7, '7')],
)  # fmt: skip
def test_people_see_four_digits_and_printed_figures_as_printed(cell, shown) -> None:
    assert TABLE.shown(cell) == shown


def test_text_is_aligned_and_says_all(report) -> None:
    lines = as_text(report).splitlines()
    assert lines[0] == 'trial: What is tried.'
    assert lines[2:4] == ['A title', '[S9 Table 1]']
    header, rule, one, two, note = lines[4:]
    for heading, cells in zip(('printed', '|ours| N', 'other'),
                              (('0.1200', '12'), ('0.3000', '1.000'), ('-', '3.000e-16')),
                              strict=True):  # fmt: skip
        end = header.index(heading) + len(heading)
        assert one[:end].endswith(cells[0]) and two[:end].endswith(cells[1])
    assert set(rule) == {'-'}
    assert note.strip() == '* Because.'


def test_markdown_has_a_cell_for_every_cell(report) -> None:
    lines = as_markdown(report).splitlines()
    assert '## trial' in lines and '### A title' in lines
    assert r'|  | printed | \|ours\| N | other |' in lines
    assert '| --- | ---: | ---: | ---: |' in lines
    assert '| one | 0.1200 | 0.3000 | - |' in lines
    assert '- Because.' in lines


def test_files_for_machines_hold_all_digits(report) -> None:
    (table,) = json.loads(as_json(report))['trial']
    assert table['rows'] == [list(row) for row in TABLE.rows]
    assert (table['title'], table['source'], table['notes']) == (
        'A title',
        'S9 Table 1',
        ['Because.'],
    )
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert [r['value'] for r in rows if r['row'] == 'one'] == ['0.1200', '0.30000000000000004', '']
    assert float(rows[5]['value']) == 3e-16 and rows[5]['column'] == 'other'
    assert (rows[-1]['row'], rows[-1]['value']) == ('note 1', 'Because.')


@pytest.mark.parametrize('name', sections.SECTIONS)
def test_every_section_has_its_module(name) -> None:
    assert callable(sections.section(name))
