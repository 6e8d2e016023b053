# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The region contains the poses it was built from and little else."""

import numpy as np

from masticator_dynamics.analysis.load_inertia.maps import Region


def ball(rng: np.random.Generator, count: int) -> np.ndarray:
    points = rng.normal(size=(4000, count))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * rng.uniform(size=(4000, 1)) ** (1.0 / count)


def test_region_holds_all_points_and_cuts_corners_off() -> None:
    rng = np.random.default_rng(0)
    points = np.array([0.3, -2.0, 5.0]) + ball(rng, 3) * [1e-3, 2.0, 0.5]
    region = Region.around(points, 40, rng)
    assert region.contains(points).all()
    corners = region.center + region.half_width * np.array([[1, 1, 1], [-1, 1, -1]])
    assert not region.contains(corners).any()
    box = region.center + region.half_width * rng.uniform(-1.0, 1.0, (20000, 3))
    # A ball fills pi / 6 = 0.52 of its box.
    assert 0.5 < region.contains(box).mean() < 0.62


def test_outside_is_told_with_the_amount() -> None:
    rng = np.random.default_rng(1)
    region = Region.around(ball(rng, 2), 12, rng)
    far = region.center + region.half_width * [[3.0, 0.0], [0.0, -1.5]]
    assert np.abs(region.excess(far) - [2.0, 0.5]).max() < 0.1
    assert not region.contains(np.array([[np.nan, 0.0], [0.0, np.inf]])).any()


def test_one_coordinate_is_an_interval() -> None:
    region = Region.around(np.array([[2.0], [3.0]]), 40, np.random.default_rng(0))
    assert region.contains(np.array([[1.99], [2.0], [3.0], [3.01]])).tolist() == [0, 1, 1, 0]


def test_samples_are_inside_and_evenly_spread() -> None:
    rng = np.random.default_rng(2)
    region = Region.around(ball(rng, 2), 30, rng)
    samples = region.sample(2000, rng)
    assert samples.shape == (2000, 2)
    assert region.contains(samples).all()
    # Evenly spread over a disc of radius 1, a quarter is within half of it.
    assert abs((np.linalg.norm(samples, axis=1) < 0.5).mean() - 0.25) < 0.04
