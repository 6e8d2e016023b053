# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits at the joints, those of drives file and mechanism: feedback and commands of one cycle.

This is decided here and not in a planner. A drive that does not follow makes all drives torque-free
at once, since a parallel mechanism must not be driven by all but one; a command or motion beyond
limits makes all drives do a quick stop.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.configuration import Drives, changed
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.scaling import LARGEST_COUNT, Scaling
from masticator_dynamics.drives.state_machine import follows, in_operation, in_words
from masticator_dynamics.engine.arrays import FloatArray, between, larger, outside, where
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.mechanism import Mechanism

# Share of the following error by which the first command may be off: it is taken in one step.
FIRST_STEP = 0.1
_FASTEST = 1e5  # turns per minute
_COARSEST = 20.0  # steps of torque up to the limit of effort


class DriveJointLimits:
    """Limits of all drives as arrays (n,), and the checks of feedback and commands against them.

    Parameters
    ----------
    mechanism : Mechanism
        Its actuated joints, in this order, must be those of the drives; see :func:`in_order`.

    Raises
    ------
    DescriptionError
        If the margins leave a range empty, or the drives are not the mechanism's joints.
    """

    def __init__(self, drives: Drives, mechanism: Mechanism):
        self.names = tuple(drives.drives)
        if self.names != mechanism.actuated:
            raise _other_joints(self.names, mechanism)
        indices = mechanism.tree_indices(mechanism.actuated)
        ranges = mechanism.limits
        self.units = tuple(mechanism.structure.tree.joints[j].unit for j in indices)
        margin = self._column(drives, 'position_margin')
        self.range_lower, self.range_upper = ranges.lower[indices], ranges.upper[indices]
        self.lower, self.upper = self.range_lower + margin, self.range_upper - margin
        self.velocity = np.minimum(self._column(drives, 'velocity'), ranges.velocity[indices])
        self.effort = np.minimum(self._column(drives, 'effort'), mechanism.effort_limits)
        self.effort_rate = self._column(drives, 'effort_rate')
        self.following_error = self._column(drives, 'following_error')
        self.acceleration = self._column(drives, 'acceleration')
        self.temperature = self._column(drives, 'temperature')
        self.period = 1.0 / drives.cycle_rate
        for k in where(self.lower >= self.upper):
            raise DescriptionError(
                'drives', f'drives.{self.names[k]}.limits.position_margin', f'{margin[k]:g} leaves '
                f'nothing of the range [{self.range_lower[k]:g}, {self.range_upper[k]:g}]'
            )  # fmt: skip

    @staticmethod
    def _column(drives: Drives, name: str) -> FloatArray:
        return np.array([float(getattr(drive.limits, name)) for drive in drives.drives.values()])

    def check_motors(self, drives: Drives) -> None:
        """Refuse motors that cannot be meant: counts beyond a target (0x607A), speed, torque steps.

        Raises
        ------
        DescriptionError
            Naming the drive, and what its joint and its motor would do.
        """
        motors = [drive.motor for drive in drives.drives.values()]
        scaling, per_mille = Scaling(motors), np.ones(len(motors))
        ratio = np.array([motor.gear_ratio for motor in motors])
        turns = ratio * self.velocity * 60.0 / (2.0 * np.pi)  # of the motor, per minute
        turns *= np.array(self.units) == 'rad'
        for k in where(turns > _FASTEST):
            raise DescriptionError(
                'drives', f'drives.{self.names[k]}.motor.gear_ratio', f'{ratio[k]:g} turns the '
                f'motor {turns[k]:.3g} times a minute at the limit of {self.velocity[k]:g} '
                f'{self.units[k]}/s; no motor turns more than {_FASTEST:g} times'
            )  # fmt: skip
        step = np.abs(scaling.effort_from_per_mille(per_mille, 0.0 * per_mille))
        for k in where(_COARSEST * step > self.effort):
            raise DescriptionError(
                'drives', f'drives.{self.names[k]}.motor', f'one per mille of the rated torque is '
                f'{step[k]:.3g} N m at the joint, {self.effort[k] / step[k]:.2g} of which are the '
                f'limit of {self.effort[k]:g} N m; at least {_COARSEST:g} steps are needed'
            )  # fmt: skip
        for ends in (self.range_lower, self.range_upper):
            counts = np.abs(scaling.counts_from_position(ends))
            for k in where(np.isfinite(counts) & (counts > LARGEST_COUNT)):
                raise DescriptionError(
                    'drives', f'drives.{self.names[k]}.motor', f'{ends[k]:g} {self.units[k]}, an '
                    f'end of the range, is {counts[k]:.3g} counts; 32 bits hold {LARGEST_COUNT}'
                )  # fmt: skip

    def overheated(self, temperature: FloatArray) -> list[Finding]:
        """Quick stop for motors too hot; temperatures (n,) in degrees Celsius, NaN: not known."""
        return [
            Finding(
                self.names[k], 'temperature', f'{temperature[k]:.3g} degrees Celsius are above '
                f'the limit of {self.temperature[k]:g}', DriveGoal.STOPPED,
            )
            for k in where(temperature > self.temperature)
        ]  # fmt: skip

    # While the drives move the mechanism

    def motion(
        self, feedback: Feedback, expected: FloatArray | None, enabling: bool
    ) -> list[Finding]:
        """Drives that dropped out, do not follow, are too fast or out of range.

        Parameters
        ----------
        expected : float array (n,), optional
            Positions that were sent; None when drives follow efforts.
        enabling : bool
            Whether drives are only being enabled: some may not be in operation yet.
        """
        dropped: list[int] = []
        ignoring: list[int] = []
        if not enabling:
            operate = in_operation(feedback)
            dropped, ignoring = where(~operate), where(operate & ~follows(feedback))
        fast = larger(feedback.velocity, self.velocity)
        behind: list[int] = []
        if expected is not None:
            behind = larger(expected - feedback.position, self.following_error)
        beyond = self.out_of_range(feedback)
        if not (dropped or ignoring or fast or beyond or behind):
            return []
        findings = []
        for k in dropped:
            text = f'left operation by itself, now in {in_words(int(feedback.status_word[k]))}'
            findings.append(Finding(self.names[k], 'dropped out', text, DriveGoal.TORQUE_FREE))
        for k in ignoring:
            text = 'ignores its target (status word bit 12 is 0)'
            findings.append(Finding(self.names[k], 'target ignored', text, DriveGoal.TORQUE_FREE))
        for k in behind:
            assert expected is not None
            text = (
                f'following error {expected[k] - feedback.position[k]:.3g} {self.units[k]} is '
                f'beyond {self.following_error[k]:g} {self.units[k]}'
            )
            findings.append(Finding(self.names[k], 'following error', text, DriveGoal.TORQUE_FREE))
        for k in fast:
            findings.append(self._too_fast(k, 'measured velocity', feedback.velocity[k]))
        return [*findings, *beyond]

    def out_of_range(self, feedback: Feedback) -> list[Finding]:
        """Joints measured outside their ranges: quick stop."""
        position, lower, upper = feedback.position, self.range_lower, self.range_upper
        return [
            self._outside(k, 'measured position', position[k], lower[k], upper[k])
            for k in outside(position, lower, upper)
        ]

    # Commands

    def command(
        self,
        sent: FloatArray,
        position: FloatArray,
        velocity: FloatArray | None,
        before: FloatArray,
        elapsed: float,
    ) -> list[Finding]:
        """Commands that would leave ranges: quick stop.

        Parameters
        ----------
        sent : float array (n,)
            Positions as they would be sent to the drives.
        position : float array (n,)
            As commanded, without lead.
        velocity : float array (n,), optional
            As commanded.
        before : float array (n,)
            Positions of the previous command.
        elapsed : float
            Time between the two commands, s.
        """
        step = position - before
        implied = step / max(elapsed, self.period)
        beyond = outside(sent, self.lower, self.upper)
        fast = larger(implied, self.velocity)
        leaping = larger(step, self.following_error)
        if velocity is not None:
            fast = sorted({*fast, *larger(velocity, self.velocity)})
        if not (beyond or fast or leaping):
            return []
        already = outside(position, self.lower, self.upper)
        findings = [
            # As commanded, if that itself is outside.
            self._outside(
                k, 'commanded position', (position if k in already else sent)[k],
                self.lower[k], self.upper[k],
            )
            for k in sorted({*beyond, *already})
        ]  # fmt: skip
        for k in fast:
            rate = implied[k]
            if velocity is not None and abs(velocity[k]) > self.velocity[k]:
                rate = velocity[k]
            findings.append(self._too_fast(k, 'commanded velocity', rate))
        for k in sorted({*leaping} - {*fast}):
            text = (
                f'commanded step of {step[k]:.3g} {self.units[k]} is beyond the '
                f'following error of {self.following_error[k]:g}'
            )
            findings.append(Finding(self.names[k], 'commanded step', text, DriveGoal.STOPPED))
        return findings

    def far(self, sent: FloatArray, measured: FloatArray) -> str:
        """Why a first command is too far from where the drives are; empty if it is not."""
        k, away, most = self.farthest(sent, measured)
        if away <= most:
            return ''
        unit = self.units[k]
        return (
            f'first command for {self.names[k]} is {away:.3g} {unit} away from the '
            f'measured position (at most {most:g} {unit}); see ~/approach'
        )

    def farthest(self, sent: FloatArray, measured: FloatArray) -> tuple[int, float, float]:
        """Drive that is farthest from where it is led, by how much, and how far it may be."""
        away, most = np.abs(sent - measured), FIRST_STEP * self.following_error
        k = int(np.argmax(away - most))
        return k, float(away[k]), float(most[k])

    def leaves_range(self, way: FloatArray) -> str:
        """Where positions (N, n) in order of time leave their ranges; empty if nowhere.

        A path may begin inside a margin, where the drives are, but not lead farther into it.
        """
        lower, upper = np.minimum(self.lower, way[0]), np.maximum(self.upper, way[0])
        outside = (way < lower) | (way > upper)
        if not outside.any():
            return ''
        row, k = np.argwhere(outside)[0]
        return str(self._outside(k, 'on the way', way[row, k], lower[k], upper[k]))

    def limit_effort(
        self, wanted: FloatArray, before: FloatArray, elapsed: float
    ) -> tuple[FloatArray, list[int], list[int]]:
        """Efforts within their bounds and rates; where they were clamped, and where held back.

        Parameters
        ----------
        wanted : (n,) array
            Efforts at the joints, N m.
        before : (n,) array
            Those of the last cycle, N m.
        elapsed : float
            Time since then, s.
        """
        clamped = larger(wanted, self.effort)
        effort = between(wanted, -self.effort, self.effort) if clamped else wanted
        held_back = larger(effort - before, self.effort_rate * elapsed)
        if held_back:
            step = self.effort_rate * elapsed
            effort = between(effort, before - step, before + step)
        return effort, clamped, held_back

    def _too_fast(self, k: int, what: str, value: float) -> Finding:
        text = f'{what} {value:.3g} {self.units[k]}/s is beyond {self.velocity[k]:g}'
        return Finding(self.names[k], what, text, DriveGoal.STOPPED)

    def _outside(self, k: int, what: str, value: float, lower: float, upper: float) -> Finding:
        text = f'{what} {value:.4g} {self.units[k]} is outside [{lower:.4g}, {upper:.4g}]'
        return Finding(self.names[k], what, text, DriveGoal.STOPPED)


def in_order(drives: Drives, mechanism: Mechanism) -> Drives:
    """The same drives in the mechanism's actuated order.

    Raises
    ------
    DescriptionError
        If they are not the drives of its actuated joints.
    """
    if set(drives.drives) != set(mechanism.actuated):
        raise _other_joints(tuple(drives.drives), mechanism)
    return changed(drives, drives={name: drives.drives[name] for name in mechanism.actuated})


def _other_joints(names: tuple[str, ...], mechanism: Mechanism) -> DescriptionError:
    return DescriptionError(
        'drives file', 'drives', f'are for {", ".join(names)}; the actuated joints of '
        f'{mechanism.name} are {", ".join(mechanism.actuated)}'
    )  # fmt: skip
