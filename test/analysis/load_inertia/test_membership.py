# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Membership functions and grid: values on and between their levels, nodes and rings."""

import numpy as np
import pytest

from masticator_dynamics.analysis.load_inertia.maps import NEAR, CircleMap, EllipseMap, GridMap

ALL = slice(None)


def random_rotation(rng: np.random.Generator, count: int) -> np.ndarray:
    rotation, _ = np.linalg.qr(rng.normal(size=(count, count)))
    return rotation


def ellipse(rng: np.random.Generator, count: int) -> EllipseMap:
    axes = np.cumsum(rng.uniform(0.2, 1.0, (1, 1, 3, count)), axis=2)
    return EllipseMap(
        rng.normal(size=(1, 1, count)),
        random_rotation(rng, count)[None, None],
        axes,
        rng.normal(size=(1, 1, 3)),
    )


@pytest.mark.parametrize('count', [1, 2, 3, 4, 6])
def test_ellipsoids_are_isolines_at_their_levels(count: int) -> None:
    rng = np.random.default_rng(count)
    found = ellipse(rng, count)
    directions = rng.normal(size=(50, count))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    center, rotation = found.centers[0, 0], found.rotations[0, 0]
    on = [center + (directions * axes) @ rotation.T for axes in found.axes[0, 0]]
    for points, level in zip(on, found.levels[0, 0], strict=True):
        assert np.abs(found.values(points, ALL)[:, 0] - level).max() < 1e-9
    first, second, third = found.levels[0, 0]
    assert found.values(center[None], ALL)[0, 0] == pytest.approx(first)
    assert np.abs(found.values(center + 0.5 * (on[0] - center), ALL) - first).max() < 1e-12
    assert np.abs(found.values(center + 2.0 * (on[2] - center), ALL) - third).max() < 1e-12


def test_between_ellipses_inertia_is_linear_along_the_ray_as_in_s4() -> None:
    """S4 Eq. 25 in the plane, with the parameter angle of the point at polar angle phi."""
    rng = np.random.default_rng(0)
    found = ellipse(rng, 2)
    local = rng.normal(size=(300, 2)) * 1.5
    points = found.centers[0, 0] + local @ found.rotations[0, 0].T
    distance, phi = np.hypot(*local.T), np.arctan2(local[:, 1], local[:, 0])
    radii = []
    for a, b in found.axes[0, 0]:
        theta = np.arctan(a / b * np.tan(phi))
        radii.append(np.sqrt((a * np.cos(theta)) ** 2 + (b * np.sin(theta)) ** 2))
    expected = [
        np.interp(d, r, found.levels[0, 0])
        for d, r in zip(distance, np.array(radii).T, strict=True)
    ]
    assert np.abs(found.values(points, ALL)[:, 0] - expected).max() < 1e-9


def crossed(local: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Position (..., K - 1) of points (..., n) between one of K ellipsoids (0) and the next (1)."""
    near = np.abs(local).max(axis=-1, keepdims=True) < NEAR
    scaled = np.where(near, NEAR, local)[..., None, :] / axes
    radii = 1.0 / np.sqrt((scaled * scaled).sum(axis=-1))
    inner, outer = radii[..., :-1], radii[..., 1:]
    return np.clip((1.0 - inner) / (outer - inner), 0.0, 1.0)


def weights(distance: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Weights (..., 3) of centre and circles at distances (...), for radii (..., 2)."""
    first, second = radii[..., 0], radii[..., 1]
    distance, gap = np.minimum(distance, second), second - first
    raw = np.stack(
        [
            1.0 - distance / first,
            1.0 - np.abs(first - distance) / gap,
            1.0 - (second - distance) / gap,
        ],
        axis=-1,
    )
    raw = np.maximum(raw, 0.0)
    return raw / raw.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize('elements', [ALL, slice(0, 2), slice(1, 3)])
def test_kernels_agree_with_the_formulas_in_arrays(elements: slice) -> None:
    """Written once more, for all quantities and families at once."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.0, 1.0, (200, 4))
    rotations = np.linalg.qr(rng.normal(size=(3, 2, 4, 4)))[0]
    axes = np.cumsum(rng.uniform(0.2, 0.5, (3, 2, 4, 4)), axis=2)
    found = EllipseMap(
        rng.uniform(-0.3, 0.3, (3, 2, 4)), rotations, axes, rng.normal(size=(3, 2, 4))
    )
    points[0] = found.centers[1, 0]  # has no direction from itself
    away = points[:, None, None] - found.centers
    share = crossed(np.einsum('nefi,efij->nefj', away, rotations), axes)
    steps = (share * np.diff(found.levels, axis=-1)).sum(axis=(-1, -2))
    expected = (found.levels[..., 0].sum(axis=-1) + steps)[:, elements]
    assert np.abs(found.values(points, elements) - expected).max() < 1e-12

    radii = np.cumsum(rng.uniform(0.3, 0.6, (3, 2)), axis=1)
    circles = CircleMap(found.centers[:, 0], radii, rng.normal(size=(3, 3)))
    distance = np.linalg.norm(points[:, None] - circles.centers, axis=-1)
    expected = (weights(distance, radii) * circles.levels).sum(axis=-1)[:, elements]
    assert np.abs(circles.values(points, elements) - expected).max() < 1e-12


def test_families_are_added_up() -> None:
    rng = np.random.default_rng(3)
    one, other = ellipse(rng, 3), ellipse(rng, 3)
    both = EllipseMap(
        *(np.concatenate([getattr(one, f), getattr(other, f)], axis=1) for f in vars(one))
    )
    points = rng.normal(size=(20, 3))
    sum_of_both = one.values(points, ALL) + other.values(points, ALL)
    assert np.abs(both.values(points, ALL) - sum_of_both).max() < 1e-12


def test_weights_of_circles_sum_to_one_and_peak_on_their_circle() -> None:
    """Levels of which one is 1 and the others 0 give the weights."""
    found = CircleMap(np.zeros((3, 1)), np.tile([0.4, 1.0], (3, 1)), np.eye(3))
    share = found.values(np.linspace(0.0, 3.0, 301)[:, None])
    assert np.abs(share.sum(axis=1) - 1.0).max() < 1e-12
    assert (share >= 0.0).all()
    at = found.values(np.array([[0.4], [1.0], [2.5]]))
    assert np.abs(at - [[0, 1, 0], [0, 0, 1], [0, 0, 1]]).max() < 1e-12


def test_circle_depends_on_the_distance_alone() -> None:
    rng = np.random.default_rng(5)
    found = CircleMap(rng.normal(size=(2, 3)), np.array([[0.3, 0.9], [0.5, 2.0]]), np.eye(2, 3))
    directions = rng.normal(size=(40, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for distance in (0.0, 0.2, 0.7):
        values = found.values(found.centers[1] + distance * directions, slice(1, 2))
        assert np.ptp(values) < 1e-12


def test_grid_is_exact_at_nodes_and_between_its_corners_elsewhere() -> None:
    rng = np.random.default_rng(7)
    grid = GridMap(rng.normal(size=(4, 3, 5, 2)))
    axes = [np.linspace(-1.0, 1.0, n) for n in (4, 3, 5)]
    nodes = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)
    assert np.abs(grid.values(nodes, ALL) - grid.nodes.reshape(-1, 2)).max() < 1e-12
    middle = grid.values(np.array([[0.0, 0.5, 0.25]]), ALL)[0]
    corners = grid.nodes[1:3, 1:3, 2:4].reshape(-1, 2)
    assert np.abs(middle - corners.mean(axis=0)).max() < 1e-12  # the centre of that cell
    # Inverse squares of distances: a cell's side is one.
    one = GridMap(np.array([[0.0], [1.0]]))
    assert one.values(np.array([[-0.5]]), ALL)[0, 0] == pytest.approx(1 / 9 / (1 + 1 / 9))


def test_grid_leaves_nodes_out_that_have_no_value() -> None:
    nodes = np.ones((3, 3, 1))
    nodes[0, 0] = np.nan
    nodes[1:, 1:] = np.nan
    values = GridMap(nodes).values(np.array([[-0.5, -0.4], [0.5, 0.5], [0.9, -0.5]]), ALL)[:, 0]
    assert values[0] == pytest.approx(1.0)
    assert values[2] == pytest.approx(1.0)
    nodes[1, 1] = nodes[1, 2] = nodes[2, 1] = nodes[2, 2] = np.nan
    assert np.isnan(values[1])
