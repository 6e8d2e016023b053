# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""TriMule's load inertia next to S4 Table 3."""

import numpy as np
import pytest
from oracles import trimule_oracle

from papers.comparison import trimule
from papers.comparison.inputs import Inputs


@pytest.fixture(scope='module')
def tables():
    return trimule.compare(Inputs())


def test_points_of_table_3_are_within_half_a_percent(tables) -> None:
    points = tables[0]
    assert len(points.rows) == 9
    for name, printed, ours, off in points.rows:
        assert ours == pytest.approx(float(printed), rel=5e-3), name
        assert off == pytest.approx(100.0 * (ours / float(printed) - 1.0))


def test_the_maps_least_mean_and_largest_are_within_half_a_percent(tables) -> None:
    rows = [row for row in tables[1].rows if row[1] is not None]
    assert [row[0].split(', ')[1] for row in rows] == 3 * ['least'] + 3 * ['mean'] + 3 * ['largest']
    for name, printed, ours, _ in rows:
        assert ours == pytest.approx(float(printed), rel=5e-3), name


def test_means_are_those_of_virtual_work(tables) -> None:
    """On a coarser polar grid, written here; both are near the mean over radius and angle."""
    values = []
    for r in np.linspace(0.0, 0.6, 13):
        for a in np.arange(8) * np.pi / 4.0:
            point = [r * np.cos(a), -0.19 + r * np.sin(a), 1.268]
            solution = trimule_oracle.inverse_dynamics(point, np.zeros(3), np.zeros(3))
            values.append(np.diag(solution.load_inertia) * 1e3)
    means = [row[2] for row in tables[1].rows if row[0].endswith('mean')]
    assert means == pytest.approx(np.mean(values, axis=0), rel=3e-3)
