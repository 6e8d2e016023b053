# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fits recover the given functions, and follow shapes that need more than one family."""

import numpy as np
import pytest

from masticator_dynamics.analysis.load_inertia.fit import fit_circles, fit_ellipses, quadratic
from masticator_dynamics.analysis.load_inertia.maps import CircleMap, EllipseMap

ALL = slice(None)


def relative(found, truth: np.ndarray, points: np.ndarray) -> float:
    error = np.abs(found.values(points, ALL) - truth)
    return float(error.max() / np.ptp(truth))


@pytest.fixture(scope='module')
def points() -> np.ndarray:
    return np.random.default_rng(0).uniform(-1.0, 1.0, (800, 2))


def test_quadratic_function_is_found(points: np.ndarray) -> None:
    hessian, gradient = np.array([[2.0, -0.5], [-0.5, -1.0]]), np.array([0.3, 0.7])
    values = 4.0 + points @ gradient + 0.5 * np.einsum('ni,ij,nj->n', points, hessian, points)
    found_gradient, found_hessian = quadratic(points, values)
    assert np.abs(found_gradient - gradient).max() < 1e-10
    assert np.abs(found_hessian - hessian).max() < 1e-10


def test_ellipses_are_found(points: np.ndarray) -> None:
    turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    truth = EllipseMap(
        np.array([[[0.2, -0.1]]]),
        turn[None, None],
        np.array([[[[0.2, 0.15], [0.9, 0.5], [1.5, 1.3]]]]),
        np.array([[[2.65e-3, 2.83e-3, 3.51e-3]]]),
    )
    values = truth.values(points, ALL)
    found = fit_ellipses(points, values, levels=3, families=1)
    probe = np.random.default_rng(1).uniform(-0.9, 0.9, (500, 2))
    assert relative(found, truth.values(probe, ALL), probe) < 0.02


def test_circles_are_found(points: np.ndarray) -> None:
    truth = CircleMap(
        np.array([[0.3, 0.2], [-0.2, 0.1]]),
        np.array([[0.5, 1.4], [0.6, 1.6]]),
        np.array([[1.0, 2.0, 5.0], [4.0, 3.0, 1.0]]),
    )
    found = fit_circles(points, truth.values(points, ALL))
    assert relative(found, truth.values(points, ALL), points) < 0.02


def test_a_saddle_needs_two_families(points: np.ndarray) -> None:
    values = (points[:, :1] ** 2 - points[:, 1:] ** 2) * 1e-5
    errors = []
    for families in (1, 2):
        found = fit_ellipses(points, values, levels=3, families=families)
        errors.append(np.abs(found.values(points, ALL) - values).mean() / values.std())
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.12
