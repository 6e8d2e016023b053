# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Archetypes move as in textbooks, and their efforts agree with Pinocchio."""

from __future__ import annotations

import functools
import pathlib

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.description import archetypes
from masticator_dynamics.files.share import share_directory

FOLDER = share_directory() / 'config/archetypes'
REACH = samples.ARCHETYPES


@functools.cache
def mechanism(name: str) -> Mechanism:
    return Mechanism.load(name)


def random_state(name: str, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    reach = np.array(REACH[name])
    y = mechanism(name).home.y + rng.uniform(-reach, reach)
    return y, rng.normal(size=len(reach)), rng.normal(size=len(reach)), rng.normal(size=6)


def test_all_that_were_promised() -> None:
    assert set(archetypes()) == set(REACH)
    for name in REACH:
        files = {file.name for file in FOLDER.glob(f'{name}.*')}
        assert files == {f'{name}.yaml', f'{name}.urdf.xacro'}


@pytest.mark.parametrize('name', REACH)
def test_efforts_against_pinocchio(name: str) -> None:
    samples.pinocchio()
    from oracles.pinocchio_oracle import PinocchioOracle

    oracle, ours = PinocchioOracle(FOLDER / f'{name}.yaml'), mechanism(name)
    assert ours.actuation_rank() == len(ours.independent)
    assert ours.condition_number_loops(ours.home) < 1e3
    for seed in range(4):
        state = random_state(name, seed)
        effort = ours.feedforward(*state)
        expected = oracle.inverse_dynamics(*state).actuated
        assert effort.actuated == pytest.approx(expected, rel=1e-8, abs=1e-8)
        assert effort.closure_residual < 1e-12


def turn(name: str, seed: int = 0) -> tuple[np.ndarray, dict[str, float]]:
    """A random pose: positions of the independent and of all joints."""
    y = random_state(name, seed)[0]
    motion = mechanism(name).solve(y)
    return y, dict(zip(mechanism(name).tree_joints, motion.q, strict=True))


def test_slider_crank() -> None:
    (angle,), q = turn('slider_crank')
    crank, rod, drawn = 0.05, 0.20, np.pi / 3

    def reach(phi: float) -> float:
        return crank * np.cos(phi) + np.sqrt(rod**2 - (crank * np.sin(phi)) ** 2)

    # The joint turns about y, from z to x; the angle of the textbook counts from x to z.
    assert q['stroke'] == pytest.approx(reach(drawn - angle) - reach(drawn), abs=1e-14)


def test_stewart_legs() -> None:
    (x, y, z, alpha, beta, gamma), q = turn('stewart')
    (ca, sa), (cb, sb), (cg, sg) = ((np.cos(a), np.sin(a)) for a in (alpha, beta, gamma))
    rotation = (
        np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
        @ np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
        @ np.array([[cg, -sg, 0], [sg, cg, 0], [0, 0, 1]])
    )
    base = np.radians([10, 110, 130, 230, 250, -10])
    platform = np.radians([50, 70, 170, 190, 290, -50])
    for leg, (low, high) in enumerate(zip(base, platform, strict=True), 1):
        foot = 0.6 * np.array([np.cos(low), np.sin(low), 0.0])
        head = 0.35 * np.array([np.cos(high), np.sin(high), 0.0])
        at_home = np.linalg.norm(head + [0, 0, 0.8] - foot)
        now = np.linalg.norm(rotation @ head + [x, y, 0.8 + z] - foot)
        assert q[f'leg_{leg}'] == pytest.approx(now - at_home, abs=1e-13)


def test_cables() -> None:
    (x, z, beta), q = turn('cable_planar')
    corners = np.array([[-1, 0.8], [1, 0.8], [1, -0.8], [-1, -0.8]])
    eyes = np.array([[-0.12, -0.08], [0.12, -0.08], [0.12, 0.08], [-0.12, 0.08]])
    turned = eyes @ np.array([[np.cos(beta), np.sin(beta)], [-np.sin(beta), np.cos(beta)]]).T
    now = np.linalg.norm(turned + [x, z] - corners, axis=1)
    expected = now - np.linalg.norm(eyes - corners, axis=1)
    assert [q[f'cable_{i}'] for i in range(1, 5)] == pytest.approx(expected, abs=1e-13)


def test_delta_arms() -> None:
    """Every elbow is one forearm length from its joint on the platform."""
    (x, y, z), q = turn('delta')
    drop, out = np.pi / 9, 0.15 + 0.2 * np.cos(np.pi / 9) - 0.05
    height = 0.2 * np.sin(drop) + np.sqrt(0.45**2 - out**2)
    for limb, angle in enumerate((0.0, 2 * np.pi / 3, -2 * np.pi / 3), 1):
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        fall = drop + q[f'motor_{limb}']
        elbow = (0.15 + 0.2 * np.cos(fall)) * ahead - [0, 0, 0.2 * np.sin(fall)]
        joint = 0.05 * ahead + [x, y, z - height]
        assert np.linalg.norm(elbow - joint) == pytest.approx(0.45, abs=1e-13)


def test_ankle_cranks() -> None:
    """Both rods keep their lengths, from crank pins that turn to heels that pitch and roll."""
    (pitch, roll), q = turn('ankle')
    (cp, sp), (cr, sr) = (np.cos(pitch), np.sin(pitch)), (np.cos(roll), np.sin(roll))
    foot = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]]) @ [[1, 0, 0], [0, cr, -sr], [0, sr, cr]]
    for side, y, height in (('left', 0.045, 0.28), ('right', -0.045, 0.18)):
        heel = foot @ [-0.05, y, -0.01]
        angle = q[f'motor_{side}']
        pin = np.array([-0.01 - 0.04 * np.cos(angle), y, height + 0.04 * np.sin(angle)])
        assert np.linalg.norm(pin - heel) == pytest.approx(height + 0.01, abs=1e-13)


def test_three_rrs_balls_stay_in_the_planes_of_their_legs() -> None:
    """So the platform turns and shifts by what the textbook calls parasitic, here exactly."""
    (lift, *_), q = turn('three_rrs')
    mech = mechanism('three_rrs')
    platform = mech.frame_pose(mech.solve([lift, q['tilt_x'], q['tilt_y']]), 'platform')
    height = 0.16 * np.sin(np.pi / 4)
    inward = 0.2 + 0.16 * np.cos(np.pi / 4) - 0.14
    assert platform.position[2] == pytest.approx(
        height + np.sqrt(0.2**2 - inward**2) + lift, abs=1e-13
    )
    for leg, angle in enumerate((0.0, 2 * np.pi / 3, -2 * np.pi / 3), 1):
        ahead = np.array([np.cos(angle), np.sin(angle), 0.0])
        ball = platform.position + platform.rotation @ (0.14 * ahead)
        assert ball @ [-ahead[1], ahead[0], 0.0] == pytest.approx(0.0, abs=1e-13)
        slope = np.pi / 4 - q[f'motor_{leg}']  # about the axis that leads outwards to downwards
        elbow = (0.2 + 0.16 * np.cos(slope)) * ahead + [0, 0, 0.16 * np.sin(slope)]
        assert np.linalg.norm(elbow - ball) == pytest.approx(0.2, abs=1e-13)


def test_scara_nuts_and_the_power_that_they_share() -> None:
    (_, _, lift, angle), q = turn('scara')
    lead = 0.02
    assert q['spline_nut'] == pytest.approx(angle, abs=1e-13)
    assert q['screw_nut'] == pytest.approx(angle + 2 * np.pi * lift / lead, abs=1e-11)
    # At rest the screw's nut alone carries the quill, and the spline's nut holds against it.
    effort = mechanism('scara').feedforward([0.3, -0.4, 0.02, 0.5])
    carried = 0.6 * 9.81 * lead / (2 * np.pi)
    assert effort.actuated[2:] == pytest.approx([carried, -carried], rel=1e-12)


def test_scissors() -> None:
    """The table stays level and is 2 sin(angle) high."""
    (slide,), q = turn('scissor_lift')
    mech = mechanism('scissor_lift')
    table = mech.frame_pose(mech.solve([slide]), 'table')
    assert table.rotation == pytest.approx(np.eye(3), abs=1e-13)
    span = 2.0 * np.cos(np.pi / 6) + slide
    assert table.position == pytest.approx([0.0, 0.0, np.sqrt(4.0 - span**2)], abs=1e-13)


def test_the_palletisers_hand_stays_level() -> None:
    mech = mechanism('palletiser')
    for seed in range(3):
        motion = mech.solve(random_state('palletiser', seed)[0])
        assert mech.frame_pose(motion, 'hand').rotation[2] == pytest.approx([0, 0, 1], abs=1e-12)


def test_new_begins_with_one(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in REACH:
        assert main(['new', str(tmp_path / f'my_{name}'), '--like', name]) == 0
        made = yaml.safe_load((tmp_path / f'my_{name}' / f'my_{name}.yaml').read_text())
        assert (made['name'], made['urdf']) == (f'my_{name}', f'my_{name}.urdf.xacro')
    assert capsys.readouterr().err == ''
    assert main(['new', str(tmp_path / 'delta'), '--like', 'delta']) == 0
    assert "'delta' alone, without a path, is the one that is shipped" in capsys.readouterr().err
    mine = Mechanism.load(str(tmp_path / 'my_delta' / 'my_delta.yaml'))
    state = random_state('delta', 1)
    expected = mechanism('delta').feedforward(*state).actuated
    assert (mine.feedforward(*state).actuated == expected).all()
    for words, reason in (
        ((str(tmp_path / 'my_delta'), '--like', 'delta'), 'exists; choose another NAME'),
        ((str(tmp_path / 'b'), '--like', 'stewartt'), "'stewartt'; is 'stewart' meant?"),
        ((str(tmp_path / 'b'), '--like', 'octopod'), "no archetype 'octopod'; there are: "),
        (('', '--like', 'delta'), 'NAME: is empty'),
        ((str(tmp_path / '7 b'), '--like', 'delta'), "'7 b' is not letters"),
    ):
        assert main(['new', *words]) == 2
        assert reason in capsys.readouterr().err
    assert not (tmp_path / 'b').exists()
