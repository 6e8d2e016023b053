# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops close on the branch continuous with home, or are refused by name and amount."""

import itertools

import numpy as np
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import MasticatorError, ReachError, SingularityError

SEEDS = st.integers(0, 2**32 - 1)


def largest_gap(name: str, motion) -> float:
    """Largest distance between closing points or from contact planes, m, from frame poses alone."""
    mechanism = samples.mechanism(name)
    description = mechanism.description
    gaps = [0.0]
    for closure in description.closures:
        a, b = (mechanism.frame_pose(motion, frame).position for frame in closure.frames)
        gaps.append(float(np.linalg.norm(a - b)))
    for contact in description.contacts:
        point = mechanism.frame_pose(motion, contact.frame).position
        gaps.append(abs(float(np.dot(contact.normal, point)) + contact.offset))
    return max(gaps)


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
@settings(max_examples=30)
@given(seed=SEEDS)
def test_loops_close_over_the_workspace(name: str, seed: int) -> None:
    state = samples.random_state(name, np.random.default_rng(seed))
    effort = samples.mechanism(name).feedforward(*state)
    assert largest_gap(name, effort) < 1e-10
    # What the result says of itself is true; its largest component may stand for the distance.
    assert effort.closure_residual <= largest_gap(name, effort) + 1e-15
    assert 0.0 <= effort.balance_residual < 1e-9
    assert np.array_equal(
        effort.q[samples.mechanism(name).tree_indices(samples.mechanism(name).independent)], state.y
    )


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
@settings(max_examples=10)
@given(seed=SEEDS)
def test_the_branch_is_continuous_with_home(name: str, seed: int) -> None:
    """No joint jumps along a bent path from home, so all its poses are on home's branch."""
    mechanism = samples.mechanism(name)
    rng = np.random.default_rng(seed)
    corners = [mechanism.home.y, samples.random_pose(name, rng), samples.random_pose(name, rng)]
    previous = mechanism.home
    for start, end in itertools.pairwise(corners):
        for part in np.linspace(0.0, 1.0, 41)[1:]:
            motion = mechanism.solve(start + part * (end - start))
            allowed = 3.0 * np.abs(previous.tangent @ (end - start) / 40.0).max() + 0.02
            assert np.abs(motion.q - previous.q).max() < min(allowed, 0.5)
            previous = motion


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_the_branch_is_that_of_small_steps_of_another_engine(name: str) -> None:
    """Also outside the boxes, where joints turn through large angles."""
    mechanism, oracle = samples.mechanism(name), samples.oracle(name)
    tree = [oracle.joint_names.index(joint) for joint in mechanism.tree_joints]
    rng = np.random.default_rng(41)
    reached = 0
    for _ in range(12):
        y = mechanism.home.y + 2.0 * (samples.random_pose(name, rng) - mechanism.home.y)
        try:
            expected = oracle.solve(y).q[tree]
        except ValueError:
            continue
        reached += 1
        assert np.abs(mechanism.solve(y).q - expected).max() < 1e-8
    assert reached >= 4


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_results_do_not_depend_on_what_was_computed_before(name: str) -> None:
    """Results agree bit for bit one by one, backwards, after a failure, and in shuffled batches."""
    mechanism = samples.mechanism(name)
    sampled = samples.states(name, 12, seed=42)
    columns = [np.array(column) for column in zip(*sampled, strict=True)]

    def row(state) -> list[samples.Array]:
        effort = mechanism.feedforward(*state)
        return [effort.q, effort.v, effort.a, effort.actuated, effort.contact, effort.tangent]

    forwards = [row(state) for state in sampled]
    backwards = [row(state) for state in reversed(sampled)][::-1]
    after_failure = []
    for state in sampled:
        with pytest.raises(MasticatorError):
            mechanism.feedforward(state.y, np.full(len(state.y), 1e300))
        after_failure.append(row(state))
    order = np.random.default_rng(0).permutation(len(sampled))
    batches = [
        mechanism.feedforward_batch(*(column[rows] for column in columns))
        for rows in (np.arange(len(sampled)), order, order[:5])
    ]
    for k, values in enumerate(forwards):
        for others in (backwards[k], after_failure[k]):
            for value, other in zip(values, others, strict=True):
                assert value.tobytes() == other.tobytes()
        # Rows of batches are computed by other code than a single row, to a last digit.
        in_order = _row_of(batches[0], k)
        for value, other in zip(values, in_order, strict=True):
            size = max(1.0, np.abs(value).max(initial=0.0))
            assert np.abs(value - other).max(initial=0.0) <= 1e-12 * size
        place = int(np.flatnonzero(order == k)[0])
        for batch in batches[1:]:
            if place < len(batch.y):
                for value, other in zip(in_order, _row_of(batch, place), strict=True):
                    assert value.tobytes() == other.tobytes()


def _row_of(batch: Effort, row: int) -> list[samples.Array]:
    """Quantities of a row of a batch."""
    quantities = (batch.q, batch.v, batch.a, batch.actuated, batch.contact, batch.tangent)
    return [quantity[row] for quantity in quantities]


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
@given(data=st.data())
def test_finite_input_gives_finite_numbers_or_a_reason(name: str, data: st.DataObject) -> None:
    mechanism = samples.mechanism(name)
    count = len(mechanism.independent)
    near = st.floats(-2.0, 2.0)
    wild = st.floats(allow_nan=False, allow_infinity=False)
    y = data.draw(st.lists(near | wild, min_size=count, max_size=count))
    rates = data.draw(st.lists(near | wild, min_size=2 * count, max_size=2 * count))
    wrench = data.draw(st.lists(near | wild, min_size=6, max_size=6))
    try:
        effort = mechanism.feedforward(y, rates[:count], rates[count:], wrench)
    except MasticatorError as error:
        assert str(error)
        return
    for quantity in (effort.q, effort.v, effort.a, effort.actuated, effort.contact):
        assert np.isfinite(quantity).all()
    assert effort.closure_residual < 1e-10


def test_five_bar_reaches_what_geometry_says() -> None:
    """Over its whole plane: legs of 0.2 and 0.275 m reach an annulus about each motor.

    Where a pose is found, both legs bend outwards as at home, however far the cranks have turned.
    """

    def missing_at(point: samples.Array) -> float:
        distances = np.hypot(point[..., :1] - [-0.1, 0.1], point[..., 1:])
        return float(np.maximum(distances - 0.475, 0.075 - distances).max())

    mechanism = samples.mechanism('five_bar')
    frames = [[f'crank_{leg}', f'rod_{leg}', f'rod_{leg}_tip'] for leg in (1, 2)]
    found = refused = 0
    for x, y in itertools.product(np.linspace(-0.4, 0.4, 81), np.linspace(-0.45, 0.47, 93)):
        missing = missing_at(np.array([x, y]))
        try:
            motion = mechanism.solve([x, y])
        except SingularityError:
            assert abs(missing) < 1e-6
        except ReachError:
            # Within reach, but the straight way from home leads out of it, or grazes its edge.
            way = mechanism.home.y + np.linspace(0.0, 1.0, 400)[:, None] * (
                [x, y] - mechanism.home.y
            )
            assert missing_at(way) > -2e-3, (x, y)
            refused += missing > 0.0
        else:
            assert missing < 1e-9
            found += 1
            for leg, bend in ((0, -1.0), (1, 1.0)):
                motor, elbow, tip = (
                    mechanism.frame_pose(motion, frame).position for frame in frames[leg]
                )
                assert np.sign(np.cross(elbow - motor, tip - elbow)[2]) == bend, (x, y)
    assert found > 3000 and refused > 2000


@pytest.mark.parametrize('point', [(0.0, 0.6), (0.3, 0.5), (-0.2, 0.5), (-0.1, 0.01)])
def test_an_unreachable_point_names_limb_and_amount(point: tuple[float, float]) -> None:
    distances = [np.hypot(point[0] - side * 0.1, point[1]) for side in (-1.0, 1.0)]
    missing = [max(d - 0.475, 0.075 - d) for d in distances]
    with pytest.raises(ReachError) as caught:
        samples.mechanism('five_bar').solve(point)
    named = [k for k in (0, 1) if f'leg_{k + 1}' in str(caught.value)]
    assert len(named) == 1 and missing[named[0]] > 0.0
    assert f'x = {point[0]:g}' in str(caught.value) and f'y = {point[1]:g}' in str(caught.value)
    amount = float(str(caught.value).split(':')[-1].split('mm')[0])
    # The gap is told by its largest component, which is not less than the distance over sqrt(2).
    assert 0.7 * missing[named[0]] < amount * 1e-3 < 1.5 * missing[named[0]]


def test_a_slider_whose_link_is_too_short_is_named() -> None:
    """The RCID's links of 97.98 mm cannot span more than this horizontally."""
    y = np.array([0.09, 0.0, 0.110, 0.0, 0.0, 0.0])
    base_angles = np.deg2rad([15.0, 105.0, 135.0, 225.0, 255.0, 345.0])
    tip_angles = np.deg2rad([60.0, 60.0, 180.0, 180.0, 300.0, 300.0])
    across = np.hypot(
        y[0] + 0.04 * np.cos(tip_angles) - 0.08 * np.cos(base_angles),
        y[1] + 0.04 * np.sin(tip_angles) - 0.08 * np.sin(base_angles),
    )
    short = {f'limb_{i + 1}' for i in np.flatnonzero(across > 0.09798)}
    assert 0 < len(short) < 6
    with pytest.raises(ReachError, match='cannot close') as caught:
        samples.mechanism('rcid').solve(y)
    assert {word.strip(',') for word in str(caught.value).split()} & short


def test_a_stretched_leg_is_singular_or_out_of_reach() -> None:
    """Leg 1 is straight, with the pin 0.475 m from its motor; leg 2 is well bent."""
    stretched = np.array([0.1, np.sqrt(0.475**2 - 0.2**2)])
    mechanism = samples.mechanism('five_bar')
    with pytest.raises((SingularityError, ReachError), match='leg_1'):
        mechanism.solve(stretched)
    with pytest.raises(ReachError, match='leg_1'):
        mechanism.solve(stretched * 1.0001)
    near = mechanism.solve(stretched * 0.9999)
    assert near.condition_number_loops > 10.0 * mechanism.home.condition_number_loops


def test_parallel_rods_leave_the_pin_without_support() -> None:
    """With elbows 0.55 m apart and the pin between them, the rods cannot push it up or down."""
    mechanism = samples.mechanism('five_bar')
    flat = np.array([0.0, np.sqrt(0.2**2 - 0.175**2)])
    motion = mechanism.solve(flat)
    tips = [mechanism.frame_pose(motion, f'rod_{leg}').position[1] for leg in (1, 2)]
    assert tips == pytest.approx([flat[1], flat[1]], abs=1e-9)
    with pytest.raises(SingularityError, match='motor_1, motor_2 lose control at x = 0'):
        mechanism.feedforward(flat)
    assert mechanism.actuation_rank(motion) == 1
    assert mechanism.actuation_rank() == 2
    assert np.isfinite(mechanism.feedforward(flat + [0.0, 1e-3]).actuated).all()
