# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes as people write them: a number in SI units, or one with its unit: 8mm, -5 mm, 20 deg."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection

from masticator_dynamics.errors import InputError

# By quantity, its units as they are written, and what one is in SI units. The first is SI's own.
QUANTITIES: dict[str, dict[str, float]] = {
    'length': {'m': 1.0, 'cm': 1e-2, 'mm': 1e-3, 'um': 1e-6, 'µm': 1e-6},
    'angle': {'rad': 1.0, 'mrad': 1e-3, 'deg': math.pi / 180.0, '°': math.pi / 180.0},
    'mass': {'kg': 1.0, 'g': 1e-3},
    'time': {'s': 1.0, 'ms': 1e-3},
    'force': {'N': 1.0, 'mN': 1e-3, 'kN': 1e3},
    'torque': {'N m': 1.0, 'mN m': 1e-3, 'kN m': 1e3},
    'power': {'W': 1.0, 'mW': 1e-3, 'kW': 1e3},
    'speed': {'m/s': 1.0, 'mm/s': 1e-3},
    'angular speed': {'rad/s': 1.0, 'deg/s': math.pi / 180.0, '°/s': math.pi / 180.0},
    'first moment of mass': {'kg m': 1.0, 'g mm': 1e-6},
    'moment of inertia': {'kg m^2': 1.0, 'kg cm^2': 1e-4, 'g cm^2': 1e-7, 'g mm^2': 1e-9},
    'linear stiffness': {'N/m': 1.0, 'N/mm': 1e3},
    'angular stiffness': {'N m/rad': 1.0, 'N m/deg': 180.0 / math.pi},
    'linear damping': {'N s/m': 1.0},
    'angular damping': {'N m s/rad': 1.0, 'N m s': 1.0},
    'ratio': {},
}
_SIZE = re.compile(
    r'\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)'  # a number
    r'\s*((?:[^\W\d_]|[°µ])[^\W_]*(?:[ ·*/^²°][^\W_]*)*)?\s*'  # a unit, which begins with a letter
)
_SPELT = str.maketrans({'−': '-', 'μ': 'µ', '²': '^2'})


def is_size(text: object) -> bool:
    """Whether this is a number, perhaps with a unit, rather than a formula or a name."""
    return _SIZE.fullmatch(str(text).translate(_SPELT)) is not None


def in_si(
    value: float | str,
    name: str,
    quantities: str | Collection[str] = (),
    spelt: Callable[[str], float | None] = lambda unit: None,
) -> float:
    """A number such as ``0.015``, ``15mm`` or ``-20 deg`` in SI units.

    Parameters
    ----------
    name : str
        Of what has it, for messages.
    quantities : str or collection of str
        What it measures, of ``QUANTITIES``; several if any of them may be. Empty: any unit is
        taken, since nothing is known.
    spelt : callable, optional
        What one of a unit is in SI units by other spellings, or None.

    Raises
    ------
    InputError
        For text that is no number, an unknown unit, or one that measures something else.
    """
    text = str(value).translate(_SPELT)
    size = _SIZE.fullmatch(text)
    number = float(size[1]) if size else _other_number(text, value, name)
    if not math.isfinite(number):
        raise InputError(f'{name}: {value!r} is not finite')
    unit = (size[2] or '').strip() if size else ''
    if not unit:
        return number
    wanted = (quantities,) if isinstance(quantities, str) else tuple(quantities)
    other = spelt(unit)
    if other is not None:
        return number * other
    measured = {
        quantity: scale
        for quantity, units in QUANTITIES.items()
        for symbol, scale in units.items()
        if _is_spelt(unit, symbol)
    }
    if not measured:
        kinds = wanted or tuple(QUANTITIES)
        units = ', '.join(symbol for quantity in kinds for symbol in QUANTITIES[quantity])
        raise InputError(f'{name}: no unit {unit!r}; there are: {units or "none"}')
    for quantity, scale in measured.items():
        if not wanted or quantity in wanted:
            return number * scale
    (quantity, *_) = measured
    needed = ' or '.join(_article(q) for q in wanted)
    raise InputError(f'{name} is {needed}, and {unit} measures {_article(quantity)}')


def _other_number(text: str, value: float | str, name: str) -> float:
    """A number that Python writes otherwise, such as inf and nan."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f'{name}: {value!r} is no number; write 0.015 or 15 mm') from None


def _is_spelt(unit: str, symbol: str) -> bool:
    """Whether a unit is written so, whatever stands between its parts: ``Nm``, but no ``m m``."""
    parts = [re.sub(r'(/|\\\^)', r' *\1 *', re.escape(part)) for part in symbol.split()]
    return re.fullmatch('[ ·*]*'.join(parts), unit) is not None


def _article(quantity: str) -> str:
    return f'{"an" if quantity[0] in "aeiou" else "a"} {quantity}'
