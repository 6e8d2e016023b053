# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One five-bar in every format: efforts are those of the description written by hand."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np
import pytest
import samples

from importing import five_bars
from masticator_dynamics import Mechanism
from masticator_dynamics.importing import import_description

MOTORS = ('motor_1', 'motor_2')
ROTORS = 0.002  # kg m^2, of the description by hand; most formats cannot say it
Write = Callable[[str, str], pathlib.Path]


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    def write(name: str, text: str) -> pathlib.Path:
        (tmp_path / name).write_text(text, encoding='utf-8')
        return tmp_path / name

    return write


def assert_the_same(
    path: pathlib.Path, turned: float = 0.0, rotors: float = 0.0, gear: float = 1.0
) -> None:
    """Efforts of both motors agree at random states; the imported loop closes to rounding."""
    described = import_description(path)
    if path.suffix != '.xml':  # formats that do not say it
        described = dataclasses.replace(described, gravity=(0.0, -9.81, 0.0))
    imported, ours = Mechanism(described), samples.mechanism('five_bar')
    assert set(imported.actuated) == set(imported.independent) == set(MOTORS)
    motors, order = ours.tree_indices(MOTORS), [imported.actuated.index(name) for name in MOTORS]
    for state in samples.states('five_bar', 10, seed=5):
        motion = ours.solve(state.y, state.y_dot, state.y_ddot)
        given = (motion.q[motors] - turned, motion.v[motors], motion.a[motors])
        effort = imported.feedforward(*(part[order] for part in given))
        expected = ours.inverse_dynamics(motion).actuated + (rotors - ROTORS) * given[2]
        assert effort.actuated[order] * gear == pytest.approx(expected, abs=1e-9)
        assert effort.closure_residual < 1e-12


@pytest.mark.parametrize('dialect', five_bars.DIALECTS)
def test_urdf_with_loops(write: Write, dialect: str) -> None:
    loop = five_bars.DIALECTS[dialect]
    assert_the_same(write('a.urdf', five_bars.urdf(loop + five_bars.TRANSMISSIONS)))


def test_gepetto_with_a_point(write: Write) -> None:
    write('robot.urdf', five_bars.urdf(five_bars.TIPS))
    assert_the_same(write('robot.yaml', five_bars.GEPETTO))


def test_gepetto_with_a_weld_that_is_open_at_zero(write: Write) -> None:
    """The rods end in hinged halves of a pin, which is one piece and does not spin by itself."""
    write('robot.urdf', five_bars.gepetto_welded())
    file = write(
        'robot.yaml',
        five_bars.GEPETTO.replace('3d', '6d')
        .replace('tip_', 'half_')
        .replace('half_A', 'half_1')
        .replace('half_B', 'hinge/2 é'),
    )
    assert_the_same(file, turned=0.3)


@pytest.mark.parametrize('kind', ['revolute', 'ball'])
def test_sdf_with_a_link_of_two_parents(write: Write, kind: str) -> None:
    assert_the_same(write('a.sdf', five_bars.sdf(kind)))


@pytest.mark.parametrize('gear', [1.0, -20.0])
def test_mjcf_with_gears_and_reference_angles(write: Write, gear: float) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    path = write('a.xml', five_bars.mjcf(gear))
    assert_the_same(path, rotors=ROTORS, gear=gear)
    assert Mechanism.load(path).effort_limits == pytest.approx([3.0, 3.0])


def test_mimic_becomes_a_coupling(write: Write) -> None:
    """Two cranks without a loop, one of which mimics the other: one motor drives both."""
    mimic = '<mimic joint="motor_1" multiplier="-2" offset="0.1"/>'
    text = five_bars.urdf(five_bars.TRANSMISSIONS.replace('motor_2', 'motor_1'))
    at = text.index('<parent', text.index('name="motor_2"'))
    path = write('a.urdf', text[:at] + mimic + text[at:])
    imported = Mechanism(
        import_description(path)
    )  # the elbows hang freely: they are coordinates without motors
    motion = imported.solve(imported.home.y, np.eye(len(imported.independent))[0])
    one, two = imported.tree_indices(['motor_1', 'motor_2'])
    assert motion.q[two] == pytest.approx(0.1 - 2.0 * motion.q[one], abs=1e-12)
    assert motion.v[two] == pytest.approx(-2.0 * motion.v[one], abs=1e-12)
    assert abs(motion.v[one]) > 0.1
