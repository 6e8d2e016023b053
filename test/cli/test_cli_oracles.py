# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command line against the papers' own equations, on rows far apart from one another."""

import numpy as np
import pytest
from oracles import rcid_oracle
from oracles.rss_oracle import RssOracle

ROWS = 20
WRENCH = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz']


def rss6_poses(rng):
    """Return poses near the masticator's, but off the planes of its sockets."""
    sockets = RssOracle('masticator')
    y = rng.uniform([-1e-3, -1e-3, -0.02, 0.0], [3e-3, 1e-3, 0.02, 0.1], (ROWS, 4))
    poses = [sockets.platform_motion(row, np.zeros(4), np.zeros(4)).pose for row in y]
    return poses + rng.uniform(-1.0, 1.0, (ROWS, 6)) * [0.0, 0.0, 5e-4, 0.0, 0.0, 0.02]


def rcid_poses(rng):
    reach = np.array([0.015, 0.015, 0.015, 0.2, 0.2, 0.2])
    return [0.0, 0.0, 0.110, 0.0, 0.0, 0.0] + rng.uniform(-1.0, 1.0, (ROWS, 6)) * reach


@pytest.mark.parametrize(
    ('mechanism', 'coordinates', 'poses', 'solve'),
    [
        ('rss6', 'x y z alpha beta gamma', rss6_poses, RssOracle('rss6').inverse_dynamics),
        ('rcid', 'x y z psi theta phi', rcid_poses, rcid_oracle.inverse_dynamics),
    ],
)
def test_efforts_are_those_of_the_papers_equations(
    run, write, read, tmp_path, mechanism, coordinates, poses, solve
) -> None:
    rng = np.random.default_rng(11)
    spread = np.array([0.05, 0.05, 0.05, 0.5, 0.5, 0.5])
    states = [poses(rng), *(rng.normal(size=(ROWS, 6)) * spread * scale for scale in (1.0, 20.0))]
    states.append(rng.uniform(-1.0, 1.0, (ROWS, 6)) * [100.0, 100.0, 100.0, 3.0, 3.0, 3.0])
    names = [f'{c}{s}' for s in ('', '_dot', '_ddot') for c in coordinates.split()]
    file = write(['time', *names, *WRENCH], np.column_stack([np.arange(ROWS), *states]))
    out = tmp_path / 'out.csv'
    assert run('inverse-dynamics', mechanism, '--motion', file, '--output', out).status == 0
    columns = read(out)
    efforts = np.column_stack([v for name, v in columns.items() if name.startswith('effort_')])
    assert efforts.shape == (ROWS, 6)
    for row in range(ROWS):
        expected = solve(*(part[row] for part in states)).effort
        assert np.abs(efforts[row] - expected).max() <= 1e-8 * np.abs(expected).max()
