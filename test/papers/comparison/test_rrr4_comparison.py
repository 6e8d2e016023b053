# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drive modes of the planar 4-RRR along S3's spiral."""

import numpy as np
import pytest
from oracles import rrr4_oracle

from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.motion import Spiral
from papers.comparison import rrr4
from papers.comparison.inputs import Inputs

COUNT = 41


@pytest.fixture(scope='module')
def drives() -> dict[str, Effort]:
    return rrr4.drive_modes(Spiral(), COUNT)


@pytest.fixture(scope='module')
def by_hand() -> list[rrr4_oracle.Rrr4Result]:
    states = zip(*Spiral().sample(np.linspace(0.0, 0.4, COUNT)), strict=True)
    return [rrr4_oracle.inverse_dynamics(*state) for state in states]


def power(drive: Effort) -> np.ndarray:
    return drive.actuated * drive.velocity


def test_every_mode_drives_the_same_motion(drives, by_hand) -> None:
    for drive in drives.values():
        for torque, solution in zip(drive.actuated, by_hand, strict=True):
            needed = solution.jacobian.T @ solution.effort
            error = np.abs(solution.jacobian.T @ torque - needed).max()
            assert error <= 1e-8 * np.abs(needed).max()


def test_powers_are_torques_times_speeds_and_feed_the_motion(drives, by_hand) -> None:
    speed = np.array([solution.angle_dot for solution in by_hand])
    for drive in drives.values():
        assert power(drive) == pytest.approx(drive.actuated * speed, rel=1e-9, abs=1e-12)
    sums = [power(drive).sum(axis=1) for drive in drives.values()]
    assert sums[0] == pytest.approx(sums[1], rel=1e-8, abs=1e-10)
    assert sums[2] == pytest.approx(sums[1], rel=1e-6, abs=1e-10)


def test_each_mode_is_least_in_what_it_keeps_least(drives) -> None:
    assert np.abs(drives['a'].actuated[:, 3]).max() == 0.0
    torque = {mode: np.linalg.norm(drive.actuated, axis=1) for mode, drive in drives.items()}
    powers = {mode: np.linalg.norm(power(drive), axis=1) for mode, drive in drives.items()}
    for other in 'ac':
        assert (torque['b'] <= torque[other] * (1.0 + 1e-9) + 1e-12).all()
    for other in 'ab':
        # Where a motor stands still, what is least is power with the weight's small addition.
        assert (powers['c'] <= powers[other] * (1.0 + 1e-4) + 1e-9).all()
    # The two are close on this path, but not the same.
    assert torque['b'].sum() < torque['c'].sum() * (1.0 - 1e-4)
    assert powers['c'].sum() < powers['b'].sum() * (1.0 - 1e-4)


def test_the_tables_show_these_numbers(drives) -> None:
    path, _, torque, work = rrr4.compare(Inputs())
    assert dict((row[0], row[2]) for row in path.rows)['end, y, mm'] == pytest.approx(
        -17.5, abs=1e-2
    )
    assert torque.columns[1:] == work.columns[1:] == tuple(rrr4.MODES.values())
    largest = [row[1:] for row in torque.rows if row[0] == 'motor 2, largest'][0]
    finer = rrr4.drive_modes(Spiral())
    assert largest == pytest.approx([np.abs(d.actuated[:, 1]).max() * 1e3 for d in finer.values()])
    sums = [row[1:] for row in work.rows if row[0] == 'sum at the end'][0]
    assert sums == pytest.approx([1e3 * power(d)[-1].sum() for d in finer.values()])
