# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands on their way to the drives: accepted, refused, or a reason to stop.

Positions are never clamped, since one clamped crank would open the loops; efforts are.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from masticator_dynamics.drives.approach import Approach
from masticator_dynamics.drives.command import Command, Trend
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.desired_motion import DesiredMotion
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback, Setpoint
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.engine.arrays import FloatArray, between, larger, outside

_SMOOTHING = 0.01  # s, for derived velocities: a command may come twice
_LONGEST_AGE = 4.0  # periods that are compensated
# Cycles whose change of step is not known.
HOLDS, BEGINS = 1, 2
_LONGEST_STEP = 5.0  # periods whose effort change may come at once, after skipped cycles
_IN_TIME = 0.25  # periods by which the age of commands may change from one to the next
# Periods over which a motion is joined after a late command. While one is missing, a change a of
# acceleration becomes an offset of 8 a periods^2 (its position, velocity and acceleration, led by
# two periods). A smooth step over N periods has a curvature of at most 6 / N^2 of its height: with
# 5 that is 1.9 a, and not the 8 a of making up for it at once (in time: 4.5 a).
_JOINED = 5.0
_SOFT = (
    0.75  # of the acceleration: a change of step that is made up for at once; joining takes time
)


class _Followed(NamedTuple):
    """A command, and how the motion and the efforts that it belongs to go on."""

    command: Command
    cycle_time: float  # feedback time of the cycle that accepted it, s
    # (n,): commanded or derived from successive positions, rad/s; its rate, rad/s^2.
    velocity: FloatArray
    acceleration: FloatArray
    load: Trend | None  # of the efforts; None where there are none

    def position(self, time: float) -> FloatArray:
        """Positions (n,), rad, a time after the stamp, s."""
        position = self.command.position
        assert position is not None
        return position + time * self.velocity + 0.5 * time * time * self.acceleration

    def rate(self, time: float) -> FloatArray:
        """Velocities (n,), rad/s, a time after the stamp, s."""
        return self.velocity + time * self.acceleration

    def passed(self, now: float, longest: float) -> float:
        """Time (s) since the stamp, by which it is led on top of the time the drives take.

        Without this, the free-running clocks of two nodes would show as jitter. If this process
        was delayed after SYNC, the command arrived that much after it: that time is known, and
        compensating only part of it would cause a jump.
        """
        since = now - self.command.time
        guessed = max(since, 0.0) + self.command.age
        return min(since, 0.0) + min(max(guessed, -longest), longest)


class _Joining(NamedTuple):
    """From where drives were led while a command was late, smoothly to where it leads them.

    Attributes
    ----------
    start, duration : float
        s.
    offset, rate : float arrays (n,)
        At the start, rad and rad/s.
    """

    start: float
    duration: float
    offset: FloatArray
    rate: FloatArray

    def at(self, now: float) -> tuple[FloatArray, FloatArray]:
        """Offset (n,), rad, and its rate (n,), rad/s: a cubic that ends at rest."""
        u = min(max((now - self.start) / self.duration, 0.0), 1.0)
        change = self.duration * self.rate
        offset = ((1.0 + 2.0 * u) * self.offset + u * change) * (1.0 - u) ** 2
        rate = (1.0 - u) * ((1.0 - 3.0 * u) * change - 6.0 * u * self.offset) / self.duration
        return offset, rate


class Following:
    """What was commanded and what was made of it.

    Attributes
    ----------
    offered : Command or None
        The newest one refused for being too far from where the drives are.
    sent, effort : float arrays (n,)
        Position, rad, and effort, N m, of the latest setpoint.
    velocity : float array (n,), optional
        Of the motion that the efforts are for, rad/s; None where no such efforts were commanded.
    extra : float array (n,)
        Added to commanded efforts, N m.
    desired : DesiredMotion, optional
        What commands that carry efforts alone are for.
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

    def __init__(self, limits: DriveJointLimits, drives: Drives):
        self._limits, self._timeout = limits, drives.command_timeout
        self._lead, self._lead_of_effort = drives.lead, drives.lead_of_effort
        self._positions = drives.sends.positions
        self._longest_age = _LONGEST_AGE * limits.period  # s
        self._longest_step = _LONGEST_STEP * limits.period  # s
        none = np.zeros(len(limits.names))
        self.effort = self.extra = self._wanted = none  # N m; `_wanted` is commanded, led
        self.clamped, self.held_back = none.astype(np.int64), none.astype(np.int64)
        self.accepted = self.refused = 0
        self.refusal = ''
        self.desired: DesiredMotion | None = None
        self.begin(none)

    def begin(self, position: FloatArray) -> None:
        """Hold positions (n,) until the first command."""
        self.sent = position
        self.velocity: FloatArray | None = None
        self.offered: Command | None = None
        self.joins = 0
        self._followed: _Followed | None = None
        self._joining: _Joining | None = None
        self._led = 0.0  # s, when positions were led last
        self._rate = np.zeros(len(position))  # rad/s, to there
        self._approach: Approach | None = None
        self._steps = 0
        self._held = False  # the motion was not continued in the latest cycle
        self._begun = -np.inf  # s, of the latest command with which a motion began
        self._gap = 0.0  # s without commands, before one that was taken in this cycle

    @property
    def expected(self) -> FloatArray | None:
        """Positions (n,) where the drives should be; None where they follow efforts."""
        return self.sent if self._positions else None

    @property
    def begun(self) -> bool:
        """Whether a command has been followed since the drives were enabled."""
        return self._followed is not None

    def rest(self) -> None:
        """Give no effort: the next begins at zero."""
        self.effort = np.zeros(len(self._limits.names))

    def go(self, path: Approach) -> None:
        """Follow a path, one row per cycle, whatever is commanded meanwhile."""
        self._approach, self._steps = path, 0

    def on_the_way(self) -> bool:
        """Take the next row of the path; False when there is none left."""
        path = self._approach
        if path is None or self._steps == len(path.position):
            return False
        self.sent, self.velocity = path.position[self._steps], path.velocity[self._steps]
        self._steps += 1
        return True

    def silence(self, now: float) -> float:
        """Time since the latest command, s; 0 before the first."""
        return 0.0 if self._followed is None else now - self._followed.command.time

    def overdue(self, now: float) -> list[Finding]:
        """A quick stop when nothing has been commanded for too long."""
        timeout, silence = self._timeout, self.silence(now)
        if silence <= timeout:
            return []
        text = f'none for {silence:.3g} s (command_timeout {timeout:g} s)'
        return [Finding('commands', 'time-out', text, DriveGoal.STOPPED)]

    def take(self, command: Command | None, feedback: Feedback) -> list[Finding]:
        """Follow the command that has come since the last cycle, or go on with the one before.

        One that is refused changes nothing: the motion before it goes on. It may also be a reason
        to stop.
        """
        self.joins, self._gap = 0, 0.0
        if command is None:
            self._go_on(feedback.time)
            return []
        before, now, sent = self._followed, feedback.time, feedback.position
        reason, findings = self._out_of_date(command), list[Finding]()
        if not reason:
            followed = self._next(command, now)
            if self._positions:
                joining = self._joined(before, followed, now)
                sent = self._position(followed, joining, now)
                reason, findings = self._check(sent, before, followed, feedback)
        if reason:
            self._refuse(reason)
            self._go_on(now)
            return findings
        self.accepted += 1
        self.joins, self._held = self._begins(now), False
        self._followed = followed
        if self._positions:
            self._joining = joining
            self._lead_to(sent, now)
        self.sent = sent
        self.velocity = None if command.effort is None else self._velocity(followed, now)
        self._wanted = self._led_effort(followed, now)
        return findings

    def motion(self, now: float) -> DesiredMotion | None:
        """The desired motion, unless it is not known, or too old to count."""
        desired = self.desired
        if desired is None or now - desired.time > self._timeout:
            return None
        return desired

    def _ahead(self, followed: _Followed, now: float) -> float:
        """From the stamp of a command to when drives are there, s."""
        return self._lead + followed.passed(now, self._longest_age)

    def _lead_to(self, position: FloatArray, now: float) -> None:
        """Send positions (n,), rad."""
        self._rate = (position - self.sent) / max(now - self._led, 0.5 * self._limits.period)
        self.sent, self._led = position, now

    def _position(self, followed: _Followed, joining: _Joining | None, now: float) -> FloatArray:
        """Where drives are led (n,), rad."""
        position = followed.position(self._ahead(followed, now))
        return position if joining is None else position + joining.at(now)[0]

    def _joined(self, before: _Followed | None, followed: _Followed, now: float) -> _Joining | None:
        """How a command continues what the drives were told meanwhile, if it was late.

        Until it came, the motion before it was extrapolated by more than usual, and every change of
        its acceleration counts for more. What is more than such a change is left to be refused.
        """
        joining, led, period = self._joining, self._led, self._limits.period
        if joining is not None and now >= joining.start + joining.duration:
            joining = None
        if before is None or self._held:
            return None
        if max(now, followed.command.time) - before.command.time > self._longest_age:
            return None
        old, new = self._ahead(before, led), self._ahead(followed, led)
        in_time = abs(self._ahead(followed, now) - old) < _IN_TIME * period
        if in_time or followed.command.stamp - before.command.stamp < 0.5 * period:
            return joining
        if joining is None and self._soft(followed, now):
            return None
        offset = before.position(old) - followed.position(new)
        rate = before.rate(old) - followed.rate(new)
        if joining is not None:
            further, faster = joining.at(led)
            offset, rate = offset + further, rate + faster
        if larger(offset, 0.5 * old**2 * self._limits.acceleration):
            return joining
        return _Joining(led, _JOINED * period, offset, rate)

    def _soft(self, followed: _Followed, now: float) -> bool:
        """Whether drives may be led by a command at once."""
        elapsed = max(now - self._led, 0.5 * self._limits.period)
        change = (self._position(followed, None, now) - self.sent) / elapsed - self._rate
        return not larger(change, _SOFT * elapsed * self._limits.acceleration)

    def _velocity(self, followed: _Followed, now: float) -> FloatArray:
        """Velocities (n,) of the motion that the efforts are for, rad/s."""
        command, desired = followed.command, self.motion(now)
        if desired is None or command.velocity is not None or command.position is not None:
            return followed.velocity
        return desired.velocity

    def _next(self, command: Command, now: float) -> _Followed:
        """A command, with the rates that the one before it tells."""
        before, longest, none = self._followed, self._longest_step, np.zeros(len(self.sent))
        velocity, acceleration = none if command.velocity is None else command.velocity, none
        load = None if command.effort is None else Trend.begin(command.stamp, command.effort)
        if before is None:
            return _Followed(command, now, velocity, acceleration, load)
        old, between = before.command, command.stamp - before.command.stamp
        near = 0.0 < between <= longest
        if command.velocity is not None:
            if near and old.velocity is not None:
                acceleration = (command.velocity - old.velocity) / between
        elif command.position is not None and old.position is not None:
            if near:
                rate = (command.position - old.position) / between
                share = between / (between + _SMOOTHING)
                velocity = before.velocity + (rate - before.velocity) * share
            elif between <= 0.0:
                velocity = before.velocity
        if command.effort is not None and before.load is not None:
            load = before.load.then(command.stamp, command.effort, longest)
        return _Followed(command, now, velocity, acceleration, load)

    def _check(
        self, sent: FloatArray, before: _Followed | None, followed: _Followed, feedback: Feedback
    ) -> tuple[str, list[Finding]]:
        """Why a command must not be followed, and what of it stops the drives."""
        command, elapsed = followed.command, np.inf
        assert command.position is not None
        origin = command.position
        if before is None:
            reason = self._limits.far(sent, feedback.position)
            self.offered = command if reason else None
            if reason:
                return reason, []
        else:
            assert before.command.position is not None
            origin = before.command.position
            elapsed = max(command.stamp - before.command.stamp, feedback.time - before.cycle_time)
            elapsed = min(elapsed, self._longest_step)
            # This process may have stood still since SYNC, too.
            self._gap = max(feedback.time, command.time) - before.command.time
        findings = self._limits.command(sent, command.position, command.velocity, origin, elapsed)
        findings = self._with_gap(findings)
        return (str(findings[0]) if findings else ''), findings

    def _go_on(self, now: float) -> None:
        """Continue the latest motion a little when no command has come since the last cycle.

        Sending the same again would make the drives wait for a cycle, and catch up in the next.
        """
        followed = self._followed
        if followed is None:
            return
        command, self._gap = followed.command, 0.0
        # Older than can be compensated.
        self._held = now - command.time + command.age > self._longest_age
        self.joins = HOLDS if self._held else 0
        if self._positions:
            sent = self._position(followed, self._joining, now)
            beyond = outside(sent, self._limits.lower, self._limits.upper)
            self._lead_to(self.sent if beyond else sent, now)
        self._wanted = self._led_effort(followed, now)

    def setpoint(self, elapsed: float) -> Setpoint:
        """What the drives are to do, ``elapsed`` s after the setpoint before."""
        wanted = np.zeros(len(self._limits.names))
        if self._followed is not None:
            wanted = self._wanted + self.extra
        elif self._approach is not None:
            wanted = self._approach.effort[self._steps - 1]
        elapsed = min(max(elapsed, 0.0), self._longest_step)
        self.effort, clamped, held_back = self._limits.limit_effort(wanted, self.effort, elapsed)
        for counts, joints in ((self.clamped, clamped), (self.held_back, held_back)):
            if joints:
                counts[joints] += 1
        return Setpoint(DriveGoal.ENABLED, self.sent, self.effort, self.velocity)

    def take_back(self, findings: list[Finding]) -> list[Finding]:
        """Count the latest command as refused: its setpoint must not be sent.

        Returns the reasons, which also say so when no command had come before it for long.
        """
        findings = self._with_gap(findings)
        self._refuse(str(findings[0]))
        return findings

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self.refusal = reason

    def _led_effort(self, followed: _Followed, now: float) -> FloatArray:
        """What the effort of a command will be while the drives give it; 0 where there is none.

        Only the commands themselves may go beyond a bound.
        """
        load, lead = followed.load, self._lead_of_effort
        if load is None:
            return np.zeros(len(self._limits.names))
        effort = load.values
        if not lead:
            return effort
        bound, led = self._limits.effort, load.ahead(lead + followed.passed(now, self._longest_age))
        if not larger(led, bound):
            return led
        return between(led, np.minimum(-bound, effort), np.maximum(bound, effort))

    def _begins(self, now: float) -> int:
        """`BEGINS` if the drives have held so far, and did not only just begin; else 0.

        Else commands that are all stamped long ago would begin a motion anew, each of them.
        """
        held = self._followed is None or self._held or self._gap > self._longest_age
        if not held or now - self._begun <= self._longest_age:
            return 0
        self._begun = now
        return BEGINS

    def _with_gap(self, findings: list[Finding]) -> list[Finding]:
        if self._gap <= self._longest_age:
            return findings
        after = f'the first command after none for {self._gap:.2g} s'
        return [dataclasses.replace(f, text=f'{f.text}: {after}') for f in findings]

    def _out_of_date(self, command: Command) -> str:
        timeout, before = self._timeout, self._followed
        if abs(command.age) > timeout:
            when = 'in the past' if command.age > 0.0 else 'ahead'
            amount = f'{abs(command.age):.3g} s {when}'
            return f'command is stamped {amount} (command_timeout {timeout:g} s)'
        if before is not None and command.stamp < before.command.stamp:
            late = before.command.stamp - command.stamp
            return f'command is stamped {late:.3g} s before the one that came before'
        return ''
