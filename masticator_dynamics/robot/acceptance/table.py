# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs as tables, with a row per control cycle or per cycle of the drives."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.acceptance.passes import Pass, Run, force_before
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.record import JointSeries

Columns = dict[str, FloatArray]


def run_table(run: Run) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of a run.

    ``time`` (s from the start of the motion; of SYNC in closed loop) and ``position_j velocity_j
    effort_j`` of every actuated joint, as received or as the drives measure them; ``bite_fx bite_fy
    bite_fz`` (N, axes of the bite frame).

    With the dynamics node alone, where these are the last force sent before: ``contact_k``,
    multiplier of the contact's normal (N), and ``closure_residual``, largest gap of the loops (m)
    in the last message of all joints, which is published less often.

    In closed loop: ``feedforward_j``, the effort commanded; ``incisor_commanded_x`` and so on and
    ``incisor_x`` and so on, commanded and true (m, base axes); ``error`` of the incisor (m), and
    ``error_pd_alone``, that of the pass without efforts. Data from other sources than the drives
    are interpolated to the drives' cycles.
    """
    columns = _closed_loop(run) if run.food else _node_alone(run.forward)
    return list(columns), np.column_stack(list(columns.values()))


def _node_alone(one: Pass) -> Columns:
    state, joints = one.state, one.record[topics.JOINT_STATES]
    columns = {'time': state.stamps} | _joints(state, one.mechanism.actuated)
    columns |= _vector('bite_f{}', force_before(one.record.bite, state.stamps))
    contacts = zip(one.mechanism.contacts, one.multipliers.T, strict=True)
    columns |= {f'contact_{name}': multipliers for name, multipliers in contacts}
    last = np.searchsorted(joints.stamps, state.stamps, side='right') - 1
    return columns | {'closure_residual': one.gap[np.maximum(last, 0)]}


def _closed_loop(run: Run) -> Columns:
    record, tracking = run.forward.record, run.forward.tracking
    actuated, sent = run.forward.mechanism.actuated, record[topics.STATE]
    drives = record[topics.DRIVES].during(run.forward.script.duration)
    time = drives.stamps

    def at_cycles(stamps: FloatArray, rows: FloatArray) -> FloatArray:
        return np.stack([np.interp(time, stamps, column) for column in rows.T], axis=1)

    efforts = at_cycles(sent.stamps, sent.effort[:, sent.columns(actuated)])
    columns = {'time': time} | _joints(drives, actuated, efforts)
    for label, rows in (('_commanded', tracking.commanded), ('', tracking.actual)):
        columns |= _vector(f'incisor{label}_{{}}', at_cycles(tracking.time, rows))
    columns |= _vector('bite_f{}', at_cycles(record.bite.stamps, record.bite.force))
    for name, one in zip(('error', 'error_pd_alone'), run.passes, strict=False):
        columns[name] = np.interp(time, one.tracking.time, one.tracking.error)
    return columns


def _joints(
    series: JointSeries, names: tuple[str, ...], feedforward: FloatArray | None = None
) -> Columns:
    columns = {}
    for k, (name, column) in enumerate(zip(names, series.columns(names), strict=True)):
        columns[f'position_{name}'] = series.position[:, column]
        columns[f'velocity_{name}'] = series.velocity[:, column]
        columns[f'effort_{name}'] = series.effort[:, column]
        if feedforward is not None:
            columns[f'feedforward_{name}'] = feedforward[:, k]
    return columns


def _vector(name: str, rows: FloatArray) -> Columns:
    """Columns of vectors (N, 3), by a name with a place for the axis."""
    return {name.format(axis): column for axis, column in zip('xyz', rows.T, strict=True)}
