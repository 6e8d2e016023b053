# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands on their way to the drives: let through, refused, or a reason to stop.

Positions are never clamped, since one clamped crank would open the loops; efforts are.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.cycle import Feedback, Goal
from masticator_dynamics.drives.safety import Finding, Guard
from masticator_dynamics.engine.arrays import FloatArray

_OLDEST = 2.0  # periods by which commands are led for their age, at most
_LONGEST_STEP = 5.0  # periods for which efforts may change at once, after cycles were left out


class Following:
    """What was commanded and what was made of it.

    Parameters
    ----------
    guard : Guard
    drives : Drives

    Attributes
    ----------
    command : Command or None
        The one that is followed; None until the first since the drives were enabled.
    sent, effort : float arrays (n,)
        Position, rad, and effort, N m, of the latest setpoint.
    extra : float array (n,)
        N m, added to efforts of commands.
    clamped, held_back : int arrays (n,)
        Cycles in which an effort was beyond its bound, or changed faster than its rate.
    accepted, refused : int
        Commands.
    refusal : str
        Why the latest one was refused.
    """

    def __init__(self, guard: Guard, drives: Drives):
        self._guard, self._drives = guard, drives
        self._positions = drives.mode == 'position'
        self.command: Command | None = None
        none = np.zeros(len(guard.names))
        self.sent, self.effort, self.extra = none, none, none
        self.clamped, self.held_back = none.astype(np.int64), none.astype(np.int64)
        self.accepted = self.refused = 0
        self.refusal = ''

    @property
    def expected(self) -> FloatArray | None:
        """Positions (n,) where the drives should be; None where they follow efforts."""
        return self.sent if self._positions else None

    def begin(self, position: FloatArray) -> None:
        """Hold positions (n,) until the first command."""
        self.sent, self.command = position, None

    def rest(self) -> None:
        """No effort: the next begins at zero."""
        self.effort = np.zeros(len(self._guard.names))

    def overdue(self, now: float) -> list[Finding]:
        """Nothing has been commanded for too long: quick stop."""
        silence = 0.0 if self.command is None else now - self.command.time
        timeout = self._drives.command_timeout
        if silence <= timeout:
            return []
        text = f'none for {silence:.3g} s (command_timeout {timeout:g} s)'
        return [Finding('commands', 'time-out', text, Goal.STOPPED)]

    def consider(self, command: Command, feedback: Feedback) -> list[Finding]:
        """Follow a command, or refuse it; what it asks for may be a reason to stop."""
        sent, found, reason = feedback.position, [], self._out_of_date(command)
        if not reason and self._positions:
            assert command.position is not None
            sent = command.position
            if command.velocity is not None:
                sent = sent + command.velocity * self._lead(command, feedback)
            if self.command is None:
                reason, elapsed = self._guard.far(sent, feedback.position), np.inf
            else:
                elapsed = command.stamp - self.command.stamp
            if not reason:
                found = self._guard.command(sent, command.velocity, self.sent, elapsed)
                reason = str(found[0]) if found else ''
        if reason:
            self.refused += 1
            self.refusal = reason
        else:
            self.accepted += 1
            self.sent, self.command = sent, command
        return found

    def next_effort(self, elapsed: float) -> FloatArray:
        """Effort (n,) of the next setpoint, N m, ``elapsed`` s after the one before."""
        wanted = np.zeros(len(self._guard.names))
        if self.command is not None:
            if self.command.effort is not None:
                wanted = self.command.effort
            wanted = wanted + self.extra
        elapsed = min(max(elapsed, 0.0), _LONGEST_STEP * self._guard.period)
        self.effort, clamped, held_back = self._guard.limit_effort(wanted, self.effort, elapsed)
        self.clamped += clamped
        self.held_back += held_back
        return self.effort

    def _lead(self, command: Command, feedback: Feedback) -> float:
        """How far (s) positions are led: from the stamp to this SYNC, and on to the drives.

        Without the former a motion would lag by what the sender's phase and the way here happen to
        take.
        """
        age = command.age + feedback.time - command.time
        most = _OLDEST * self._guard.period
        return self._drives.command_lead + min(max(age, -most), most)

    def _out_of_date(self, command: Command) -> str:
        timeout = self._drives.command_timeout
        if abs(command.age) > timeout:
            when = 'in the past' if command.age > 0.0 else 'ahead'
            amount = f'{abs(command.age):.3g} s {when}'
            return f'command is stamped {amount} (command_timeout {timeout:g} s)'
        if self.command is not None and command.stamp < self.command.stamp:
            late = self.command.stamp - command.stamp
            return f'command is stamped {late:.3g} s before the one that came before'
        return ''
