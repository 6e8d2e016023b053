# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""forward-kinematics: from measured joints to independent coordinates."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism

Y = ['x', 'y', 'alpha', 'beta']
CRANKS = [f'crank_{i}' for i in range(1, 7)]


@pytest.fixture
def poses():
    rng = np.random.default_rng(2)
    return rng.uniform([-1e-3, -1e-3, -0.02, 0.0], [3e-3, 1e-3, 0.02, 0.12], (6, 4))


@pytest.fixture
def cranks(poses):
    return Mechanism.load('masticator').feedforward_batch(poses).position


@pytest.fixture
def forward(run, tmp_path):
    def forward(file, *options):
        out = tmp_path / 'out.csv'
        answer = run(
            'forward-kinematics', 'masticator', '--joints', file, '--output', out, *options
        )
        return answer, out

    return forward


@pytest.mark.parametrize('prefix', ['', 'position_'])
def test_it_undoes_inverse_kinematics(forward, write, read, poses, cranks, prefix) -> None:
    file = write(['time', *(prefix + c for c in CRANKS)], np.column_stack([np.arange(6), cranks]))
    answer, out = forward(file)
    assert (answer.status, answer.err) == (0, '')
    columns = read(out)
    assert list(columns) == ['time', *Y, 'closure_residual']
    np.testing.assert_allclose(np.column_stack([columns[c] for c in Y]), poses, atol=1e-10)
    np.testing.assert_array_equal(columns['time'], np.arange(6))
    assert (columns['closure_residual'] < 1e-9).all()


def test_it_reads_what_inverse_dynamics_writes(run, forward, write, read, poses, tmp_path) -> None:
    motion = write(['time', *Y], np.column_stack([np.arange(6), poses]))
    middle = tmp_path / 'middle.csv'
    run('inverse-dynamics', 'masticator', '--motion', motion, '--output', middle)
    answer, out = forward(middle)
    assert answer.status == 0
    columns = read(out)
    np.testing.assert_allclose(np.column_stack([columns[c] for c in Y]), poses, atol=1e-10)


def test_an_open_loop_is_refused_naming_row_and_amount(forward, write, cranks) -> None:
    cranks = cranks.copy()
    cranks[4, 2] += 0.01  # the crank is 15 mm long: a gap below 0.15 mm
    file = write(['time', *CRANKS], np.column_stack([np.arange(6), cranks]))
    answer, out = forward(file, '--tolerance', '1e-5')
    assert answer.status == 2
    assert f'{file}: row 5 (line 6): the loops stay open by 0.' in answer.err
    assert 'mm (tolerance 0.01 mm)' in answer.err
    assert answer.err.count('\n') == 1
    assert not out.exists()


def test_a_wider_tolerance_accepts_it_and_reports_the_gap(forward, write, read, cranks) -> None:
    cranks = cranks.copy()
    cranks[4, 2] += 0.01
    file = write(['time', *CRANKS], np.column_stack([np.arange(6), cranks]))
    answer, out = forward(file, '--tolerance', '1e-3')
    assert answer.status == 0
    residual = read(out)['closure_residual']
    assert 1e-5 < residual[4] < 1.5e-4
    assert np.delete(residual, 4).max() < 1e-9


@pytest.mark.parametrize(
    ('names', 'message'),
    [
        (['time', *CRANKS[:5], 'crank_7'], 'missing column crank_6; there are: time, crank_1'),
        (CRANKS + ['t'], 'missing column time'),
        ([*CRANKS, 'position_crank_2', 'time'], 'crank_2 and position_crank_2 are not the same'),
    ],
)
def test_columns_that_do_not_fit_are_refused(forward, write, names, message) -> None:
    answer, out = forward(write(names, 0.1 * np.arange(len(names))))
    assert answer.status == 2
    assert message in answer.err
    assert not out.exists()


def test_a_negative_tolerance_is_bad_usage(forward, write) -> None:
    answer, _ = forward(write(['time', *CRANKS], np.zeros(7)), '--tolerance', '-1')
    assert answer.status == 2
    assert '--tolerance' in answer.err
