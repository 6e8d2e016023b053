# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step of a servo's loops and motor, on one row of numbers or as machine code for all servos.

The code runs on floats; recorded once (:mod:`masticator_dynamics.traced.numbers`), it becomes
machine code that advances all servos of a bus in one call, one servo per lane.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.drives.simulator import motor
from masticator_dynamics.traced.machine_code import Library, this_processor
from masticator_dynamics.traced.numbers import Graph, absolute, greater, lesser, select, sign_of
from masticator_dynamics.traced.row_code import library
from masticator_dynamics.traced.rows_ir import rows_function

_LARGEST_TORQUE = 32767.0  # per mille
_REACHED = 1e-6  # counts
OFF, TORQUE, POSITION, STOP = 0.0, 1.0, 2.0, 3.0  # column ``control``

# What a step changes; units are those of `servo.Servo` and `motor.advance`.
STATE = (
    'position', 'rate', 'demand', 'target', 'demand_rate', 'covered', 'left', 'following_since',
    'current', 'temperature',
)  # fmt: skip
_PLANT = ('joint_position', 'joint_velocity')
_SETTINGS = (
    'control', 'stuck', 'shift', 'position_gain', 'velocity_gain', 'period', 'deceleration',
    'max_torque', 'following_window', 'max_rate', 'torque_offset', 'target_torque',
    'velocity_offset',
)  # fmt: skip
# s; N m; motor N m per count for a gain of 1 N m/rad; share of the velocity filter.
_CONSTANTS = (
    'step', 'rated', 'per_count', 'smoothing', 'ratio', 'zero', 'counts_per_radian',
    'encoder_offset', 'torque_constant', 'resistance', 'supply_voltage', 'peak_current', 'kept',
    'lag', 'ambient', 'heating', 'warming', 'viscous', 'coulomb', 'slip', 'loss', 'damping',
)  # fmt: skip
INPUTS = (*STATE, *_PLANT, *_SETTINGS, *_CONSTANTS)
OUTPUTS = (*STATE, 'effort', 'clipped', 'saturated')


def step(given: Sequence[Any]) -> list[Any]:
    """Compute the numbers ``OUTPUTS`` from the numbers ``INPUTS``."""
    row = types.SimpleNamespace(**dict(zip(INPUTS, given, strict=True)))
    shown = motor.encoder(row, row.joint_position) + row.shift
    position = select(row.stuck, row.position, shown)
    rate = row.rate + ((position - row.position) / row.step - row.rate) * row.smoothing
    led, stops = (select(row.control - c, 1.0, 0.0) for c in (1.5, 2.5))
    follows = led - stops
    # The measurement is compared with the demand of the step that ends now.
    error = row.demand - position
    path = [select(stops, a, b) for a, b in zip(_slow_down(row), _interpolate(row), strict=True)]
    resting = [position, position, 0.0, 0.0, 0.0]
    demand, target, demand_rate, covered, left = (
        select(led, a, b) for a, b in zip(path, resting, strict=True)
    )
    out = select(absolute(error) - row.following_window, follows, 0.0)
    wanted_rate = row.covered + select(follows, row.velocity_offset, 0.0)
    feedback = row.position_gain * error + row.velocity_gain * (wanted_rate - rate)
    held = select(follows, row.torque_offset, 0.0) + 1000.0 * feedback * row.per_count / row.rated
    free = select(row.control - 0.5, row.target_torque + row.torque_offset, 0.0)
    torque = select(led, held, free)
    largest = lesser(row.max_torque, _LARGEST_TORQUE)
    clipped = lesser(greater(torque, -largest), largest)
    moved = motor.advance(row, clipped * row.rated / 1000.0)
    return [
        position, rate, demand, target, demand_rate, covered, left,
        select(out, row.following_since + row.step, 0.0), moved['current'], moved['temperature'],
        moved['effort'], absolute(clipped - torque), moved['saturated'],
    ]  # fmt: skip


def _interpolate(row: Any) -> tuple[Any, ...]:
    """Demand, target, rate of the demand, rate covered and time left on the way to the target."""
    missing = row.target - row.demand
    far = absolute(missing) - _REACHED
    over = 0.5 * row.step - row.left
    begin = select(over, select(far, row.demand, row.target), row.demand)
    back = select(far, missing, 0.0) / row.period
    limited = lesser(greater(back, -row.max_rate), row.max_rate)
    rate = select(over, limited, row.demand_rate)
    left = select(over, row.period, row.left) - row.step
    return begin + rate * row.step, row.target, rate, rate, left


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
