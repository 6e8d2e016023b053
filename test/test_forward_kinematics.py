# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From actuated to independent positions, and refusals."""

import numpy as np
import pytest
import samples

from masticator_dynamics.engine.evaluation.actuated_fit import FitInPlace
from masticator_dynamics.errors import ClosureError, InputError, MasticatorError, ReachError


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_inverts_solve(name: str) -> None:
    mechanism = samples.mechanism(name)
    positions = np.array([state.y for state in samples.states(name, 8, seed=91)])
    actuated = np.array([mechanism.solve(y).position for y in positions])
    for y, u in zip(positions, actuated, strict=True):
        assert np.abs(mechanism.forward_kinematics(u) - y).max() < 1e-9
    batch = mechanism.forward_kinematics_batch(actuated)
    assert np.abs(batch.y - positions).max() < 1e-9
    assert batch.closure_residual.shape == (8,)
    assert batch.closure_residual.max() < 1e-10


def test_does_not_depend_on_the_previous_call() -> None:
    mechanism = samples.mechanism('masticator')
    targets = [mechanism.solve(s.y).position for s in samples.states('masticator', 4, seed=92)]
    forwards = [mechanism.forward_kinematics(u) for u in targets]
    backwards = [mechanism.forward_kinematics(u) for u in reversed(targets)][::-1]
    assert np.array_equal(forwards, backwards)


def test_small_noise_is_fitted_by_least_squares() -> None:
    """With six encoders and four freedoms: to first order, the Jacobian's pseudo-inverse."""
    mechanism = samples.mechanism('masticator')
    rng = np.random.default_rng(93)
    for state in samples.states('masticator', 4, seed=93):
        motion = mechanism.solve(state.y)
        noise = 1e-7 * rng.normal(size=6)
        expected = np.linalg.pinv(mechanism.jacobian_actuated_from_independent(motion)) @ noise
        fitted = mechanism.forward_kinematics(motion.position + noise) - state.y
        assert np.abs(fitted - expected).max() < 1e-3 * np.abs(expected).max() + 1e-11


def test_an_encoder_that_is_off_is_refused_with_the_amount() -> None:
    mechanism = samples.mechanism('masticator')
    u = mechanism.solve([0.0, 0.0, 0.0, 0.1]).position.copy()
    u[2] += 0.05
    with pytest.raises(ClosureError, match='stay open by .* mm') as caught:
        mechanism.forward_kinematics(u)
    assert 'crank_' in str(caught.value) and 'rad' in str(caught.value)
    gap = float(str(caught.value).split('open by ')[1].split(' mm')[0]) * 1e-3
    # Crank 3 is 15 mm long, so 0.05 rad move its end by 0.75 mm; the fit shares that out.
    assert 0.05e-3 < gap < 0.75e-3
    with pytest.raises(ClosureError):
        mechanism.forward_kinematics(u, tolerance=0.99 * gap)
    mechanism.forward_kinematics(u, tolerance=1.01 * gap)


def test_the_residual_is_the_gap_that_opens() -> None:
    """Couplers and jaw stay at the fitted pose, and the cranks turn to their measured angles."""
    mechanism = samples.mechanism('masticator')
    u = mechanism.solve([0.001, 0.0, 0.01, 0.05]).position + 1e-4 * np.arange(6)
    batch = mechanism.forward_kinematics_batch([u], tolerance=1e-3)
    motion = mechanism.solve(batch.y[0])
    gaps = []
    for i, closure in enumerate(mechanism.description.closures):
        crank = mechanism.frame_pose(motion, f'crank_{i + 1}_link')
        tip = mechanism.frame_pose(motion, closure.frames[0]).position - crank.position
        angle = u[i] - motion.position[i]
        joints = {joint.name: joint for joint in mechanism.description.tree.joints}
        axis = crank.rotation @ joints[f'crank_{i + 1}'].axis
        turned = (
            np.cos(angle) * tip + np.sin(angle) * np.cross(axis, tip)
            + (1.0 - np.cos(angle)) * axis * (axis @ tip)
        )  # fmt: skip
        gaps.append(np.abs(turned - tip).max())
    assert batch.closure_residual[0] == pytest.approx(max(gaps), rel=1e-6)


def test_nonsense_is_refused() -> None:
    """The five-bar's elbows are farther apart than the length of its two rods."""
    flat = np.pi - np.arctan2(0.16, -0.12)
    with pytest.raises((ReachError, ClosureError), match='motor_'):
        samples.mechanism('five_bar').forward_kinematics([flat, -flat])
    with pytest.raises(MasticatorError):
        samples.mechanism('masticator').forward_kinematics([3.0, -3.0, 3.0, 3.0, -3.0, 3.0])


@pytest.mark.parametrize(
    ('u', 'reason'),
    [
        ([0.0] * 5, r'u has shape \(5,\), needed is \(6,\)'),
        ([0.0, 0.0, np.nan, 0.0, 0.0, 0.0], 'crank_3 is nan, not a finite number'),
        (['a'] * 6, 'u is not an array of numbers'),
        (0.0, r'u has shape \(\)'),
    ],
)
def test_malformed_input_is_named(u, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        samples.mechanism('masticator').forward_kinematics(u)


def test_a_batch_names_the_row() -> None:
    mechanism = samples.mechanism('masticator')
    rows = np.zeros((4, 6))
    rows[2, 1] = 0.3
    with pytest.raises(ClosureError, match='^row 3: ') as caught:
        mechanism.forward_kinematics_batch(rows)
    assert caught.value.row == 2
    with pytest.raises(InputError, match='shape'):
        mechanism.forward_kinematics_batch(np.zeros(6))
    assert mechanism.forward_kinematics_batch(np.zeros((0, 6))).y.shape == (0, 4)


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_one_measurement_after_another_is_fitted_as_each_by_itself(name: str) -> None:
    """Of nodes: the numbers of the one before stay in memory, and must not be seen."""
    mechanism = samples.mechanism(name)
    fit, rng = FitInPlace(mechanism), np.random.default_rng(94)
    for state in samples.states(name, 6, seed=94):
        u, tolerance = mechanism.solve(state.y).position, 10.0 ** rng.uniform(-6.0, -2.0)
        y, gap = fit.pose(u, tolerance)
        assert np.abs(y - state.y).max() < 1e-9 and gap < 1e-10
        motion, u_dot = mechanism.solve(y), rng.normal(size=len(u))
        jacobian = mechanism.jacobian_actuated_from_independent(motion)
        travels = [
            joint.upper - joint.lower if joint.slides and np.isfinite(joint.upper) else 1.0
            for joint in (mechanism.structure.tree.joints[j] for j in mechanism.actuated_rows)
        ]
        weights = 1.0 / np.array(travels)
        expected = np.linalg.pinv(jacobian * weights[:, None]) @ (weights * u_dot)
        assert fit.velocity(motion, u_dot) == pytest.approx(expected, rel=1e-7, abs=1e-9)
    with pytest.raises(MasticatorError):
        fit.pose(np.full(len(u), np.nan), 1.0)
    y, _ = fit.pose(u, 1.0)
    assert np.abs(y - state.y).max() < 1e-9
