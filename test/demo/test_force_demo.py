# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator demo --force``: what it judges, and the whole of it with one bite."""

import dataclasses
import json

import numpy as np
import pytest
from processes import has_multicast

from masticator_dynamics.cli import main
from masticator_dynamics.robot import force_demo
from masticator_dynamics.robot.force_demo import BITES, _Bitten
from masticator_dynamics.robot.laboratory.mouthful import Series
from masticator_dynamics.robot.laboratory.protocol import load_protocol, plan


def series(time, gap, force) -> Series:
    none = np.zeros((len(time), 0))
    return Series(time, gap, force, none, none, none, none, none, (), 'done')


def held(peak: float, level: float) -> Series:
    """A ramp of 0.05 s to a peak, and a level for 1 s."""
    time = np.arange(0.0, 1.2, 0.005)
    force = np.interp(time, [0.1, 0.15, 0.16, 1.1, 1.101], [0.0, peak, level, level, 0.0])
    return series(time, 0.01 - 1e-4 * force, force)


def test_overshoot_and_error_of_a_level() -> None:
    numbers = force_demo._held(held(63.0, 60.5))
    assert numbers == pytest.approx({'overshoot': 5.0, 'error': 0.5}, abs=0.1)
    assert np.isnan(force_demo._held(held(10.0, 10.0))['error'])


def test_the_jaw_after_a_crack() -> None:
    time = np.arange(0.0, 0.2, 0.002)
    gap = np.interp(time, [0.0, 0.1, 0.106, 0.2], [8e-3, 5e-3, 4.8e-3, 9e-3])
    force = np.where(time <= 0.1 + 1e-9, 3e4 * (8e-3 - gap), 12.0)
    numbers = force_demo._cracked(series(time, gap, force))
    assert numbers == pytest.approx({'turns': 6.0, 'travel': 0.2}, rel=1e-6)


@pytest.mark.parametrize(
    ('real', 'slow', 'passed'),
    [
        (held(61.0, 60.0), '', True),
        (held(70.0, 60.0), '', False),  # nothing excuses it
        (held(70.0, 60.0), 'this computer is too slow', True),
        (None, 'this computer is too slow', True),
    ],
)
def test_simulated_time_stands_in_only_where_the_computer_was_too_slow(real, slow, passed) -> None:
    checks = {c.name: c for c in _Bitten(BITES[0], real, held(61.0, 60.0), slow).checks()}
    check = checks[f'{BITES[0].title}: overshoot']
    assert check.passed is passed
    assert ('judged by simulated time' in check.detail) is (bool(slow) and passed)


def test_its_files_are_protocols_and_foods(tmp_path) -> None:
    for number, bite in enumerate(BITES):
        folder = tmp_path / str(number)
        folder.mkdir()
        protocol, _ = bite.write(folder)
        (mouthful,) = plan(load_protocol(protocol), protocol)
        assert mouthful.motion.force is not None and mouthful.strokes == 1


def test_it_takes_no_food_and_no_other_robot(capsys) -> None:
    for words in (['--food', 'nut'], ['--closed-loop'], ['scara']):
        assert main(['demo', '--force', *words]) == 2
        assert '--force bites with masticator and foods of its own' in capsys.readouterr().err


@pytest.mark.clock
def test_a_bite_through_ros_and_can(tmp_path, monkeypatch, capsys) -> None:
    """It passes; or a jolt of a slow computer stops the drives: this is said, and is no success."""
    if not has_multicast():
        pytest.skip('no multicast route')
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    short = dataclasses.replace(BITES[0], force={**BITES[0].force, 'hold': 0.5})
    monkeypatch.setattr(force_demo, 'BITES', (short,))
    status, written = main(['demo', '--force', '--output', str(tmp_path)]), capsys.readouterr()
    files = {file.name for file in tmp_path.iterdir()}
    if status:
        assert 'the drives stopped: ' in written.err and 'setpoint' in written.err, written
        assert not files
        return
    assert files == set(force_demo.RESULTS)
    assert (tmp_path / 'force.png').read_bytes().startswith(b'\x89PNG')
    numbers = json.loads((tmp_path / 'force.json').read_text())
    assert numbers['passed'] and len(numbers['checks']) == 2
    text = (tmp_path / 'force.txt').read_text()
    assert f'{short.title}: overshoot' in text and 'at most 3' in text
