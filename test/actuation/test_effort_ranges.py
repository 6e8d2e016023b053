# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts with ranges on both sides: cables that only pull, and preload."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, LimitError

RNG = np.random.default_rng(16)


def random_state() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        RNG.uniform(-1, 1, 3) * [0.3, 0.2, 0.1],
        RNG.normal(size=3) * [0.5, 0.5, 0.5],
        RNG.normal(size=3) * [2.0, 2.0, 2.0],
    )


def least_norm_within(mechanism, motion, low, high) -> np.ndarray | None:
    """Efforts of least norm within ranges, on the line of all efforts for a motion."""
    best = mechanism.inverse_dynamics(motion).actuated
    rates = mechanism.jacobian_actuated_from_independent(motion)
    along = np.linalg.svd(rates.T)[2][-1]
    with np.errstate(divide='ignore'):
        ends = np.sort([(low - best) / along, (high - best) / along], axis=0)
    first, last = ends[0].max(), ends[1].min()
    return best + along * np.clip(0.0, first, last) if first <= last else None


@pytest.mark.parametrize('preload', [0.0, 25.0])
def test_cables_pull_with_the_least_tension(preload: float) -> None:
    mechanism = Mechanism.load('cable_planar')
    assert mechanism.load_limits.effort == pytest.approx(0.0)
    limits = dataclasses.replace(mechanism.load_limits, effort=np.full(4, -preload))
    pushed = costs = 0
    for _ in range(20):
        state = random_state()
        motion = mechanism.solve(*state)
        free = mechanism.inverse_dynamics(motion).actuated
        found = mechanism.feedforward(*state, limits=True if not preload else limits)
        wanted = least_norm_within(mechanism, motion, np.full(4, -300.0), np.full(4, -preload))
        assert found.actuated == pytest.approx(wanted, abs=1e-6)
        assert (found.actuated <= -preload + 1e-9).all()
        assert found.balance_residual < 1e-9
        pushed += (free > 0.0).any()
        costs += np.linalg.norm(found.actuated) > np.linalg.norm(free) * (1.0 + 1e-9)
    assert pushed > 10 and costs >= pushed  # tension costs, and is told by the two norms


def test_preload_presses_contacts() -> None:
    mechanism = Mechanism.load('masticator')
    limits = dataclasses.replace(mechanism.load_limits, contact_low=np.full(2, 4.0))
    for y in ([0.0] * 4, [0.001, 0.0, 0.0, 0.05]):
        assert (mechanism.feedforward(y).contact < 4.0).any()
        found = mechanism.feedforward(y, limits=limits)
        assert (found.contact >= 4.0 - 1e-7).all()


def test_no_range_is_kept_by_force() -> None:
    mechanism = Mechanism.load('cable_planar')
    limits = dataclasses.replace(
        mechanism.load_limits, effort=np.full(4, -20.0), effort_low=np.full(4, -21.0)
    )
    with pytest.raises(LimitError, match=r'cable_\d effort'):
        mechanism.feedforward([0.2, 0.1, 0.05], limits=limits)
    with pytest.raises(InputError, match='are no ranges'):
        dataclasses.replace(limits, effort_low=np.full(4, 1.0))


def test_ranges_are_those_of_yaml_within_the_urdfs() -> None:
    mechanism = Mechanism.load('cable_planar')
    low, high = mechanism.effort_range
    assert low == pytest.approx(-300.0) and high == pytest.approx(0.0)
    assert mechanism.effort_limits == pytest.approx(300.0)
    motion = mechanism.solve([0.0, 0.0, 0.0])
    effort = mechanism.inverse_dynamics(motion)
    assert (effort.actuated > 0.0).any()
    beyond = {v.name: v.upper for v in mechanism.range_violations(motion, effort)}
    pushed = [n for n, e in zip(mechanism.actuated, effort.actuated, strict=True) if e > 0.0]
    assert list(beyond) == pushed and max(beyond.values()) < 1e-5
