# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all drives do in each cycle: requests met, commands accepted, faults latched.

Time is that of the feedback, so the same feedback and commands give the same setpoints.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from masticator_dynamics.drives.approach import checked_approach
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.desired_motion import DesiredMotion
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback, Setpoint
from masticator_dynamics.drives.drive_faults import (
    DriveFaults,
    Finding,
    LatchedFindings,
    Report,
    WatchDeadlines,
)
from masticator_dynamics.drives.escalation import Escalation
from masticator_dynamics.drives.following import Following
from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.drives.loop_closure import check_reference
from masticator_dynamics.drives.phases import GOALS, MOVING, ON, PASSING, Phase
from masticator_dynamics.drives.setpoint_gate import SetpointGate
from masticator_dynamics.drives.state_machine import (
    BoolArray,
    Homing,
    faulted,
    follows,
    in_operation,
    powered,
)
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

# s of feedback time; drives that are not there by then are named.
_ENABLING, _RESETTING, _HOMING = 3.0, 2.0, 3.0
_ARRIVING = 1.0  # s after the end of a way, for drives to get there
_AT_REST = 0.2  # rad/s, more than one encoder count per cycle
_SETTLED = 5  # cycles until status words reflect the latest request

_UNHEARD = 'drives have not been heard of yet'


class Outcome(NamedTuple):
    """Outcome of a request: whether it was accepted or met, and a sentence."""

    success: bool
    message: str


class Supervisor:
    """The cycle of all drives; requests and commands come from other threads.

    Requests begin something and return at once; :meth:`met` tells how it ended.

    Parameters
    ----------
    drives : Drives
        In the mechanism's actuated order.
    mechanism : Mechanism
        Used by the thread that makes requests; the cycle has a copy of its own.

    Attributes
    ----------
    limits : DriveJointLimits
    joints : tuple of str
    stops, emergency_stops : int
        Times that all drives were stopped until reset: for whatever reason, and by an operator.
    deadlines : WatchDeadlines
        Of threads that monitor the drives.
    approach_duration : float
        Of the latest approach, s.

    Raises
    ------
    DescriptionError
        If the two do not match, or a position does not fit into 32 bits of counts.
    """

    def __init__(self, drives: Drives, mechanism: Mechanism):
        self.limits = DriveJointLimits(drives, mechanism)
        self.limits.check_motors(drives)
        self.joints = mechanism.actuated
        self._mechanism, self._drives = mechanism, drives
        self._lock = threading.Lock()
        self._latched = LatchedFindings()
        self._faults = DriveFaults(drives)
        self.deadlines = WatchDeadlines()
        self._escalation = Escalation(drives)
        self._gate = SetpointGate(drives, self.limits, Mechanism(mechanism.description))
        self._following = Following(self.limits, drives)
        self._homing = Homing(drives, mechanism.home.position, self.limits.units)
        self._feedback: Feedback | None = None
        self._mail: Command | None = None
        self._phase, self._since, self._cycles, self._begun = Phase.OFF, 0.0, 0, 0.0
        self._temperature = np.full(len(self.joints), np.nan)
        self._emergencies = [''] * len(self.joints)
        self._not_finite = self._ignored = 0
        self._ended = ''  # why the cycles have ended
        self.stops = self.emergency_stops = 0
        self.approach_duration = 0.0  # s

    def restart(self) -> None:
        """Begin cycles anew: earlier measurements no longer count, latched findings do."""
        with self._lock:
            self._feedback = self._mail = None
            self._ended = ''
            self._temperature = np.full(len(self.joints), np.nan)
            self._following.begin(np.zeros(len(self.joints)))
            self._following.rest()
            self._enter(Phase.LATCHED if self._latched else Phase.OFF)

    def exchange_failed(self, error: Exception) -> None:
        """Note that the cycles have ended: the drives were told to be torque-free."""
        text = f'the exchange with the drives has ended: {error or type(error).__name__}'
        with self._lock:
            self._ended = f'{text}; deactivate and activate the node'
            self._add([Finding('exchange', 'exchange', text, DriveGoal.TORQUE_FREE)])

    # The cycle

    def __call__(self, feedback: Feedback) -> Setpoint:
        """One cycle."""
        with self._lock:
            before, self._feedback = self._feedback, feedback
            if before is None:
                self._begun = self._since = feedback.time
            self._cycles += 1
            self._take_emergencies(feedback)
            self._look(feedback)
            self._advance(feedback)
            self._take_command(feedback)
            elapsed = 0.0 if before is None else feedback.time - before.time
            return self._gated(self._setpoint(feedback, elapsed), feedback, elapsed)

    def _take_emergencies(self, feedback: Feedback) -> None:
        for emergency in feedback.emergencies:
            if emergency.drive in self.joints:
                text = emergency.text if emergency.code else ''
                self._emergencies[self.joints.index(emergency.drive)] = text

    def _look(self, feedback: Feedback) -> None:
        """Latch what stops the drives."""
        grace = feedback.time - self._begun < self._drives.heartbeat.timeout
        acknowledging = self._phase is Phase.RESETTING
        self._add(self._faults.findings(feedback, grace, acknowledging))
        if feedback.other_master:  # what was read last may be another node's answer
            self._temperature = np.full(len(self.joints), np.nan)
        unwatched = self.deadlines.overdue(feedback.time)
        if self._phase in ON:
            self._add(unwatched)
            enabling = self._phase is Phase.ENABLING
            self._add(self.limits.motion(feedback, self._following.expected, enabling))
        if self._phase in MOVING:
            self._add(self._following.overdue(feedback.time))
        self._add(self._escalation.look(feedback, self._goal))

    def _advance(self, feedback: Feedback) -> None:
        """Enter the next phase once the present one has reached its goal."""
        age, settled = feedback.time - self._since, self._cycles > _SETTLED
        if self._phase is Phase.ENABLING:
            there = in_operation(feedback) & follows(feedback)
            held = np.where(there, self._following.sent, feedback.position)
            self._following.begin(held)
            self._end_of_phase(there, True, Phase.HOLDING, age, _ENABLING, 'not enabled')
        elif self._phase is Phase.APPROACHING:
            if not self._following.on_the_way():
                self._arrive(feedback, age - self.approach_duration)
        elif self._phase is Phase.STOPPING:
            self._end_of_phase(~powered(feedback), settled, Phase.OFF, age, np.inf, '')
        elif self._phase is Phase.RESETTING:
            there = ~(faulted(feedback) | powered(feedback))
            self._end_of_phase(there, settled, Phase.OFF, age, _RESETTING, 'not out of fault')
        elif self._phase is Phase.HOMING:
            self._advance_homing(feedback, settled, age)

    def _arrive(self, feedback: Feedback, waited: float) -> None:
        """Hold where the way ends, once drives are there.

        What keeps one away, as food between the teeth, it would press against until it is too hot.
        """
        sent = self._following.sent
        k, away, most = self.limits.farthest(sent, feedback.position)
        if away <= most:
            self._following.begin(sent)
            self._enter(Phase.HOLDING)
        elif waited > _ARRIVING:
            unit = self.limits.units[k]
            text = (
                f'{away:.3g} {unit} short of the end of the way, {_ARRIVING:g} s after it should '
                f'have been there (at most {most:g} {unit}): something holds it'
            )
            self._add([Finding(self.joints[k], 'approach', text, DriveGoal.STOPPED)])

    def _advance_homing(self, feedback: Feedback, settled: bool, age: float) -> None:
        """A drive whose own position did not become home has not been homed."""
        if not settled:  # status words may still be those of an earlier homing
            return
        reached = self._homing.take(feedback)
        if reached.all():
            self._enter(Phase.OFF)
        elif age > _HOMING:
            for k in np.flatnonzero(~reached):
                text = f'{self._homing.why_not(feedback, int(k))} within {_HOMING:g} s'
                self._add([Finding(self.joints[k], 'request', text, DriveGoal.TORQUE_FREE)])

    def _end_of_phase(
        self, there: BoolArray, settled: bool, then: Phase, age: float, limit: float, what: str
    ) -> None:
        if settled and there.all():
            self._enter(then)
        elif age > limit:
            self._give_up('request', ~there, f'{what} within {limit:g} s')

    def _give_up(self, kind: str, which: BoolArray, text: str) -> None:
        if which.any():
            names = [self.joints[k] for k in np.flatnonzero(which)]
            self._add(Finding(name, kind, text, DriveGoal.TORQUE_FREE) for name in names)

    def _take_command(self, feedback: Feedback) -> None:
        command, self._mail = self._mail, None
        if self._phase not in MOVING:
            self._ignored += command is not None
        elif self._phase is not Phase.APPROACHING:
            self._add(self._following.take(command, feedback))
            if self._phase is Phase.HOLDING and self._following.begun:
                self._enter(Phase.FOLLOWING)

    def _setpoint(self, feedback: Feedback, elapsed: float) -> Setpoint:
        following, goal = self._following, self._goal
        if goal is DriveGoal.ENABLED:
            return following.setpoint(elapsed)
        following.rest()
        actions, silent = self._escalation.actions(feedback.time), self._escalation.silent
        return Setpoint(goal, feedback.position, following.effort, None, actions, silent)

    def _gated(self, setpoint: Setpoint, feedback: Feedback, elapsed: float) -> Setpoint:
        """The same setpoint, or a stop."""
        if setpoint.goal is not DriveGoal.ENABLED:
            return setpoint
        if self._phase is Phase.ENABLING:  # where they are
            self._gate.begin(setpoint.position)
        commanded = self._phase is Phase.FOLLOWING
        findings = self._gate.refuse(setpoint, elapsed, commanded, self._following.joins)
        if not findings:
            return setpoint
        self._add(self._following.take_back(findings))
        return self._setpoint(feedback, elapsed)

    # Commands

    def submit(self, command: Command) -> None:
        """Put a command into the mailbox; the next cycle takes the newest."""
        with self._lock:
            self._mail = command

    def not_finite(self) -> None:
        """Count a command with NaN or infinity, once good ones have come; it is never forwarded."""
        with self._lock:
            if self._phase is Phase.FOLLOWING:
                self._not_finite += 1

    def add_effort(self, extra: FloatArray) -> None:
        """Add efforts (n,) to commanded ones from now on, N m; none unless all are finite."""
        with self._lock:
            self._following.extra = extra if np.isfinite(extra).all() else np.zeros_like(extra)

    def desire(self, motion: DesiredMotion) -> None:
        """Take the motion that efforts are for from now on; not unless all of it is finite."""
        if np.isfinite(motion.position).all() and np.isfinite(motion.velocity).all():
            with self._lock:
                self._following.desired = motion

    # Requests

    def enable(self) -> Outcome:
        """Enable all drives, if nothing prevents it.

        They then hold their measured positions, or give no torque in effort mode, until the
        first command.
        """
        with self._lock:
            feedback, on, reason = self._feedback, self._phase in ON, self._why_not()
        if on:
            return Outcome(True, 'already enabled')
        if reason or feedback is None:
            return Outcome(False, reason)
        # Takes milliseconds; the cycle does not wait for it.
        reference = self.check_reference()
        if not reference.success:
            return Outcome(False, f'drives are not referenced: {reference.message}')
        self._gate.locate(feedback.position)
        with self._lock:
            reason = self._why_not()
            if not reason:
                self._following.begin(feedback.position)
                self._enter(Phase.ENABLING)
        return Outcome(not reason, reason or reference.message)

    def approach(self, velocity: float) -> Outcome:
        """Go slowly to the commanded pose, when that is too far to be followed at once.

        Parameters
        ----------
        velocity : float
            Maximum speed of any joint, rad/s.
        """
        with self._lock:
            phase, start, offered = self._phase, self._following.sent, self._following.offered
        if phase is Phase.FOLLOWING:
            return Outcome(True, 'already following commands')
        if phase is not Phase.HOLDING:
            return Outcome(False, f'drives are {phase.value}; they must be enabled')
        if offered is None or offered.position is None:
            return Outcome(False, 'no command has come that is too far to be followed')
        try:
            path = checked_approach(
                self._mechanism, self.limits, self._drives.command_closure, start,
                offered.position, velocity,
            )  # fmt: skip
        except InputError as error:
            return Outcome(False, str(error))
        with self._lock:
            if self._phase is not Phase.HOLDING:
                return Outcome(False, f'drives are {self._phase.value}')
            self.approach_duration = len(path.position) * self.limits.period
            self._following.go(path)
            self._enter(Phase.APPROACHING)
        return Outcome(True, f'on the way for {self.approach_duration:.1f} s')

    @property
    def enabled(self) -> bool:
        """Whether drives are enabled, or being enabled."""
        return self._phase in ON

    def disable(self) -> Outcome:
        """Slow all drives down until they are torque-free."""
        with self._lock:
            if self._phase in ON:
                self._enter(Phase.STOPPING)
            return Outcome(True, f'drives are {self._phase.value}')

    def may_reset(self) -> Outcome:
        """Whether faults may be acknowledged now."""
        with self._lock:
            reason = self._why_not_reset()
        return Outcome(not reason, reason)

    def reset(self, emergency_stops: int | None = None) -> Outcome:
        """Acknowledge faults and forget what is latched; drives stay torque-free.

        Parameters
        ----------
        emergency_stops : int, optional
            How many there had been when the request came: a later one is not forgotten.
        """
        with self._lock:
            if self._phase in ON:
                return Outcome(True, 'nothing to reset: drives are enabled')
            reason = self._why_not_reset()
            if not reason and emergency_stops not in (None, self.emergency_stops):
                reason = f'stopped meanwhile: {self._latched.text}'
            if reason:
                return Outcome(False, reason)
            self._latched.clear()
            self._emergencies = [''] * len(self.joints)
            self._enter(Phase.RESETTING)
        return Outcome(True, 'resetting')

    def may_home(self) -> Outcome:
        """Whether drives may be brought into homing mode now."""
        with self._lock:
            reason = self._why_not_home()
        return Outcome(not reason, reason)

    def home(self, target: FloatArray | None = None) -> Outcome:
        """Make the present positions home, or others (n,); drives must be in homing mode."""
        with self._lock:
            reason = self._why_not_home()
            if not reason:
                self._homing.begin(target)
                self._enter(Phase.HOMING)
        return Outcome(not reason, reason or 'homing')

    def forget_home(self, names: Iterable[str], *, altered: bool = False) -> None:
        """Require drives to be homed before they are enabled.

        Parameters
        ----------
        names : iterable of str
            Drives that may have been without power.
        altered : bool
            Whether their zeros may have been altered, too: then absolute encoders must be homed.
        """
        with self._lock:
            self._homing.forget(names, altered)

    def emergency_stop(self) -> Outcome:
        """Stop all drives quickly, until reset."""
        with self._lock:
            self.emergency_stops += 1
            self._add([Finding('operator', 'emergency stop', 'emergency stop', DriveGoal.STOPPED)])
        if self._ended:
            return Outcome(False, f'drives cannot be told: {self._ended}')
        return Outcome(True, 'emergency stop: all drives stop quickly, until reset')

    def stop(self, finding: Finding) -> None:
        """Stop all drives for a reason found elsewhere, until reset."""
        with self._lock:
            self._add([finding])

    def met(self) -> Outcome | None:
        """How the request under way ended; None while it has not."""
        with self._lock:
            if self._ended:
                return Outcome(False, self._ended)
            if self._phase in PASSING or (self._goal is DriveGoal.STOPPED and self._slowing()):
                return None
            if self._phase is Phase.LATCHED:
                return Outcome(False, self._latched.text)
            return Outcome(True, f'drives are {self._phase.value}')

    def check_reference(self) -> Outcome:
        """Whether the measured positions close the loops; for the thread that makes requests."""
        feedback = self._feedback
        if feedback is None:
            return Outcome(False, _UNHEARD)
        tolerance = self._drives.closure_tolerance
        reference = check_reference(self._mechanism, feedback.position, tolerance)
        return Outcome(reference.closed, reference.text)

    # What is known and reported

    def set_temperature(self, temperature: FloatArray) -> None:
        """Set motor temperatures (n,), degrees Celsius, NaN: unknown; too hot stops the drives."""
        with self._lock:
            self._temperature = temperature
            if self._phase in ON:
                self._add(self.limits.overheated(temperature))

    def report(self) -> Report:
        """A snapshot of everything there is to report."""
        following = self._following
        with self._lock:
            error = np.zeros(len(self.joints))
            feedback, expected = self._feedback, following.expected
            if feedback is not None and expected is not None and self._phase in MOVING:
                error = expected - feedback.position
            return Report(
                self._phase,
                self._goal,
                self._latched.findings,
                self._latched.text,
                self._feedback,
                error,
                tuple(self._emergencies),
                self._temperature,
                following.clamped.copy(),
                following.held_back.copy(),
                following.accepted,
                following.refused,
                self._not_finite,
                self._ignored,
                following.refusal,
                0.0 if feedback is None else following.silence(feedback.time),
                self._off_desired(feedback),
            )

    def _off_desired(self, feedback: Feedback | None) -> FloatArray | None:
        motion = None if feedback is None else self._following.motion(feedback.time)
        if feedback is None or motion is None:
            return None
        return motion.distance(feedback.position, feedback.time)

    def _why_not(self) -> str:
        """What prevents enabling right now; empty if nothing does."""
        feedback, limits = self._feedback, self.limits
        if self._ended:
            return self._ended
        if self._latched:
            return f'stopped until reset: {self._latched.text}'
        if self._phase is not Phase.OFF:
            return f'drives are {self._phase.value}'
        if feedback is None:
            return _UNHEARD
        silent = ~np.isfinite(feedback.heartbeat_age) | ~np.isfinite(feedback.position)
        if silent.any():
            return f'{self.joints[int(np.argmax(silent))]} is not answering'
        findings = [
            *limits.out_of_range(feedback),
            *limits.overheated(self._temperature),
            *self.deadlines.overdue(feedback.time),
        ]
        return str(findings[0]) if findings else self._homing.missing()

    def _why_not_reset(self) -> str:
        if self._ended:
            return self._ended
        if self._feedback is None:
            return _UNHEARD
        if self._phase in (*ON, *PASSING):
            return f'drives are {self._phase.value}; not yet'
        if self._goal is DriveGoal.STOPPED and self._slowing():
            return 'drives are still slowing down'
        # Each request would begin the escalation anew, which would never end.
        return 'drives still give torque; not yet' if self._escalation.under_way else ''

    def _why_not_home(self) -> str:
        if self._ended:
            return self._ended
        if self._latched:
            return f'stopped until reset: {self._latched.text}'
        if self._feedback is None:
            return _UNHEARD
        if self._phase is not Phase.OFF or powered(self._feedback).any():
            return f'drives are {self._phase.value}; they must be torque-free to be homed'
        speed = np.abs(self._feedback.velocity)
        if (speed > _AT_REST).any():
            fastest = int(np.argmax(speed))
            unit = self.limits.units[fastest]
            return f'{self.joints[fastest]} still moves, at {speed[fastest]:.2g} {unit}/s'
        return ''

    def _slowing(self) -> bool:
        """Whether drives that were told to stop still give torque."""
        feedback = self._feedback
        return feedback is not None and bool((powered(feedback) & feedback.fresh).any())

    # Phases

    @property
    def _goal(self) -> DriveGoal:
        return self._latched.goal if self._phase is Phase.LATCHED else GOALS[self._phase]

    def _enter(self, phase: Phase) -> None:
        self._phase, self._cycles = phase, 0
        self._since = 0.0 if self._feedback is None else self._feedback.time

    def _add(self, findings: Iterable[Finding]) -> None:
        if not findings:
            return
        goal = self._goal
        if self._latched.add(findings) and (self._phase is not Phase.LATCHED or goal != self._goal):
            self.stops += self._phase is not Phase.LATCHED
            self._enter(Phase.LATCHED)
