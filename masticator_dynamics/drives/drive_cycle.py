# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is sent to and received from all drives in one cycle, in SI units at the joints.

Tuples, since one of each is made in every cycle: a frozen dataclass takes ten times as long.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray


class DriveGoal(enum.Enum):
    """The state of CiA 402 that all drives are to reach together."""

    TORQUE_FREE = 'torque-free'  # voltage disabled
    STOPPED = 'stopped'  # quick stop: slowed down, then torque-free
    ENABLED = 'enabled'  # operation enabled, follows position and effort
    RESET = 'reset'  # faults acknowledged, then torque-free
    HOMING = 'homing'  # torque-free; the present position becomes home


class Action(enum.Enum):
    """An additional frame for a drive that does not obey its PDO."""

    CONTROL_WORD = 'the control word of the goal by SDO'
    ASK_STATUS = 'its status word asked for by SDO'
    NMT_STOP = 'NMT stop'
    NMT_PRE_OPERATIONAL = 'NMT pre-operational'


@dataclasses.dataclass(frozen=True)
class Emergency:
    """A decoded EMCY message; code 0 means that an error has cleared."""

    drive: str
    code: int
    register: int
    text: str


class Feedback(NamedTuple):
    """State of all drives at the end of a cycle; arrays are (n,), in the file's order."""

    time: float  # when the drives took these samples (SYNC), s of ``time.monotonic()``
    status_word: npt.NDArray[np.int64]  # 0x6041, the newest received by PDO or SDO
    # At the joints, rad, rad/s, N m. Position is NaN before a drive's first PDO; velocity is
    # derived from positions, 0 before the second PDO and during homing.
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    fresh: npt.NDArray[np.bool_]  # whether the PDO of this cycle arrived
    missed: npt.NDArray[np.int64]  # PDOs missing in a row, up to this cycle
    lost: npt.NDArray[np.int64]  # PDOs missing in total since the start
    heartbeat_age: FloatArray  # time since the last sign of life, s; infinite before the first
    emergencies: tuple[Emergency, ...]  # received since the last cycle
    # Bus-off, no acknowledgement, frames that cannot be sent; empty while the bus works.
    bus_error: str
    lateness: float  # how late this cycle began, s
    # What came since the last cycle from another master, or from another node in a drive's name;
    # empty when nothing did.
    other_master: str = ''
    restarted: tuple[int, ...] = ()  # indices of drives that have restarted since they were set up


class Setpoint(NamedTuple):
    """What all drives are to do in the next cycle."""

    goal: DriveGoal
    position: FloatArray  # (n,), at the joints, rad; used while the goal is ENABLED
    effort: FloatArray  # (n,), at the joints, N m; used while the goal is ENABLED
    # (n,), of the motion that the efforts are for, rad/s: motors overcome their own friction and
    # gear losses at this velocity. None leaves those to the position loop. Never the measured
    # velocity, which would make a motor that holds a load oscillate.
    velocity: FloatArray | None = None
    actions: tuple[tuple[int, Action], ...] = ()  # frames for drives, by drive index
    # Neither SYNC nor heartbeat is sent, so that the drives' own monitoring acts.
    silent: bool = False


Cycle = Callable[[Feedback], Setpoint]
