# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""load-inertia: along motions and over grids."""

import numpy as np
import pytest
from oracles import trimule_oracle

LIMBS = ['inertia_limb_1', 'inertia_limb_2', 'inertia_limb_3']
STILL = np.zeros(3)


def by_hand(poses) -> np.ndarray:
    solutions = [trimule_oracle.inverse_dynamics(pose, STILL, STILL) for pose in poses]
    return np.array([np.diag(solution.load_inertia) for solution in solutions])


def test_along_a_motion(run, write, read, tmp_path) -> None:
    rows = [[0.0, 0.0, -0.2, 1.25], [0.5, 0.3, -0.4, 1.3], [2.0, -0.4, 0.1, 1.2]]
    out = tmp_path / 'out.csv'
    file = write(['time', 'x', 'y', 'z'], rows)
    answer = run('load-inertia', 'trimule', '--motion', file, '--output', out)
    assert (answer.status, answer.err) == (0, '')
    columns = read(out)
    assert list(columns) == ['time', *LIMBS]
    assert columns['time'] == pytest.approx([0.0, 0.5, 2.0])
    found = np.column_stack([columns[name] for name in LIMBS])
    assert found == pytest.approx(by_hand(np.array(rows)[:, 1:]), rel=1e-9)


def test_over_a_grid_with_a_picture(run, read, tmp_path) -> None:
    """Half of this grid is behind the machine, out of reach."""
    out, picture = tmp_path / 'out.csv', tmp_path / 'out.png'
    words = ['--axis', 'x:-0.3:0.3:3', '--axis', 'z:-1.2:1.2:2', '--fix', 'y=-0.1']
    words += ['--output', out, '--plot', picture]
    answer = run('load-inertia', 'trimule', *words)
    assert answer.status == 0
    assert '3 of 6 poses cannot be reached and are left out' in answer.err
    columns = read(out)
    assert list(columns) == ['x', 'y', 'z', *LIMBS]
    poses = np.column_stack([columns[name] for name in 'xyz'])
    assert poses == pytest.approx(np.array([[x, -0.1, 1.2] for x in (-0.3, 0.0, 0.3)]))
    found = np.column_stack([columns[name] for name in LIMBS])
    assert found == pytest.approx(by_hand(poses), rel=1e-9)
    assert picture.read_bytes().startswith(b'\x89PNG')


def test_the_disc_is_s4s_workspace_unless_told(run, read, tmp_path) -> None:
    """x and y have the ranges of S4 Fig. 5 in the URDF: a circle of 0.6 m about (0, -0.19)."""
    out = tmp_path / 'out.csv'
    words = ['--disc', '--axis', 'x:3', '--axis', 'y:6', '--output', out]
    assert run('load-inertia', 'trimule', *words).status == 0
    columns = read(out)
    radius = np.hypot(columns['x'], columns['y'] + 0.19)
    assert radius == pytest.approx(np.repeat([0.0, 0.3, 0.6], 6), abs=1e-12)
    assert set(columns['z']) == {1.268}


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'nothing to write'),
        (['--plot', 'p.png', '--motion', 'm.csv'], '--plot are for grids'),
        (['--output', '-', '--plot', '-'], 'cannot both go to standard output'),
        (['--axis', 'x', '--axis', 'y', '--axis', 'z', '--output', '-'], 'one or two'),
        (['--axis', 'w', '--output', '-'], "no independent coordinate 'w'"),
        (['--axis', 'x', '--disc', '--output', '-'], 'a disc is over two coordinates, not 1'),
    ],
)
def test_bad_usage(run, words, message) -> None:
    answer = run('load-inertia', 'trimule', *words)
    assert answer.status == 2 and message in answer.err


def test_a_row_out_of_reach_is_named(run, write, tmp_path) -> None:
    file = write(['time', 'x', 'y', 'z'], [[0.0, 0.0, 0.0, 1.2], [1.0, 0.0, 0.1, -1.2]])
    out = tmp_path / 'out.csv'
    answer = run('load-inertia', 'trimule', '--motion', file, '--output', out)
    assert (answer.status, out.exists()) == (2, False)
    assert 'row 2 (line 3): limb_' in answer.err
