# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loops inside a servo drive, from set points in the units of the bus to the joint's effort.

Positions are counts of the motor's encoder, torques per mille of the motor's rated torque. What
the drive is told to do is in :class:`Control`; when it is told so is the slave's business.
"""

from __future__ import annotations

import enum
import math

from masticator_dynamics.drives import configuration
from masticator_dynamics.drives.simulator.motor import Motor
from masticator_dynamics.drives.simulator.simulation import SimulatedDrive

_LARGEST_TORQUE = 32767.0  # per mille
_REACHED = 1e-6  # counts


class Control(enum.Enum):
    """What the power stage is used for."""

    OFF = 'no voltage'
    POSITION = 'torque = gains on the position error + torque offset'
    TORQUE = 'torque = target + offset'
    STOP = 'velocity down to zero with the given deceleration, then position held'


class Servo:
    """One motor with its loops, advanced in fixed steps.

    A new target is reached in one interpolation period. When no other follows, the demand goes
    on as before for one period more, as drives do to bridge a late set point, and returns to the
    target in another.

    Attributes
    ----------
    step : float
        s.
    position_gain, velocity_gain : float
        N m/rad and N m s/rad at the joint; the drive divides by the gear ratio, not by efficiency.
    period : float
        s, between two targets.
    deceleration : float
        counts/s^2 of STOP.
    max_torque : float
        Per mille, besides the motor's peak torque.
    following_window, following_time : float
        Counts of following error, and s that it may be larger.
    lowest, highest : float
        Counts that targets are clipped to.
    max_rate : float
        Counts/s of the demand at most.
    torque_offset, target_torque : float
        Per mille.
    velocity_offset : float
        Counts/s, beside the rate of the demand.
    position : int
        Counts, measured.
    demand : float
        Counts; the measured ones while the position is not controlled.
    stuck : bool
        The encoder shows the same for ever (a fault).
    """

    def __init__(
        self,
        drive: configuration.Drive,
        simulated: SimulatedDrive,
        step: float,
        ambient: float,
        position: float = 0.0,
    ):
        motor = drive.motor
        self.motor = Motor(motor, simulated, step, ambient)
        self.step = step
        self._rated = motor.rated_torque
        # N m of the motor per count, for a gain of 1 N m/rad at the joint.
        self._per_count = math.tau / (motor.counts_per_turn * motor.gear_ratio**2)
        self._smoothing = -math.expm1(-math.tau * simulated.velocity_filter * step)
        self.position_gain = simulated.gains.position
        self.velocity_gain = simulated.gains.velocity
        self.period, self.deceleration = 0.001, 1e6
        self.max_torque = 1000.0 * motor.peak_torque / motor.rated_torque
        self.following_window, self.following_time = math.inf, 0.0
        self.torque_offset = self.target_torque = self.velocity_offset = 0.0
        self.lowest, self.highest, self.max_rate = -math.inf, math.inf, math.inf
        self.stuck = False
        self._shift = 0
        self.position = self.motor.counts(position)
        self._rate = 0.0
        self._control = Control.OFF
        self._following_since = 0.0
        self._limited = False
        self._rest()

    @property
    def control(self) -> Control:
        """What the power stage is used for."""
        return self._control

    @control.setter
    def control(self, control: Control) -> None:
        if control is self._control:
            return
        self._control = control
        self._rest()
        if control is Control.STOP:
            self._demand_rate = self._covered = self._rate

    @property
    def velocity(self) -> float:
        """Measured and filtered, counts/s."""
        return self._rate

    @property
    def torque(self) -> float:
        """What the current says, per mille."""
        return 1000.0 * self.motor.torque / self._rated

    @property
    def following_error(self) -> float:
        """Demanded minus measured position, counts."""
        return self.demand - self.position

    @property
    def following_failed(self) -> bool:
        """Whether the following error was out of its window for too long."""
        return self._following_since > self.following_time

    @property
    def following_failing(self) -> bool:
        """Whether the following error is out of its window."""
        return self._following_since > 0.0

    @property
    def limited(self) -> bool:
        """Whether the last step's torque was clipped."""
        return self._limited or self.motor.saturated

    @property
    def stopped(self) -> bool:
        """Whether the velocity demanded by STOP has come down to zero."""
        return self._control is Control.STOP and self._demand_rate == 0.0

    def command(self, target: float) -> None:
        """Go to a position, counts, within one period."""
        self._target = min(max(float(target), self.lowest), self.highest)
        self._approach(self._target - self.demand, 2)

    def reference(self, position: int) -> None:
        """Call the present position so many counts (homing)."""
        self._move_origin(position - self.position)

    def forget_reference(self) -> None:
        """Count again from where the encoder does."""
        self._move_origin(-self._shift)

    def advance(self, position: float, velocity: float) -> float:
        """Advance by a step.

        Parameters
        ----------
        position, velocity : float
            Of the joint now, rad and rad/s.

        Returns
        -------
        float
            Effort at the joint during the step, N m.
        """
        self._measure(position)
        torque = self._torque()
        largest = min(self.max_torque, _LARGEST_TORQUE)
        clipped = min(max(torque, -largest), largest)
        self._limited = clipped != torque
        return self.motor.advance(clipped * self._rated / 1000.0, velocity)

    def _move_origin(self, shift: int) -> None:
        self._shift += shift
        self.position += shift
        self.demand += shift
        self._target += shift

    def _measure(self, position: float) -> None:
        before = self.position
        if not self.stuck:
            self.position = self.motor.counts(position) + self._shift
        rate = (self.position - before) / self.step
        self._rate += (rate - self._rate) * self._smoothing

    def _torque(self) -> float:
        """Demanded torque, per mille."""
        if self._control is Control.OFF:
            self._rest()
            return 0.0
        if self._control is Control.TORQUE:
            self._rest()
            return self.target_torque + self.torque_offset
        # What was measured is held against the demand of the step that ends now.
        error, rate = self.demand - self.position, self._covered
        self._watch(error)
        if self._control is Control.POSITION:
            self._interpolate()
            offset, rate = self.torque_offset, rate + self.velocity_offset
        else:
            self._slow_down()
            offset = 0.0
        feedback = self.position_gain * error + self.velocity_gain * (rate - self._rate)
        return offset + 1000.0 * feedback * self._per_count / self._rated

    def _rest(self) -> None:
        """Demand what is measured."""
        self.demand = self._target = float(self.position)
        self._demand_rate = self._covered = self._left = 0.0
        self._following_since = 0.0

    def _interpolate(self) -> None:
        if self._left < 0.5 * self.step:
            missing = self._target - self.demand
            if abs(missing) < _REACHED:
                self.demand, missing = self._target, 0.0
            self._approach(missing, 1)
        self._left -= self.step
        self._covered = self._demand_rate
        self.demand += self._covered * self.step

    def _approach(self, distance: float, periods: int) -> None:
        rate = distance / self.period
        self._demand_rate = min(max(rate, -self.max_rate), self.max_rate)
        self._left = periods * self.period

    def _slow_down(self) -> None:
        before = self._demand_rate
        speed = max(abs(before) - self.deceleration * self.step, 0.0)
        self._demand_rate = math.copysign(speed, before)
        self._covered = 0.5 * (before + self._demand_rate)
        self.demand += self._covered * self.step

    def _watch(self, error: float) -> None:
        if self._control is Control.POSITION and abs(error) > self.following_window:
            self._following_since += self.step
        else:
            self._following_since = 0.0
