# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mode shapes against their definition: ends, orthogonality, beam equation, derivatives."""

import numpy as np
import pytest

from masticator_dynamics.flexible.links import MOST_MODES, frequency_roots, quadrature, shapes

BOUNDARIES = ('fixed-free', 'pinned-pinned', 'clamped-pinned')


@pytest.mark.parametrize('boundary', BOUNDARIES)
def test_shapes_are_orthonormal_and_so_are_their_curvatures(boundary) -> None:
    xi, weights = quadrature()
    s, beta = shapes(boundary, MOST_MODES, xi), frequency_roots(boundary, MOST_MODES)
    assert np.abs((s.value * weights) @ s.value.T - np.eye(MOST_MODES)).max() < 1e-12
    curvature = s.curvature / beta[:, None] ** 2
    assert np.abs((curvature * weights) @ curvature.T - np.eye(MOST_MODES)).max() < 1e-12


@pytest.mark.parametrize('boundary', BOUNDARIES)
def test_derivatives_are_those_of_the_shapes_and_solve_the_beams_equation(boundary) -> None:
    xi, h = np.linspace(0.05, 0.95, 19), 1e-5
    s, up, down = (shapes(boundary, 5, x) for x in (xi, xi + h, xi - h))
    beta = frequency_roots(boundary, 5)[:, None]
    assert np.abs((up.value - down.value) / (2 * h) - s.slope).max() < 1e-6
    assert np.abs((up.slope - down.slope) / (2 * h) - s.curvature).max() < 1e-4
    h = 1e-3
    s, up, down = (shapes(boundary, 5, x).curvature for x in (xi, xi + h, xi - h))
    fourth = (up - 2 * s + down) / h**2
    assert np.abs(fourth / beta**4 - shapes(boundary, 5, xi).value).max() < 1e-4


def test_ends_are_what_the_names_say() -> None:
    ends = np.array([0.0, 1.0])
    free, pinned, mixed = (shapes(b, MOST_MODES, ends) for b in BOUNDARIES)
    zero = [
        free.value[:, 0], free.slope[:, 0], free.curvature[:, 1],
        *pinned.value.T, *pinned.curvature.T,
        *mixed.value.T, mixed.slope[:, 0], mixed.curvature[:, 1],
    ]  # fmt: skip
    # curvatures are of the size of beta^2, some 1500 for the last
    assert max(np.abs(values).max() for values in zero) < 1e-9
    assert np.abs(free.value[:, 1]).min() > 1.9
    assert np.abs(pinned.slope).min() > 4.0


def test_first_roots_are_those_of_the_textbooks() -> None:
    assert frequency_roots('fixed-free', 3) == pytest.approx([1.875104, 4.694091, 7.854757])
    assert frequency_roots('clamped-pinned', 2) == pytest.approx([3.926602, 7.068583])
