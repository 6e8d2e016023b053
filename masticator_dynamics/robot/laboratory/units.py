# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Units of measured quantities, sizes with a unit, and which sizes a sample can have."""

from __future__ import annotations

import re

from masticator_dynamics.errors import InputError

_GRAVITY = 9.80665  # m/s^2, standard: analysers that are calibrated by weights show grams
# Quantity: spellings of a unit (lower case), and what one is in SI units.
_SPELLINGS = {
    'displacement': {
        'm': 1.0, 'dm': 0.1, 'cm': 1e-2, 'mm': 1e-3, 'um µm μm micron microns': 1e-6,
        'in inch inches zoll pouce pouces': 0.0254,
    },
    'force': {
        'n newton newtons': 1.0, 'mn': 1e-3, 'cn': 1e-2, 'dan': 10.0, 'kn': 1e3,
        'g gf p pond gram grams gramm grammes': 1e-3 * _GRAVITY,
        'kg kgf kp': _GRAVITY, 'lb lbf lbs': 0.45359237 * _GRAVITY, 'dyn dyne': 1e-5,
    },
    'time': {
        's sec secs second seconds sek sekunde sekunden seconde secondes': 1.0,
        'ms msec': 1e-3, 'us µs μs': 1e-6, 'min mins minute minutes minuten': 60.0,
        'h hour hours': 3600.0,
    },
}  # fmt: skip
UNITS = {
    quantity: {name: value for names, value in units.items() for name in names.split()}
    for quantity, units in _SPELLINGS.items()
}
SI = {'displacement': 'm', 'force': 'N', 'time': 's'}
# What a measured curve spans, and a sample's thickness, in SI units.
_POSSIBLE = {
    'displacement': (1e-5, 0.2),
    'force': (1e-3, 2e4),
    'time': (1e-3, 1e5),
    'thickness': (1e-4, 0.2),
}
_SIZE = re.compile(r'\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*(\S*)\s*')


def unit_value(quantity: str, unit: str) -> float | None:
    """What one of a unit is in SI units; None for a unit that is not known."""
    return UNITS[quantity].get(unit.strip().strip('.').casefold())


def size(text: str, quantity: str) -> float:
    """A size such as ``8mm`` or, in SI units, ``0.008``.

    Raises
    ------
    ValueError
        If it is no number, or has no unit of this quantity behind it.
    """
    found = _SIZE.fullmatch(text)
    value = unit_value(quantity, found[2] or SI[quantity]) if found else None
    if found is None or value is None:
        return float(text)  # 'inf' and 'nan' are numbers, and refused by who asked for the size
    return float(found[1]) * value


def check_possible(what: str, kind: str, value: float, remedy: str) -> None:
    """Ask about a size that no sample has.

    Parameters
    ----------
    what : str
        Name of the size, for the message.
    kind : str
        A quantity, or 'thickness'.
    value : float
        SI.
    remedy : str
        How to say what is meant.

    Raises
    ------
    InputError
        If no sample has it; says what would be read.
    """
    low, high = _POSSIBLE[kind]
    if low <= abs(value) <= high:
        return
    unit = SI['displacement' if kind == 'thickness' else kind]
    raise InputError(
        f'{what} would be read as {value:.6g} {unit}; expected are {low:g} to {high:g} {unit}; '
        f'{remedy}'
    )
