# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Workspaces: the five-bar's is known in closed form, the masticator's is symmetric."""

import dataclasses
import functools
import pathlib
import pickle

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.grid import Axis, Grid, make_grid
from masticator_dynamics.analysis.singularity import SingularityMeasures, balanced_length
from masticator_dynamics.analysis.workspace_map import PoseClass, Workspace, WorkspaceSurveyor
from masticator_dynamics.engine.evaluation import failures
from masticator_dynamics.engine.evaluation.failures import CLOSED, smallest_gaps
from masticator_dynamics.errors import InputError, MasticatorError, ReachError, SingularityError

CRANK, ROD, HALF = 0.2, 0.275, 0.1  # of the five-bar, m
WIDE = {
    'masticator': ([-0.013, -0.006, -0.15, -0.08], [0.009, 0.006, 0.15, 0.5]),
    'rss6': ([-0.006, -0.006, -0.004, -0.1, -0.05, -0.1], [0.006, 0.006, 0.004, 0.1, 0.3, 0.1]),
    'rcid': ([-0.04, -0.04, 0.08, -0.4, -0.4, -0.4], [0.04, 0.04, 0.13, 0.4, 0.4, 0.4]),
    'rrr4': ([-0.12, -0.12, 1.0], [0.12, 0.12, 3.2]),
    'trimule': ([-0.9, -1.1, 0.2], [0.9, 0.8, 1.8]),
    'trimule_five_axis': ([-0.9, -1.1, 0.2, -4.0, -2.5], [0.9, 0.8, 1.8, 4.0, 2.5]),
    'five_bar': ([-0.4, -0.45], [0.4, 0.47]),
    'boom': ([-0.7, -4.0], [1.1, 4.0]),
    'ladder': ([0.05], [1.55]),
}


def wide_poses(name: str, count: int, seed: int = 7) -> samples.Array:
    lower, upper = WIDE[name]
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def survey(name: str, poses, **options) -> Workspace:
    return WorkspaceSurveyor(samples.mechanism(name), **options).survey(poses)


@functools.cache
def free_five_bar(folder: pathlib.Path) -> Mechanism:
    """The five-bar without joint limits, so that only geometry matters."""
    urdf = (samples.OWN / 'five_bar.urdf.xacro').read_text(encoding='utf-8')
    for old in ('lower="-0.15" upper="0.15"', 'lower="0.15" upper="0.42"'):
        assert old in urdf
        urdf = urdf.replace(old, 'lower="-1" upper="1"')
    urdf = urdf.replace('lower="-2.5" upper="2.5"', 'lower="-9" upper="9"')
    (folder / 'five_bar.urdf.xacro').write_text(urdf, encoding='utf-8')
    text = samples.file_of('five_bar').read_text(encoding='utf-8')
    (folder / 'five_bar.yaml').write_text(text, encoding='utf-8')
    return Mechanism.load(folder / 'five_bar.yaml')


@pytest.fixture(scope='module')
def free(tmp_path_factory: pytest.TempPathFactory) -> Mechanism:
    return free_five_bar(tmp_path_factory.mktemp('free'))


@dataclasses.dataclass
class FiveBar:
    """Closed form: vectors (N, leg, 2) of cranks and rods with elbows outwards."""

    points: samples.Array

    def __post_init__(self) -> None:
        side = np.array([-1.0, 1.0])
        self.arms = self.points[:, None, :] - np.stack([side * HALF, [0.0, 0.0]], axis=1)
        self.distance = np.linalg.norm(self.arms, axis=2)
        with np.errstate(invalid='ignore'):
            inner = np.arccos(
                (CRANK**2 + self.distance**2 - ROD**2) / (2.0 * CRANK * self.distance)
            )
        angle = np.arctan2(self.arms[..., 1], self.arms[..., 0]) - side * inner
        self.crank = CRANK * np.stack([np.cos(angle), np.sin(angle)], axis=2)
        self.rod = (self.arms - self.crank) / ROD
        # Rate of the pin along the rod per rate of the crank.
        self.lever = self.crank[..., 0] * self.rod[..., 1] - self.crank[..., 1] * self.rod[..., 0]

    @property
    def missing(self) -> samples.Array:
        """Distance (N,) of the pin outside a leg's annulus; negative inside both."""
        beyond = np.maximum(self.distance - CRANK - ROD, ROD - CRANK - self.distance)
        return beyond.max(axis=1)

    @property
    def sines(self) -> samples.Array:
        """Sines of the angles between rod and arm (N, leg), by the cosine rule."""
        cosine = (ROD**2 + self.distance**2 - CRANK**2) / (2.0 * ROD * self.distance)
        return np.sqrt(1.0 - cosine**2)

    @property
    def jacobian(self) -> samples.Array:
        return self.rod / self.lever[..., None]

    @property
    def crossing(self) -> samples.Array:
        """Cross product (N,) of the rods: 0 if they are in line."""
        return self.rod[:, 0, 0] * self.rod[:, 1, 1] - self.rod[:, 0, 1] * self.rod[:, 1, 0]


def test_five_bar_reaches_two_annuli(free: Mechanism) -> None:
    """Poses that cannot close are outside an annulus by the amount reported; those inside close."""
    grid = make_grid(free, [Axis('x', -0.42, 0.42, 57), Axis('y', -0.45, 0.48, 63)])
    found = WorkspaceSurveyor(free).survey(grid.poses())
    missing = FiveBar(found.y).missing
    clear = np.abs(missing) > 1e-6
    out = found.pose_class == PoseClass.OUT_OF_REACH
    assert np.array_equal(out[clear], missing[clear] > 0.0)
    assert out.sum() > 500 and found.closed.sum() > 1000
    assert (found.pose_class == PoseClass.OTHER_BRANCH).sum() > 300
    legs = np.where(found.cause == 'leg_2', 1, 0)
    distance = FiveBar(found.y).distance[np.arange(len(legs)), legs]
    beyond = np.maximum(distance - CRANK - ROD, ROD - CRANK - distance)
    assert set(found.cause[out]) == {'leg_1', 'leg_2'}
    assert (beyond[out] > 0.0).all()  # the leg that is named is too short or too long
    # The amount is a component of the gap, which is at least the distance over sqrt(2).
    assert (found.amount[out] > 0.7 * beyond[out]).all()
    assert np.isnan(found.amount[found.usable]).all()
    assert (found.cause[found.usable] == '').all()


def test_five_bar_measures_in_closed_form(free: Mechanism) -> None:
    poses = wide_poses('five_bar', 1500)
    found = WorkspaceSurveyor(free, characteristic_length=0.3).survey(poses)
    closed = found.closed & (found.type_1 > 1e-3)
    assert closed.sum() > 500
    bar = FiveBar(poses[closed])
    assert found.type_1[closed] == pytest.approx(bar.sines.min(axis=1), rel=1e-7)
    joints = np.array(['motor_1', 'motor_2'])[bar.sines.argmin(axis=1)]
    assert np.array_equal(found.type_1_joint[closed], joints)
    cosine = np.sqrt(1.0 - bar.sines**2).max(axis=1)
    assert found.condition_loops[closed] == pytest.approx(
        np.sqrt((1.0 + cosine) / (1.0 - cosine)), rel=1e-6
    )
    values = np.linalg.svd(0.3 * bar.jacobian, compute_uv=False)
    assert found.largest_singular_value[closed] == pytest.approx(values[:, 0], rel=1e-7)
    assert found.smallest_singular_value[closed] == pytest.approx(values[:, 1], rel=1e-6)
    assert found.condition_actuation[closed] == pytest.approx(values[:, 0] / values[:, 1], rel=1e-6)
    # At home crank and rod are at right angles, so that no lever is longer than there.
    cosine = np.abs((bar.rod[:, 0] * bar.rod[:, 1]).sum(axis=1))
    assert found.type_2[closed] == pytest.approx(np.sqrt(1.0 - cosine), rel=1e-6)


def test_beyond_rods_in_line_lies_another_world(free: Mechanism) -> None:
    """With elbows outwards, the cross product of the rods has the same sign as at home."""
    poses = wide_poses('five_bar', 1500, seed=8)
    found = WorkspaceSurveyor(free, clearance=0.01).survey(poses)
    bar, home = FiveBar(poses), FiveBar(free.home.y[None])
    judged = found.closed & (found.type_1 > 0.01) & (found.type_2 > 0.01)
    across = np.sign(bar.crossing[judged]) != np.sign(home.crossing[0])
    assert np.array_equal(found.pose_class[judged] == PoseClass.ACROSS_TYPE_2, across)
    assert np.array_equal(found.usable[judged], ~across)
    assert across.sum() > 20 and (~across).sum() > 200


def test_measures_vanish_steadily_towards_singularities(free: Mechanism) -> None:
    surveyor = WorkspaceSurveyor(free, clearance=0.05)
    # Leg 1 stretched, 0.475 m from its motor, leg 2 well bent.
    stretched = np.array([0.1, np.sqrt(0.475**2 - 0.2**2)])
    steps = np.geomspace(0.1, 1e-8, 25)[:, None]
    found = surveyor.survey(stretched * (1.0 - steps))
    assert (np.diff(found.type_1) < 0.0).all() and found.type_1[-1] < 1e-3
    assert (np.diff(found.condition_loops) > 0.0).all()
    assert (np.diff(found.largest_singular_value) > 0.0).all()
    assert (found.type_2 > 0.3).all()  # not disturbed by the other type
    assert found.pose_class[-1] == PoseClass.NEAR_TYPE_1 and found.cause[-1] == 'motor_1'
    # The sine of a nearly stretched leg goes with the root of what is missing.
    ratio = found.type_1[-5:] / np.sqrt(steps[-5:, 0])
    assert ratio == pytest.approx(np.full(5, ratio[-1]), rel=1e-3)
    # Rods in line, elbows 0.55 m apart.
    flat = np.array([0.0, np.sqrt(0.2**2 - 0.175**2)])
    found = surveyor.survey(flat + np.geomspace(0.05, 1e-9, 25)[:, None] * [0.0, 1.0])
    assert (np.diff(found.type_2) < 0.0).all() and found.type_2[-1] < 1e-7
    assert (np.diff(found.smallest_singular_value) < 0.0).all()
    assert (found.type_1 > 0.3).all()
    assert found.pose_class[-1] == PoseClass.NEAR_TYPE_2 and found.cause[-1] == 'y'


def test_a_dead_centre_of_a_single_actuator_is_of_type_2() -> None:
    """Where the ladder's foot turns back, found by finite differences of its position."""
    ladder = samples.mechanism('ladder')
    tilt = np.linspace(0.12, 1.48, 400)
    found = survey('ladder', tilt[:, None], clearance=0.02)
    slide = np.array([ladder.solve([angle]).position[0] for angle in tilt])
    slope = np.gradient(slide, tilt)
    turn = np.flatnonzero(np.diff(np.sign(slope)))
    assert len(turn) == 1
    assert abs(int(np.nanargmin(found.type_2)) - turn[0]) <= 1
    home = np.sign(np.interp(ladder.home.y[0], tilt, slope))
    judged = np.isin(found.pose_class, [PoseClass.USABLE, PoseClass.ACROSS_TYPE_2])
    across = found.pose_class == PoseClass.ACROSS_TYPE_2
    assert np.array_equal(across[judged], np.sign(slope[judged]) != home)
    assert across.any() and found.usable.any()


def test_left_and_right_of_the_jaw_are_alike() -> None:
    poses = wide_poses('masticator', 1500)
    found = survey('masticator', poses)
    image = survey('masticator', poses * [1.0, -1.0, -1.0, 1.0])
    assert len(np.unique(found.pose_class)) >= 3
    assert np.array_equal(found.pose_class, image.pose_class)
    closed = found.closed
    for name in ('room', 'type_1', 'type_2', 'condition_loops', 'condition_actuation',
                 'smallest_singular_value', 'largest_singular_value'):  # fmt: skip
        value, other = getattr(found, name)[closed], getattr(image, name)[closed]
        assert value == pytest.approx(other, rel=1e-5, abs=1e-7), name
    mirror = {f'crank_{k}': f'crank_{k + 1 if k % 2 else k - 1}' for k in range(1, 7)}
    one_sided = closed & (found.type_1_joint != '')
    agree = [
        mirror[a] == b
        for a, b in zip(found.type_1_joint[one_sided], image.type_1_joint[one_sided], strict=True)
    ]
    assert np.mean(agree) > 0.99  # ties at symmetrical poses apart


@pytest.mark.parametrize('name', samples.NAMES)
def test_classes_say_what_solve_and_range_violations_say(name: str) -> None:
    mechanism, poses = samples.mechanism(name), wide_poses(name, 30)
    found, attempts = survey(name, poses, clearance=0.0), mechanism.attempt(poses)
    for row, pose in enumerate(poses):
        place = PoseClass(found.pose_class[row])
        try:
            motion = mechanism.solve(pose)
        except MasticatorError as error:
            assert not found.closed[row] and not attempts.closed[row]
            assert (place == PoseClass.SINGULAR) == isinstance(error, SingularityError)
            assert found.cause[row].split()[0] in str(error)
            assert str(attempts.failure(row)) == str(error)
            assert ('mm are missing' in str(error)) == (place == PoseClass.OUT_OF_REACH)
        else:
            assert found.closed[row] and attempts.failure(row) is None
            violations = mechanism.range_violations(motion)
            assert bool(violations) == (place == PoseClass.OUT_OF_RANGE)
            assert (found.room[row] < 0.0) == bool(violations)
            if violations:
                worst = {f'{v.name} {v.quantity}'.removesuffix(' position'): v for v in violations}
                outside = worst[found.cause[row]]
                beyond = max(outside.lower - outside.value, outside.value - outside.upper)
                assert found.amount[row] == pytest.approx(beyond, rel=1e-12)
    assert found.closed.any()
    assert attempts.motions.q.shape == (attempts.closed.sum(), len(mechanism.tree_joints))


@pytest.mark.parametrize('name', samples.NAMES)
def test_sines_and_condition_numbers_pose_by_pose(name: str) -> None:
    """Against the projection of one column of a block's Jacobian onto the others."""
    mechanism = samples.mechanism(name)
    poses = np.array([state.y for state in samples.states(name, 4, seed=71)])
    loops = SingularityMeasures(mechanism).loops(mechanism.attempt(poses).motions)
    for row, pose in enumerate(poses):
        jacobian = mechanism.structure.jacobian(mechanism.solve(pose).q)
        first, sines, worst = 0, [], 1.0
        for block in mechanism.structure.blocks:
            square = jacobian[first : first + len(block.joints), list(block.joints)]
            first += len(block.joints)
            square = square / np.linalg.norm(square, axis=0)
            worst = max(worst, np.linalg.cond(square))
            for k in range(len(square)):
                others = np.delete(square, k, axis=1)
                rest = square[:, k]
                if others.size:
                    rest = rest - others @ np.linalg.lstsq(others, rest, rcond=None)[0]
                sines.append(np.linalg.norm(rest))
        assert loops.sines[row] == pytest.approx(sines, rel=1e-9)
        assert loops.condition[row] == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize('name', ['masticator', 'rss6'])
def test_actuation_is_conditioned_as_numpy_says(name: str) -> None:
    """With a Jacobian of the cranks by finite differences, and 0.05 m as unit of length."""
    mechanism = samples.mechanism(name)
    slides = [joint in ('x', 'y', 'z') for joint in mechanism.independent]
    scale = np.where(slides, 0.05, 1.0)
    for state in samples.states(name, 3, seed=72):
        columns = [
            samples.five_point(lambda t, y=state.y, e=e: mechanism.solve(y + t * e).position, 1e-5)
            for e in np.eye(len(scale))
        ]
        values = np.linalg.svd(np.array(columns).T * scale, compute_uv=False)
        found = survey(name, state.y[None], characteristic_length=0.05)
        assert found.largest_singular_value[0] == pytest.approx(values[0], rel=1e-6)
        assert found.smallest_singular_value[0] == pytest.approx(values[-1], rel=1e-6)


def test_fewer_motors_lose_control_where_more_hold() -> None:
    poses = np.array([state.y for state in samples.states('masticator', 5, seed=73)])
    whole = survey('masticator', poses)
    assert (whole.type_2 > 0.2).all()
    file = samples.file_of('masticator')
    four = Mechanism.load(file, ['crank_1', 'crank_2', 'crank_3', 'crank_5'])
    fewer = WorkspaceSurveyor(four, whole.characteristic_length).survey(poses)
    assert (fewer.smallest_singular_value < whole.smallest_singular_value).all()
    three = Mechanism.load(file, ['crank_1', 'crank_2', 'crank_3'])
    under = WorkspaceSurveyor(three).survey(poses)
    assert (under.type_2 == 0.0).all() and np.isinf(under.condition_actuation).all()
    assert (under.pose_class == PoseClass.NEAR_TYPE_2).all()


def test_the_characteristic_length_balances_turning_and_sliding() -> None:
    mechanism = samples.mechanism('masticator')
    jacobian = mechanism.jacobian_actuated_from_independent(mechanism.home)
    length = balanced_length(mechanism)
    norm = np.linalg.norm(jacobian, axis=0)
    assert norm[:2] @ norm[:2] * length**2 == pytest.approx(norm[2:] @ norm[2:], rel=1e-12)
    assert survey('masticator', mechanism.home.y[None]).characteristic_length == length


def test_a_pose_behind_a_hole_is_not_said_to_be_too_far() -> None:
    """0.33 m from motor 1 and 0.47 m from motor 2, but the path there leads out of reach."""
    mechanism = samples.mechanism('five_bar')
    assert FiveBar(np.array([[-0.28, -0.28]])).missing[0] < 0.0
    with pytest.raises(ReachError, match='leg_1 can close at .* is lost on the straight way'):
        mechanism.solve([-0.28, -0.28])
    with pytest.raises(ReachError, match='mm are missing') as caught:
        mechanism.solve([0.0, 0.6])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_why_loops_do_not_close_is_looked_for_when_it_is_read(monkeypatch) -> None:
    """It takes a hundred times as long as to see that they do not; a search reads none of it."""
    looked, diagnose = [], failures.diagnose
    monkeypatch.setattr(failures, 'diagnose', lambda *of: looked.append(of) or diagnose(*of))
    mechanism = samples.mechanism('five_bar')
    for poses, begin in (([0.0, 0.6], 'leg_'), ([[0.0, 0.3], [0.0, 0.6]], 'row 2: leg_')):
        with pytest.raises(ReachError) as caught:
            mechanism.solve_batch(poses) if begin.startswith('row') else mechanism.solve(poses)
        assert not looked
        assert str(caught.value).startswith(begin) and len(looked) == 1
        looked.clear()


@pytest.mark.parametrize('leg', [0, 1])
def test_a_leg_can_close_within_its_annulus_only(leg: int) -> None:
    mechanism, poses = samples.mechanism('five_bar'), wide_poses('five_bar', 800, seed=9)
    distance = FiveBar(poses).distance
    missing = np.maximum(distance - CRANK - ROD, ROD - CRANK - distance)
    if leg == 1:  # the second is looked at where the first can close
        poses, missing = poses[missing[:, 0] < 0.0], missing[missing[:, 0] < 0.0]
    gap, missing = smallest_gaps(mechanism, poses)[:, leg], missing[:, leg]
    assert np.array_equal(gap < CLOSED, missing < 0.0)
    assert 50 < (missing > 0.0).sum() < len(poses) - 50


def test_parts_are_joined_in_order_and_none_may_close() -> None:
    poses = np.vstack([wide_poses('masticator', 40), np.full((3, 4), 0.6)])
    surveyor = WorkspaceSurveyor(samples.mechanism('masticator'))
    whole = surveyor.survey(poses)
    parts = Workspace.joined([surveyor.survey(poses[:40]), surveyor.survey(poses[40:])])
    assert not parts.closed[40:].any() and whole.closed.any()
    for field in dataclasses.fields(Workspace):
        one, other = getattr(whole, field.name), getattr(parts, field.name)
        if isinstance(one, np.ndarray) and one.dtype.kind == 'f':
            assert np.array_equal(one, other, equal_nan=True), field.name
        else:
            assert np.array_equal(one, other), field.name


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_are_refused_naming_the_row(bad: float) -> None:
    surveyor = WorkspaceSurveyor(samples.mechanism('boom'))
    if bad == 1e300:
        bad = -np.inf
    with pytest.raises(InputError, match='row 2: lift is'):
        surveyor.survey([[0.0, 0.0], [bad, 0.0]])


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'characteristic_length': 0.0}, 'characteristic length 0.0 m'),
        ({'characteristic_length': np.nan}, 'characteristic length nan m'),
        ({'clearance': 1.0}, 'clearance 1.0'),
        ({'clearance': -0.1}, 'clearance -0.1'),
    ],
)
def test_senseless_yardsticks_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorkspaceSurveyor(samples.mechanism('boom'), **options)


def test_grids_run_over_limits_with_the_last_coordinate_fastest() -> None:
    mechanism = samples.mechanism('five_bar')
    grid = make_grid(mechanism, [Axis('x', steps=3), Axis('y', 0.2, 0.4, 2)])
    assert grid.shape == (3, 2)
    wanted = [[x, y] for x in (-0.15, 0.0, 0.15) for y in (0.2, 0.4)]
    assert grid.poses() == pytest.approx(np.array(wanted), abs=1e-15)
    fixed = make_grid(mechanism, fixed={'x': 0.1})
    assert fixed.columns == (1,) and (fixed.poses()[:, 0] == 0.1).all()
    assert fixed.values[0][[0, -1]] == pytest.approx([0.15, 0.42])
    one = make_grid(samples.mechanism('masticator'), [Axis('beta')], {'x': -0.001})
    assert (one.poses()[:, :3] == [-0.001, 0.0, 0.0]).all()


def test_slices_go_through_home_whatever_the_grid() -> None:
    grid = make_grid(samples.mechanism('masticator'), fixed={'y': 0.001})
    slices = grid.slices(5)
    assert [part.columns for part in slices] == [(0, 2), (0, 3), (2, 3)]
    assert (slices[0].poses()[:, [1, 3]] == [0.001, 0.0]).all()
    assert len(make_grid(samples.mechanism('rcid')).slices()) == 6


def test_regions_are_joined_by_single_steps() -> None:
    values = np.arange(5.0)
    grid = Grid((0, 1), (values, values), np.array([0.2, 0.1]))
    allowed = np.array(
        [[1, 1, 0, 0, 1], [0, 1, 0, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [1, 0, 0, 1, 1]]
    )
    joined = np.array(
        [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    )
    assert np.array_equal(grid.connected(allowed.ravel() > 0), joined.ravel() > 0)
    allowed[0, 0] = 0
    assert not grid.connected(allowed.ravel() > 0).any()
