# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The state machine of CiA 402 (IEC 61800-7-201), seen from the master: status words and homing.

Homing matters since incremental encoders start at 0 wherever they are: if home is all zeros, six
zeros close the loops, so the positions themselves cannot tell whether a drive knows its own.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback
from masticator_dynamics.drives.objects import Control, StatusBit
from masticator_dynamics.engine.arrays import FloatArray


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

    def __init__(self, mask: int, bits: int):
        self.mask, self.bits = mask, bits

    @property
    def words(self) -> str:
        """Name for messages: ``switch on disabled``."""
        return self.name.lower().replace('_', ' ')


_DISABLE_VOLTAGE = 0
_QUICK_STOP = int(Control.ENABLE_VOLTAGE)
_SHUTDOWN = int(Control.ENABLE_VOLTAGE | Control.QUICK_STOP)
_SWITCH_ON = _SHUTDOWN | int(Control.SWITCH_ON)
_ENABLE_OPERATION = _SWITCH_ON | int(Control.ENABLE_OPERATION)

_STATES = tuple(
    next((state for state in State if low & state.mask == state.bits), State.UNKNOWN)
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


def control_word(state: State, goal: DriveGoal, pulse: bool = False) -> int:
    """Control word, 0x6040, that leads a drive from a state one step towards a goal.

    Parameters
    ----------
    state : State
        From the newest status word.
    goal : DriveGoal
        Faults are acknowledged only for ``DriveGoal.RESET``.
    pulse : bool
        The fault reset bit while resetting: a rising edge acknowledges a fault, so this must
        alternate, slowly enough for the drive to see it.
    """
    if goal is DriveGoal.STOPPED:
        return _QUICK_STOP
    if goal is DriveGoal.ENABLED:
        return _TO_ENABLED.get(state, _DISABLE_VOLTAGE)
    if goal is DriveGoal.RESET and state is State.FAULT and pulse:
        return int(Control.FAULT_RESET)
    if goal is DriveGoal.HOMING and state is State.SWITCH_ON_DISABLED:
        return int(Control.START_HOMING)
    return _DISABLE_VOLTAGE


@functools.lru_cache(maxsize=64)
def control_words(goal: DriveGoal, pulse: bool) -> tuple[int, ...]:
    """Control words by the low seven bits of a status word, as :func:`control_word`."""
    return tuple(control_word(state, goal, pulse) for state in _STATES)


# PDOs missing in a row that count as a lost drive.
LOST_AFTER = 5
BoolArray = npt.NDArray[np.bool_]

_FAULT = 0x0008  # of the status word, 0x6041: in fault, and on the way there
_POWERED = 0x0004  # operation enabled, and on the way out of it
_STATE, _OPERATION_ENABLED = State.OPERATION_ENABLED.value
_FOLLOWS = int(StatusBit.FOLLOWS_COMMAND)
_HOMED = int(StatusBit.HOMING_ATTAINED)


class _StatusFlags(NamedTuple):
    """What status words tell of drives, (n,) each, read only."""

    faulted: BoolArray
    powered: BoolArray
    slowing_down: BoolArray
    in_operation: BoolArray
    follows: BoolArray
    homed: BoolArray


@functools.lru_cache(maxsize=64)
def _flags_by(words: tuple[int, ...]) -> _StatusFlags:
    """What status words tell; they stay the same for thousands of cycles."""
    word = np.array(words, dtype=np.int64)
    stopping, bits = State.QUICK_STOP_ACTIVE.value
    flags = _StatusFlags(
        (word & _FAULT) != 0,
        (word & _POWERED) != 0,
        (word & stopping) == bits,
        (word & _STATE) == _OPERATION_ENABLED,
        (word & _FOLLOWS) != 0,
        (word & _HOMED) != 0,
    )
    for flag in flags:
        flag.flags.writeable = False
    return flags


def faulted(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in fault."""
    return _flags(feedback).faulted


def powered(feedback: Feedback) -> BoolArray:
    """Which drives (n,) give torque: operation enabled or slowing down."""
    return _flags(feedback).powered


def slowing_down(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in quick stop."""
    return _flags(feedback).slowing_down


def is_powered(status_word: int) -> bool:
    """Whether one drive gives torque."""
    return bool(status_word & _POWERED)


def in_operation(feedback: Feedback) -> BoolArray:
    """Which drives (n,) are in operation enabled."""
    return _flags(feedback).in_operation


def follows(feedback: Feedback) -> BoolArray:
    """Which drives (n,) report that they follow their cyclic target."""
    return _flags(feedback).follows


def homed(feedback: Feedback) -> BoolArray:
    """Which drives (n,) report that homing is attained."""
    return _flags(feedback).homed


def _flags(feedback: Feedback) -> _StatusFlags:
    return _flags_by(tuple(feedback.status_word.tolist()))


def all_heard(feedback: Feedback) -> bool:
    """Whether the position of every drive is at most a few cycles old."""
    heard = all(map(math.isfinite, feedback.position.tolist()))
    return heard and max(feedback.missed.tolist()) < LOST_AFTER


def in_words(status_word: int) -> str:
    """State and number: ``fault (status word 0x0208)``."""
    return f'{state_of(status_word).words} (status word 0x{status_word:04X})'


_COUNTS, _LEAST = 2.0, 1e-3  # counts, or rad, that a drive may be off home after homing


class Homing:
    """Drives that have been homed since they were switched on.

    Parameters
    ----------
    home : float array (n,)
        Joint positions that homing leads to, rad or m.
    units : tuple of str
        Units of those positions.

    Attributes
    ----------
    known : bool array (n,)
        Drives that know their position.
    """

    def __init__(self, drives: Drives, home: FloatArray, units: tuple[str, ...]):
        motors = [drive.motor for drive in drives.drives.values()]
        self._names, self._home, self._units = tuple(drives.drives), home, units
        self._target = home
        self._absolute = np.array([motor.absolute for motor in motors])
        counts = np.array([motor.counts_per_turn * motor.gear_ratio for motor in motors])
        self._tolerance = np.maximum(_COUNTS * 2.0 * np.pi / counts, _LEAST)
        self.known: BoolArray = self._absolute.copy()
        self._reached = self._absolute & False

    def forget(self, names: Iterable[str], altered: bool = False) -> None:
        """Forget the homing of drives that may have been without power.

        If their zeros may have been ``altered``, too, that of absolute encoders is also forgotten.
        """
        for name in names:
            index = self._names.index(name)
            self.known[index] &= self._absolute[index] and not altered

    def begin(self, target: FloatArray | None = None) -> None:
        """Note that all drives are being homed, to positions (n,) or home; none has been yet."""
        self._target = self._home if target is None else target
        self.known, self._reached = self._absolute & False, self._absolute & False

    def take(self, feedback: Feedback) -> BoolArray:
        """Which drives (n,) have reported that they are homed, and were at home then."""
        near = np.abs(feedback.position - self._target) <= self._tolerance
        self._reached = self._reached | (homed(feedback) & near)
        self.known = self.known | self._reached
        return self._reached

    def why_not(self, feedback: Feedback, index: int) -> str:
        """Why a drive is not homed."""
        if not homed(feedback)[index]:
            return 'not homed'
        unit = self._units[index]
        return (
            f'says that it is homed but measures {feedback.position[index]:.4g} {unit} instead of '
            f'{self._target[index]:.4g} {unit} (0x607C with the other sign?)'
        )

    def missing(self) -> str:
        """Which drives have to be homed; empty if none."""
        names = [self._names[k] for k in np.flatnonzero(~self.known)]
        if not names:
            return ''
        verb, pronoun = ('is', 'it was') if len(names) == 1 else ('are', 'they were')
        return f'{", ".join(names)} {verb} not homed since {pronoun} switched on: service ~/home'
