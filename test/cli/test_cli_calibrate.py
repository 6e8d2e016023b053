# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`masticator calibrate`: files in and out, report and refusals."""

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.files.tables import write_table

COUNT = 2.0 * np.pi / (4096 * 4.8)
ZEROS = np.array([0.01, -0.02, 0.015, 0.004, -0.008, 0.012])


@pytest.fixture(scope='module')
def moved(tmp_path_factory):
    """A recording of a mechanism whose encoders have other zeros."""
    model, box = Mechanism.load('masticator'), samples.BOXES['masticator']
    time = np.linspace(0.0, 10.0, 500)
    share = 0.5 + 0.5 * np.sin(np.outer(time, [1.1, 1.7, 2.3, 0.9]) + [0.0, 1.0, 2.0, 3.0])
    shown = model.solve_batch(box.lower + share * (box.upper - box.lower)).position - ZEROS
    file = tmp_path_factory.mktemp('moved') / 'moved.csv'
    table = np.column_stack([time, np.round(shown / COUNT) * COUNT])
    write_table(str(file), ['time', *model.actuated], table)
    return file


def test_zeros_are_written_and_told(run, tmp_path, moved) -> None:
    output = tmp_path / 'zeros.yaml'
    answer = run(
        'calibrate', 'masticator', '--joints', moved, '--output', output, '--tolerance', 0
    )  # fmt: skip
    assert answer.status == 0, answer.err
    written = yaml.safe_load(output.read_text())['parameters']
    assert list(written) == [f'crank_{i}.zero' for i in range(1, 7)]
    assert np.array([*written.values()]) == pytest.approx(ZEROS, abs=1e-3)
    assert 'crank_1.zero: 0.0' in answer.out and 'degrees' in answer.out
    assert 'redundant encoders disagreed by' in answer.out
    changed = Mechanism.load('masticator').with_parameters(written)
    assert changed.parameters(geometry=True)['crank_2.zero'] == written['crank_2.zero']


def test_what_is_not_seen_is_told(run, moved) -> None:
    answer = run(
        'calibrate', 'masticator', '--joints', moved, '--output', '-', '--tolerance', 0,
        '--parameters', 'x.x', '--resolution', COUNT,
    )  # fmt: skip
    assert answer.status == 0
    assert yaml.safe_load(answer.out)['parameters'] == {'x.x': 0.0}
    assert 'not seen: x.x; one pose in a fixture' in answer.err
    assert 'something else is off' in answer.err  # the zeros are


def test_a_fixture(run, tmp_path, moved) -> None:
    model, file = Mechanism.load('masticator'), tmp_path / 'held.csv'
    home = model.home
    columns = [*model.actuated, *model.independent]
    write_table(str(file), columns, np.concatenate([home.position - ZEROS, home.y])[None])
    answer = run('calibrate', 'masticator', '--joints', moved, '--output', '-', '--fixture', file)
    assert answer.status == 0, answer.err
    found = np.array([*yaml.safe_load(answer.out)['parameters'].values()])
    assert found == pytest.approx(ZEROS, abs=2e-3)


def test_refusals(run, tmp_path, moved) -> None:
    answer = run('calibrate', 'rcid', '--joints', moved, '--output', '-')
    assert answer.status == 2 and 'slider_1' in answer.err
    rest = tmp_path / 'rest.csv'
    table = np.column_stack([np.arange(50.0), np.zeros((50, 6))])
    write_table(str(rest), ['time', *Mechanism.load('masticator').actuated], table)
    answer = run('calibrate', 'masticator', '--joints', rest, '--output', tmp_path / 'no.yaml')
    assert answer.status == 2 and '1 different poses' in answer.err
    assert not (tmp_path / 'no.yaml').exists()
