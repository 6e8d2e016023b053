# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step of a servo's loops and motor, on one row of numbers or as machine code for all servos.

The code runs on floats; recorded once (``traced/numbers.py``), it becomes
machine code that advances all servos of a bus in one call, one servo per lane.

What the drive layer has to cope with in a DC motor with current loop, encoder and gear:

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
(``rotor_inertia`` of a mechanism's description).
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.drives import configuration
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive
from masticator_dynamics.engine.traced.functions import exponential, hyperbolic_tangent, whole_below
from masticator_dynamics.engine.traced.machine_code import Library, this_processor
from masticator_dynamics.engine.traced.numbers import (
    Graph,
    absolute,
    greater,
    lesser,
    select,
    sign_of,
)
from masticator_dynamics.engine.traced.row_code import library
from masticator_dynamics.engine.traced.rows_ir import rows_function

# rad/s of the joint, as in drives/scaling.py.
_TURNING = 0.05
# Share of the damping that a step can settle, for gear and friction each. An explicit step is
# stable up to 2 in total, and without overshoot up to 1.
_SHARE = 0.45


def motor_constants(
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


def advance_motor(row: Any, demand: Any) -> dict[str, Any]:
    """Advance by one step with a demanded motor torque, N m.

    Returns
    -------
    dict
        ``current``, A, ``temperature``, degrees Celsius, at the end; ``mean``, A, over the step;
        ``effort`` at the joint, N m, for that; ``saturated``: by how much the demanded current was
        clipped.
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
        'mean': mean,
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


_LARGEST_TORQUE = 32767.0  # per mille
_REACHED = 1e-6  # counts
OFF, TORQUE, POSITION, STOP = 0.0, 1.0, 2.0, 3.0  # column ``control``

# What a step changes; units are those of `servo.Servo` and `advance_motor`.
STATE = (
    'position', 'rate', 'demand', 'target', 'demand_rate', 'covered', 'left', 'following_since',
    'current', 'temperature', 'current_sum', 'summed',
)  # fmt: skip
_PLANT = ('joint_position', 'joint_velocity')
_SETTINGS = (
    'control', 'stuck', 'shift', 'position_gain', 'velocity_gain', 'period', 'deceleration',
    'max_torque', 'following_window', 'following_time', 'temperature_limit', 'torque_offset',
    'target_torque',
)  # fmt: skip
# s; N m; motor N m per count for a gain of 1 N m/rad; share of the velocity filter.
_CONSTANTS = (
    'step', 'rated', 'per_count', 'smoothing', 'ratio', 'zero', 'counts_per_radian',
    'encoder_offset', 'torque_constant', 'resistance', 'supply_voltage', 'peak_current', 'kept',
    'lag', 'ambient', 'heating', 'warming', 'viscous', 'coulomb', 'slip', 'loss', 'damping',
)  # fmt: skip
INPUTS = (*STATE, *_PLANT, *_SETTINGS, *_CONSTANTS)
# Where ``asks`` is positive, the drive has to look: `device.Device.step` has something to do.
OUTPUTS = (*STATE, 'effort', 'clipped', 'saturated', 'asks')


def step(inputs: Sequence[Any]) -> list[Any]:
    """Compute the numbers ``OUTPUTS`` from the numbers ``INPUTS``."""
    row = types.SimpleNamespace(**dict(zip(INPUTS, inputs, strict=True)))
    shown = encoder(row, row.joint_position) + row.shift
    position = select(row.stuck, row.position, shown)
    rate = row.rate + ((position - row.position) / row.step - row.rate) * row.smoothing
    led, stops = (select(row.control - c, 1.0, 0.0) for c in (1.5, 2.5))
    follows = led - stops
    # The measurement is compared with the demand of the step that ends now.
    error = row.demand - position
    path = [select(stops, a, b) for a, b in zip(_slow_down(row), _interpolate(row), strict=True)]
    resting = [position, position, 0.0, 0.0, 0.0]
    demand, target, demand_rate, covered, time_left = (
        select(led, a, b) for a, b in zip(path, resting, strict=True)
    )
    out = select(absolute(error) - row.following_window, follows, 0.0)
    feedback = row.position_gain * error + row.velocity_gain * (row.covered - rate)
    held = select(follows, row.torque_offset, 0.0) + 1000.0 * feedback * row.per_count / row.rated
    free = select(row.control - 0.5, row.target_torque + row.torque_offset, 0.0)
    torque = select(led, held, free)
    largest = lesser(row.max_torque, _LARGEST_TORQUE)
    clipped = lesser(greater(torque, -largest), largest)
    moved = advance_motor(row, clipped * row.rated / 1000.0)
    since = select(out, row.following_since + row.step, 0.0)
    standing = select(absolute(demand_rate), 0.0, stops)
    asks = greater(since - row.following_time, moved['temperature'] - row.temperature_limit)
    return [
        position, rate, demand, target, demand_rate, covered, time_left, since, moved['current'],
        moved['temperature'], row.current_sum + moved['mean'], row.summed + 1.0,
        moved['effort'], absolute(clipped - torque), moved['saturated'], greater(standing, asks),
    ]  # fmt: skip


def _interpolate(row: Any) -> tuple[Any, ...]:
    """Demand, target, rate of the demand, rate covered and time left on the way to the target."""
    missing = row.target - row.demand
    far = absolute(missing) - _REACHED
    over = 0.5 * row.step - row.left
    begin = select(over, select(far, row.demand, row.target), row.demand)
    back = select(far, missing, 0.0) / row.period
    rate = select(over, back, row.demand_rate)
    time_left = select(over, row.period, row.left) - row.step
    return begin + rate * row.step, row.target, rate, rate, time_left


def _slow_down(row: Any) -> tuple[Any, ...]:
    """The same on the way to standstill."""
    before = row.demand_rate
    speed = greater(absolute(before) - row.deceleration * row.step, 0.0)
    rate = sign_of(before) * speed
    covered = 0.5 * (before + rate)
    return row.demand + covered * row.step, row.target, rate, covered, row.left


@functools.cache
def machine_code() -> Library:
    """Function ``rows``: :func:`step` for many rows, a multiple of the processor's."""
    graph = Graph()
    outputs = step(graph.inputs(len(INPUTS)))
    text = rows_function(graph, outputs, 'rows', this_processor().rows, len(INPUTS))
    return library('servo', lambda: text, [text])
