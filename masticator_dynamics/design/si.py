# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in study files: SI, or text with a unit behind the number."""

from __future__ import annotations

import math

from masticator_dynamics.errors import InputError

# By unit: what it measures, and what one is in SI units.
_UNITS = {
    'm': ('length', 1.0), 'cm': ('length', 1e-2), 'mm': ('length', 1e-3),
    'rad': ('angle', 1.0), 'deg': ('angle', math.pi / 180.0),
    'kg': ('mass', 1.0), 'g': ('mass', 1e-3),
    's': ('time', 1.0), 'ms': ('time', 1e-3),
    'N': ('force', 1.0), 'kN': ('force', 1e3),
    'Nm': ('torque', 1.0), 'mNm': ('torque', 1e-3), 'W': ('power', 1.0),
}  # fmt: skip
# What parameters measure, by what stands behind their dot.
_KINDS = {
    'x': 'length', 'y': 'length', 'z': 'length', 'length': 'length',
    'roll': 'angle', 'pitch': 'angle', 'yaw': 'angle', 'mass': 'mass',
}  # fmt: skip


def in_si(value: float | str, name: str) -> float:
    """A number such as ``0.015``, ``15 mm`` or ``20 deg`` in SI units.

    Parameters
    ----------
    value : float or str
    name : str
        Of what has it: ``crank.x`` is a length, and refuses degrees.

    Raises
    ------
    InputError
        For text that is no number, an unknown unit, or one that measures something else.
    """
    number, _, unit = str(value).strip().partition(' ')
    try:
        found = float(number)
    except ValueError:
        raise InputError(f'{name}: {value!r} is no number; write 0.015 or 15 mm') from None
    if not math.isfinite(found):
        raise InputError(f'{name}: {value!r} is not finite')
    if not unit:
        return found
    unit = unit.strip()
    if unit not in _UNITS:
        raise InputError(f'{name}: no unit {unit!r}; there are: {", ".join(_UNITS)}')
    kind, scale = _UNITS[unit]
    wanted = _KINDS.get(name.rpartition('.')[2]) if '.' in name else None
    if wanted and kind != wanted:
        raise InputError(f'{name} is a {wanted}, and {unit} measures a {kind}')
    return found * scale
