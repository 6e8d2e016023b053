# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion files: what the columns of a motion mean to a mechanism."""

from __future__ import annotations

import dataclasses

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.tables import Table, read_table
from masticator_dynamics.mechanism import Mechanism

WRENCH = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')


@dataclasses.dataclass(frozen=True)
class MotionFile:
    """A motion in independent coordinates with the wrench on the platform.

    Attributes
    ----------
    table : Table
        Where it was read from.
    time : array, shape (N,)
        s, increasing.
    y, y_dot, y_ddot : array, shape (N, n_y)
        rad, m and their time derivatives.
    wrench : array, shape (N, 6), or None
        N and N m, as written in the file.
    """

    table: Table
    time: FloatArray
    y: FloatArray
    y_dot: FloatArray
    y_ddot: FloatArray
    wrench: FloatArray | None


def read_motion(source: str, mechanism: Mechanism) -> MotionFile:
    """Read a motion; where the file has no derivatives, a spline in time supplies them.

    Raises
    ------
    InputError
        Naming file, row and column.
    """
    table = read_table(source)
    names = mechanism.independent
    time, y = table.increasing('time'), table.numbers(names)
    derivatives = table.all_or_none(
        [*(f'{name}_dot' for name in names), *(f'{name}_ddot' for name in names)]
    )
    if derivatives is None:
        # Only here: scipy's splines take longer to import than a short motion to evaluate.
        from masticator_dynamics.motion.path import MotionPath

        _, y_dot, y_ddot = MotionPath.interpolate(time, y, names=names).sample(time)
    else:
        y_dot, y_ddot = derivatives[:, : len(names)], derivatives[:, len(names) :]
    return MotionFile(table, time, y, y_dot, y_ddot, table.all_or_none(WRENCH))


def motion_columns(mechanism: Mechanism) -> list[str]:
    """Header of a motion file with derivatives, without wrench."""
    return ['time', *(c + s for c in mechanism.independent for s in ('', '_dot', '_ddot'))]
