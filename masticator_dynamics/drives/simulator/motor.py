# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A DC motor with current loop, encoder and gear: from the demanded torque to the joint's effort.

The truth that the drive layer has to live with:

- The current follows its demand with a first-order lag; the inductance is in that lag. The demand
  is clipped to the peak torque and to what the supply can push through the winding against the
  back EMF. Without power the demand is zero.
- Friction of motor and gear acts on the motor's shaft: Coulomb's, smoothed by tanh, and viscous.
- The gear passes on efficiency**driving of the shaft's torque, the law of
  :mod:`masticator_dynamics.drives.scaling`.
- Both change sides over 0.05 rad/s of the joint, or over more where that would be too stiff for
  the plant's step (heavy load on little inertia).
- The winding's losses heat one body that gives heat to the surroundings.
- The encoder counts to the nearest.

The rotor's inertia is not here: what is turned, rotor included, is the plant's
(``rotor_inertia`` of a mechanism's description).
"""

from __future__ import annotations

import math

from masticator_dynamics.drives import configuration
from masticator_dynamics.drives.simulator.simulation import SimulatedDrive

# rad/s of the joint, as in drives/scaling.py.
_TURNING = 0.05
# Of what a step can settle, the share that each of gear and friction may claim. An explicit step
# is stable up to 2 in all, without overshoot up to 1.
_SHARE = 0.45


class Motor:
    """The state of one motor, advanced in fixed steps.

    Parameters
    ----------
    motor : configuration.Motor
    simulated : SimulatedDrive
    step, ambient : float
        s; degrees Celsius.

    Attributes
    ----------
    current, torque : float
        A, and N m of the motor before friction, at the end of the last step.
    temperature : float
        Degrees Celsius.
    saturated : bool
        Whether the last step's demand was clipped.
    """

    def __init__(
        self, motor: configuration.Motor, simulated: SimulatedDrive, step: float, ambient: float
    ):
        self._data, self._ambient = simulated, ambient
        self._ratio = motor.direction * motor.gear_ratio
        self._efficiency, self._loss = motor.efficiency, -math.log(motor.efficiency)
        self._peak = motor.peak_torque / simulated.torque_constant
        self._zero = motor.zero
        self._counts_per_radian = self._ratio * motor.counts_per_turn / math.tau
        # Share of the old current after a step, and time constants by the step.
        lag = 1.0 / (math.tau * simulated.current_bandwidth)
        self._kept, self._lag = math.exp(-step / lag), lag / step
        self._warming = -math.expm1(-step / simulated.thermal.time_constant)
        # N m s/rad at the joint that a step can settle.
        self._damping = _SHARE * simulated.inertia / step
        slip = simulated.friction.coulomb * motor.gear_ratio / self._damping
        self._slip = max(_TURNING, slip)
        self.current = 0.0
        self.temperature = ambient
        self.saturated = False

    @property
    def torque(self) -> float:
        """N m of the motor, before friction."""
        return self._data.torque_constant * self.current

    def counts(self, position: float) -> int:
        """What the encoder shows at a joint position, rad."""
        turned = (position - self._zero) * self._counts_per_radian
        return math.floor(turned + 0.5) + self._data.encoder_offset

    def advance(self, demand: float, velocity: float) -> float:
        """Advance by a step.

        Parameters
        ----------
        demand : float
            Torque of the motor, N m.
        velocity : float
            Of the joint, rad/s.

        Returns
        -------
        float
            Effort at the joint, N m, in the mean of the step's current.
        """
        data = self._data
        back = data.torque_constant * self._ratio * velocity
        wanted = demand / data.torque_constant
        low = max(-self._peak, (-data.supply_voltage - back) / data.resistance)
        high = min(self._peak, (data.supply_voltage - back) / data.resistance)
        reference = min(max(wanted, low), high)
        self.saturated = reference != wanted
        gap, kept, lag = self.current - reference, self._kept, self._lag
        self.current = reference + gap * kept
        # Means over the step of the current and of its square.
        mean = reference + gap * lag * (1.0 - kept)
        square = reference * reference + gap * lag * (
            2.0 * reference * (1.0 - kept) + 0.5 * gap * (1.0 - kept * kept)
        )
        settled = self._ambient + data.thermal.resistance * data.resistance * square
        self.temperature += (settled - self.temperature) * self._warming
        return self._through_gear(data.torque_constant * mean, velocity)

    def _through_gear(self, torque: float, velocity: float) -> float:
        """Effort at the joint of a torque of the motor, N m."""
        friction = self._data.friction
        shaft = self._ratio * (torque - friction.viscous * self._ratio * velocity) - abs(
            self._ratio
        ) * friction.coulomb * math.tanh(velocity / self._slip)
        stiffness = abs(shaft) * self._loss
        width = max(_TURNING, stiffness / self._damping)
        driving = min(max(math.copysign(1.0, shaft) * velocity / width, -1.0), 1.0)
        return shaft * self._efficiency**driving
