# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section coupling: known indices are in the right cells."""

import numpy as np
import pytest
from paper_texts import paper

from papers.comparison import coupling

# Computed apart from this project and rounded.
HOME = {
    'masticator, ours': [0.440, 0.440, 0.4995, 0.4995, 0.266, 0.266],
    'rss6, ours': [0.4375, 0.4375, 1.065, 1.065, 0.504, 0.504],
}
FORWARD = {
    'masticator, ours': [0.2513, 0.2510, 0.2377, 0.2514, 0.1209, 0.1391],
    'ratio ours, %': [54.92, 45.49, 37.11, 38.25, 24.78, 28.94],
}
DIGIT = {'masticator, ours': 5.1e-5, 'ratio ours, %': 5.1e-3}


def rows(table) -> dict:
    return {row[0]: row[1:] for row in table.rows}


@pytest.fixture(scope='module')
def tables(chewing) -> list:
    return coupling.compare(chewing)


def test_home_and_forward_pose(tables) -> None:
    home, forward = rows(tables[0]), rows(tables[1])
    for name, expected in HOME.items():
        assert home[name] == pytest.approx(expected, abs=5.1e-4)
    for name, expected in FORWARD.items():
        assert forward[name] == pytest.approx(expected, abs=DIGIT[name])


def test_averages_of_a_jaw_that_stays_are_those_of_its_pose(moving) -> None:
    found = rows(coupling.compare(moving([coupling.FORWARD] * 3))[2])
    for name, expected in FORWARD.items():
        assert found[name] == pytest.approx(expected, abs=DIGIT[name])


def test_averages_are_taken_before_the_ratio(moving) -> None:
    poses = np.array([np.zeros(4), coupling.FORWARD])
    tables = coupling.compare(moving(poses))
    home, forward, average = (rows(table) for table in tables[:3])
    means = {
        name: np.mean([home[name], forward[name]], axis=0)
        for name in ('masticator, ours', 'rss6, ours')
    }
    for name, mean in means.items():
        assert average[name] == pytest.approx(mean, rel=1e-12)
    ratio = 100.0 * means['masticator, ours'] / means['rss6, ours']
    assert average['ratio ours, %'] == pytest.approx(ratio, rel=1e-12)


def test_strokes_moved_forward_come_nearer_to_the_printed_ratios(tables) -> None:
    as_it_is, moved = (rows(table) for table in tables[2:4])
    printed = np.array([float(cell) for cell in moved['ratio printed, %']])
    near = np.abs(np.array(moved['ratio ours, %']) - printed)
    assert np.all(near < 10.0)
    assert near.max() < 0.4 * np.abs(np.array(as_it_is['ratio ours, %']) - printed).max()


def test_printed_figures_are_those_of_the_paper() -> None:
    text = paper('S0')
    assert 'are only 50.67 %, 40.60 %, 38.87 %, 40.66 %, 24.89 %, and 30.83 %' in text
    assert coupling.PRINTED_RATIO == ('50.67', '40.60', '38.87', '40.66', '24.89', '30.83')
    assert 'MCI1 fluctuates around 0.23 and is larger than MCI2' in text
    assert 'MCI3 and MCI4 fluctuate around 0.23 and 0.25, respectively' in text
