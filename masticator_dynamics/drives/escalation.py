# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A stop that step by step takes torque away from drives that do not obey.

Every stop begins with a control word by PDO. A drive whose status word does not respond within a
stated time gets the next measure: the control word by SDO, NMT stop of its node (0x6007 makes that
a fault), and finally neither heartbeat nor SYNC, so that its own monitoring (0x1016, 0x1006) acts.
A drive that responds to nothing is reported as such. The longest reaction times follow from this.
"""

from __future__ import annotations

import dataclasses
import enum
import math

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Action, DriveGoal, Feedback
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.state_machine import LOST_AFTER, powered, slowing_down

_STEP, _STEP_CYCLES = 0.05, 5  # s, and cycles, within which a status word shows the response
_ACTION = 0.01  # s between two frames for a drive
_SWITCH = 'switch off the power of the drives at the hardware switch'
# Frames of the measure NMT; the last is repeated.
_BY_NMT = (Action.NMT_STOP, Action.NMT_PRE_OPERATIONAL, Action.ASK_STATUS)
_TRIED = 'control word by PDO and by SDO, NMT stop, no heartbeat and no SYNC were tried'


class Measure(enum.IntEnum):
    """Measures, each tried when the one before had no effect."""

    PDO = 0
    SDO = 1
    NMT = 2
    SILENCE = 3
    NONE_LEFT = 4


_LAST = Measure.NONE_LEFT
_TAKEN = {
    Measure.SDO: ('stop by SDO', 'control word by SDO'),
    Measure.NMT: ('stop by NMT', 'NMT stop of the node'),
    Measure.SILENCE: ('stop by silence', 'no heartbeat and no SYNC any more'),
}


def step_time(drives: Drives) -> float:
    """Time (s) within which a measure must show in the status word."""
    return max(_STEP, _STEP_CYCLES / drives.cycle_rate)


def ramp_time(drives: Drives) -> float:
    """Duration of the longest quick stop, s."""
    limits = [drive.limits for drive in drives.drives.values()]
    return max(limit.velocity / limit.deceleration for limit in limits)


def silence_time(drives: Drives) -> float:
    """Time (s) by which a drive that monitors the master's heartbeat has acted on its absence."""
    return drives.heartbeat.timeout + drives.heartbeat.period + step_time(drives)


@dataclasses.dataclass
class _Pursued:
    """Measures taken against one drive; times in s."""

    measure: Measure = Measure.PDO
    since: float = math.nan  # the measure was taken
    cycles: int = 0  # since then
    actions: int = 0  # since then
    acted: float = -math.inf
    slows_since: float = math.nan
    quiet: int = 0  # cycles in a row in which it said that it gives no torque


class Escalation:
    """Monitors drives that should give no torque."""

    def __init__(self, drives: Drives):
        self._names = tuple(drives.drives)
        self._step, self._silence = step_time(drives), silence_time(drives)
        self._slowest, self._timeout = ramp_time(drives) + self._step, drives.heartbeat.timeout
        self._goal: DriveGoal | None = None
        self._pursued: dict[int, _Pursued] = {}  # drives that should give no torque, but do

    @property
    def silent(self) -> bool:
        """Whether SYNC and heartbeat must not be sent."""
        pursued = self._pursued.values()
        return any(pursuit.measure is Measure.SILENCE and not pursuit.quiet for pursuit in pursued)

    @property
    def under_way(self) -> bool:
        """Whether measures beyond PDO are being taken, of which some are left."""
        return any(Measure.PDO < pursuit.measure < _LAST for pursuit in self._pursued.values())

    def look(self, feedback: Feedback, goal: DriveGoal) -> list[Finding]:
        """Compare status words with a goal; return what must be reported."""
        if goal is not self._goal:
            self._goal = goal
            if goal is DriveGoal.RESET:  # what has failed is tried again, what has not goes on
                for k in [k for k, pursuit in self._pursued.items() if pursuit.measure is _LAST]:
                    del self._pursued[k]
        if goal is DriveGoal.ENABLED:
            self._pursued.clear()
            return []
        gives = powered(feedback)
        if not (self._pursued or gives.any()):
            return []
        findings = []
        for k, (on, slows) in enumerate(zip(gives, slowing_down(feedback), strict=True)):
            if not on:
                self._rests(k)
                continue
            pursuit = self._pursued.setdefault(k, _Pursued())
            pursuit.quiet = 0
            if slows and goal is DriveGoal.STOPPED:
                findings += self._slows(k, pursuit, feedback)
            else:
                findings += self._disobeys(k, pursuit, feedback)
        return findings

    def actions(self, now: float) -> tuple[tuple[int, Action], ...]:
        """Frames for drives that have not obeyed, by drive index."""
        actions = []
        for k, pursuit in self._pursued.items():
            if pursuit.measure is Measure.PDO or pursuit.quiet or now - pursuit.acted < _ACTION:
                continue
            action = Action.ASK_STATUS if pursuit.actions % 2 else Action.CONTROL_WORD
            if pursuit.measure is Measure.NMT:  # a stopped node could not be queried
                action = _BY_NMT[min(pursuit.actions, len(_BY_NMT) - 1)]
            pursuit.actions, pursuit.acted = pursuit.actions + 1, now
            actions.append((k, action))
        return tuple(actions)

    def _rests(self, k: int) -> None:
        """Let off a drive that stays without torque: another master may enable it repeatedly."""
        pursuit = self._pursued.get(k)
        if pursuit is not None:
            pursuit.quiet += 1
            if pursuit.quiet == _STEP_CYCLES:
                del self._pursued[k]

    def _slows(self, k: int, pursuit: _Pursued, feedback: Feedback) -> list[Finding]:
        """Count a drive in quick stop as obeying, for as long as its ramp may last."""
        pursuit.measure, pursuit.since = Measure.PDO, math.nan
        if math.isnan(pursuit.slows_since):
            pursuit.slows_since = feedback.time
        if feedback.time - pursuit.slows_since <= self._slowest:
            return []
        text = f'still gives torque {self._slowest:.3g} s after its quick stop began'
        return [Finding(self._names[k], 'quick stop', text, DriveGoal.TORQUE_FREE)]

    def _disobeys(self, k: int, pursuit: _Pursued, feedback: Feedback) -> list[Finding]:
        """Wait until the measure should have taken effect, then take the next."""
        if math.isnan(pursuit.since):
            pursuit.since, pursuit.cycles = feedback.time, 0
        pursuit.cycles += 1
        wait = self._silence if pursuit.measure is Measure.SILENCE else self._step
        # Cycles count, too: a stall of the master is not the drive's fault.
        early = feedback.time - pursuit.since < wait or pursuit.cycles < _STEP_CYCLES
        if early or pursuit.measure is Measure.NONE_LEFT:
            return []
        pursuit.measure = Measure(pursuit.measure + 1)
        pursuit.since, pursuit.cycles = feedback.time, 0
        pursuit.actions, pursuit.acted = 0, -math.inf
        kind, text = self._words(k, pursuit.measure, wait, feedback)
        return [Finding(self._names[k], kind, text, DriveGoal.TORQUE_FREE)]

    def _words(self, k: int, measure: Measure, wait: float, feedback: Feedback) -> tuple[str, str]:
        if measure is not Measure.NONE_LEFT:
            kind, action = _TAKEN[measure]
            return kind, f'has not shown within {wait:.3g} s that it gives no torque: {action}'
        what = 'gives torque whatever it is told'
        if feedback.heartbeat_age[k] > self._timeout:
            what = 'is not heard of, so whether it gives torque is not known'
        return 'acts on nothing', f'{what}: {_TRIED}; {_SWITCH}'


# Cycles from when a fault can be known to when status words report the reaction: one until the next
# SYNC, one until drives take over the control word, one until they report, and the part of one that
# is spent waiting for answers to SYNC.
CYCLES = 3.6
# s that a loop check takes when it tries each drive in turn to find the one that is off.
_CHECK = 0.05
# s that a message or request from another process takes to arrive.
_MESSAGE = 0.005


def reaction_times(drives: Drives) -> dict[str, float]:
    """Stated times, s, by fault, from its cause to the status words of all drives.

    When a drive is lost, the cause is its last sign of life; when the master is lost, its last
    heartbeat. A quick stop has begun by then; how long it takes depends on velocity and
    deceleration.
    """
    period = 1.0 / drives.cycle_rate
    react = CYCLES * period
    step = step_time(drives)
    return {
        'fault': react,
        'heartbeat': drives.heartbeat.timeout + react,
        'lost': (LOST_AFTER - 1) * period + react,
        'following error': react,
        # One check may find a PDO missing and leave it to the next; 20 Hz: loop_check_rate.
        'loops': 2.0 / 20.0 + _CHECK + react,
        'limit': react,
        'time-out': drives.command_timeout + react,
        'emergency stop': _MESSAGE + react,
        'stop by SDO': step + react,
        # A stopped node reports once it is pre-operational, before the next measure.
        'stop by NMT': 3.0 * step + react,
        'stop by silence': 3.0 * step + drives.heartbeat.timeout + react,
        'process': drives.heartbeat.timeout + react,
    }


def late_answers(drives: Drives) -> tuple[float, str]:
    """How late (s) a cycle of the drives may be without a warning, and what the delay leads to."""
    lost = LOST_AFTER / drives.cycle_rate
    return 0.5 * lost, f'all drives stop after {1e3 * lost:.0f} ms without an answer'
