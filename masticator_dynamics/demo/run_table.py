# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The recorded run as one table: a row per control cycle."""

import numpy as np

from masticator_dynamics.demo.evaluation import Evaluation
from masticator_dynamics.demo.record import Record
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism


def run_table(
    mechanism: Mechanism, record: Record, evaluation: Evaluation
) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of run.csv.

    ``time`` (s from the start of the motion) and, as received at that stamp, ``position_j
    velocity_j effort_j`` of every actuated joint; ``bite_fx bite_fy bite_fz``: the last force
    sent before (N, axes of the bite frame); ``contact_k``: multiplier of the contact's normal (N)
    and ``closure_residual``: largest gap of the loops (m) in the last message of all joints, which
    is published less often.
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
