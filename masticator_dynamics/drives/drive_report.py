# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor of the drives reports."""

from __future__ import annotations

import dataclasses
import enum

from masticator_dynamics.drives.drive_cycle import Feedback, Goal
from masticator_dynamics.drives.findings import Finding
from masticator_dynamics.engine.arrays import FloatArray, IntArray


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


# Phases in which drives move, or hold, the mechanism.
MOVING = (Phase.HOLDING, Phase.APPROACHING, Phase.FOLLOWING)


@dataclasses.dataclass(frozen=True)
class Report:
    """A snapshot; arrays are (n,), in actuated order.

    Attributes
    ----------
    phase : Phase
    goal : Goal
    causes : tuple of Finding
        Latched; the first is the cause of the others.
    text : str
        The causes in one line.
    feedback : Feedback or None
        The newest; None before the first cycle.
    following_error : float array
        Sent minus measured position, rad; zero while no positions are followed.
    emergencies : tuple of str
        Latest EMCY of each drive in words; empty without one.
    temperature : float array
        Of the motors, degrees Celsius; NaN where not known.
    clamped, held_back : int arrays
        Cycles in which an effort was beyond its bound, or changed faster than its rate.
    accepted, refused, not_finite, ignored : int
        Numbers of commands: followed; refused for their content; NaN or infinite; received while
        not enabled.
    refusal : str
        Why the latest one was refused.
    silence : float
        Time since the latest command followed, s; 0 before.
    """

    phase: Phase
    goal: Goal
    causes: tuple[Finding, ...]
    text: str
    feedback: Feedback | None
    following_error: FloatArray
    emergencies: tuple[str, ...]
    temperature: FloatArray
    clamped: IntArray
    held_back: IntArray
    accepted: int
    refused: int
    not_finite: int
    ignored: int
    refusal: str
    silence: float
