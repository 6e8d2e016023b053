# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads units of quantities and sizes of samples; prints numbers as a publication does."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.units import in_si
from masticator_dynamics.files.yaml_file import read_mapping

CURVES = read_mapping(share_directory() / 'config' / 'measured_curves.yaml')
UNITS = {
    quantity: {name: value for names, value in units.items() for name in names.split()}
    for quantity, units in CURVES['units'].items()
}
SI = {'displacement': 'm', 'force': 'N', 'time': 's'}


def unit_value(quantity: str, unit: str) -> float | None:
    """What one of a unit is in SI units; None for a unit that is not known, or that is a mega-."""
    if unit.strip() == 'MN':
        return None
    return UNITS[quantity].get(unit.strip().strip('.').casefold())


def size(text: str, quantity: str) -> float:
    """A size such as ``8mm`` or, in SI units, ``0.008``, with units as analysers spell them.

    Raises
    ------
    InputError
        If it is no number, is not finite, or has no unit of this quantity behind it.
    """
    measured = {'displacement': 'length'}.get(quantity, quantity)
    return in_si(text, quantity, measured, functools.partial(unit_value, quantity))


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
    low, high = CURVES['possible'][kind]
    if low <= abs(value) <= high:
        return
    unit = SI['displacement' if kind == 'thickness' else kind]
    raise InputError(
        f'{what} would be read as {value:.6g} {unit}; expected are {low:g} to {high:g} {unit}; '
        f'{remedy}'
    )


TEXTS = read_mapping(share_directory() / 'config' / 'report.yaml')
# Figures in the report, with their units and the factor to them from SI units.
SHOWN: dict[str, tuple[str, float]] = TEXTS['shown']
_UNITS = {'motion.period': 's', 'motion.opening': 'rad', 'motion.occlusal_gap': 'm',
          'motion.force.level': 'N', 'motion.force.rise': 's', 'motion.force.hold': 's',
          'motion.force.relaxation': 's', 'motion.force.approach': 'm/s',
          'motion.force.repetitions': 'bites', 'strokes': 'strokes'}  # fmt: skip
_NOTHING = 1e-9  # in the unit shown: less is rounding
_DIGITS = 3  # of a number without a known uncertainty
_SPACE, _MINUS = '\u00a0', '\u2212'  # no line breaks at either


def places(size: float, digits: int) -> int:
    """Decimal places at which a size has so many digits; negative: whole tens, hundreds."""
    if not math.isfinite(size) or size == 0.0:
        return digits - 1
    decimals = digits - 1 - math.floor(math.log10(abs(size)))
    # Rounding up may have made a digit more: 0.0996 is 0.10, not 0.100.
    more = round(abs(size), decimals) >= 10.0 ** (digits - decimals)
    return decimals - 1 if more else decimals


def fixed(value: float, decimals: int) -> str:
    """A number in fixed notation; nothing is negative that is rounded to zero."""
    text = f'{round(value, decimals):.{max(decimals, 0)}f}'
    if float(text) == 0.0:
        text = text.lstrip('-')
    return text.replace('-', _MINUS)


def plain(value: float, digits: int = _DIGITS) -> str:
    """A number whose uncertainty is not known, to a few digits."""
    return fixed(value, places(value, digits))


def decimals_for(half_width: float, deviation: float, value: float) -> int:
    """Decimal places of a value: two digits of its uncertainty, or else a few of its own.

    Parameters
    ----------
    half_width : float
        Of its confidence interval.
    deviation : float
        Its standard deviation, used where there is no interval.
    value : float
        The value.
    """
    uncertainties = [number for number in (half_width, deviation) if math.isfinite(number)]
    if max([abs(value), *uncertainties]) <= _NOTHING:
        return places(0.0, _DIGITS)
    for uncertainty in uncertainties:
        if uncertainty > 1e-9 * abs(value):
            return places(uncertainty, 2)
    return places(value, _DIGITS)


def interval(low: float, high: float, decimals: int) -> str:
    """An interval in one piece."""
    return f'{fixed(low, decimals)}{_SPACE}to{_SPACE}{fixed(high, decimals)}'


def mean_and_deviation(mean: float, deviation: float, decimals: int) -> str:
    """A mean, and its standard deviation if there is one."""
    if not math.isfinite(deviation):
        return fixed(mean, decimals)
    return f'{fixed(mean, decimals)}{_SPACE}±{_SPACE}{fixed(deviation, decimals)}'


def probability(p: float) -> str:
    """A p-value."""
    return f'<{_SPACE}0.001' if p < 0.001 else f'{p:.3f}'


def level(factor: str, value: Any) -> str:
    """A level of a factor, with its unit."""
    unit = _UNITS.get(factor)
    return f'{value}{_SPACE}{unit}' if unit else str(value)


def in_order(levels: Iterable[Any]) -> list[tuple[float, str]]:
    """What combinations of levels are sorted by: numbers by size, names by the alphabet."""
    return [(float(x), '') if isinstance(x, (int, float)) else (math.inf, str(x)) for x in levels]


def named_figure(figure: str) -> str:
    """A figure and its unit, if it has one."""
    return f'{figure.replace("_", " ")}, {SHOWN[figure][0]}'.rstrip(', ')


def named_term(term: str) -> str:
    """A factor, or an interaction such as ``food:motion.period``, as it is read."""
    return ' × '.join(factor.removeprefix('motion.') for factor in term.split(':'))


def condition(levels: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> str:
    """A condition by the levels of its factors."""
    return ', '.join(level(*pair) for pair in dict(levels).items()) or 'all'
