# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load inertia of the actuators over many poses (S4 Sec. 3, Fig. 5).

What a motor feels when it alone accelerates and the others stand still: the diagonal of the
inertia matrix in actuated space. Redundant motors cannot move alone; for them it is what
:mod:`masticator_dynamics.evaluation.inertia_coupling` extends it to (S0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.inertia_coupling import ActuatedInertia

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


def load_inertia(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """Load inertia (N, n_u) at poses (N, n_y): kg m^2 at motors that turn, kg at those that slide.

    Raises
    ------
    ReachError, SingularityError
        When the loops do not close at a pose or the actuators lose control there; the error's
        ``row`` says which.
    ActuationError
        As :func:`masticator_dynamics.evaluation.inertia_coupling.actuated_inertia`.
    """
    inertia = mechanism.actuated_inertia(mechanism.attempt(poses).all())
    return np.diagonal(inertia, axis1=1, axis2=2).copy()


def load_inertia_where_possible(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """:func:`load_inertia`, NaN at poses out of reach or singular."""
    return np.diagonal(inertia_where_possible(mechanism, poses), axis1=1, axis2=2).copy()


def inertia_where_possible(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """Inertia matrices (N, n_u, n_u) in actuated space, NaN at poses out of reach or singular."""
    attempts, count = mechanism.attempt(poses), len(mechanism.actuated)
    inertia = np.full((len(poses), count, count), np.nan)
    inertia[attempts.closed] = mechanism.made(ActuatedInertia)(attempts.motions.q)
    return inertia
