# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""workspace: classes and margins over grids, as text, CSV and PNG."""

import contextlib
import csv
import importlib.util

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis import workspace_plot

FIVE_BAR = samples.file_of('five_bar')
GRID = ['workspace', FIVE_BAR, '--axis', 'x:-0.3:0.3:7', '--axis', 'y:0.05:0.55:6']


def rows_of(file):
    with open(file, encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


def test_data_are_what_python_says_with_empty_cells_where_nothing_closes(run, tmp_path) -> None:
    file = tmp_path / 'out.csv'
    answer = run(*GRID, '--output', file)
    assert (answer.status, answer.err) == (0, '')
    rows = rows_of(file)
    assert len(rows) == 42
    assert [float(row['y']) for row in rows[:6]] == pytest.approx(np.linspace(0.05, 0.55, 6))
    mechanism = Mechanism.load(str(FIVE_BAR))
    for row in rows:
        pose = [float(row['x']), float(row['y'])]
        closed = bool(mechanism.attempt([pose]).closed[0])
        assert (row['class'] in ('out_of_reach', 'other_branch', 'singular')) != closed
        for name in ('type_1', 'type_2', 'room', 'condition_loops', 'condition_actuation'):
            assert (row[name] != '') == closed
        assert (row['cause'] == '') == (row['class'] == 'usable')
        if closed:
            values = np.linalg.svd(
                mechanism.jacobian_actuated_from_independent(mechanism.solve(pose)),
                compute_uv=False,
            )
            ratio = float(row['condition_actuation'])
            assert ratio == pytest.approx(values[0] / values[1], rel=1e-9)
        assert (row['connected'] == '1') <= (row['class'] == 'usable')
    assert {'usable', 'out_of_reach', 'out_of_range'} <= {row['class'] for row in rows}


def test_the_summary_counts_classes_and_tells_the_extent(run, tmp_path) -> None:
    file = tmp_path / 'out.csv'
    answer = run(*GRID, '--output', file)
    rows = rows_of(file)
    lines = [' '.join(line.split()) for line in answer.out.splitlines()]
    for name in {row['class'] for row in rows}:
        count = sum(row['class'] == name for row in rows)
        assert any(line.startswith(f'{name} {count} {100 * count / 42:.2f} %') for line in lines)
    usable = [float(row['x']) for row in rows if row['class'] == 'usable']
    assert f'x [{min(usable):.6g}, {max(usable):.6g}] m step 0.1' in lines
    assert any(line.startswith('characteristic length 0.44 m of sliding') for line in lines)
    worst = max(float(row['condition_actuation']) for row in rows if row['class'] == 'usable')
    assert any(f'worst condition number of actuation {worst:.4g} at' in line for line in lines)


def test_fixed_coordinates_and_standard_output(run) -> None:
    answer = run('workspace', 'masticator', '--axis', 'beta:0:0.1:3', '--fix', 'x=-0.001',
                 '--output', '-')  # fmt: skip
    assert answer.status == 0
    rows = list(csv.DictReader(answer.out.splitlines()))
    assert [(float(row['x']), float(row['beta'])) for row in rows] == [
        (-0.001, 0.0), (-0.001, 0.05), (-0.001, 0.1)
    ]  # fmt: skip
    assert 'fixed at -0.001 m' in answer.err  # the summary gives way to the data


@pytest.mark.parametrize(
    'words',
    [
        ['--axis', 'beta:0:0.6:9'],
        ['--axis', 'x:7', '--axis', 'beta:9'],
        ['--axis', 'x:3', '--axis', 'beta:3', '--axis', 'alpha:3'],
        ['--axis', 'x:0.5:0.6:2', '--axis', 'beta:2'],  # nothing closes
    ],
)
def test_pictures_of_one_two_and_three_coordinates(run, tmp_path, words) -> None:
    pytest.importorskip('matplotlib', reason='pictures need matplotlib')
    file = tmp_path / 'out.png'
    answer = run('workspace', 'masticator', *words, '--plot', file)
    assert (answer.status, answer.err) == (0, '')
    content = file.read_bytes()
    assert content.startswith(b'\x89PNG') and content.endswith(b'IEND\xaeB`\x82')
    assert [path.name for path in tmp_path.iterdir()] == ['out.png']


def test_an_only_class_is_named_in_the_middle_of_its_scale(run, tmp_path, monkeypatch) -> None:
    figures = pytest.importorskip('matplotlib.figure', reason='pictures need matplotlib')
    figure = figures.Figure()
    monkeypatch.setattr(
        workspace_plot, 'png_figure', lambda *_, **__: contextlib.nullcontext(figure)
    )
    words = ['--axis', 'x:0.5:0.6:2', '--axis', 'beta:2', '--plot', tmp_path / 'out.png']
    assert run('workspace', 'masticator', *words).status == 0
    named = [[text.get_text() for text in axes.get_yticklabels()] for axes in figure.axes]
    scale = figure.axes[named.index(['out of reach'])]
    assert scale.get_yticks() == [pytest.approx(np.mean(scale.get_ylim()))]


def test_without_matplotlib_the_data_are_still_written(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    answer = run(*GRID, '--output', tmp_path / 'out.csv', '--plot', tmp_path / 'out.png')
    assert answer.status == 2
    assert '--plot needs matplotlib' in answer.err and answer.err.count('\n') == 1
    assert len(rows_of(tmp_path / 'out.csv')) == 42
    assert not (tmp_path / 'out.png').exists()
    assert 'usable' in answer.out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--axis', 'z'], "no independent coordinate 'z'; there are: x, y, alpha, beta"),
        (['--fix', 'z=0'], "no independent coordinate 'z'"),
        (['--axis', 'x', '--axis', 'x:3'], "'x' is given twice"),
        (['--axis', 'x', '--fix', 'x=0'], "'x' is given twice"),
        (['--fix', 'x=0', '--fix', 'x=1'], "'x' is there twice"),
        (['--axis', 'x:0.001:0.001:5'], 'x: the range is empty: both ends are 0.001 m'),
        (['--axis', 'x:0.002:0.001'], 'x: the range is inverted: 0.002 m is above 0.001 m'),
        (['--axis', 'x:0:inf:5'], 'x needs a finite range, at most 1e+06 m from 0, not [0, inf] m'),
        (['--axis', 'x:nan:1:5'], 'x needs a finite range'),
        (['--axis', 'x:0'], 'x: 0 steps; needed are at least 2'),
        (['--axis', 'x:0:0.001:1'], 'x: 1 steps'),
        (['--axis', 'x:-3'], 'x: -3 steps'),
        (['--axis', 'x:0:0.001:2.5'], 'NAME:LOW:HIGH:STEPS'),
        (['--axis', 'x:a:b'], 'NAME:LOW:HIGH:STEPS'),
        (['--axis', 'x:0:1:2:3'], 'NAME:LOW:HIGH:STEPS'),
        (['--axis', ''], "no independent coordinate ''"),
        (['--axis', 'x:2000', '--axis', 'y:2000'], 'the grid has 4000000 points, at most 2000000'),
        (['--fix', 'x'], "'x' is not NAME=VALUE"),
        (['--fix', 'x=nan', '--axis', 'y'], 'x is nan, not a finite number'),
        (['--fix', 'x=0', '--fix', 'y=0', '--fix', 'alpha=0', '--fix', 'beta=0'], 'nothing to'),
        (['--axis', 'x:-1e308:1e308:3'], 'x needs a finite range, at most 1e+06 m from 0'),
        (
            ['--characteristic-length', '0'],
            'characteristic length 0.0 m is not from 1e-06 to 1e+06',
        ),
        (['--characteristic-length', '1e308'], 'length 1e+308 m is not from 1e-06 to 1e+06 m'),
        (['--clearance', '1.5'], 'clearance 1.5 is not between'),
        (['--actuators', 'crank_9'], "no actuator 'crank_9'"),
        (['--output', '-', '--plot', '-'], 'cannot both go to standard output'),
        (['--output', 'none/out.csv'], 'none/out.csv: cannot be written'),
        (['--plot', 'none/out.png'], 'none/out.png: cannot be written'),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run, words, message) -> None:
    answer = run('workspace', 'masticator', *words)
    assert answer.status == 2
    assert message in answer.err
    assert answer.err.count('\n') == 1
    assert answer.out == ''


def test_a_coordinate_without_limits_needs_a_range(run) -> None:
    answer = run('workspace', samples.file_of('boom'))
    assert answer.status == 2
    assert (
        'swivel needs a finite range, at most 1e+06 rad from 0, not [-inf, inf] rad: give it one '
        '(--axis swivel:LOW:HIGH)' in answer.err
    )
