# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section goal-search: Eq. 50 is the engine's, and the search finds its optima."""

import numpy as np
import pytest

from papers.comparison import goal_search
from papers.comparison.goal_indices import GOALS

K = 3  # a sample with food between the teeth


@pytest.mark.parametrize('goal', GOALS.values())
def test_equation_50_gives_the_torques_of_the_engine(chewing, goal) -> None:
    """With the engine's own contact forces applied to rss6."""
    motion = chewing.motion
    effort = chewing.masticator.feedforward(
        motion.y[K], motion.y_dot[K], motion.y_ddot[K], motion.wrench[K], goal=goal, friction=True
    )
    sample = goal_search.Sample(chewing, motion, K)
    assert sample.effort(effort.contact).actuated == pytest.approx(effort.actuated, abs=1e-9)


@pytest.mark.parametrize('name', GOALS)
def test_the_search_finds_the_optimum_of_the_engine(chewing, name) -> None:
    found, cost = goal_search._search(chewing, chewing.motion, K, name, np.zeros(8))
    evaluations, iterations, _, _, excess = cost
    assert abs(excess) < 1e-3
    torque = goal_search.Sample(chewing, chewing.motion, K).effort(found[6:]).actuated
    assert found[:6] == pytest.approx(torque, abs=1e-6)
    assert evaluations >= iterations > 0
