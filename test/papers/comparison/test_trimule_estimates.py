# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""S4: five points, circles as printed, isolines as ellipses, and the circular path."""

import numpy as np
import pytest
import samples

from masticator_dynamics.analysis.load_inertia.maps import CircleMap
from papers.comparison import inertia_shape, trimule_path
from papers.comparison.published_estimators import (
    POINTS,
    circle_estimate,
    five_point_estimate,
    five_point_weights,
    published,
)

LEVELS = np.arange(10.0).reshape(5, 2)


def test_at_the_five_points_the_estimate_is_their_level() -> None:
    assert five_point_weights(POINTS) == pytest.approx(np.eye(5))
    assert five_point_estimate(POINTS, LEVELS, normalised=False) == pytest.approx(LEVELS)


def test_weights_between_two_points_of_the_rim_lose_half() -> None:
    between = np.array([[np.cos(np.pi / 4), np.sin(np.pi / 4)]])
    assert five_point_weights(between).sum() == pytest.approx(2 * (1 - np.sqrt(2 - np.sqrt(2))))
    ones = np.ones((5, 1))
    assert five_point_estimate(between, ones, normalised=False)[0, 0] < 0.5
    assert five_point_estimate(between, ones, normalised=True)[0, 0] == pytest.approx(1.0)


def test_circles_to_the_letter_are_the_normalised_ones_times_the_sum_of_the_weights() -> None:
    circles = published().circle
    # Inside the outer circles of all three limbs; beyond them S4's weight falls off again.
    points = circles.centers.mean(axis=0) + np.random.default_rng(1).uniform(-0.3, 0.3, (50, 2))
    total = circle_estimate(
        CircleMap(circles.centers, circles.radii, np.ones_like(circles.levels)), points
    )
    assert np.ptp(total) > 0.05  # S4's weights are no average
    expected = circles.values(points, slice(None)) * total
    assert circle_estimate(circles, points) == pytest.approx(expected, rel=1e-9)


def polar(radii: int = 40, angles: int = 90) -> np.ndarray:
    r, a = np.meshgrid(
        np.linspace(0.01, 1.0, radii), np.linspace(0, 2 * np.pi, angles), indexing='ij'
    )
    return np.column_stack([(r * np.cos(a)).ravel(), (r * np.sin(a)).ravel()])


def test_isolines_of_a_bowl_are_ellipses_of_its_axes() -> None:
    points = polar()
    turned = points @ np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    values = 5.0 + (turned[:, 0] / 1.5) ** 2 + turned[:, 1] ** 2
    off, ratio, centre = inertia_shape._ellipse(points, values, 0.3)
    assert off < 1.0 and centre < 0.02
    assert ratio == pytest.approx(1.5, rel=0.03)


def test_isolines_of_a_box_are_not() -> None:
    points = polar()
    values = np.abs(points).max(axis=1) ** 2
    assert inertia_shape._ellipse(points, values, 0.3)[0] > 5.0


def test_the_circular_path_is_a_motion_within_its_limits() -> None:
    y, y_dot, y_ddot = trimule_path.circle()
    length, ramp = 2.0 * np.pi * 0.3, 0.1
    step = (length / 0.5 + ramp) / (len(y) - 1)
    inner = np.s_[1:-1]
    assert np.gradient(y, step, axis=0)[inner] == pytest.approx(y_dot[inner], abs=2e-3)
    speed = np.linalg.norm(y_dot, axis=1)
    assert speed.max() == pytest.approx(0.5) and speed[[0, -1]] == pytest.approx(
        [0.0, 0.0], abs=1e-9
    )
    assert np.linalg.norm(y - [0.0, -0.19, 1.2], axis=1) == pytest.approx(0.3)
    assert y[-1] == pytest.approx(y[0])
    # Along the circle the acceleration is the slope of the speed; towards it v² / R.
    assert np.linalg.norm(y_ddot[speed > 0.499], axis=1).min() == pytest.approx(0.25 / 0.3)
    assert np.linalg.norm(y_ddot, axis=1).max() < 5.1


def test_without_acceleration_the_actuators_keep_their_speed() -> None:
    trimule = samples.mechanism('trimule')
    y, y_dot, _ = (rows[::400] for rows in trimule_path.circle())
    torque = trimule_path._without_acceleration(trimule, y, y_dot)
    jacobian = trimule.feedforward_batch(y).tangent[:, trimule.tree_indices(trimule.actuated)]
    # Their acceleration by differences of J y_dot along the motion with the y_ddot found.
    moving = trimule.feedforward_batch(y, y_dot)
    drift = moving.a[:, trimule.tree_indices(trimule.actuated)]
    y_ddot = -np.linalg.solve(jacobian, drift[..., None])[..., 0]
    still = trimule.feedforward_batch(y, y_dot, y_ddot)
    assert still.a[:, trimule.tree_indices(trimule.actuated)] == pytest.approx(0.0, abs=1e-9)
    assert torque == pytest.approx(still.actuated, abs=1e-9)
