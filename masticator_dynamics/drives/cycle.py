# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What goes to and comes from all drives in one cycle, in SI units at the joints."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray


class Goal(enum.Enum):
    """The state of CiA 402 that all drives are to reach together."""

    TORQUE_FREE = 'torque-free'  # voltage disabled
    STOPPED = 'stopped'  # quick stop: slowed down, then torque-free
    ENABLED = 'enabled'  # operation enabled, follows position and effort
    HALTED = 'halted'  # those enabled slow down and hold; the others stay torque-free
    RESET = 'reset'  # faults acknowledged, then torque-free
    HOMING = 'homing'  # torque-free; the position where they are becomes home


class Action(enum.Enum):
    """A frame for one drive beside its PDO, when it does not obey that."""

    CONTROL_WORD = 'the control word of the goal by SDO'
    ASK_STATUS = 'its status word asked for by SDO'
    NMT_STOP = 'NMT stop'
    NMT_PRE_OPERATIONAL = 'NMT pre-operational'


@dataclasses.dataclass(frozen=True)
class Emergency:
    """An EMCY message, decoded; code 0 says that an error has gone."""

    drive: str
    code: int
    register: int
    text: str


@dataclasses.dataclass(frozen=True)
class Feedback:
    """What is known of all drives at the end of a cycle; arrays are (n,), in the file's order.

    Attributes
    ----------
    time : float
        s, of ``time.monotonic()``, when the drives took these samples (SYNC).
    status_word : int array
        0x6041, the newest that came by PDO or SDO.
    position, velocity, effort : float arrays
        rad, rad/s, N m at the joints. Position is NaN before a drive's first PDO; velocity is
        derived from positions, 0 before the second PDO and during homing.
    fresh : bool array
        Whether the PDO of this cycle came.
    missed : int array
        PDOs missing in a row, up to this cycle.
    lost : int array
        PDOs missing since the start.
    heartbeat_age : float array
        s since the last sign of life; infinite before the first.
    emergencies : tuple of Emergency
        That came since the last cycle.
    bus_error : str
        Bus-off, no acknowledgement, frames that cannot be sent; empty while the bus works.
    lateness : float
        s that this cycle began after it was due.
    other_master : str
        What came from another master since the last cycle; empty when nothing did.
    """

    time: float
    status_word: npt.NDArray[np.int64]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    fresh: npt.NDArray[np.bool_]
    missed: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    heartbeat_age: FloatArray
    emergencies: tuple[Emergency, ...]
    bus_error: str
    lateness: float
    other_master: str = ''


@dataclasses.dataclass(frozen=True)
class Setpoint:
    """What all drives are to do in the next cycle.

    Attributes
    ----------
    goal : Goal
    position, effort : float arrays (n,)
        rad and N m at the joints; used while the goal is ENABLED.
    velocity : float array (n,), optional
        rad/s of the motion that the efforts are for: motors overcome their own friction and the
        losses of their gears at this velocity. None: those are left to the position loop. Never
        the measured velocity, with which a motor that holds a load would swing.
    actions : tuple of (int, Action)
        Frames for drives, by their index.
    silent : bool
        Neither SYNC nor heartbeat is sent, so that the drives' own watch acts.
    """

    goal: Goal
    position: FloatArray
    effort: FloatArray
    velocity: FloatArray | None = None
    actions: tuple[tuple[int, Action], ...] = ()
    silent: bool = False


Cycle = Callable[[Feedback], Setpoint]
