# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of CiA 402, and of the generic EDS, tied to the servo and state machine behind them."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.configuration import Drive
from masticator_dynamics.drives.objects import Mode
from masticator_dynamics.drives.simulator.device import Device
from masticator_dynamics.drives.simulator.servo import Servo
from masticator_dynamics.drives.simulator.simulated_dictionary import (
    BAD_VALUE,
    AbortError,
    Key,
    ObjectDictionary,
    Value,
)
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive

_NONE = 0xFFFFFFFF  # a limit that means none
_POSITION_DEMAND, _ENCODER = 0x6062, 0x608F
_OPTIONS = {
    names.QUICK_STOP_OPTION: (0, 1, 2, 5, 6),
    names.SHUTDOWN_OPTION: (0, 1),
    names.DISABLE_OPTION: (0, 1),
    names.HALT_OPTION: (1, 2),
    names.FAULT_OPTION: (0, 1, 2),
    names.CONNECTION_LOST_OPTION: (0, 1, 2, 3),
    names.HOMING_METHOD: (0, 35, 37),
    names.MODE: (
        0,
        Mode.HOMING,
        Mode.CYCLIC_SYNCHRONOUS_POSITION,
        Mode.CYCLIC_SYNCHRONOUS_TORQUE,
    ),
}


def defaults(drive: Drive, simulated: SimulatedDrive) -> dict[Key, Value]:
    """Values that a drive with this motor reports at power-up."""
    motor = drive.motor
    return {
        (0x1018, 4): drive.node_id,
        names.RATED_TORQUE.key: round(1000.0 * motor.rated_torque),
        names.MAX_TORQUE.key: round(1000.0 * motor.peak_torque / motor.rated_torque),
        (_ENCODER, 1): motor.counts_per_turn,
        names.POSITION_GAIN.key: simulated.gains.position,
        names.VELOCITY_GAIN.key: simulated.gains.velocity,
    }


def connect(
    objects: ObjectDictionary,
    device: Device,
    servo: Servo,
    temperature: Callable[[], float],
    counts_per_turn: int,
) -> Callable[[], None]:
    """Connect objects to what they stand for; those missing from the EDS are never asked for.

    Returns a function that passes stored values on to the servo, as after power-up.

    Parameters
    ----------
    objects : ObjectDictionary
        Of the simulated drive.
    device : Device
        Its state machine.
    servo : Servo
        Its control loops.
    temperature : callable
        Motor temperature, degrees Celsius.
    counts_per_turn : int
        Of the encoder.
    """
    readers: dict[Key, Callable[[], Value]] = {
        names.STATUS_WORD.key: lambda: device.status,
        names.MODE_DISPLAY.key: lambda: device.mode,
        (_POSITION_DEMAND, 0): lambda: _integer(servo.demand),
        names.POSITION.key: lambda: _integer(servo.position),
        names.VELOCITY.key: lambda: _integer(servo.velocity),
        names.TORQUE.key: lambda: _integer(servo.torque, 16),
        names.FOLLOWING_ERROR.key: lambda: _integer(servo.following_error),
        names.MOTOR_TEMPERATURE.key: lambda: _integer(10.0 * temperature(), 16),
    }
    numbers = _numbers(servo, counts_per_turn)
    writers: dict[Key, Callable[[Value], None]] = {
        names.CONTROL_WORD.key: lambda value: device.control(int(value)),
        names.MODE.key: lambda value: device.set_mode(int(value)),
        names.TARGET_POSITION.key: lambda value: servo.command(float(value)),
        **numbers,
    }
    objects.readers.update(readers)
    objects.writers.update(writers)
    for option, known in _OPTIONS.items():
        key = option.key
        objects.writers[key] = _only(known, objects.writers.get(key))
    for key in (names.CYCLE_TIME.key, names.CYCLE_TIME_INDEX.key):
        objects.writers[key] = _period(objects, servo, key)

    def apply() -> None:
        for key in (*numbers, names.CYCLE_TIME.key):
            if key in objects.entries:
                objects.put(key, objects.values[key])

    return apply


def _numbers(servo: Servo, counts_per_turn: int) -> dict[Key, Callable[[Value], None]]:
    """Objects that stand for a number of the servo: key, attribute, conversion."""

    def limit(scale: float) -> Callable[[float], float]:
        return lambda value: math.inf if value == _NONE else value * scale

    table: list[tuple[names.Object, str, Callable[[float], float]]] = [
        (names.POSITION_GAIN, 'position_gain', float),
        (names.VELOCITY_GAIN, 'velocity_gain', float),
        (names.TARGET_TORQUE, 'target_torque', float),
        (names.TORQUE_OFFSET, 'torque_offset', float),
        (names.VELOCITY_OFFSET, 'velocity_offset', float),
        (names.MAX_TORQUE, 'max_torque', float),
        (names.FOLLOWING_ERROR_WINDOW, 'following_window', limit(1.0)),
        (names.FOLLOWING_ERROR_TIME, 'following_time', lambda value: value * 1e-3),
        (names.MAX_MOTOR_SPEED, 'max_rate', limit(counts_per_turn / 60.0)),
        (names.MIN_POSITION_LIMIT, 'lowest', float),
        (names.MAX_POSITION_LIMIT, 'highest', float),
    ]

    def setter(name: str, convert: Callable[[float], float]) -> Callable[[Value], None]:
        return lambda value: setattr(servo, name, convert(float(value)))

    return {entry.key: setter(name, convert) for entry, name, convert in table}


def _only(known: tuple[int, ...], then: Callable[[Value], None] | None) -> Callable[[Value], None]:
    """A writer that refuses all but the known values."""

    def write(value: Value) -> None:
        if value not in known:
            raise AbortError(BAD_VALUE)
        if then:
            then(value)

    return write


def _period(objects: ObjectDictionary, servo: Servo, key: Key) -> Callable[[Value], None]:
    """A writer of one half of 0x60C2, value * 10**index in s."""

    def write(value: Value) -> None:
        halves = {
            names.CYCLE_TIME.key: objects.get(*names.CYCLE_TIME.key, 1),
            names.CYCLE_TIME_INDEX.key: objects.get(*names.CYCLE_TIME_INDEX.key, -3),
        }
        halves[key] = int(value)
        number, exponent = halves.values()
        servo.period = max(number * 10.0**exponent, servo.step)

    return write


def _integer(value: float, bits: int = 32) -> int:
    """The nearest integer that this many bits can hold."""
    largest = (1 << bits - 1) - 1
    return int(min(max(math.floor(value + 0.5), -largest - 1), largest))
