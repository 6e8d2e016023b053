# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames, or parts of them, are found again; what cannot be reached is measured."""

import re

import numpy as np
import pytest
import samples
from scipy.spatial.transform import Rotation

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation import inverse_kinematics
from masticator_dynamics.errors import InputError, ReachError

TOLERANCE = 2e-9  # m and rad


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_what_is_asked_for_is_reached_on_the_branch_of_home(name: str) -> None:
    mechanism = samples.mechanism(name)
    platform = mechanism.description.platform
    for state in samples.states(name, 8, seed=3401):
        position, rotation = vars(mechanism.frame_pose(mechanism.solve(state.y), platform)).values()

        def found(*asked, **keywords):
            y = mechanism.inverse_kinematics(platform, *asked, **keywords)
            pose = mechanism.frame_pose(mechanism.solve(y), platform)  # from home, or refused
            return y, pose.position, pose.rotation

        _, there, turned = found(position, rotation)
        assert np.abs(there - position).max() < TOLERANCE
        assert np.abs(turned - rotation).max() < TOLERANCE
        assert np.abs(found(position)[1] - position).max() < TOLERANCE
        _, there, turned = found(position, 5.0 * rotation[:, 2])
        assert np.abs(there - position).max() < TOLERANCE
        assert np.abs(turned[:, 2] - rotation[:, 2]).max() < TOLERANCE
        two = np.where([True, True, False], rotation, np.nan)
        assert np.abs(found(None, two)[2] - rotation).max() < TOLERANCE
        first = np.where([True, False, False], rotation, np.nan)
        assert np.abs(found(None, first)[2][:, 0] - rotation[:, 0]).max() < TOLERANCE
        _, there, _ = found([None, position[1], None])
        assert abs(there[1] - position[1]) < TOLERANCE
        # Where it already is, nothing moves.
        y, _, _ = found(position, start=state.y)
        assert np.abs(y - state.y).max() < 1e-9


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_loops_closed_from_home_lead_to_the_same_pose(name: str) -> None:
    """Even where fewer things are asked for than there are freedoms, and the way matters."""
    quick, thorough = (Mechanism(samples.mechanism(name).description) for _ in range(2))
    rng, served, frame = np.random.default_rng(4903), [], quick.description.platform
    unavailable(thorough.made(inverse_kinematics._descents)[frame].quick)
    descent = quick.made(inverse_kinematics._descents)[frame]
    for state in samples.states(name, 3, seed=4904):
        pose = quick.frame_pose(quick.solve(state.y), frame)
        position, rotation = np.array(pose.position), np.array(pose.rotation)
        turned = Rotation.from_rotvec(1e-7 * rng.normal(size=3)).as_matrix() @ rotation
        rounded = turned + 1e-8 * rng.normal(size=(3, 3))  # no rotation, but for rounding
        alone = np.where(np.arange(3) == rng.integers(3), rotation, np.nan)
        two = np.where(np.arange(3) == rng.integers(3), np.nan, rounded)
        for asked in (
            (position,), (position, rotation), (None, two), (None, rounded), (position, alone),
            (np.where(np.arange(3) == rng.integers(3), position, np.nan), None, state.y),
            (None, rotation[:, 2], quick.home.y + 0.5 * (state.y - quick.home.y)),
        ):  # fmt: skip
            answers = []
            for mechanism in (quick, thorough):
                try:
                    answers.append(mechanism.inverse_kinematics(frame, *asked))
                except ReachError as error:
                    answers.append(str(error))
            if isinstance(answers[0], str):  # coordinates that do not matter may differ
                amounts = (re.findall(r'by ([\d.e+-]+)', answer) for answer in answers)
                for a, b in zip(*amounts, strict=True):
                    assert float(a) == pytest.approx(float(b), rel=1e-3)
                continue
            size = max(1.0, quick.structure.extent())  # steps end at 1e-12 m
            assert np.abs(answers[0] - answers[1]).max() < 1e-12 * size
            task = inverse_kinematics.Task(frame, *[*asked, None][:2])
            start = asked[2] if len(asked) > 2 else quick.home.y
            served.append(descent.quick(np.array([*task.numbers, *start, *descent.numbers()]))[0])
    # Far from home some do not close in a few steps, such as scara's nuts, which turn a lot.
    assert np.mean(served) > (0.9 if name in samples.NAMES else 0.2)


def unavailable(code) -> None:
    code.__dict__['reason'] = 'none is wanted'


@pytest.mark.parametrize(
    ('name', 'closes'), [('five_bar', False), ('archetype slider_crank', True)]
)
def test_a_mechanism_too_large_for_machine_code_is_searched_on_floats(
    name: str, closes: bool
) -> None:
    mechanism = Mechanism(samples.mechanism(name).description)
    frame = mechanism.description.platform
    descent = mechanism.made(inverse_kinematics._descents)[frame]
    unavailable(descent.quick)
    unavailable(descent.thorough)
    (state,) = samples.states(name, 1, seed=3405)
    position = mechanism.frame_pose(mechanism.solve(state.y), frame).position
    y = mechanism.inverse_kinematics(frame, position)
    there = mechanism.frame_pose(mechanism.solve(y), frame).position
    assert np.abs(there - position).max() < TOLERANCE
    # Steps that leave what the loops can close are shortened, also here.
    task = inverse_kinematics.Task(frame, position + 2.0 * mechanism.structure.extent(), None)
    end = descent(task, mechanism.home.y)
    assert not end.reached and mechanism.solve(end.y).closure_residual < 1e-9
    # A crank may turn as often as it likes.
    assert (descent(task, mechanism.home.y + 1e3) is not None) is closes


@pytest.mark.parametrize('name', ['rcid', 'rss6'])
def test_half_a_turn_is_told_about_the_axis_asked_for(name: str) -> None:
    """The rotation that is missing, against scipy's, where sines do not tell its axis."""
    mechanism, rng = samples.mechanism(name), np.random.default_rng(3406)
    frame, home = mechanism.description.platform, mechanism.home.y
    descent = mechanism.made(inverse_kinematics._descents)[frame]
    present = mechanism.frame_pose(mechanism.home, frame).rotation
    for away in (0.0, 1e-9, 1e-5, 0.1):
        for axis in (*np.eye(3), *rng.normal(size=(3, 3))):
            axis = axis / np.linalg.norm(axis)
            turn = Rotation.from_rotvec((np.pi - away) * axis).as_matrix()
            task = inverse_kinematics.Task(frame, None, turn @ present)
            missing = descent(task, home, descends=False).missing[3:]
            assert np.abs(Rotation.from_rotvec(missing).as_matrix() - turn).max() < 3e-6
            assert abs(np.linalg.norm(missing) - (np.pi - away)) < 1e-12
            across = np.cross(axis + 0.1, present[:, 2])
            across /= np.linalg.norm(across)
            there = Rotation.from_rotvec((np.pi - away) * across).apply(present[:, 2])
            missing = descent(inverse_kinematics.Task(frame, None, there), home, False).missing[3:]
            assert abs(np.linalg.norm(missing) - (np.pi - away)) < 1e-12
            assert np.abs(Rotation.from_rotvec(missing).apply(present[:, 2]) - there).max() < 3e-6


def test_a_full_pose_determines_a_stewart_platform() -> None:
    stewart = samples.mechanism('archetype stewart')
    for state in samples.states('archetype stewart', 8, seed=3402):
        pose = stewart.frame_pose(stewart.solve(state.y), stewart.description.platform)
        y = stewart.inverse_kinematics(stewart.description.platform, pose.position, pose.rotation)
        assert np.abs(y - state.y).max() < 1e-8


def missing_in(error: pytest.ExceptionInfo[ReachError]) -> float:
    """The distance that a message names, m."""
    found = re.search(r'its position by ([\d.e+-]+) mm', str(error.value))
    assert found, error.value
    return 1e-3 * float(found[1])


def test_how_far_away_the_closest_place_is_where_geometry_tells() -> None:
    slider = samples.mechanism('archetype slider_crank')
    frame, crank, rod = slider.description.platform, 0.05, 0.20
    drawn = crank * 0.5 + np.sqrt(rod**2 - (crank * np.sin(np.pi / 3)) ** 2)  # stroke 0
    home = slider.frame_pose(slider.home, frame).position
    along = slider.frame_jacobian(slider.home, frame)[:3, 0]
    along /= np.linalg.norm(along) * np.sign(
        slider.home.tangent[slider.tree_joints.index('stroke')]
    )
    for beyond in (1e-4, 0.003, 0.5):
        with pytest.raises(ReachError) as caught:
            slider.inverse_kinematics(frame, home + (crank + rod - drawn + beyond) * along)
        assert missing_in(caught) == pytest.approx(beyond, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize(('name', 'frame'), [('rcid', 'platform'), ('five_bar', 'pin')])
def test_no_place_is_much_closer_than_the_closest_found(name: str, frame: str) -> None:
    mechanism, rng = samples.mechanism(name), np.random.default_rng(3403)
    span = samples.BOXES[name].upper - samples.BOXES[name].lower
    Y = mechanism.home.y + rng.uniform(-4.0, 4.0, (4000, len(span))) * span
    places = mechanism.frame_pose(mechanism.attempt(Y).motions, frame).position
    home = mechanism.frame_pose(mechanism.home, frame).position
    for direction in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
        goal = home + 5.0 * mechanism.structure.extent() * np.array(direction)
        with pytest.raises(ReachError) as caught:
            mechanism.inverse_kinematics(frame, goal)
        assert missing_in(caught) < 1.003 * np.linalg.norm(places - goal, axis=1).min()


def test_what_the_mechanism_has_no_freedom_for_is_named_alone() -> None:
    planar = samples.mechanism('rrr4')
    position, rotation = vars(planar.frame_pose(planar.home, 'platform')).values()
    with pytest.raises(ReachError, match=r'misses its position by 100 mm \(z 100\)$'):
        planar.inverse_kinematics('platform', position + [0.01, 0.0, 0.1])
    tilted = rotation @ [
        [1.0, 0.0, 0.0],
        [0.0, np.cos(0.2), -np.sin(0.2)],
        [0.0, np.sin(0.2), np.cos(0.2)],
    ]
    with pytest.raises(ReachError, match=r'misses its axis by 0\.2 rad$'):
        planar.inverse_kinematics('platform', position, tilted[:, 2])
    with pytest.raises(ReachError, match=r'misses its axis by 3\.14159 rad$'):
        planar.inverse_kinematics('platform', rotation=-rotation[:, 2])


def test_rows_are_independent_and_named() -> None:
    jaw = samples.mechanism('masticator')
    Y = np.array([state.y for state in samples.states('masticator', 5, seed=3404)])
    positions = jaw.frame_pose(jaw.solve_batch(Y), 'incisor').position
    found = jaw.inverse_kinematics_batch('incisor', positions)
    for k, y in enumerate(found):
        assert np.array_equal(y, jaw.inverse_kinematics('incisor', positions[k]))
    positions[3] += 1.0
    with pytest.raises(ReachError, match='row 4: incisor cannot be placed as asked'):
        jaw.inverse_kinematics_batch('incisor', positions)


def test_bad_input_is_named() -> None:
    jaw = samples.mechanism('masticator')
    for asked, message in (
        ({}, 'neither a position nor a rotation is given for incisor'),
        ({'position': [None] * 3}, 'neither a position nor a rotation'),
        ({'position': [0.0, 0.0]}, r'position has shape \(2,\)'),
        ({'position': [0.0, np.inf, 0.0]}, 'not finite'),
        ({'rotation': np.eye(2)}, r'rotation has shape \(2, 2\)'),
        ({'rotation': 1.1 * np.eye(3)}, 'not orthonormal, by 0.21'),
        ({'rotation': np.diag([1.0, 1.0, -1.0])}, 'is a reflection'),
        ({'rotation': np.zeros(3)}, 'no direction'),
        ({'rotation': [[1.0, 0.0, 0.0], [0.0, np.nan, 0.0], [0.0, 0.0, 1.0]]}, 'orthonormal'),
        ({'position': np.zeros(3), 'start': np.zeros(3)}, r'start has shape \(3,\)'),
        ({'position': np.zeros(3), 'start': np.full(4, np.nan)}, 'start is not finite'),
    ):
        with pytest.raises(InputError, match=message):
            jaw.inverse_kinematics('incisor', **asked)
    with pytest.raises(InputError, match="no frame 'tongue'"):
        jaw.inverse_kinematics('tongue', np.zeros(3))
    with pytest.raises(ReachError, match='do not close at the start, x = 0.5'):
        jaw.inverse_kinematics('incisor', np.zeros(3), start=[0.5, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match='needed are rows'):
        jaw.inverse_kinematics_batch('incisor', np.zeros(3))
    with pytest.raises(InputError, match='needed are rows'):
        jaw.inverse_kinematics_batch('incisor', np.zeros((2, 3)), starts=np.zeros((3, 4)))
