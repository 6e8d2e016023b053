# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that machine code hands over are slow: an error of the first does not wait for the rest."""

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import ReachError


def test_an_error_waits_for_as_many_rows_as_came_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = samples.mechanism('masticator')
    solver, tried = mechanism.solver, []
    unchecked = solver.unchecked
    monkeypatch.setattr(
        solver,
        'unchecked',
        lambda kind, given, q=None: tried.append(len(given)) or unchecked(kind, given, q),
    )
    rows = np.tile(mechanism.home.y, (100, 1))
    for wrong in (0, 5, 40):
        poses = rows.copy()
        poses[wrong:] = 9.0
        given = np.hstack([poses, np.zeros((len(poses), 2 * poses.shape[1] + 6))])
        tried.clear()
        with pytest.raises(ReachError, match=f'row {wrong + 1}:'):
            solver.fallback(solver.least_norm, given)
        assert wrong < sum(tried) <= 2 * wrong + 1
