# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The last check of what is sent to the drives, whatever its origin.

Each setpoint is checked against the one before: position, step, change of step, closure of the
loops, effort, effort rate, velocity. One beyond a limit is neither sent nor clamped, since one
clamped crank would open the loops: all drives stop.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import DriveGoal, Setpoint
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.following import BEGINS
from masticator_dynamics.drives.joint_limits import FIRST_STEP, DriveJointLimits
from masticator_dynamics.drives.loop_closure import CommandedClosure, opening
from masticator_dynamics.engine.arrays import FloatArray, larger, outside, within
from masticator_dynamics.mechanism import Mechanism

_SHORTEST, _LONGEST = 0.5, 5.0  # periods between two setpoints that count as such
_GAP = 4.0  # periods without a setpoint, after which drives have come to hold
_AFTER_GAP = 2.0  # periods of motion that drives may make up for in one, after they have held
_EFFORT = {'rad': 'N m', 'm': 'N'}
_ROUNDING = 1.0 + 1e-9


class SetpointGate:
    """Accepts setpoints, or says why not.

    Parameters
    ----------
    mechanism : Mechanism
        Used only by the cycle thread.
    """

    def __init__(self, drives: Drives, limits: DriveJointLimits, mechanism: Mechanism):
        self._limits, self._positions = limits, drives.sends.positions
        self._closure = CommandedClosure(mechanism)
        self._tolerance = drives.command_closure
        self._most_effort, self._most_rate, self._most_velocity, self._most_acceleration = (
            limit * _ROUNDING
            for limit in (limits.effort, limits.effort_rate, limits.velocity, limits.acceleration)
        )
        self.begin(np.zeros(len(limits.names)))

    def begin(self, position: FloatArray) -> None:
        """Begin with drives that hold these positions (n,), without effort."""
        none = np.zeros(len(position))
        self._position, self._rate, self._effort = position, none, none
        self._elapsed, self._joining = 0.0, 0

    def locate(self, position: FloatArray) -> None:
        """Locate the mechanism near positions (n,); takes milliseconds (raises `ReachError`)."""
        self._closure.begin(position)

    def refuse(
        self, setpoint: Setpoint, elapsed: float, commanded: bool, joins: int
    ) -> list[Finding]:
        """Reasons not to send a setpoint; if there are none, remember it as sent.

        Parameters
        ----------
        setpoint : Setpoint
            With goal ENABLED.
        elapsed : float
            Time since the previous one, s.
        commanded : bool
            Whether positions come from a command and so must close the loops.
        joins : int
            Cycles, from this one on, whose change of step is not known: `BEGINS` where a motion
            begins or is resumed, whose first step may be that of a first command; `HOLDS` where it
            is no longer continued; else 0.
        """
        self._joining = max(self._joining, joins)
        period = self._limits.period
        elapsed = min(max(elapsed, _SHORTEST * period), _LONGEST * period)
        findings = self._check_efforts(setpoint, elapsed)
        rate = self._rate
        if self._positions:
            rate = (setpoint.position - self._position) / elapsed
            findings += self._check_positions(setpoint.position, rate, elapsed)
            if not findings:
                error = self._closure.error(setpoint.position)
                if commanded and not within(error, self._tolerance):
                    findings = [opening(self._limits, self._closure, self._tolerance)]
        if not findings:
            self._position, self._rate, self._effort = setpoint.position, rate, setpoint.effort
            self._elapsed, self._joining = elapsed, max(self._joining - 1, 0)
        return findings

    def _check_positions(
        self, position: FloatArray, rate: FloatArray, elapsed: float
    ) -> list[Finding]:
        limits, before = self._limits, self._position
        # Drives may be enabled inside a margin, but not be led farther into it.
        beyond = outside(position, limits.lower, limits.upper)
        if beyond:
            lower, upper = np.minimum(limits.lower, before), np.maximum(limits.upper, before)
            beyond = outside(position, lower, upper)
        largest = self._most_velocity
        if elapsed > _GAP * limits.period:
            largest = largest * (_AFTER_GAP * limits.period / elapsed)
        if self._joining == BEGINS:
            largest = np.maximum(largest, FIRST_STEP * limits.following_error / elapsed)
        fast, sharp = larger(rate, largest), list[int]()
        change = (rate - self._rate) / (0.5 * (elapsed + (self._elapsed or elapsed)))
        if not self._joining:
            sharp = larger(change, self._most_acceleration)
        if not (beyond or fast or sharp):
            return []
        each, fast = self._each, sorted({*fast} - {*beyond})
        sharp = sorted({*sharp} - {*beyond, *fast})
        return [
            *each('setpoint position', beyond, position, '', limits.upper),
            *each('setpoint step', fast, rate, '/s', largest),
            *each('setpoint change of step', sharp, change, '/s^2', limits.acceleration),
        ]

    def _check_efforts(self, setpoint: Setpoint, elapsed: float) -> list[Finding]:
        limits, effort, velocity = self._limits, setpoint.effort, setpoint.velocity
        rate = (effort - self._effort) / elapsed
        large = larger(effort, self._most_effort)
        steep = larger(rate, self._most_rate)
        fast = [] if velocity is None else larger(velocity, self._most_velocity)
        if not (large or steep or fast):
            return []
        steep = sorted({*steep} - {*large})
        findings = [
            *self._each('setpoint effort', large, effort, '', limits.effort),
            *self._each('setpoint effort rate', steep, rate, '/s', limits.effort_rate),
        ]
        if velocity is not None:
            findings += self._each('setpoint velocity', fast, velocity, '/s', limits.velocity)
        return findings

    def _each(
        self, what: str, which: list[int], values: FloatArray, per: str, limits: FloatArray
    ) -> list[Finding]:
        findings = []
        for k in which:
            unit = _EFFORT[self._limits.units[k]] if 'effort' in what else self._limits.units[k]
            text = f'{what} {values[k]:.4g} {unit}{per} is beyond {limits[k]:.4g}'
            findings.append(Finding(self._limits.names[k], what, text, DriveGoal.STOPPED))
        return findings
