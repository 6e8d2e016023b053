# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a control word requests in each state: CiA 402's figure, as seen by the drive."""

from __future__ import annotations

import enum

from masticator_dynamics.drives.objects import Control as Bit
from masticator_dynamics.drives.state_machine import State


class ControlCommand(enum.Enum):
    """Commands in bits 0 to 3 of the control word."""

    DISABLE_VOLTAGE = 0
    QUICK_STOP = 1
    SHUTDOWN = 2
    SWITCH_ON = 3
    ENABLE_OPERATION = 4


# Number of the transition in the standard's figure, by state and command.
TRANSITION_OF = {
    (State.SWITCH_ON_DISABLED, ControlCommand.SHUTDOWN): 2,
    (State.READY_TO_SWITCH_ON, ControlCommand.SWITCH_ON): 3,
    (State.READY_TO_SWITCH_ON, ControlCommand.ENABLE_OPERATION): 3,  # and then 4
    (State.READY_TO_SWITCH_ON, ControlCommand.QUICK_STOP): 7,
    (State.READY_TO_SWITCH_ON, ControlCommand.DISABLE_VOLTAGE): 7,
    (State.SWITCHED_ON, ControlCommand.ENABLE_OPERATION): 4,
    (State.SWITCHED_ON, ControlCommand.SHUTDOWN): 6,
    (State.SWITCHED_ON, ControlCommand.QUICK_STOP): 10,
    (State.SWITCHED_ON, ControlCommand.DISABLE_VOLTAGE): 10,
    (State.OPERATION_ENABLED, ControlCommand.SWITCH_ON): 5,
    (State.OPERATION_ENABLED, ControlCommand.SHUTDOWN): 8,
    (State.OPERATION_ENABLED, ControlCommand.DISABLE_VOLTAGE): 9,
    (State.OPERATION_ENABLED, ControlCommand.QUICK_STOP): 11,
    (State.QUICK_STOP_ACTIVE, ControlCommand.DISABLE_VOLTAGE): 12,
    (State.QUICK_STOP_ACTIVE, ControlCommand.ENABLE_OPERATION): 16,
}


def command_of(word: int) -> ControlCommand:
    """Command in a control word, apart from fault reset."""
    if not word & Bit.ENABLE_VOLTAGE:
        return ControlCommand.DISABLE_VOLTAGE
    if not word & Bit.QUICK_STOP:
        return ControlCommand.QUICK_STOP
    if not word & Bit.SWITCH_ON:
        return ControlCommand.SHUTDOWN
    if not word & Bit.ENABLE_OPERATION:
        return ControlCommand.SWITCH_ON
    return ControlCommand.ENABLE_OPERATION
