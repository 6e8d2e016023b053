# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts in examples/ run unchanged; the planner is run by the tests of the nodes."""

import pathlib
import re

from processes import PYTHON, completed

EXAMPLES = pathlib.Path(__file__).parents[1] / 'examples'


def output_of(name: str) -> str:
    run = completed(*PYTHON, EXAMPLES / name)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_motors_of_the_own_mechanism_do_the_work_that_its_weights_gain() -> None:
    lines = output_of('own_mechanism.py').splitlines()
    work, gain = (float(line.split()[-2]) for line in lines[-2:])
    assert abs(work - gain) < 1e-3 * abs(gain) and abs(gain) > 10.0


def test_computed_torque_makes_errors_die_out_as_designed_and_the_mass_of_home_does_not() -> None:
    lines = output_of('computed_torque.py').splitlines()[1:]
    table = [[float(cell) for cell in line.split()] for line in lines]
    assert table[0][1:] == [20.0, 20.0, 20.0]
    for _, expected, computed, _ in table:
        assert abs(computed - expected) < 0.3  # mrad; torques are held for 1 ms
    for _, _, computed, simple in table[-2:]:
        assert abs(computed) < 0.05 < 0.5 < abs(simple)


def test_the_stroke_of_least_peak_torque_is_the_same_with_and_without_derivatives() -> None:
    given, exact, differences = output_of('least_peak_torque.py').splitlines()
    peaks = [float(re.search(r'peak ([\d.]+)', line)[1]) for line in (given, exact, differences)]
    assert peaks[1] < 0.8 * peaks[0] and abs(peaks[1] - peaks[2]) < 0.02 * peaks[0]
    counts = [int(re.search(r'(\d+) evaluations', line)[1]) for line in (exact, differences)]
    assert 5 * counts[0] < counts[1]
    assert exact.endswith('within all ranges: True')
