# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops of two turning joints in a plane, closed in closed form, whichever way their axes point."""

from __future__ import annotations

import pathlib

import linkages
import numpy as np
import pytest
from linkages import Part

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced import kernels

UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
SLOPING = (0.3, -0.2, 0.5)  # of the whole plane against the base


def on_a_platform(
    folder: pathlib.Path, first: linkages.Vector, second: linkages.Vector
) -> Mechanism:
    """A pin on two slides, held by a crank with a rod at its end."""
    parts = [
        linkages.frame('tilted', 'ground', (0.1, 0.2, 0.3), SLOPING),
        Part('across', 'tilted', (0.7, 0.4, 0.0), (1.0, 0.0, 0.0), 'prismatic'),
        Part('pin', 'across', axis=(0.0, 1.0, 0.0), kind='prismatic', mass=1.0),
        Part('crank', 'tilted', axis=first, mass=0.5),
        Part('rod', 'crank', (0.3, 0.5, 0.1), second, mass=0.4),
        linkages.frame('tip', 'rod', (0.4, -0.1, -0.1)),
    ]
    return Mechanism.load(
        linkages.write(
            folder, parts, platform='pin', independent=['across_joint', 'pin_joint'],
            actuated=['across_joint', 'crank_joint'],
            closures=[{'name': 'loop', 'frames': ['tip', 'pin']}],
        )
    )  # fmt: skip


def four_bar(folder: pathlib.Path, first: linkages.Vector, second: linkages.Vector) -> Mechanism:
    """A crank whose rod meets a rocker: unknown joints are on both sides of the loop."""
    parts = [
        linkages.frame('tilted', 'ground', (0.1, 0.2, 0.3), SLOPING),
        Part('crank', 'tilted', mass=0.5),
        Part('rod', 'crank', (0.0, 0.3, 0.0), first, mass=0.4),
        linkages.frame('tip', 'rod', (0.7, 0.1, 0.05)),
        Part('rocker', 'tilted', (0.6, 0.0, 0.0), second, mass=0.6),
        linkages.frame('end', 'rocker', (0.1, 0.4, 0.05)),
    ]
    return Mechanism.load(
        linkages.write(
            folder, parts, platform='rocker', independent=['crank_joint'],
            actuated=['crank_joint'], closures=[{'name': 'loop', 'frames': ['tip', 'end']}],
        )
    )  # fmt: skip


@pytest.mark.parametrize('make', [on_a_platform, four_bar])
@pytest.mark.parametrize(('first', 'second'), [(UP, UP), (UP, DOWN), (DOWN, UP), (DOWN, DOWN)])
def test_it_closes_on_home_s_branch(tmp_path, make, first, second) -> None:
    mechanism = make(tmp_path, first, second)
    rng, freedoms = np.random.default_rng(31), len(mechanism.independent)
    y = mechanism.home.y + rng.uniform(-0.1, 0.1, (40, freedoms))
    given = np.hstack([y, np.zeros((40, 2 * freedoms + 6))])
    found = mechanism.kernels.evaluate(given)
    assert (found[:, kernels.VALID] != 0.0).all(), 'the formula does not hold'
    q = mechanism.feedforward_batch(y).q
    for positions in q:
        assert mechanism.structure.largest_gap(positions) < 1e-12
    # From home on, in steps of a hundredth: no joint leaps.
    way = mechanism.home.y + np.linspace(0.0, 1.0, 101)[:, None] * (y[0] - mechanism.home.y)
    steps = np.diff(mechanism.feedforward_batch(way).q, axis=0)
    np.testing.assert_array_equal(mechanism.feedforward_batch(way).q[0], mechanism.home.q)
    assert np.abs(steps).max() < 0.02
