# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where motors hardly hold a mechanism, it may change its branch, and a person is told."""

import re

import numpy as np
import pytest

from masticator_dynamics.identification.conditioning import change_of_branch
from masticator_dynamics.mechanism import Mechanism


def nearly_singular(mechanism: Mechanism) -> np.ndarray:
    """A pose that the motors hold a fiftieth as well as home, along a line from there."""
    home = mechanism.jacobian_actuated_from_independent(mechanism.home)
    rng = np.random.default_rng(12)
    for _ in range(200):
        line = mechanism.home.y + np.linspace(0.0, 3.0, 400)[:, None] * rng.normal(
            size=len(mechanism.independent)
        )
        closed = mechanism.attempt(line).closed
        line = line[: np.argmin(closed)] if not closed.all() else line
        if len(line) < 3:
            continue
        jacobians = mechanism.jacobian_actuated_from_independent(mechanism.solve_batch(line))
        held = np.linalg.svd(jacobians @ np.linalg.inv(home), compute_uv=False)[:, -1]
        if held.min() < 0.02:
            return line[np.argmin(held)]
    raise AssertionError('no such pose')


@pytest.mark.parametrize('name', ['five_bar', 'three_rrs'])
def test_a_motion_near_a_singularity_may_change_its_branch(name: str) -> None:
    mechanism = Mechanism.load(name)
    far = nearly_singular(mechanism)
    time = np.linspace(0.0, 10.0, 401)
    part = np.sin(np.pi * time / 10.0) ** 2  # there at 5 s

    def told(share: float) -> str:
        rows = mechanism.home.y + share * part[:, None] * (far - mechanism.home.y)
        return change_of_branch(mechanism, time, mechanism.solve_batch(rows))

    sentence = re.search(r'from (\S+) s on.* \(at (\S+) s, (\S+) %', told(1.0))
    assert sentence
    first, nearest, percent = map(float, sentence.groups())
    assert first < nearest == pytest.approx(5.0, abs=0.5) and percent < 10.0
    assert told(0.2) == ''
