# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on the papers' claims: complete, and each derived from the numbers shown."""

from __future__ import annotations

import dataclasses
import re

import pytest
import samples
from paper_texts import paper

from papers.comparison.claims import CLAIMS, as_section, judge
from papers.comparison.claims.claim import Cells, SectionTable, Verdict
from papers.comparison.claims.rules import read_rule
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.render import as_text
from papers.comparison.sections import SECTIONS, section

DOCUMENT = samples.ROOT / 'docs' / 'comparison.md'
# How many figures and tables each paper has.
FIGURES = {'S0': 8, 'S1': 16, 'S2': 4, 'S3': 17, 'S4': 18}
TABLES = {'S0': 1, 'S1': 3, 'S2': 2, 'S3': 1, 'S4': 7}
EVERY = [(name, claim) for name, claims in CLAIMS.items() for claim in claims]


def read_document() -> dict[str, list[ComparisonTable]]:
    """Tables of docs/comparison.md by section, cells as text."""
    report: dict[str, list[ComparisonTable]] = {}
    blocks = DOCUMENT.read_text(encoding='utf-8').split('\n\n')
    name = title = ''
    for block in blocks:
        if block.startswith('## '):
            name = block[3:]
            report[name] = []
        elif block.startswith('### '):
            title = block[4:]
        elif block.startswith('|'):
            rows = [
                tuple(
                    cell.strip().replace('\\|', '|') for cell in re.split(r'(?<!\\)\|', line)[1:-1]
                )
                for line in block.splitlines()
            ]
            cells = [tuple(None if cell == '-' else cell for cell in row) for row in rows[2:]]
            report[name].append(ComparisonTable(title, '', rows[0], tuple(cells)))
    return report


@pytest.fixture(scope='module')
def document() -> dict[str, list[ComparisonTable]]:
    return read_document()


def test_every_section_is_in_the_document(document) -> None:
    assert list(document) == ['claims', *SECTIONS]


def test_the_document_names_no_section_that_is_gone(document) -> None:
    named = {name for table in document['claims'] for row in table.rows
             for name in (row[-1] or '').split(', ') if name}  # fmt: skip
    assert named <= {*SECTIONS, 'arithmetic'}
    assert named >= set(SECTIONS)  # and every section answers a claim


@pytest.mark.parametrize('name', CLAIMS)
def test_the_document_holds_the_verdict_on_every_claim(document, name) -> None:
    """From the numbers in the document itself, by the rules next to them."""
    judged = judge({key: document[key] for key in SECTIONS})[name]
    assert [one.claim for one in judged] == list(CLAIMS[name])
    (table,) = (t for t in document['claims'] if t.title.startswith(name))
    assert [one.row() for one in judged] == list(table.rows)


@pytest.mark.parametrize('name', CLAIMS)
def test_every_figure_and_table_of_the_papers_is_judged(name) -> None:
    places = ' '.join(claim.place for claim in CLAIMS[name])
    for word, count in (('Fig', FIGURES[name]), ('Table', TABLES[name])):
        found = {
            int(number)
            for series in re.findall(rf'{word}s?\.? (\d+[a-c]?(?:, \d+)*)', places)
            for number in re.findall(r'\d+', series)
        }
        assert found == set(range(1, count + 1)), word


@pytest.mark.parametrize('name', CLAIMS)
def test_figures_and_tables_counted_are_those_of_the_paper(name) -> None:
    text = paper(name)
    figures = {int(n) for n in re.findall(r'Fig(?:ure|\.) ?(\d+)', text)}
    tables = {int(n) for n in re.findall(r'Table ?(\d+)', text)}
    assert (max(figures), max(tables)) == (FIGURES[name], TABLES[name])


@pytest.mark.parametrize('name', CLAIMS)
def test_quoted_words_are_in_the_paper(name) -> None:
    text = _plain(paper(name))
    for claim in CLAIMS[name]:
        for words in re.findall(r'"([^"]+)"', claim.printed):
            assert _plain(words) in text, (claim.place, words)


def _plain(text: str) -> str:
    """Text without what extraction adds or loses: markup, spaces, case."""
    return re.sub(r'[^a-z0-9%.]', '', text.lower().replace('\u2013', '').replace('~', ''))


def test_what_is_not_reproduced_says_why() -> None:
    for name, claim in EVERY:
        if claim.rule is None:
            assert claim.reason, (name, claim.place, claim.printed)
        assert claim.place.startswith(name)
        assert claim.rule is None or claim.cells


def test_refuted_claims_bring_a_proof(document) -> None:
    for judged in judge({key: document[key] for key in SECTIONS}).values():
        for one in judged:
            assert one.verdict is Verdict.REPRODUCED or len(one.reason) > 5, one.claim


TABLE = ComparisonTable('A title, long', 'S0', ('', 'a', 'b'), (('row', '1.00', 2.0),))
ANSWERS = SectionTable('coupling', 'A title')


def in_row(name: str, *headings: str) -> Cells:
    return Cells(ANSWERS, (name,), headings)


@pytest.fixture
def claim():
    found = next(claim for _, claim in EVERY if claim.tables and claim.otherwise is Verdict.REFUTED)

    def made(cell: Cells, rule='first larger'):
        return dataclasses.replace(found, cells=(cell,), rule=read_rule(rule), reason='proof')

    return made


def test_verdicts_follow_from_the_cells(monkeypatch, claim) -> None:
    place = in_row('row', 'b', 'a')
    claims = (claim(place), claim(in_row('row')))
    monkeypatch.setitem(CLAIMS, 'S0', claims)
    first, second = judge({'coupling': [TABLE]})['S0']
    assert (first.verdict, first.ours, first.reason) == (Verdict.REPRODUCED, '2.000; 1.00', '')
    assert (second.verdict, second.ours) == (Verdict.REFUTED, '1.00; 2.000')
    assert second.row()[4:] == ('refuted: proof', 'coupling')


def test_claims_of_other_sections_are_left_out_and_missing_cells_are_not(
    monkeypatch, claim
) -> None:
    place = in_row('row', 'a')
    monkeypatch.setitem(CLAIMS, 'S0', (claim(place),))
    assert judge({'goals': [TABLE]}) == {}
    assert judge({'coupling': [dataclasses.replace(TABLE, title='Another')]}) == {}
    for changed in (
        in_row('x', 'a'),
        in_row('row', 'x'),
        Cells(ANSWERS, ('row', 'x'), ('a',)),
    ):
        monkeypatch.setitem(CLAIMS, 'S0', (claim(changed),))
        with pytest.raises(KeyError, match="section coupling: 'A title, long' has no .* 'x'"):
            judge({'coupling': [TABLE]})


@pytest.mark.parametrize(
    ('rule', 'good', 'bad'),
    [
        ({'above': 2.0}, ['2.1', 3.0], ['2.1', 2.0]),
        ({'below': 2.0}, [1.0, '1.9'], [1.0, 2.0]),
        ({'between': [1.0, 2.0]}, [1.0, '2'], [0.9, 1.0]),
        ({'within': {'percent': 10, 'of': [2.0, -4.0]}}, [2.1, '-4.3'], [2.1, -4.5]),
        ({'digits': ['0.15', '0.001']}, [0.1549, 1e-3], [0.156, 1e-3]),
        ('first larger', [3.0, 2.0, '1'], [3.0, 2.0, 3.5]),
        (
            'first of each three least',
            [1.0, 2.0, '3', 4.0, 5.0, 5.0],
            [1.0, 2.0, 3.0, 5.0, 5.0, 6.0],
        ),
        (
            {'most coupled': [1, 3]},
            [6, 1, 5, 4, 2, 3, 5, 1, 6, 4, 2, 3],
            [6, 1, 5, 4, 2, 3, *range(6)],
        ),
        ({'numbers': 'text', 'holds': 'a, b: a < b'}, [1.0, '2'], [2.0, 1.0]),
        ({'pairs': 'text', 'holds': 'a, b: a < b'}, [1.0, 3, '2', 4], [1.0, 3, 2, 3]),
        ({'each': 'text', 'holds': 'a: a < 3'}, [1.0, '2'], [1.0, 3.0]),
    ],
)
def test_rules_hold_and_fail(rule, good, bad) -> None:
    rule = read_rule(rule)
    assert rule.holds(good) and not rule.holds(bad)
    assert rule.text


def test_rules_need_cells() -> None:
    above = read_rule({'above': 0.0})
    assert not above.holds([]) and not read_rule('first of each three least').holds([])
    with pytest.raises(ValueError, match='empty cell'):
        above.holds([None])


def test_text_says_verdicts_line_by_line(monkeypatch, claim) -> None:
    monkeypatch.setitem(CLAIMS, 'S0', (claim(in_row('row', 'a')),))
    report = {'coupling': [TABLE]}
    lines = as_text(as_section(report) | report).splitlines()
    assert lines[0].startswith('claims: Every table')
    text = ' '.join(line.strip() for line in lines)
    assert 'ours: 1.00; reproduced if: the first larger; verdict: refuted: proof' not in text
    assert 'ours: 1.00; reproduced if: the first larger; verdict: reproduced' in text
    assert max(map(len, lines)) <= 100


CHEAP = ('parameters', 'coupling-course', 'parasitic', 'torques', 'friction', 'trimule')


def test_sections_still_have_the_cells_that_claims_name(chewing) -> None:
    """Only quick sections; the document represents the others."""
    report = {name: section(name)(chewing) for name in CHEAP}
    judged = [one.claim for rows in judge(report).values() for one in rows]
    wanted = [
        claim
        for _, claim in EVERY
        if claim.tables and {table.section for table in claim.tables} <= set(CHEAP)
    ]
    assert len(wanted) > 40
    assert judged == wanted
