# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The section ``flexible`` of ``python -m papers``: layouts, paths and frequencies."""

import numpy as np
import pytest
from flexible import beams

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description
from papers.comparison import flexible as section
from papers.comparison.flexible_course import Course
from papers.comparison.inputs import Inputs

SHIPPED = load_description('rrr4')


@pytest.mark.parametrize('half_side', section.HALF_SIDES)
def test_layouts_are_closed_and_their_motors_where_they_are_said_to_be(half_side) -> None:
    mechanism = Mechanism(section.with_half_side(SHIPPED, half_side))
    for i, corner in enumerate(((-1, 1), (-1, -1), (1, -1), (1, 1)), 1):
        origin = mechanism.frame_pose(mechanism.home, f'rod_{i}').position
        assert origin[:2] == pytest.approx(np.array(corner) * half_side, abs=1e-12)
    assert mechanism.actuation_rank() == 3


def test_our_own_layout_is_the_shipped_one() -> None:
    ours = section.with_half_side(SHIPPED, 0.120)
    assert ours.home == pytest.approx(SHIPPED.home, abs=1e-12)


def test_all_paths_are_in_reach_of_all_layouts() -> None:
    for half_side in section.HALF_SIDES:
        mechanism = Mechanism(section.with_half_side(SHIPPED, half_side))
        for path in section._paths().values():
            y, y_dot, y_ddot = path.sample(np.linspace(path.start, path.end, 50))
            assert np.isfinite(mechanism.feedforward_batch(y, y_dot, y_ddot).actuated).all()


def test_no_run_is_made_twice(monkeypatch) -> None:
    """The claims reuse the runs on S3's spiral from the table of drive modes."""
    made = []

    def noted(description, path, mode, **options):
        places = tuple(tuple(j.position.round(9)) for j in description.tree.joints)
        shapes = tuple((k, v.modes, v.boundary) for k, v in description.flexible.items())
        made.append((places, shapes, path.coefficients.tobytes(), mode))
        ones = np.ones((2, 8))
        return Course(ones, ones, ones, ones, ones, {}, 1.0, ones[:, 0], 0.0)

    monkeypatch.setattr(section, 'run_flexible', noted)
    monkeypatch.setattr(section.Course, 'of', lambda made: made)
    for name in ('run_in_pieces', 'courses', 'against_pieces'):
        monkeypatch.setattr(section, name, lambda *_: ())
    section.compare(Inputs())
    assert len(made) == len(set(made)) == 39


def test_frequencies_are_those_of_beams() -> None:
    table = section._frequencies(SHIPPED)
    values = {row[0]: row[1:] for row in table.rows}
    exact = values['beam theory: pinned-pinned; clamped-pinned']
    assert exact[0] == pytest.approx(np.pi**2 * beams.UNIT_FREQUENCY)
    assert values['one fixed-free shape per rod, as S3'] == (pytest.approx(853.6, abs=0.1), None)
    assert values['shapes as shipped'] == pytest.approx(exact, rel=0.03)
    half = values['nine springs, end pieces of half the length']
    assert half == pytest.approx(exact, rel=0.01)
    assert values['nine equal pieces on springs, as S3'][1] > 1.1 * exact[1]
