# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""python -m papers: sections by name, formats by file extension, output whole or not at all."""

import contextlib
import csv
import functools
import io
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from processes import PYTHON, completed

from masticator_dynamics.errors import LimitError
from papers.__main__ import compare as papers_command
from papers.comparison import coupling
from papers.comparison import run_sections as sections_run
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.sections import SECTIONS


@pytest.fixture
def compare(run):
    """``python -m papers`` in this process."""
    return functools.partial(run, command=papers_command)


@pytest.fixture
def motion(write):
    """A motion of two poses, on which averages are quickly computed."""
    rows = np.column_stack([[0.0, 0.1], np.zeros((2, 12))])
    rows[1, 1] = 1e-3
    columns = ['time', *(c + s for c in ('x', 'y', 'alpha', 'beta') for s in ('', '_dot', '_ddot'))]
    return write(columns, rows)


def test_help_lists_every_section(compare) -> None:
    answer = compare('--help')
    assert answer.status == 0
    for name, summary in SECTIONS.items():
        line = next(x for x in answer.out.splitlines() if x.split()[:1] == [name])
        assert line.split()[1] == summary.split()[0]


def test_an_unknown_section_is_bad_usage(compare) -> None:
    answer = compare('coupling', 'nonsense')
    assert (answer.status, answer.out) == (2, '')
    assert "'nonsense'" in answer.err and answer.err.count('\n') == 1


def test_text_on_standard_output_fits_a_terminal(compare, motion) -> None:
    answer = compare('coupling', '--motion', motion)
    assert (answer.status, answer.err) == (0, '')
    lines = answer.out.splitlines()
    assert lines[0] == f'coupling: {SECTIONS["coupling"]}'
    # Lines that name the motion's file are as long as its path.
    assert max(len(line) for line in lines if str(motion) not in line) <= 120


def test_the_motion_is_the_one_given(compare, write, tmp_path) -> None:
    """With a jaw that stays forward, the averages are those of the forward pose."""
    file = write(['time', 'x', 'y', 'alpha', 'beta'], [[t, *coupling.FORWARD] for t in range(8)])
    out = tmp_path / 'out.json'
    assert compare('coupling', '--motion', file, '--output', out).status == 0
    tables = json.loads(out.read_text())['coupling']
    average = next(t for t in tables if str(file) in t['title'])
    (ratio,) = (row[1:] for row in average['rows'] if row[0] == 'ratio ours, %')
    assert ratio == pytest.approx([54.92, 45.49, 37.11, 38.25, 24.78, 28.94], abs=5.1e-3)


def test_formats_say_the_same(compare, motion, tmp_path) -> None:
    files = {ending: tmp_path / f'out.{ending}' for ending in ('json', 'csv', 'md', 'txt')}
    for file in files.values():
        answer = compare('coupling', '--motion', motion, '--output', file)
        assert (answer.status, answer.out, answer.err) == (0, '', '')
    cells = list(csv.DictReader(io.StringIO(files['csv'].read_text())))
    numbers = [
        cell
        for table in json.loads(files['json'].read_text())['coupling']
        for row in table['rows']
        for cell in row[1:]
    ]
    assert [c['value'] for c in cells if c['column']] == [str(cell) for cell in numbers]
    assert files['txt'].read_text().splitlines()[0].startswith('coupling: ')
    assert '## coupling' in files['md'].read_text()


def test_what_cannot_be_written_or_read_is_refused_first(compare, motion, tmp_path) -> None:
    for words in (
        ('--output', tmp_path / 'out.pdf'),
        ('--output', tmp_path / 'none' / 'out.md'),
        ('--motion', tmp_path / 'none.csv'),
    ):
        answer = compare('coupling', *words)
        assert (answer.status, answer.out) == (2, '')
        assert answer.err.count('\n') == 1 and str(words[1]) in answer.err


def test_nothing_is_written_when_a_section_fails(compare, monkeypatch, tmp_path) -> None:
    table = ComparisonTable('t', 's', ('', 'a'), (('r', 1.0),))

    def section(name):
        def compare(inputs):
            if name == 'goals':
                raise LimitError('too far')
            return [table]

        return compare

    monkeypatch.setattr(sections_run, 'section', section)
    out = tmp_path / 'out.txt'
    out.write_text('as before')
    answer = compare('coupling', 'goals', '--processes', '1', '--output', out)
    assert (answer.status, answer.err) == (2, 'masticator: error: too far\n')
    assert out.read_text() == 'as before'
    assert compare('coupling', 'goals', '--processes', '1').out == ''
    assert compare('coupling', 'coupling').out.count('[s]') == 1


def test_sections_in_parallel_say_the_same_and_show_how_far_they_are(
    compare, motion, tmp_path
) -> None:
    out = tmp_path / 'out.json'
    words = ['coupling', 'rrr4', '--motion', str(motion), '--output', str(out)]
    master, slave = pty.openpty()  # progress is shown on a terminal
    begun = subprocess.Popen(
        [sys.executable, '-m', 'papers', *words, '--processes', '2'], stderr=slave
    )
    os.close(slave)
    shown = b''
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(master, 4096):
            shown += part
    os.close(master)
    assert begun.wait() == 0
    assert re.search(rb'all sections .* 50%', shown)  # the time left is known after a second
    parallel = out.read_text()
    assert list(json.loads(parallel)) == ['coupling', 'rrr4']
    assert compare(*words, '--processes', '1').status == 0
    assert out.read_text() == parallel


def test_a_section_that_fails_in_parallel_ends_all(compare, write, tmp_path) -> None:
    file = write(['time', 'x', 'y', 'alpha', 'beta'], [[t, 0.3, 0, 0, 0] for t in range(3)])
    out = tmp_path / 'out.txt'
    words = ('rrr4', 'coupling', '--motion', file, '--output', out)
    answer = compare(*words, '--processes', '2')
    assert answer.status == 2
    assert answer.err == compare(*words, '--processes', '1').err
    assert answer.err.count('\n') == 1 and 'row 1' in answer.err
    assert not out.exists()


def test_sections_are_imported_when_they_run() -> None:
    code = (
        'import sys, papers.__main__\n'
        'comparison = "papers.comparison."\n'
        'names = [m for m in sys.modules if m.startswith(comparison)]\n'
        'print(*(n.rpartition(".")[2] for n in names), "scipy.optimize" in sys.modules)'
    )
    found = completed(*PYTHON, '-c', code, check=True)
    *modules, optimize = found.stdout.split()
    assert not set(modules) & {name.replace('-', '_') for name in SECTIONS}
    assert optimize == 'False'
