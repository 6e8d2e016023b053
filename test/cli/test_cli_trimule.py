# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""TriMule on the command line against virtual work by hand."""

import numpy as np
import samples
from oracles import trimule_oracle

ROWS = 20
NAMES = ['time', *(f'{c}{s}' for s in ('', '_dot', '_ddot') for c in 'xyz')]
WRENCH = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz']


def test_efforts_are_motor_torques_of_virtual_work(run, write, read, tmp_path) -> None:
    states = samples.states('trimule', ROWS, seed=96)
    file = write([*NAMES, *WRENCH], [np.concatenate([[k], *s]) for k, s in enumerate(states)])
    out = tmp_path / 'out.csv'
    answer = run('inverse-dynamics', 'trimule', '--motion', file, '--output', out)
    assert (answer.status, answer.err) == (0, '')
    columns = read(out)
    for row, state in enumerate(states):
        expected = trimule_oracle.inverse_dynamics(*state)
        efforts = np.array([columns[f'effort_limb_{i}'][row] for i in (1, 2, 3)])
        assert np.abs(efforts - expected.effort).max() <= 1e-8 * np.abs(expected.effort).max()
        lengths = [columns[f'position_limb_{i}'][row] for i in (1, 2, 3)]
        assert np.abs(lengths - expected.limb).max() < 1e-12


def test_check_shows_an_exactly_actuated_machine(run) -> None:
    answer = run('check', 'trimule')
    assert answer.status == 0
    lines = [' '.join(line.split()) for line in answer.out.splitlines()]
    assert 'actuation rank 3 of 3: fully actuated' in lines
    assert 'independent 3 x y z' in lines
    assert 'actuated 3 limb_1 limb_2 limb_3' in lines
    assert 'gravity (0, -9.81, 0) m/s^2' in lines


def test_limbs_outside_their_stroke_are_counted_and_refused_when_strict(
    run, write, tmp_path
) -> None:
    file, out = write(NAMES[:4], [[0.0, 0.0, 0.0, 1.268], [1.0, 0.0, 0.0, 1.75]]), tmp_path / 'o'
    words = ['inverse-dynamics', 'trimule', '--motion', file, '--output', out]
    answer = run(*words)
    assert answer.status == 0 and '1 of 2 rows outside ranges' in answer.err
    out.unlink()
    answer = run(*words, '--strict')
    assert (answer.status, out.exists()) == (2, False)
    length = np.hypot(0.545 - 0.121, 1.75 - 0.352)
    assert f'limb_1 position {length:.6g} m is outside [0.8, 1.3] m' in answer.err
