# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs as tables, with a row per control cycle or per cycle of the drives."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.demo.record import JointSeries, Record
from masticator_dynamics.demo.run_evaluation import RunEvaluation
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.tracking import Pass, during
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism


def run_table(
    mechanism: Mechanism, record: Record, evaluation: RunEvaluation
) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of run.csv.

    ``time`` (s from the start of the motion) and, as received at that stamp, ``position_j
    velocity_j effort_j`` of every actuated joint; ``bite_fx bite_fy bite_fz``: the last force
    sent before (N, axes of the bite frame); ``contact_k``: multiplier of the contact's normal (N)
    and ``closure_residual``: largest gap of the loops (m) in the last message of all joints, which
    is published less often.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    record : Record
        What was received, N rows of states.
    evaluation : RunEvaluation
        For contact forces and gaps.
    """
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


def closed_loop_table(
    mechanism: Mechanism, script: Script, forward: Pass, alone: Pass | None
) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of closed_loop.csv.

    ``time`` (of SYNC, s from the start of the motion); of every actuated joint ``position_j``,
    ``velocity_j``, ``effort_j`` as the drives measure them, and ``feedforward_j``, the effort
    commanded; ``incisor_commanded_x`` and so on and ``incisor_x`` and so on, commanded and true
    (m, base axes); ``bite_fx bite_fy bite_fz`` (N, axes of the bite frame); ``error`` of the
    incisor (m), and ``error_pd_alone``, that of the pass without efforts. Data from other sources
    than the drives are interpolated to the drives' cycles.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    forward, alone : Pass
        With feedforward efforts and, if there is such a pass, with PD control alone.
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
