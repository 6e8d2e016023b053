# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Redundant equations, loops in any order, and wrong numbers of equations."""

from __future__ import annotations

import json
import pathlib

import linkages
import numpy as np
import pytest
import samples
import yaml
from linkages import Part, frame

from masticator_dynamics import Mechanism
from masticator_dynamics.engine import redundant_equations
from masticator_dynamics.errors import DescriptionError, DescriptionWarning

ROBOTS = samples.ROOT.parent / 'shared' / 'robots' / 'converted'


def five_bar(parent: str = 'ground', tilt: float = 0.0) -> list[Part]:
    """Two cranks and two rods in the XY plane; the rods meet at (0.1, 0.4).

    ``tilt`` (rad) is the angle by which the second elbow's axis leans.
    """
    left = linkages.crank_and_rod('1', (0.0, 0.0, 0.0), parent, (-0.1, 0.2, 0.0), (0.2, 0.2, 0.0))
    right = linkages.crank_and_rod('2', (0.2, 0.0, 0.0), parent, (0.1, 0.2, 0.0), (-0.2, 0.2, 0.0))
    lean = Part('rod_2', 'crank_2', (0.1, 0.2, 0.0), (np.sin(tilt), 0.0, np.cos(tilt)), mass=0.6)
    return [*left, *(lean if part.link == 'rod_2' else part for part in right)]


MOTORS = ['crank_1_joint', 'crank_2_joint']
PIN = {'name': 'pin', 'frames': ['tip_1', 'tip_2']}


def load(folder: pathlib.Path, parts: list[Part], **keys: object) -> Mechanism:
    return Mechanism.load(linkages.write(folder, parts, **keys))


# Order


@pytest.mark.parametrize('names', [('first', 'second'), ('second', 'first')])
def test_a_loop_on_a_body_that_another_loop_places(
    tmp_path: pathlib.Path, names: tuple[str, str]
) -> None:
    """A four-bar whose rocker carries another: their order in the file does not matter."""
    parts = [
        *linkages.crank_and_rod('a', (0.0, 0.0, 0.0), 'ground', (0.0, 0.1, 0.0), (0.3, 0.1, 0.0)),
        Part('rocker', 'ground', (0.3, 0.0, 0.0), mass=1.0),
        frame('seat', 'rocker', (0.0, 0.2, 0.0)),
        *linkages.crank_and_rod('b', (0.1, 0.1, 0.0), 'rocker', (0.0, 0.1, 0.0), (0.2, 0.1, 0.0)),
        Part('flap', 'rocker', (0.3, 0.1, 0.0), (0.0, 0.0, 1.0), mass=0.5),
        frame('catch', 'flap', (0.0, 0.2, 0.0)),
    ]
    loops = {
        'first': {'name': 'first', 'frames': ['tip_a', 'seat']},
        'second': {'name': 'second', 'frames': ['tip_b', 'catch']},
    }
    driven = ['crank_a_joint', 'crank_b_joint']
    mechanism = load(
        tmp_path, parts, independent=driven, actuated=driven, closures=[loops[n] for n in names]
    )
    assert [mechanism.block_names(b) for b in (1, 2)] == [('first',), ('second',)]
    for state in linkages.states(mechanism, 3, 0.3, seed=1):
        linkages.check_rates(mechanism, state)
        linkages.check_efforts(mechanism, state)


@pytest.mark.parametrize('name', ['cassie_like_tip_first', 'cassie_menagerie', 'disney_robot'])
def test_robots_that_others_described(name: str) -> None:
    """Against efforts of Pinocchio, projected onto the null space of the closures."""
    if not ROBOTS.is_dir():
        pytest.skip('the robots of others are not here')
    reference = json.loads((ROBOTS / 'refused' / 'reference.json').read_text(encoding='utf-8'))
    mechanism = Mechanism.load(ROBOTS / 'refused' / f'{name}.yaml')
    for row in reference['robots'][name]['rows']:
        effort = mechanism.feedforward(row['y'], row['y_dot'], row['y_ddot'], row['wrench'])
        assert samples.relative_error(effort.actuated, row['effort']) < 1e-8
        assert effort.closure_residual < 1e-12


# What follows from what


def test_a_planar_loop_on_a_moving_carrier(tmp_path: pathlib.Path) -> None:
    """Its plane turns with the bench, so no fixed direction in the base can be left out."""
    parts = [Part('bench', 'ground', axis=(0.3, 1.0, 0.2), mass=2.0), *five_bar('bench')]
    driven = ['bench_joint', *MOTORS]
    mechanism = load(tmp_path, parts, independent=driven, actuated=driven, closures=[PIN])
    assert [(r.name, r.equations, r.independent) for r in mechanism.structure.redundant] == [
        ('pin', 3, 2)
    ]
    for state in linkages.states(mechanism, 4, 0.4, seed=2):
        linkages.check_rates(mechanism, state)
        linkages.check_efforts(mechanism, state)
        linkages.check_wrenches(mechanism, state)
        effort = mechanism.feedforward(*state)
        assert not effort.loop_force_unique.any()
        # Of least norm: nothing sideways, where nothing needs to be.
        sideways = mechanism.frame_pose(effort, 'bench').rotation[:, 2]
        assert abs(effort.loop_force[0] @ sideways) < 1e-9 * np.abs(effort.loop_force).max()


@pytest.mark.parametrize('tilt', [0.0, 1e-5])
def test_a_hinge_closes_a_planar_loop_in_any_plane(tmp_path: pathlib.Path, tilt: float) -> None:
    """That its axes stay parallel is known but for rounding; so are its equations sideways."""
    wall = Part('wall', 'ground', kind='fixed', turn=(0.4, -0.7, 1.1))
    loop = five_bar('wall', tilt)
    keys = {'independent': MOTORS, 'actuated': MOTORS}
    loops = [[{**PIN, 'type': kind}] for kind in ('hinge', 'point')]
    if tilt:
        with pytest.warns(DescriptionWarning, match=r'pin: 3 of 5 equations follow .* rounding'):
            hinged = load(tmp_path, [wall, *loop], closures=loops[0], **keys)
        for state in linkages.states(hinged, 3, 0.2, seed=4):
            assert hinged.feedforward(*state).closure_residual < 1e-9
        return
    hinged, pinned = (load(tmp_path, [wall, *loop], closures=c, **keys) for c in loops)
    assert [(r.equations, r.independent) for r in hinged.structure.redundant] == [(5, 2)]
    for state in linkages.states(hinged, 3, 0.2, seed=4):
        linkages.check_efforts(hinged, state)
        expected = pinned.feedforward(*state).actuated
        assert samples.relative_error(hinged.feedforward(*state).actuated, expected) < 1e-11


@pytest.mark.filterwarnings('error')
def test_a_hinge_said_twice(tmp_path: pathlib.Path) -> None:
    """A closure that repeats a joint has no rates at all: it is left out without a word."""
    parts = [
        Part('crank', 'ground', mass=0.5), Part('arm', 'crank', (0.2, 0.0, 0.0), mass=0.4),
        frame('pin', 'crank', (0.2, 0.0, 0.0)), frame('hole', 'arm', (0.0, 0.0, 0.0)),
    ]  # fmt: skip
    gear = {'type': 'coupling', 'joint': 'arm_joint', 'of': {'crank_joint': [1.0]}, 'name': 'gear'}
    hinge = {'type': 'hinge', 'frames': ['pin', 'hole'], 'name': 'hinge'}
    driven = ['crank_joint']
    mechanism = load(tmp_path, parts, independent=driven, actuated=driven, closures=[gear, hinge])
    assert [(r.name, r.independent) for r in mechanism.structure.redundant] == [('hinge', 0)]
    for state in linkages.states(mechanism, 2, 0.3, seed=5):
        linkages.check_efforts(mechanism, state)


def parallelogram(third: bool, error: float = 0.0) -> tuple[list[Part], list[dict[str, object]]]:
    """A beam on two or three parallel cranks; the third is ``error`` m too long."""
    at = {'1': 0.0, '2': 0.4, **({'3': 0.15} if third else {})}
    parts = [Part('crank_1', 'ground', mass=0.5, center=(0.1, 0.1, 0.0))]
    parts += [Part('beam', 'crank_1', (0.2, 0.2, 0.0), mass=2.0, center=(0.2, 0.02, 0.0))]
    closures = []
    for name, x in list(at.items())[1:]:
        parts += [
            Part(f'crank_{name}', 'ground', (x, 0.0, 0.0), mass=0.5, center=(0.1, 0.1, 0.0)),
            frame(f'end_{name}', f'crank_{name}', (0.2 + error * (name == '3'), 0.2, 0.0)),
            frame(f'pin_{name}', 'beam', (x, 0.0, 0.0)),
        ]
        closures.append({'name': f'pin_{name}', 'frames': [f'end_{name}', f'pin_{name}']})
    return parts, closures


def test_a_third_crank_of_a_parallelogram(tmp_path: pathlib.Path) -> None:
    """It repeats the second crank's equations; only its own angle remains to be found."""
    driven = ['crank_1_joint']
    parts, closures = parallelogram(third=True)
    three = load(tmp_path, parts, independent=driven, actuated=driven, closures=closures)
    assert {r.name: r.independent for r in three.structure.redundant} == {'pin_2': 2, 'pin_3': 1}
    for state in linkages.states(three, 4, 0.6, seed=3):
        linkages.check_rates(three, state)
        linkages.check_efforts(three, state)
        linkages.check_wrenches(three, state)
    # All round, not only near home: no direction was singled out in the base.
    for turn in np.linspace(-0.7, 0.6, 9):
        motion = three.solve([turn])
        gap = (
            three.frame_pose(motion, 'end_3').position - three.frame_pose(motion, 'pin_3').position
        )
        assert np.abs(gap).max() < 1e-12


def test_shared_forces_are_of_least_norm(tmp_path: pathlib.Path) -> None:
    """They balance the beam, and no smaller forces do."""
    driven = ['crank_1_joint']
    parts, closures = parallelogram(third=True)
    mechanism = load(tmp_path, parts, independent=driven, actuated=driven, closures=closures)
    state = linkages.states(mechanism, 1, 0.5, seed=4)[0]
    effort = mechanism.feedforward(*state)
    assert not effort.loop_force_unique.any()
    # Forces along the cranks cancel in all joints if they cancel on the beam: in force, and in
    # torque about its first pin. The forces given must have no part of such.
    along = mechanism.frame_pose(effort, 'crank_1').rotation @ np.array([0.2, 0.2, 0.0])
    cancelling = []
    beam = mechanism.frame_pose(effort, 'beam').rotation
    arms = [beam @ np.array([x, 0.0, 0.0]) for x in (0.4, 0.15)]
    torque = [np.cross(arm, along)[2] for arm in arms]
    cancelling.append(np.concatenate([torque[1] * along, -torque[0] * along]))
    for k in (0, 1):
        cancelling.append(np.eye(6)[3 * k + 2])
    for force in cancelling:
        assert abs(effort.loop_force.ravel() @ force) < 1e-9 * np.abs(effort.loop_force).max()
    assert np.abs(effort.loop_force[1]).max() > 1.0


def test_the_same_closure_twice(tmp_path: pathlib.Path) -> None:
    """Overconstrained but closed: the efforts are those of the mechanism with one closure."""
    closures = [PIN, {'name': 'again', 'frames': ['tip_2', 'tip_1']}]
    once = load(tmp_path, five_bar(), independent=MOTORS, actuated=MOTORS, closures=[PIN])
    twice = load(tmp_path, five_bar(), independent=MOTORS, actuated=MOTORS, closures=closures)
    for state in linkages.states(once, 3, 0.3, seed=5):
        one, two = once.feedforward(*state), twice.feedforward(*state)
        assert samples.relative_error(two.actuated, one.actuated) < 1e-10
        pin, again = two.loop_force
        assert samples.relative_error(pin, 0.5 * one.loop_force[0]) < 1e-6
        assert samples.relative_error(again, -pin) < 1e-6
    assert one.loop_force_unique.tolist() == [False]
    assert two.loop_force_unique.tolist() == [False, False]


# Rounding


def test_axes_that_drawing_programs_round(tmp_path: pathlib.Path) -> None:
    """Axes 1e-5 rad off parallel: the loop still counts as planar, and the amount is reported."""
    keys = {'independent': MOTORS, 'actuated': MOTORS, 'closures': [PIN]}
    with pytest.warns(DescriptionWarning, match='pin: 1 of 3 equations follow from others but'):
        leaning = load(tmp_path, five_bar(tilt=1e-5), **keys)
    exact = load(tmp_path, five_bar(), **keys)
    (told,) = leaning.structure.redundant
    assert 1e-8 < told.gap < 1e-5
    state = linkages.states(exact, 1, 0.3, seed=6)[0]
    off = leaning.feedforward(*state).actuated - exact.feedforward(*state).actuated
    assert np.abs(off).max() < 1e-2


def test_a_length_that_drawing_programs_round(tmp_path: pathlib.Path) -> None:
    driven = ['crank_1_joint']
    parts, closures = parallelogram(third=True, error=5e-6)
    with pytest.warns(DescriptionWarning, match='pin_3: 2 of 3 equations follow'):
        load(tmp_path, parts, independent=driven, actuated=driven, closures=closures)
    parts, closures = parallelogram(third=True, error=1e-4)
    with pytest.raises(DescriptionError, match=r'gap 0\.1 mm'):
        load(tmp_path, parts, independent=driven, actuated=driven, closures=closures)


@pytest.mark.parametrize('tilt', [0.0, 3.67e-6, 1e-5])
def test_rounding_stands_in_for_no_equation(tmp_path: pathlib.Path, tilt: float) -> None:
    """With one independent joint too few, leaning axes must not supply the missing equation."""
    with pytest.raises(DescriptionError, match='2 constraint equations for 3 dependent joints'):
        load(tmp_path, five_bar(tilt=tilt), independent=MOTORS[:1], actuated=MOTORS, closures=[PIN])


def test_axes_that_lean_for_real(tmp_path: pathlib.Path) -> None:
    """The loop can then also open sideways, and no joint can close it."""
    with pytest.raises(DescriptionError, match='3 constraint equations for 2 dependent joints'):
        load(tmp_path, five_bar(tilt=1e-2), independent=MOTORS, actuated=MOTORS, closures=[PIN])


def test_a_singular_home_is_not_redundancy(tmp_path: pathlib.Path) -> None:
    """With crank and rod in line, both rows agree at home, but nowhere else."""
    parts = [
        Part('crank', 'ground', mass=1.0),
        Part('rod', 'crank', (0.2, 0.0, 0.0), mass=1.0),
        frame('tip', 'rod', (0.3, 0.0, 0.0)),
        Part('block', 'ground', (0.5, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic', mass=1.0),
    ]
    keys = {'actuated': ['block_joint'], 'closures': [{'name': 'eye', 'frames': ['tip', 'block']}]}
    with pytest.raises(
        DescriptionError, match="do not determine joint '(crank|rod)_joint' at home"
    ):
        load(tmp_path, parts, independent=['block_joint'], **keys)
    # The same home serves where the crank is independent: the block then follows.
    mechanism = load(tmp_path, parts, independent=['crank_joint'], actuated=['crank_joint'],
                     closures=keys['closures'])  # fmt: skip
    linkages.check_rates(mechanism, linkages.states(mechanism, 1, 0.3, seed=7)[0])


def test_a_contact_that_follows_from_others_is_refused(tmp_path: pathlib.Path) -> None:
    """A block on a slide touches a wall parallel to it: the force is undetermined."""
    parts = [Part('block', 'ground', axis=(1.0, 0.0, 0.0), kind='prismatic', mass=1.0)]
    wall = {'name': 'wall', 'frame': 'block', 'normal': [0.0, 1.0, 0.0], 'offset': 0.0}
    with pytest.raises(DescriptionError, match='wall.*its force is not unique'):
        load(tmp_path, parts, independent=['block_joint'], actuated=['block_joint'],
             contacts=[wall])  # fmt: skip


def test_home_that_is_missing_is_told(tmp_path: pathlib.Path) -> None:
    parts = five_bar()
    parts[-1] = frame('tip_2', 'rod_2', (-0.25, 0.15, 0.0))
    file = linkages.write(tmp_path, parts, independent=MOTORS, actuated=MOTORS, closures=[PIN])
    with pytest.raises(DescriptionError) as caught:
        Mechanism.load(file)
    assert 'home says nothing of its joints' in caught.value.reason
    assert f'masticator close {file} finds a home' in caught.value.reason
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    data['home'] = {'rod_1_joint': 0.1}
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    with pytest.raises(DescriptionError) as caught:
        Mechanism.load(file)
    assert 'gap' in caught.value.reason and 'home says nothing' not in caught.value.reason


def test_a_closure_of_which_no_equation_is_left_has_a_scale_like_any_other():
    """Importing one whose points are 1e308 m apart comes to this, and is then refused by name."""
    for constraint in samples.mechanism('five_bar').structure.constraints:
        assert redundant_equations._strength(constraint, np.empty((0, 3))) > 0.0
