# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that machine code hands over are slow: an error of the first does not wait for the rest."""

import numpy as np
import pytest
import samples

from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.errors import ReachError


def test_an_error_waits_for_no_row_on_floats_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = samples.mechanism('masticator')
    solver, tried = mechanism.solver, []
    on_floats = RowCode.on_floats
    monkeypatch.setattr(
        RowCode, 'on_floats', lambda code, row: tried.append(row) or on_floats(code, row)
    )
    monkeypatch.setattr(RowCode, 'covers', lambda code, rows: False)
    rows = np.tile(mechanism.home.y, (20, 1))
    for kind in (solver.least_norm, solver.distribution('torque', True)):
        for wrong in (0, 5):
            poses = rows.copy()
            poses[wrong:] = 9.0
            given = np.hstack([poses, np.zeros((len(poses), 2 * poses.shape[1] + 6))])
            tried.clear()
            with pytest.raises(ReachError, match=f'row {wrong + 1}:'):
                solver.fallback(kind, given)
            # Each is closed; efforts are for those that do.
            assert len(tried) == 2 * wrong + 1
