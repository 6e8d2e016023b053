# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`masticator build-estimator`: files, report and refusals."""

import json
import pathlib

import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.storage import read_estimator

FIVE_BAR = samples.file_of('five_bar')
QUICK = (
    *('--range', 'x=-0.08:0.08', '--range', 'y=0.2:0.35', '--reached', '200'),
    *('--samples', '100', '--held-out', '200'),
)


@pytest.mark.parametrize('kind', ['ellipse', 'circle', 'grid'])
def test_file_can_be_used_and_the_report_says_how_good_it_is(
    run, tmp_path: pathlib.Path, kind: str
) -> None:
    file = tmp_path / 'five_bar.json'
    answer = run('build-estimator', FIVE_BAR, '--kind', kind, '--output', file, *QUICK)
    assert (answer.status, answer.err) == (0, '')
    mechanism = Mechanism.load(str(FIVE_BAR))
    found = read_estimator(file, mechanism)
    assert found.kind == kind
    assert found.built['samples'] == 100
    inertia, _ = found.estimate(found.region.center)
    model = mechanism.actuated_inertia(mechanism.solve(found.region.center)).diagonal()
    assert inertia == pytest.approx(model, rel=0.3)
    lines = answer.out.splitlines()
    assert lines[0].startswith(f'five_bar: {kind} estimator, ')
    figures = next(line for line in lines if line.startswith('  motor_2 ')).split()[1:]
    stated = found.error.maximum[1], found.error.mean[1], found.error.inertia[1]
    assert [float(f) for f in figures] == pytest.approx(stated, rel=1e-2)


def test_same_seed_same_file_other_seed_another(run, tmp_path: pathlib.Path) -> None:
    texts = []
    for seed in (1, 1, 2):
        file = tmp_path / 'out.json'
        words = 'build-estimator', FIVE_BAR, '--kind', 'grid', '--nodes', 3, '--seed', seed
        assert run(*words, '--output', file, *QUICK).status == 0
        texts.append(file.read_text())
    assert texts[0] == texts[1] != texts[2]


def test_standard_output_takes_the_file_alone(run) -> None:
    words = 'build-estimator', FIVE_BAR, '--kind', 'grid', '--nodes', 3, '--output', '-'
    answer = run(*words, *QUICK)
    assert answer.status == 0
    assert json.loads(answer.out)['kind'] == 'grid'
    assert 'error against the model' in answer.err


REFUSED = {
    'is not NAME=LOW:HIGH': ('--range', 'x=1'),
    "'x=nan:1' is not NAME=LOW:HIGH": ('--range', 'x=nan:1'),
    "'x' is there twice": ('--range', 'x=0:1', '--range', 'x=0:2'),
    "'z' is no independent coordinate": ('--range', 'z=0:1'),
    'the range of x, 2 to 1, is empty': ('--range', 'x=2:1'),
    'poses drawn can be reached': ('--range', 'x=5:6', '--range', 'y=5:6'),
    '--samples': ('--samples', '3'),
}


@pytest.mark.parametrize('reason', REFUSED)
def test_bad_input_is_told_in_one_line(run, tmp_path: pathlib.Path, reason: str) -> None:
    file = tmp_path / 'out.json'
    words = 'build-estimator', FIVE_BAR, '--kind', 'circle', '--output', file
    answer = run(*words, *REFUSED[reason])
    assert answer.status == 2
    assert reason in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not file.exists()


def test_undefined_inertia_and_unwritable_files_are_told_before_work(
    run, tmp_path: pathlib.Path
) -> None:
    answer = run('build-estimator', FIVE_BAR, '--kind', 'grid', '--output', tmp_path / 'no/out')
    assert answer.status == 2
    assert 'no/out' in answer.err
    answer = run('build-estimator', FIVE_BAR, '--kind', 'cube', '--output', tmp_path / 'out')
    assert answer.status == 2
    assert "'cube'" in answer.err
