# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs as tables, with a row per control cycle or per cycle of the drives."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.acceptance.run_evaluation import RunEvaluation
from masticator_dynamics.robot.acceptance.tracking import LoopRun


def run_table(evaluation: RunEvaluation) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of run.csv.

    ``time`` (s from the start of the motion) and, as received at that stamp, ``position_j
    velocity_j effort_j`` of every actuated joint; ``bite_fx bite_fy bite_fz``: the last force
    sent before (N, axes of the bite frame); ``contact_k``: multiplier of the contact's normal (N)
    and ``closure_residual``: largest gap of the loops (m) in the last message of all joints, which
    is published less often.
    """
    mechanism, record = evaluation.mechanism, evaluation.record
    state = record.state
    columns, values = ['time'], [state.stamps]
    for name, index in zip(mechanism.actuated, state.columns(mechanism.actuated), strict=True):
        columns += [f'position_{name}', f'velocity_{name}', f'effort_{name}']
        values += [state.position[:, index], state.velocity[:, index], state.effort[:, index]]
    sent = np.searchsorted(record.bite.stamps, state.stamps, side='right') - 1
    force = np.where((sent >= 0)[:, None], record.bite.force[sent], 0.0)
    columns += ['bite_fx', 'bite_fy', 'bite_fz']
    values += list(force.T)
    columns += [f'contact_{name}' for name in evaluation.contacts]
    values += list(evaluation.contacts.values())
    last = np.searchsorted(record.joints.stamps, state.stamps, side='right') - 1
    columns.append('closure_residual')
    values.append(evaluation.gap[np.maximum(last, 0)])
    return columns, np.column_stack(values)


def closed_loop_table(run: LoopRun) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of closed_loop.csv.

    ``time`` (of SYNC, s from the start of the motion); of every actuated joint ``position_j``,
    ``velocity_j``, ``effort_j`` as the drives measure them, and ``feedforward_j``, the effort
    commanded; ``incisor_commanded_x`` and so on and ``incisor_x`` and so on, commanded and true
    (m, base axes); ``bite_fx bite_fy bite_fz`` (N, axes of the bite frame); ``error`` of the
    incisor (m), and ``error_pd_alone``, that of the pass without efforts. Data from other sources
    than the drives are interpolated to the drives' cycles.
    """
    record, tracking, alone = run.forward.record, run.forward.tracking, run.alone
    actuated, commanded = run.mechanism.actuated, record.feedforward
    drives = record.drives.during(run.script.duration)
    time = drives.stamps
    names, values = ['time'], [time]
    for joint, column, sent in zip(
        actuated, drives.columns(actuated), commanded.columns(actuated), strict=True
    ):
        names += [f'{name}_{joint}' for name in ('position', 'velocity', 'effort', 'feedforward')]
        values += [drives.position[:, column], drives.velocity[:, column]]
        values.append(drives.effort[:, column])
        values.append(np.interp(time, commanded.stamps, commanded.effort[:, sent]))
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
