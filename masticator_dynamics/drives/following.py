# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands on their way to the drives: accepted, refused, or a reason to stop.

Positions are never clamped, since one clamped crank would open the loops; efforts are.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.drives.approach import Approach
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.cycle import Feedback, Goal
from masticator_dynamics.drives.safety import DriveGuard, Finding
from masticator_dynamics.drives.trend import Trend
from masticator_dynamics.engine.arrays import FloatArray

_SMOOTHING = 0.01  # s, for derived velocities: a command may come twice
_LONGEST_AGE = 4.0  # periods that are compensated
# Cycles whose change of step is not known.
HOLDS, BEGINS = 1, 2
_LONGEST_STEP = 5.0  # periods whose effort change may come at once, after skipped cycles


class Following:
    """What was commanded and what was made of it.

    Parameters
    ----------
    guard : DriveGuard
    drives : Drives

    Attributes
    ----------
    command : Command or None
        The one being followed; None before the first since the drives were enabled.
    offered : Command or None
        The newest one refused for being too far from where the drives are.
    sent, effort : float arrays (n,)
        Position, rad, and effort, N m, of the latest setpoint.
    velocity : float array (n,), optional
        rad/s of the motion that the efforts are for; None where no such efforts were commanded.
    extra : float array (n,)
        N m, added to commanded efforts.
    clamped, held_back : int arrays (n,)
        Cycles in which an effort was beyond its bound, or changed faster than its rate.
    accepted, refused : int
        Numbers of commands.
    refusal : str
        Why the latest one was refused.
    joins : int
        `BEGINS` if a motion began or was resumed in this cycle, `HOLDS` if it was not continued,
        else 0.
    """

    def __init__(self, guard: DriveGuard, drives: Drives):
        self._guard, self._drives = guard, drives
        self._positions = drives.mode == 'position'
        self.command: Command | None = None
        self.offered: Command | None = None
        self.velocity: FloatArray | None = None
        self._changed = 0.0  # s, of the cycle that took the command
        self._commanded = np.zeros(len(guard.names))  # rad/s
        self._moved: _Motion | None = None  # of commanded positions
        self._loaded: Trend | None = None  # of commanded efforts
        self._way: Approach | None = None
        self._steps = 0
        none = np.zeros(len(guard.names))
        self.sent, self.effort, self.extra = none, none, none
        self._wanted = none  # N m, of the command while the drives give it
        self.clamped, self.held_back = none.astype(np.int64), none.astype(np.int64)
        self.accepted = self.refused = 0
        self.refusal, self.joins = '', 0
        self._held = False  # the motion was not continued in the latest cycle
        self._begun = -np.inf  # s, of the latest command with which a motion began
        self._gap = 0.0  # s without commands, before one that was taken in this cycle

    @property
    def expected(self) -> FloatArray | None:
        """Positions (n,) where the drives should be; None where they follow efforts."""
        return self.sent if self._positions else None

    def begin(self, position: FloatArray) -> None:
        """Hold positions (n,) until the first command."""
        self.sent, self.command, self.velocity = position, None, None
        self._gap, self._held, self._begun = 0.0, False, -np.inf
        self._commanded = np.zeros(len(position))
        self.offered = self._way = self._moved = self._loaded = None

    def rest(self) -> None:
        """Give no effort: the next begins at zero."""
        self.effort = np.zeros(len(self._guard.names))

    def go(self, way: Approach) -> None:
        """Follow a path, one row per cycle, whatever is commanded meanwhile."""
        self._way, self._steps = way, 0

    def on_the_way(self) -> bool:
        """Take the next row of the path; False when there is none left."""
        way = self._way
        if way is None or self._steps == len(way.position):
            return False
        self.sent, self.velocity = way.position[self._steps], way.velocity[self._steps]
        self._steps += 1
        return True

    def silence(self, now: float) -> float:
        """Time since the latest command, s; 0 before the first."""
        return 0.0 if self.command is None else now - self.command.time

    def overdue(self, now: float) -> list[Finding]:
        """A quick stop when nothing has been commanded for too long."""
        timeout, silence = self._drives.command_timeout, self.silence(now)
        if silence <= timeout:
            return []
        text = f'none for {silence:.3g} s (command_timeout {timeout:g} s)'
        return [Finding('commands', 'time-out', text, Goal.STOPPED)]

    def consider(self, command: Command, feedback: Feedback) -> list[Finding]:
        """Follow a command, or refuse it; it may also be a reason to stop.

        One that is refused changes nothing: the motion before it goes on.
        """
        sent, found, reason = feedback.position, [], self._out_of_date(command)
        self._gap = 0.0
        moved: _Motion | None = None
        if not reason and self._positions:
            assert command.position is not None
            moved = self._motion(command)
            sent = moved.ahead(self._drives.lead + self._passed(command, feedback.time))
            position, before = command.position, command.position
            if self.command is None:
                reason, elapsed = self._guard.far(sent, feedback.position), np.inf
                self.offered = command if reason else None
            else:
                assert self.command.position is not None
                before = self.command.position
                elapsed = max(command.stamp - self.command.stamp, feedback.time - self._changed)
                elapsed = min(elapsed, _LONGEST_STEP * self._guard.period)
                # This process may have stood still since SYNC, too.
                self._gap = max(feedback.time, command.time) - self.command.time
            if not reason:
                found = self._guard.command(sent, position, command.velocity, before, elapsed)
                found = self.with_gap(found)
                reason = str(found[0]) if found else ''
        if reason:
            self.refused += 1
            self.refusal = reason
            self.go_on(feedback.time)
        else:
            self.joins, self._held = self._begins(feedback.time), False
            self.accepted += 1
            moving = self._velocity(command)
            self.sent, self.command, self._changed = sent, command, feedback.time
            self._commanded = moving
            self.velocity = None if command.effort is None else moving
            self._moved, self._loaded = moved, self._load(command)
            self._wanted = self._led_effort(command, feedback.time)
        return found

    def go_on(self, now: float) -> None:
        """Continue the latest motion a little when no command has come since the last cycle.

        Sending the same again would make the drives wait for a cycle, and catch up in the next.
        """
        command = self.command
        if command is None:
            return
        self._held, self._gap = self._too_old(command, now), 0.0
        self.joins = HOLDS if self._held else 0
        if self._moved is not None:
            sent = self._moved.ahead(self._drives.lead + self._passed(command, now))
            if ((sent >= self._guard.lower) & (sent <= self._guard.upper)).all():
                self.sent = sent
        self._wanted = self._led_effort(command, now)

    def next_effort(self, elapsed: float) -> FloatArray:
        """Effort (n,) of the next setpoint, N m, ``elapsed`` s after the one before."""
        wanted = np.zeros(len(self._guard.names))
        if self.command is not None:
            wanted = self._wanted + self.extra
        elif self._way is not None:
            wanted = self._way.effort[self._steps - 1]
        elapsed = min(max(elapsed, 0.0), _LONGEST_STEP * self._guard.period)
        self.effort, clamped, held_back = self._guard.limit_effort(wanted, self.effort, elapsed)
        self.clamped += clamped
        self.held_back += held_back
        return self.effort

    def _motion(self, command: Command) -> _Motion:
        """Position and velocity of a command, and how the velocity has changed lately."""
        assert command.position is not None
        velocity, before = self._velocity(command), self.command
        acceleration = np.zeros(len(velocity))
        if command.velocity is not None and before is not None and before.velocity is not None:
            between = command.stamp - before.stamp
            if 0.0 < between <= _LONGEST_STEP * self._guard.period:
                acceleration = (command.velocity - before.velocity) / between
        return _Motion(command.position, velocity, acceleration)

    def _load(self, command: Command) -> Trend | None:
        """Effort of a command, and how it has changed; None where there is none."""
        if command.effort is None:
            return None
        if self._loaded is None:
            return Trend.begin(command.stamp, command.effort)
        return self._loaded.then(command.stamp, command.effort, _LONGEST_STEP * self._guard.period)

    def _led_effort(self, command: Command, now: float) -> FloatArray:
        """What the effort of a command will be while the drives give it; 0 where there is none.

        Only the commands themselves may go beyond a bound.
        """
        loaded, lead = self._loaded, self._drives.lead_of_effort
        if loaded is None:
            return np.zeros(len(self._guard.names))
        effort = loaded.values
        if not lead:
            return effort
        bound, led = self._guard.effort, loaded.ahead(lead + self._passed(command, now))
        return np.clip(led, np.minimum(-bound, effort), np.maximum(bound, effort))

    def _passed(self, command: Command, now: float) -> float:
        """Time (s) since a command's stamp, by which it is led on top of the time the drives take.

        Without this, the free-running clocks of two nodes would show as jitter. If this process
        was delayed after SYNC, the command arrived that much after it: that time is known, and
        compensating only part of it would cause a jump.
        """
        longest, since = _LONGEST_AGE * self._guard.period, now - command.time
        guessed = max(since, 0.0) + command.age
        return min(since, 0.0) + min(max(guessed, -longest), longest)

    def _too_old(self, command: Command, now: float) -> bool:
        """Whether a command is older than can be compensated."""
        return now - command.time + command.age > _LONGEST_AGE * self._guard.period

    def _begins(self, now: float) -> int:
        """`BEGINS` if the drives have held so far, and did not only just begin; else 0.

        Else commands that are all stamped long ago would begin a motion anew, each of them.
        """
        longest = _LONGEST_AGE * self._guard.period
        held = self.command is None or self._held or self._gap > longest
        if not held or now - self._begun <= longest:
            return 0
        self._begun = now
        return BEGINS

    def with_gap(self, findings: list[Finding]) -> list[Finding]:
        """Findings about a command, which also say so when none had come before it for long."""
        if self._gap <= _LONGEST_AGE * self._guard.period:
            return findings
        after = f'the first command after none for {self._gap:.2g} s'
        return [dataclasses.replace(one, text=f'{one.text}: {after}') for one in findings]

    def take_back(self, reason: str) -> None:
        """Count the latest command as refused: its setpoint must not be sent."""
        self.refused += 1
        self.refusal = reason

    def _velocity(self, command: Command) -> FloatArray:
        """Velocity of a command; if not given, derived from successive positions and smoothed."""
        before, none = self.command, np.zeros(len(self._guard.names))
        if command.velocity is not None:
            return command.velocity
        if before is None or before.position is None or command.position is None:
            return none
        between = command.stamp - before.stamp
        if not 0.0 < between <= _LONGEST_STEP * self._guard.period:
            return none if between > 0.0 else self._commanded
        rate = (command.position - before.position) / between
        return self._commanded + (rate - self._commanded) * (between / (between + _SMOOTHING))

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


@dataclasses.dataclass(frozen=True)
class _Motion:
    """Positions (n,), rad, their velocities and accelerations."""

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    def ahead(self, time: float) -> FloatArray:
        """Positions (n,) after a time, s."""
        return _ahead(self.position, self.velocity, self.acceleration, time)


def _ahead(
    position: FloatArray, velocity: FloatArray, acceleration: FloatArray | float, time: float
) -> FloatArray:
    """Positions (n,) that a motion will have after a time, s."""
    return position + time * velocity + 0.5 * time * time * acceleration
