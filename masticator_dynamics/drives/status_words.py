# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Status words and signs of life of all drives at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.drive_cycle import Feedback
from masticator_dynamics.drives.objects import StatusBit
from masticator_dynamics.drives.state_machine import State, state_of

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
