# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A fourth mechanism, made from files without any Python of its own."""

import pathlib
import shutil

import numpy as np
import pytest
import samples
from processes import PYTHON, completed

from masticator_dynamics import Mechanism


def motor_angles(x: float, y: float) -> list[float]:
    """Rotation of each crank from its drawn position, by intersection of two circles."""
    angles = []
    for side in (-1.0, 1.0):
        dx, dy = x - side * 0.1, y
        distance = np.hypot(dx, dy)
        inner = np.arccos((0.2**2 + distance**2 - 0.275**2) / (2.0 * 0.2 * distance))
        drawn = np.arctan2(0.16, side * 0.12)
        angles.append(np.arctan2(dy, dx) - side * inner - drawn)  # elbows point outwards
    return angles


def test_motor_angles_are_those_of_two_circles() -> None:
    mechanism = samples.mechanism('five_bar')
    assert mechanism.home.position == pytest.approx([0.0, 0.0], abs=1e-12)
    for state in samples.states('five_bar', 20, seed=62):
        position = mechanism.solve(state.y).position
        assert position == pytest.approx(motor_angles(*state.y), abs=1e-12)


def test_the_weight_is_held() -> None:
    """In a symmetric pose, the motors' torques are opposite; the loops carry the pin."""
    effort = samples.mechanism('five_bar').feedforward([0.0, 0.3])
    assert effort.actuated[0] == pytest.approx(-effort.actuated[1], rel=1e-9)
    assert effort.loop_force.sum(axis=0) == pytest.approx([0.0, 0.5 * 9.81, 0.0], abs=1e-9)


def test_loops_of_a_planar_mechanism_are_two_equations_each() -> None:
    """The third component of a point closure can neither open nor carry a force here."""
    effort = samples.mechanism('five_bar').feedforward([0.03, 0.3], None, None, [0, 0, 50, 1, 2, 3])
    assert np.abs(effort.loop_force[:, 2]).max() == 0.0
    assert effort.balance_residual < 1e-12


def test_works_from_any_folder(tmp_path: pathlib.Path) -> None:
    for file in ('five_bar.yaml', 'five_bar.urdf.xacro'):
        shutil.copy(samples.OWN / file, tmp_path / file)
    mechanism = Mechanism.load(tmp_path / 'five_bar.yaml')
    expected = samples.mechanism('five_bar').feedforward([0.02, 0.31]).actuated
    assert np.array_equal(mechanism.feedforward([0.02, 0.31]).actuated, expected)


def test_the_guide_shows_this_very_file() -> None:
    guide = (samples.ROOT / 'docs/describe-your-mechanism.md').read_text(encoding='utf-8')
    text = samples.file_of('five_bar').read_text(encoding='utf-8')
    shown = guide.split('```yaml\n')[1].split('```')[0]
    assert shown == text[text.index('schema: 1') :]


def test_the_example_of_the_guide_runs() -> None:
    guide = (samples.ROOT / 'docs/describe-your-mechanism.md').read_text(encoding='utf-8')
    blocks = [block.split('```')[0] for block in guide.split('```python\n')[1:]]
    example = next(block for block in blocks if 'five_bar' in block)
    run = completed(*PYTHON, '-c', example, cwd=samples.ROOT)
    assert run.returncode == 0, run.stderr
    effort = samples.mechanism('five_bar').feedforward([0.05, 0.30], [0.2, 0.0], [0.0, 1.0])
    numbers = [float(word) for word in run.stdout.splitlines()[0].strip('[]').split()]
    assert numbers == pytest.approx(effort.actuated, rel=1e-6)
