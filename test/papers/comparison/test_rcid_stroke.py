# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section rcid-stroke: the optimum against formulas typed here."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from papers.comparison import rcid_stroke
from papers.comparison.inputs import Inputs

L, BASE, PLATFORM = 97.98, np.radians([15, 105, 135, 225, 255, 345]), np.radians([60, 60, 180])


def positions(shift: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """l_1 to l_3 (N, 3) up to a constant, mm; angles of S2 Table 1; mm and rad."""
    arms = 40.0 * np.column_stack([np.cos(PLATFORM), np.sin(PLATFORM), np.zeros(3)])
    feet = 80.0 * np.column_stack([np.cos(BASE[:3]), np.sin(BASE[:3]), np.zeros(3)])
    turned = np.einsum('nij,kj->nki', Rotation.from_rotvec(turn).as_matrix(), arms)
    w = shift[:, None] + turned - feet
    return w[..., 2] - np.sqrt(L**2 - w[..., 0] ** 2 - w[..., 1] ** 2)


@pytest.fixture(scope='module')
def rows() -> dict:
    return {row[0]: row[1:] for table in rcid_stroke.compare(Inputs()) for row in table.rows}


def test_no_pose_of_the_workspace_takes_more_and_some_take_nearly_as_much(rows) -> None:
    rng = np.random.default_rng(3)
    shift, turn = rng.normal(size=(2, 100_000, 3))
    shift *= 10.0 / np.linalg.norm(shift, axis=1, keepdims=True)
    turn *= np.radians(15.0) / np.linalg.norm(turn, axis=1, keepdims=True)
    seen = np.ptp(positions(shift, turn), axis=0)
    _, least, greatest = rows['sphere of 10 mm, 15 degrees about any axis']
    assert least == pytest.approx(greatest, rel=1e-4)  # six alike
    assert 0.985 * greatest < seen.max() <= greatest + 1e-9
    assert rows['  by the engine at random poses'][1:] == pytest.approx(
        (seen.max(), seen.max()), rel=0.02
    )


def test_a_larger_workspace_takes_more(rows) -> None:
    cube = rows['cube of 20 mm, 15 degrees in each Euler angle']
    assert cube[1] > 1.3 * rows['sphere of 10 mm, 15 degrees about any axis'][2]


def test_euler_angles_stay_off_their_singularity(rows) -> None:
    (theta,), (determinant,) = (
        rows['largest |theta|, degrees'], rows['least |det J_A| over the workspace']
    )  # fmt: skip
    assert theta <= 15.0 + 1e-9
    assert determinant == pytest.approx(np.cos(np.radians(theta)))
