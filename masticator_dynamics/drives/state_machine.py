# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The state machine of CiA 402 (IEC 61800-7-201), seen from the master, and status words."""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.drive_cycle import Feedback, Goal
from masticator_dynamics.drives.objects import Control, StatusBit


class State(enum.Enum):
    """States of a drive: (mask, bits) of the status word."""

    NOT_READY_TO_SWITCH_ON = (0x4F, 0x00)
    SWITCH_ON_DISABLED = (0x4F, 0x40)
    READY_TO_SWITCH_ON = (0x6F, 0x21)
    SWITCHED_ON = (0x6F, 0x23)
    OPERATION_ENABLED = (0x6F, 0x27)
    QUICK_STOP_ACTIVE = (0x6F, 0x07)
    FAULT_REACTION_ACTIVE = (0x4F, 0x0F)
    FAULT = (0x4F, 0x08)
    UNKNOWN = (0x00, 0xFF)  # a status word that fits none of them

    @property
    def words(self) -> str:
        """Name for messages: ``switch on disabled``."""
        return self.name.lower().replace('_', ' ')


# States that each transition leads from and to, by its number in the standard's figure.
TRANSITIONS = {
    1: (State.NOT_READY_TO_SWITCH_ON, State.SWITCH_ON_DISABLED),
    2: (State.SWITCH_ON_DISABLED, State.READY_TO_SWITCH_ON),
    3: (State.READY_TO_SWITCH_ON, State.SWITCHED_ON),
    4: (State.SWITCHED_ON, State.OPERATION_ENABLED),
    5: (State.OPERATION_ENABLED, State.SWITCHED_ON),
    6: (State.SWITCHED_ON, State.READY_TO_SWITCH_ON),
    7: (State.READY_TO_SWITCH_ON, State.SWITCH_ON_DISABLED),
    8: (State.OPERATION_ENABLED, State.READY_TO_SWITCH_ON),
    9: (State.OPERATION_ENABLED, State.SWITCH_ON_DISABLED),
    10: (State.SWITCHED_ON, State.SWITCH_ON_DISABLED),
    11: (State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE),
    12: (State.QUICK_STOP_ACTIVE, State.SWITCH_ON_DISABLED),
    14: (State.FAULT_REACTION_ACTIVE, State.FAULT),
    15: (State.FAULT, State.SWITCH_ON_DISABLED),
    16: (State.QUICK_STOP_ACTIVE, State.OPERATION_ENABLED),
}  # 13 leads from any state to FAULT_REACTION_ACTIVE

_DISABLE_VOLTAGE = 0
_QUICK_STOP = int(Control.ENABLE_VOLTAGE)
_SHUTDOWN = int(Control.ENABLE_VOLTAGE | Control.QUICK_STOP)
_SWITCH_ON = _SHUTDOWN | int(Control.SWITCH_ON)
_ENABLE_OPERATION = _SWITCH_ON | int(Control.ENABLE_OPERATION)

_STATES = tuple(
    next((state for state in State if low & state.value[0] == state.value[1]), State.UNKNOWN)
    for low in range(0x80)
)
# A quick stop under way is left to finish by itself (option code 2), not cut short.
_TO_ENABLED = {
    State.SWITCH_ON_DISABLED: _SHUTDOWN,
    State.READY_TO_SWITCH_ON: _SWITCH_ON,
    State.SWITCHED_ON: _ENABLE_OPERATION,
    State.OPERATION_ENABLED: _ENABLE_OPERATION,
    State.QUICK_STOP_ACTIVE: _QUICK_STOP,
}


def state_of(status_word: int) -> State:
    """State in a status word, 0x6041."""
    return _STATES[status_word & 0x7F]


def control_word(state: State, goal: Goal, pulse: bool = False) -> int:
    """Control word, 0x6040, that leads a drive from a state one step towards a goal.

    Parameters
    ----------
    state : State
        From the newest status word.
    goal : Goal
        Faults are acknowledged only for ``Goal.RESET``.
    pulse : bool
        The fault reset bit while resetting: a rising edge acknowledges a fault, so this must
        alternate, slowly enough for the drive to see it.
    """
    if goal is Goal.STOPPED:
        return _QUICK_STOP
    if goal is Goal.ENABLED:
        return _TO_ENABLED.get(state, _DISABLE_VOLTAGE)
    if goal is Goal.RESET and state is State.FAULT and pulse:
        return int(Control.FAULT_RESET)
    if goal is Goal.HOMING and state is State.SWITCH_ON_DISABLED:
        return int(Control.START_HOMING)
    return _DISABLE_VOLTAGE


# PDOs missing in a row that count as a lost drive.
LOST_AFTER = 5
BoolArray = npt.NDArray[np.bool_]

_FAULT = 0x0008  # of the status word, 0x6041: in fault, and on the way there
_POWERED = 0x0004  # operation enabled, and on the way out of it
_STATE, _OPERATION_ENABLED = State.OPERATION_ENABLED.value
_FOLLOWS = int(StatusBit.FOLLOWS_COMMAND)
_HOMED = int(StatusBit.HOMING_ATTAINED)


def faulted(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in fault."""
    return (feedback.status_word & _FAULT) != 0


def powered(feedback: Feedback) -> BoolArray:
    """Which drives (n,) give torque: operation enabled or slowing down."""
    return (feedback.status_word & _POWERED) != 0


def slowing_down(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in quick stop."""
    mask, bits = State.QUICK_STOP_ACTIVE.value
    return (feedback.status_word & mask) == bits


def is_powered(status_word: int) -> bool:
    """Whether one drive gives torque."""
    return bool(status_word & _POWERED)


def in_operation(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in operation enabled."""
    return (feedback.status_word & _STATE) == _OPERATION_ENABLED


def follows(feedback: Feedback) -> BoolArray:
    """Which drives (n,) report that they follow their cyclic target."""
    return (feedback.status_word & _FOLLOWS) != 0


def homed(feedback: Feedback) -> BoolArray:
    """Which drives (n,) report that homing is attained."""
    return (feedback.status_word & _HOMED) != 0


def all_heard(feedback: Feedback) -> bool:
    """Whether the position of every drive is at most a few cycles old."""
    known = np.isfinite(feedback.position) & (feedback.missed < LOST_AFTER)
    return bool(known.all())


def in_words(status_word: int) -> str:
    """State and number: ``fault (status word 0x0208)``."""
    return f'{state_of(status_word).words} (status word 0x{status_word:04X})'
