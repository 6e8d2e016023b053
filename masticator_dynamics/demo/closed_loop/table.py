# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The recorded run as one table: a row per cycle of the drives."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.demo.closed_loop.evaluation import Pass, during
from masticator_dynamics.demo.record import JointSeries
from masticator_dynamics.demo.script import Script
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism


def closed_loop_table(
    mechanism: Mechanism, script: Script, forward: Pass, alone: Pass | None
) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of closed_loop.csv.

    ``time`` (of SYNC, s from the start of the motion); of every actuated joint ``position_j``,
    ``velocity_j``, ``effort_j`` as the drives measure them, and ``feedforward_j``, the effort
    commanded; ``incisor_commanded_x`` and so on and ``incisor_x`` and so on, commanded and true
    (m, base axes); ``bite_fx bite_fy bite_fz`` (N, axes of the bite frame); ``error`` of the
    incisor (m), and ``error_pd_alone``, that of the pass without efforts. What is not of the
    drives is interpolated to their cycles.
    """
    record, tracking = forward.record, forward.tracking
    drives = during(script, record.drives)
    time = drives.stamps
    feedforward = _at(time, record.feedforward, mechanism)
    names, values = ['time'], [time]
    for k, (joint, column) in enumerate(
        zip(mechanism.actuated, drives.columns(mechanism.actuated), strict=True)
    ):
        names += [f'{name}_{joint}' for name in ('position', 'velocity', 'effort', 'feedforward')]
        values += [drives.position[:, column], drives.velocity[:, column]]
        values += [drives.effort[:, column], feedforward[k]]
    for label, rows in (('_commanded', tracking.commanded), ('', tracking.actual)):
        names += [f'incisor{label}_{axis}' for axis in 'xyz']
        values += [np.interp(time, tracking.time, row) for row in rows.T]
    names += ['bite_fx', 'bite_fy', 'bite_fz']
    values += [np.interp(time, record.bite.stamps, row) for row in record.bite.force.T]
    names.append('error')
    values.append(np.interp(time, tracking.time, tracking.error))
    if alone is not None:
        names.append('error_pd_alone')
        values.append(np.interp(time, alone.tracking.time, alone.tracking.error))
    return names, np.column_stack(values)


def _at(time: FloatArray, series: JointSeries, mechanism: Mechanism) -> list[FloatArray]:
    """Efforts of each joint at some times."""
    columns = series.columns(mechanism.actuated)
    return [np.interp(time, series.stamps, series.effort[:, column]) for column in columns]
