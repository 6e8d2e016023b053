# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section parameters: printed values that agree, and those that do not."""

import numpy as np
import pytest
from paper_texts import paper

from papers.comparison import parameters


@pytest.fixture
def tables(chewing) -> list[dict]:
    return [{row[0]: row[1:] for row in table.rows} for table in parameters.compare(chewing)]


def test_lengths_are_those_between_the_points_of_table_1(tables) -> None:
    crank_3 = np.linalg.norm(np.subtract((40.15, -58.24, -36.24), (54.11, -59.47, -30.91)))
    coupler_5 = np.linalg.norm(np.subtract((23.96, -63.49, 48.02), (36.13, -52.46, -1.32)))
    bodies = tables[0]
    assert bodies['cranks, from the points of S1 Table 1, mm'][2] == pytest.approx(crank_3)
    assert bodies['couplers, from the points, mm'][4] == pytest.approx(coupler_5)
    wrong, right = (
        bodies[f'mass of couplers{name}, g']
        for name in (' with 7.8 g/mm³, S0 Eq. 30', ', 7.8e-3 g/mm³')
    )
    assert np.divide(wrong, right) == pytest.approx([1000.0] * 6)


def test_printed_frames_are_orthonormal_to_their_digits(tables) -> None:
    for off, turned in tables[1].values():
        assert 1e-6 < off < 2e-4
        assert turned < 1.0


def test_freedoms_are_counted_and_driven(tables) -> None:
    assert tables[2]['masticator'] == ('4', 24, 20, 4, 6, 4, 2)
    assert tables[2]['rss6'] == ('6', 24, 18, 6, 6, 6, 0)


def test_printed_figures_are_those_of_the_papers() -> None:
    assert 'G1S1=G2S2=10,S1M1=S2M2=S3M3=S4M4=33G3S3=G4S4=G5S5=G6S6=15,S5M5=S6M6=52' in paper('S0')
    for rows in parameters.FRAMES.values():
        for row in rows:
            for value in row:
                assert value in (0.0, 1.0) or f'{abs(value):.4f}'.rstrip('0') in paper('S0')
