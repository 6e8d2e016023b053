# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code against forty digits, up to where a mechanism can go no further."""

from __future__ import annotations

import numpy as np
import pytest
import samples
from oracles.decimal_oracle import DecimalOracle, exact

from masticator_dynamics import Mechanism
from masticator_dynamics.description import shipped_mechanisms
from masticator_dynamics.errors import MasticatorError, SingularityError

ROUNDINGS, FLOOR = 2, exact(1e-12)
TO_THE_EDGE = (0.5, 1.0 - 1e-3, 1.0 - 1e-6)


def is_served(mechanism: Mechanism, y: samples.Array) -> bool:
    try:
        return bool(np.isfinite(mechanism.feedforward(y).actuated).all())
    except MasticatorError:
        return False


def edge(mechanism: Mechanism, along: samples.Array) -> samples.Array:
    """From home to where loops or motors are about to fail, on a straight way."""
    home = mechanism.home.y
    near = next((k for k in range(99) if not is_served(mechanism, home + (k + 1) * along)), 99)
    far = near + 1.0
    for _ in range(50):
        middle = 0.5 * (near + far)
        if is_served(mechanism, home + middle * along):
            near = middle
        else:
            far = middle
    return near * along


@pytest.mark.parametrize('name', samples.swept(shipped_mechanisms()))
def test_torques_lose_no_more_than_roundings_of_the_pose(name: str) -> None:
    """One rounding of coordinates of 0.1 m or 1 rad moves them, too: much, near the edge."""
    mechanism, box = samples.mechanism(name), samples.BOXES[name]
    oracle = DecimalOracle(mechanism.description)
    along = np.random.default_rng(1301).uniform(-0.05, 0.05, len(box.upper))
    way = edge(mechanism, along * (box.upper - box.lower))
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    order = [list(joints).index(joint) for joint in oracle.joints]
    units = np.array([0.1 if joints[y].unit == 'm' else 1.0 for y in mechanism.independent])
    for part, state in zip(TO_THE_EDGE, samples.states(name, 3, seed=1302), strict=True):
        given = mechanism.home.y + part * way, state.y_dot, state.y_ddot, state.wrench
        one = mechanism.feedforward(*given)
        many = mechanism.feedforward_batch(*(np.tile(x, (8, 1)) for x in given))
        right, _ = oracle.efforts(given, one.q[order])
        shifted, _ = oracle.efforts(given, one.q[order], np.spacing(units) * np.sign(way))
        allowed = ROUNDINGS * np.abs(shifted - right).max() + FLOOR * np.abs(right).max()
        for found in (one.actuated, *many.actuated):
            assert np.abs(exact(found) - right).max() <= allowed


def test_where_a_joint_hardly_moves_its_closure_torques_have_digits_or_are_refused() -> None:
    """The axis of a universal joint comes to lie along its rod; other axes stay across."""
    trimule = samples.mechanism('trimule')
    oracle = DecimalOracle(trimule.description)
    joints = [joint.name for joint in trimule.structure.tree.joints]
    order = [joints.index(joint) for joint in oracle.joints]
    way, rest = edge(trimule, np.array([0.0014, 0.00004, -0.0218])), np.zeros(6)
    last = trimule.home.y + way, 0.01 * np.ones(3), np.zeros(3), rest
    effort = trimule.feedforward(*last)
    right, _ = oracle.efforts(last, effort.q[order])
    for found in (effort.actuated, trimule.feedforward_batch(*(x[None] for x in last)).actuated[0]):
        assert np.abs(exact(found) - right).max() <= exact(1e-3) * np.abs(right).max()
    beyond = trimule.home.y + (1.0 + 1e-8) * way
    with pytest.raises(SingularityError, match='limb_2 is singular at '):
        trimule.feedforward(beyond)
    with pytest.raises(SingularityError, match='limb_2 is singular at '):
        trimule.feedforward_batch(beyond[None])
