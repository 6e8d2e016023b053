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
from masticator_dynamics.robot.recording.health import Counts


def series(time, gap, force) -> Series:
    none = np.zeros((len(time), 0))
    return Series(time, gap, force, none, none, none, none, none, (), 'done')


def held(peak: float, level: float) -> Series:
    """A ramp of 0.05 s to a peak, and a level for 1 s."""
    time = np.arange(0.0, 1.2, 0.005)
    force = np.interp(time, [0.1, 0.15, 0.16, 1.1, 1.101], [0.0, peak, level, level, 0.0])
    return series(time, 0.01 - 1e-4 * force, force)


def test_overshoot_and_error_of_a_level() -> None:
    numbers = force_demo._held(held(63.0, 60.5), 1.0)
    missing = numbers.pop('missing hold')
    assert numbers == pytest.approx({'overshoot': 5.0, 'error': 0.5}, abs=0.1)
    assert missing == pytest.approx(1e3 * (1.0 - (1.1 - 0.1429)), abs=10.0)
    assert np.isnan(force_demo._held(held(10.0, 10.0), 1.0)['error'])


def failing(bite: force_demo.Bite, real: Series, virtual: Series) -> list[str]:
    checks = _Bitten(bite, real, virtual, 0.0).checks()
    return [c.name.removeprefix(f'{bite.title}: ') for c in checks if not c.passed]


def test_a_bite_that_lets_go_at_once_has_not_held() -> None:
    """As where something that is no crack counts as one: the bite then ends well."""
    whole = held(60.5, 60.0)
    short = dataclasses.replace(whole, force=np.where(whole.time < 0.5, whole.force, 0.0))
    assert failing(BITES[0], whole, whole) == []
    assert failing(BITES[0], short, whole) == ['missing hold']


def test_the_jaw_after_a_crack() -> None:
    time = np.arange(0.0, 0.2, 0.002)
    gap = np.interp(time, [0.0, 0.1, 0.106, 0.2], [8e-3, 5e-3, 4.8e-3, 9e-3])
    force = np.where(time <= 0.1 + 1e-9, 3e4 * (8e-3 - gap), 12.0)
    numbers = force_demo._cracked(series(time, gap, force))
    off = 100.0 * (3e4 * 3e-3 / 48.0 - 1.0)
    assert numbers == pytest.approx({'crack force off': off, 'turns': 6.0, 'travel': 0.2}, rel=1e-6)


def nut(largest: float) -> Series:
    """A force that rises to this and falls within a cycle, as the jaw opens."""
    time = np.arange(0.0, 1.0, 0.004)
    force = np.where(time < 0.01 * largest, 100.0 * time, 0.0)
    return series(time, 8e-3 - force / 3e4 + np.where(force > 0.0, 0.0, 1e-3), force)


def test_a_nut_that_did_not_crack_is_noticed() -> None:
    assert failing(BITES[2], nut(48.0), nut(48.0)) == []
    for largest in (20.0, 90.0):
        assert failing(BITES[2], nut(largest), nut(48.0)) == ['crack force off']


@pytest.mark.parametrize(
    ('real', 'lost', 'passed'),
    [
        (held(61.0, 60.0), 0.0, True),
        (held(70.0, 60.0), 0.0, False),
        (held(70.0, 60.0), 0.009, False),  # less than the dead time of the loop excuses nothing
        (held(70.0, 60.0), 0.011, True),
        (None, 0.011, True),
    ],
)
def test_simulated_time_stands_in_only_where_processes_fell_behind(real, lost, passed) -> None:
    checks = {c.name: c for c in _Bitten(BITES[0], real, held(61.0, 60.0), lost).checks()}
    check = checks[f'{BITES[0].title}: overshoot']
    assert check.passed is passed
    assert ('fell behind by 11 ms: judged by that' in check.detail) is (lost > 0.01)


def test_how_far_processes_fell_behind_is_read_from_what_is_told_of_it() -> None:
    counts = Counts(0.012, 2, 13, 4)
    assert Counts.in_text(f'mouthful_0001: {counts.in_words()}\nother words: 5 cycles') == counts
    assert Counts.in_text('this computer was too slow; time-out; heartbeat') == Counts()
    assert counts.lost(6, 0.004, 0.002) == pytest.approx(0.012)
    assert Counts(missed=18).lost(6, 0.004, 0.002) == pytest.approx(0.012)
    assert Counts(left_out=4).lost(6, 0.004, 0.002) == pytest.approx(0.016)
    assert Counts(skipped=7).lost(6, 0.004, 0.002) == pytest.approx(0.014)


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
    """It is pressed and let go: no cycle is a jolt, late or not, and what is late is counted."""
    if not has_multicast():
        pytest.skip('no multicast route')
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    short = force_demo._level(BITES[0].title, BITES[0].food, 0.5)
    monkeypatch.setattr(force_demo, 'BITES', (short,))
    status, written = main(['demo', '--force', '--output', str(tmp_path)]), capsys.readouterr()
    assert status == 0, written
    files = {file.name for file in tmp_path.iterdir()}
    assert files == set(force_demo.RESULTS), written
    assert (tmp_path / 'force.png').read_bytes().startswith(b'\x89PNG')
    numbers = json.loads((tmp_path / 'force.json').read_text())
    assert numbers['passed'] and len(numbers['checks']) == 3
    assert 'setpoint' not in (tmp_path / 'force.log').read_text()
    rows = np.genfromtxt(tmp_path / 'force.csv', delimiter=',', names=True)
    pressed = rows['force'][rows['simulated_time'] == 0.0]
    if not len(pressed) and all('fell behind' in check['detail'] for check in numbers['checks']):
        pytest.skip(f'this computer is too slow: {numbers["checks"]}')
    assert 0.98 * force_demo.LEVEL < pressed.max() < 1.05 * force_demo.LEVEL
    assert pressed[-1] < 1.0
    text = (tmp_path / 'force.txt').read_text()
    assert f'{short.title}: overshoot' in text and 'at most 3' in text
