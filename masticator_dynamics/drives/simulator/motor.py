# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A DC motor with current loop, encoder and gear: from the demanded torque to the joint's effort.

What the drive layer has to cope with:

- The current follows its demand with a first-order lag; the inductance is in that lag. The demand
  is clipped to the peak torque and to what the supply can push through the winding against the
  back EMF. Without power the demand is zero.
- Friction of motor and gear acts on the motor shaft: Coulomb, smoothed by tanh, and viscous.
- The gear passes on efficiency**driving of the shaft's torque, the law of
  :mod:`masticator_dynamics.drives.scaling`.
- Both change sides over 0.05 rad/s of the joint, or over more if that would be too stiff for the
  plant's step (heavy load on little inertia).
- The winding's losses heat a single body that gives off heat to the surroundings.
- The encoder rounds to the nearest count.

The rotor's inertia is not here: all moving masses, rotor included, belong to the plant
(``rotor_inertia`` of a mechanism's description). The code works on generic numbers: it runs on
floats, and as machine code (:mod:`masticator_dynamics.drives.simulator.servo_step`).
"""

from __future__ import annotations

import math
from typing import Any

from masticator_dynamics.drives import configuration
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive
from masticator_dynamics.traced.functions import exponential, hyperbolic_tangent, whole_below
from masticator_dynamics.traced.numbers import absolute, greater, lesser, sign_of

# rad/s of the joint, as in drives/scaling.py.
_TURNING = 0.05
# Share of the damping that a step can settle, for gear and friction each. An explicit step is
# stable up to 2 in total, and without overshoot up to 1.
_SHARE = 0.45


def constants(
    motor: configuration.Motor, simulated: SimulatedDrive, step: float, ambient: float
) -> dict[str, float]:
    """Constants of a motor by the names that `servo_step` gives them.

    Parameters
    ----------
    motor, simulated
        What the drives file and the simulation file say of it.
    step : float
        Length of the simulation's steps, s.
    ambient : float
        Temperature around it, degrees Celsius.
    """
    ratio = motor.direction * motor.gear_ratio
    lag = 1.0 / (math.tau * simulated.current_bandwidth)
    damping = _SHARE * simulated.inertia / step
    coulomb = simulated.friction.coulomb * motor.gear_ratio
    return {
        'ratio': ratio,
        'zero': motor.zero,
        'counts_per_radian': ratio * motor.counts_per_turn / math.tau,
        'encoder_offset': simulated.encoder_offset,
        'torque_constant': simulated.torque_constant,
        'resistance': simulated.resistance,
        'supply_voltage': simulated.supply_voltage,
        'peak_current': motor.peak_torque / simulated.torque_constant,
        # Share of the old current after a step, and the time constant by the step.
        'kept': math.exp(-step / lag),
        'lag': lag / step,
        'ambient': ambient,
        'heating': simulated.thermal.resistance * simulated.resistance,  # K/A^2
        'warming': -math.expm1(-step / simulated.thermal.time_constant),
        'viscous': simulated.friction.viscous,
        'coulomb': coulomb,  # N m at the joint
        'slip': max(_TURNING, coulomb / damping),  # rad/s
        'loss': -math.log(motor.efficiency),
        'damping': damping,  # N m s/rad at the joint that a step can settle
    }


def encoder(row: Any, position: Any) -> Any:
    """Encoder reading at a joint position, rad."""
    turned = (position - row.zero) * row.counts_per_radian
    return whole_below(turned + 0.5) + row.encoder_offset


def advance(row: Any, demand: Any) -> dict[str, Any]:
    """Advance by one step with a demanded motor torque, N m.

    Returns
    -------
    dict
        ``current``, A, ``temperature``, degrees Celsius, at the end; ``effort`` at the joint, N m,
        for the step's mean current; ``saturated``: by how much the demanded current was clipped.
    """
    back = row.torque_constant * row.ratio * row.joint_velocity
    wanted = demand / row.torque_constant
    low = greater(-row.peak_current, (-row.supply_voltage - back) / row.resistance)
    high = lesser(row.peak_current, (row.supply_voltage - back) / row.resistance)
    reference = lesser(greater(wanted, low), high)
    gap, gone = row.current - reference, 1.0 - row.kept
    # Means over the step of the current and of its square.
    mean = reference + gap * row.lag * gone
    square = reference * reference + gap * row.lag * (
        2.0 * reference * gone + 0.5 * gap * (1.0 - row.kept * row.kept)
    )
    settled = row.ambient + row.heating * square
    return {
        'current': reference + gap * row.kept,
        'temperature': row.temperature + (settled - row.temperature) * row.warming,
        'effort': _through_gear(row, row.torque_constant * mean),
        'saturated': absolute(reference - wanted),
    }


def _through_gear(row: Any, torque: Any) -> Any:
    """Joint effort for a motor torque, N m."""
    velocity = row.joint_velocity
    rubbed = row.coulomb * hyperbolic_tangent(velocity / row.slip)
    shaft = row.ratio * (torque - row.viscous * row.ratio * velocity) - rubbed
    width = greater(_TURNING, absolute(shaft) * row.loss / row.damping)
    driving = lesser(greater(sign_of(shaft) * velocity / width, -1.0), 1.0)
    return shaft * exponential(-row.loss * driving)
