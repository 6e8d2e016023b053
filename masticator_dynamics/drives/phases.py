# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of all drives together: what they are to do in each, and which go on to another."""

from __future__ import annotations

import enum

from masticator_dynamics.drives.drive_cycle import DriveGoal


class Phase(enum.Enum):
    """State of all drives together; values are words for people."""

    OFF = 'torque-free'
    ENABLING = 'being enabled'
    HOLDING = 'enabled, holding until the first command'
    APPROACHING = 'enabled, on the way to what is commanded'
    FOLLOWING = 'enabled, following commands'
    STOPPING = 'stopping'
    RESETTING = 'being reset'
    HOMING = 'being homed'
    LATCHED = 'stopped until reset'


# In which drives move, or hold, the mechanism; are enabled or being enabled; go on by themselves.
MOVING = (Phase.HOLDING, Phase.APPROACHING, Phase.FOLLOWING)
ON = (Phase.ENABLING, *MOVING)
PASSING = (
    Phase.ENABLING, Phase.APPROACHING, Phase.STOPPING, Phase.RESETTING, Phase.HOMING,
)  # fmt: skip
GOALS = {
    Phase.OFF: DriveGoal.TORQUE_FREE,
    **dict.fromkeys(ON, DriveGoal.ENABLED),
    Phase.STOPPING: DriveGoal.STOPPED,
    Phase.RESETTING: DriveGoal.RESET,
    Phase.HOMING: DriveGoal.HOMING,
}
