# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sane ranges for the numbers in a drives file, each with its reason."""

from __future__ import annotations

from typing import Any, NamedTuple


class Range(NamedTuple):
    """Range of a number, and why it is no wider."""

    low: float
    high: float
    reason: str


_LEAD = 'a command is under way for a few cycles; a longer lead throws positions far ahead'
RANGES = {
    'cycle_rate': Range(20.0, 2000.0, 'slower ones cannot stop in time, faster ones fit no bus'),
    'command_timeout': Range(0.002, 1.0, 'drives go on for so long without a command'),
    'command_lead': Range(0.0, 0.05, _LEAD),
    'effort_lead': Range(0.0, 0.05, _LEAD),
    'velocity_filter': Range(0.0, 0.1, 'too fast a motion would be seen too late'),
    'closure_tolerance': Range(1e-6, 0.02, 'loops open by more would tear the mechanism'),
    'command_closure': Range(1e-4, 0.1, 'drives would pull against one another at their peak'),
    'heartbeat.period': Range(0.001, 0.5, 'the time-out is longer still'),
    'heartbeat.timeout': Range(0.002, 1.0, 'drives go on for so long when this side is dead'),
    'motor.rated_torque': Range(1e-4, 1e4, 'N m of a motor'),
    'motor.rated_torque_unit': Range(1e-6, 1.0, 'N m of one unit of 0x6076'),
    'motor.rotor_inertia': Range(0.0, 10.0, 'kg m^2 of a rotor'),
    'motor.gear_ratio': Range(0.01, 1e4, 'turns of the motor per turn of the joint'),
    'motor.efficiency': Range(0.1, 1.0, 'efforts are divided by it'),
    'motor.friction.coulomb': Range(0.0, 100.0, 'N m that are added to every effort'),
    'motor.friction.viscous': Range(0.0, 1.0, 'N m s/rad that are added to every effort'),
    'motor.counts_per_turn': Range(4, 2**28, 'positions are 32 bits of counts'),
    'motor.zero': Range(-100.0, 100.0, 'rad of a joint at count 0'),
    'gains.position': Range(0.0, 1e5, 'a stiffer loop swings'),
    'gains.velocity': Range(0.0, 1e4, 'a stiffer loop swings'),
    'limits.position_margin': Range(0.0, 10.0, 'rad inside the range of the joint'),
    'limits.velocity': Range(1e-3, 200.0, 'a joint that is faster is no joint of a robot'),
    'limits.effort': Range(1e-4, 1e5, 'N m at a joint'),
    'limits.effort_rate': Range(1e-3, 1e6, 'N m/s at a joint'),
    'limits.following_error': Range(1e-4, 1.0, 'a drive that is 1 rad behind follows nothing'),
    'limits.acceleration': Range(1.0, 2e4, 'a setpoint that changes faster leaps'),
    'limits.deceleration': Range(1.0, 1e5, 'rad/s^2 of a quick stop'),
    'limits.temperature': Range(20.0, 155.0, 'windings of class F end at 155 degrees Celsius'),
}


def out_of_range(settings: Any, keys: str) -> tuple[str, str] | None:
    """The first key (below ``keys``) whose number is not sane, and why; None when all are.

    Parameters
    ----------
    settings : Drives or Drive
        Keys that it does not have are skipped.
    keys : str
        Prefix of the key that is reported.
    """
    for path, (low, high, reason) in RANGES.items():
        value = settings
        for name in path.split('.'):
            value = getattr(value, name, None)
        if value is not None and not low <= value <= high:
            return f'{keys}{path}', f'{value:g} is not from {low:g} to {high:g}: {reason}'
    return None
