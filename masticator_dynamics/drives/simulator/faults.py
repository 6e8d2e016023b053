# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of simulated drives, injected by lines such as ``drop crank_3 0.5``."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives.simulator.slave import Slave
from masticator_dynamics.errors import InputError

ALL = 'all'
_HOTTER = 5.0  # K above the limit
_LARGEST_CODE = 0xFFFF
_WATCHES_NOTHING = 4  # depth of deafness


def _heartbeat(slave: Slave) -> None:
    """Send no heartbeat."""
    slave.heartbeats.silent = True


def _bus_off(slave: Slave) -> None:
    """Go bus-off: send and hear nothing."""
    slave.go_bus_off()


def _over_temperature(slave: Slave) -> None:
    """Be hotter than the limit."""
    slave.added_heat = slave.temperature_limit + _HOTTER - slave.servo.temperature


def _stuck_encoder(slave: Slave) -> None:
    """Measure the same position forever."""
    slave.servo.stuck = 1.0


def _delay(slave: Slave, seconds: float) -> None:
    """Send every frame this much later."""
    slave.link.delay = seconds


def _drop(slave: Slave, share: float) -> None:
    """Lose this share of the frames sent."""
    slave.link.drop = share


def _fault(slave: Slave, code: float) -> None:
    """Go to fault with an error code."""
    slave.device.fault(int(code))


def _deaf(slave: Slave, depth: float) -> None:
    """Do not hear PDOs (1), control words by SDO (2) or NMT (3), or monitor anything (4)."""
    slave.deaf, slave.device.watches = int(depth), depth < _WATCHES_NOTHING


def _clear(slave: Slave) -> None:
    """Clear all injected faults; a drive in fault stays so until it is reset."""
    slave.heartbeats.silent = False
    slave.added_heat, slave.deaf, slave.device.watches = 0.0, 0, True
    slave.servo.stuck = 0.0
    slave.come_back()
    slave.link.clear()


_PLAIN: dict[str, Callable[[Slave], None]] = {
    'heartbeat': _heartbeat,
    'bus-off': _bus_off,
    'over-temperature': _over_temperature,
    'stuck-encoder': _stuck_encoder,
    'clear': _clear,
}
# Faults with a number: what it is, and its range.
_NUMBERED: dict[str, tuple[Callable[[Slave, float], None], str, float, float]] = {
    'delay': (_delay, 'a time in s', 0.0, 60.0),
    'drop': (_drop, 'a share', 0.0, 1.0),
    'fault': (_fault, 'an error code', 1, _LARGEST_CODE),
    'deaf': (_deaf, 'a depth', 1, 4),
}
_WHOLE = ('fault', 'deaf')
NAMES = (*_PLAIN, *_NUMBERED)


def inject(slaves: dict[str, Slave], line: str) -> None:
    """Do what a line says: fault, drive or ``all``, and a number if the fault takes one.

    Raises
    ------
    InputError
        The line is not understood; nothing was done.
    """
    words = line.split()
    name = words[0] if words else ''
    if name not in NAMES:
        raise InputError(f'{name!r} is none of {", ".join(NAMES)}')
    numbered = name in _NUMBERED
    if len(words) != 2 + numbered:
        number = f' and {_NUMBERED[name][1]}' if numbered else ''
        raise InputError(f'{name} needs a drive (or {ALL}){number}: {line.strip()!r}')
    if words[1] != ALL and words[1] not in slaves:
        raise InputError(f'there is no drive {words[1]}, only {", ".join(slaves)}')
    chosen = list(slaves.values()) if words[1] == ALL else [slaves[words[1]]]
    if not numbered:
        for slave in chosen:
            _PLAIN[name](slave)
        return
    function, what, low, high = _NUMBERED[name]
    value = _number(words[2])
    if not low <= value <= high or (name in _WHOLE and value != int(value)):
        raise InputError(f'{words[2]!r} is not {what} from {low:g} to {high:g}')
    for slave in chosen:
        function(slave, value)


def _number(text: str) -> float:
    """A decimal number, or an integer in any Python notation; NaN for anything else."""
    for convert in (float, lambda word: float(int(word, 0))):
        try:
            return convert(text)
        except (ValueError, OverflowError):
            continue
    return math.nan
