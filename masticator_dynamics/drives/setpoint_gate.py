# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The last check of what is sent to the drives, whatever its origin.

Each setpoint is checked against the one before: position, step, change of step, closure of the
loops, effort, effort rate, velocity. One beyond a limit is neither sent nor clamped, since one
clamped crank would open the loops: all drives stop.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.closure_checks import CommandedClosure
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Goal, Setpoint
from masticator_dynamics.drives.drive_report import Finding
from masticator_dynamics.drives.following import BEGINS
from masticator_dynamics.drives.joint_limits import FIRST_STEP, JointLimits
from masticator_dynamics.drives.state_machine import BoolArray
from masticator_dynamics.engine.arrays import FloatArray
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
    drives : Drives
    limits : JointLimits
        Its limits.
    mechanism : Mechanism
        Used only by the cycle thread.
    """

    def __init__(self, drives: Drives, limits: JointLimits, mechanism: Mechanism):
        self._limits, self._positions = limits, drives.mode == 'position'
        self._closure = CommandedClosure(mechanism)
        self._tolerance = drives.command_closure
        self._acceleration = limits.acceleration
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
        found = self._check_efforts(setpoint, elapsed)
        rate = self._rate
        if self._positions:
            rate = (setpoint.position - self._position) / elapsed
            found += self._check_positions(setpoint.position, rate, elapsed)
            if not found:
                error = self._closure.error(setpoint.position)
                if commanded and np.abs(error).max() > self._tolerance:
                    found = [opening(self._limits, self._closure, self._tolerance)]
        if not found:
            self._position, self._rate, self._effort = setpoint.position, rate, setpoint.effort
            self._elapsed, self._joining = elapsed, max(self._joining - 1, 0)
        return found

    def _check_positions(
        self, position: FloatArray, rate: FloatArray, elapsed: float
    ) -> list[Finding]:
        limits, before = self._limits, self._position
        # Drives may be enabled inside a margin, but not be led farther into it.
        lower, upper = np.minimum(limits.lower, before), np.maximum(limits.upper, before)
        inside = (position >= lower) & (position <= upper)
        largest = limits.velocity * _ROUNDING
        if elapsed > _GAP * limits.period:
            largest = largest * (_AFTER_GAP * limits.period / elapsed)
        if self._joining == BEGINS:
            largest = np.maximum(largest, FIRST_STEP * limits.following_error / elapsed)
        slow = np.abs(rate) <= largest
        change = (rate - self._rate) / (0.5 * (elapsed + (self._elapsed or elapsed)))
        smooth = np.abs(change) <= self._acceleration * _ROUNDING
        if self._joining:
            smooth |= True
        if (inside & slow & smooth).all():
            return []
        return [
            *self._each('setpoint position', ~inside, position, '', limits.upper),
            *self._each('setpoint step', inside & ~slow, rate, '/s', largest),
            *self._each(
                'setpoint change of step', inside & slow & ~smooth, change, '/s^2',
                self._acceleration,
            ),
        ]  # fmt: skip

    def _check_efforts(self, setpoint: Setpoint, elapsed: float) -> list[Finding]:
        limits, effort, velocity = self._limits, setpoint.effort, setpoint.velocity
        rate = (effort - self._effort) / elapsed
        small = np.abs(effort) <= limits.effort * _ROUNDING
        gradual = np.abs(rate) <= limits.effort_rate * _ROUNDING
        slow = small | True if velocity is None else np.abs(velocity) <= limits.velocity * _ROUNDING
        if (small & gradual & slow).all():
            return []
        found = [
            *self._each('setpoint effort', ~small, effort, '', limits.effort),
            *self._each('setpoint effort rate', small & ~gradual, rate, '/s', limits.effort_rate),
        ]
        if velocity is not None:
            found += self._each('setpoint velocity', ~slow, velocity, '/s', limits.velocity)
        return found

    def _each(
        self, what: str, which: BoolArray, values: FloatArray, per: str, limits: FloatArray
    ) -> list[Finding]:
        found = []
        for k in np.flatnonzero(which).tolist():
            unit = _EFFORT[self._limits.units[k]] if 'effort' in what else self._limits.units[k]
            text = f'{what} {values[k]:.4g} {unit}{per} is beyond {limits[k]:.4g}'
            found.append(Finding(self._limits.names[k], what, text, Goal.STOPPED))
        return found


def opening(limits: JointLimits, closure: CommandedClosure, tolerance: float) -> Finding:
    """What is wrong with the positions that the closure looked at last, beyond the tolerance.

    Parameters
    ----------
    limits : JointLimits
        For names and units.
    closure : CommandedClosure
        Has looked at the positions.
    tolerance : float
        For the message: by how much they may be off, m or rad.
    """
    k, amount = closure.off()
    unit, left = limits.units[k], np.abs(closure.latest).max()
    text = (
        f'commanded positions do not close the loops: it is off by {amount:.3g} {unit}, which '
        f'would leave {left:.3g} {unit} (command_closure {tolerance:g})'
    )
    return Finding(limits.names[k], 'commanded closure', text, Goal.STOPPED)
