# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The planar 4-RRR on the command line against virtual work by hand, in S3's drive modes."""

import numpy as np
import pytest
import samples
from oracles import rrr4_oracle

THREE = ('motor_1', 'motor_2', 'motor_3')
ROWS = 20


def three_motors(solution: rrr4_oracle.Rrr4Result) -> np.ndarray:
    """Torques with motor 4 idle (mode a), which leaves no choice."""
    generalized = solution.jacobian.T @ solution.effort
    return np.append(np.linalg.solve(solution.jacobian[:3].T, generalized), 0.0)


def least_power(solution: rrr4_oracle.Rrr4Result) -> np.ndarray:
    """Torques with the least sum of squared powers (mode c), by Lagrange multipliers."""
    speed = solution.angle_dot
    weights = np.diag(speed**2 + (1e-3 * np.abs(speed).max()) ** 2)
    jacobian = solution.jacobian
    system = np.block([[weights, jacobian], [jacobian.T, np.zeros((3, 3))]])
    rhs = np.concatenate([np.zeros(4), jacobian.T @ solution.effort])
    return np.linalg.solve(system, rhs)[:4]


MODES = {
    'a': (['--actuators', ','.join(THREE)], three_motors, 1e-8),
    'b': ([], lambda solution: solution.effort, 1e-8),
    'c': (['--goal', 'power'], least_power, 1e-6),
}


@pytest.mark.parametrize('mode', MODES)
def test_torques_of_a_drive_mode_are_those_of_virtual_work(
    mode, run, write, read, tmp_path
) -> None:
    options, expected_of, tolerance = MODES[mode]
    states = samples.states('rrr4', ROWS, seed=71)
    names = [f'{c}{s}' for s in ('', '_dot', '_ddot') for c in ('x', 'y', 'phi')]
    names = ['time', *names, 'fx', 'fy', 'fz', 'tx', 'ty', 'tz']
    rows = [np.concatenate([[k], *state]) for k, state in enumerate(states)]
    out = tmp_path / 'out.csv'
    words = ['--motion', write(names, rows), '--output', out]
    assert run('inverse-dynamics', 'rrr4', *words, *options).status == 0
    columns = read(out)
    efforts = np.column_stack([columns[f'effort_motor_{i}'] for i in range(1, 5)])
    for effort, state in zip(efforts, states, strict=True):
        expected = expected_of(rrr4_oracle.inverse_dynamics(*state))
        assert np.abs(effort - expected).max() <= tolerance * np.abs(expected).max()


def test_check_shows_one_motor_too_many(run) -> None:
    answer = run('check', 'rrr4')
    assert answer.status == 0
    lines = [' '.join(line.split()) for line in answer.out.splitlines()]
    assert 'actuation rank 3 of 3: redundantly actuated, by 1' in lines
    assert 'independent 3 x y phi' in lines
    assert 'actuated 4 motor_1 motor_2 motor_3 motor_4' in lines
