# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What motors do not tell of a force while they stand still.

Friction and the losses of gears change sides with the velocity. For one and the same force the
motors give more where the point presses in than where it gives way; standing still they may give
anything in between. Half of the difference, by virtual work along the way, is the doubt.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.control.pressing_path import PressingPath
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.mechanism import Mechanism

_PLACES = 5  # along the way


def rest_doubt(
    mechanism: Mechanism, path: PressingPath, motors: Scaling, force: float, velocity: float
) -> float:
    """By how much a force may be wrong that motors tell at rest, N: the most along the way.

    Parameters
    ----------
    mechanism : Mechanism
        With its friction; for one thread.
    path : PressingPath
    motors : Scaling
        Their friction and gears, in the order of the actuated joints.
    force : float
        N.
    velocity : float
        At which the point comes and goes, m/s.
    """
    doubts = []
    for travel in np.linspace(0.0, path.length, _PLACES).tolist():
        shown = []
        for rate in (velocity, -velocity):
            state = path.state(travel, rate, 0.0)
            effort = mechanism.feedforward(*state, path.wrench(travel, force), friction=True)
            torque = motors.per_mille_from_effort(effort.actuated, effort.velocity)
            torque = torque + motors.per_mille_of_friction(effort.velocity)
            # Of a motor and its ratio alone: nothing is lost at rest.
            shown.append(motors.effort_from_per_mille(torque, np.zeros_like(torque)))
            lead = effort.velocity / rate
        doubts.append(0.5 * abs(float(lead @ (shown[0] - shown[1]))))
    return max(doubts)
