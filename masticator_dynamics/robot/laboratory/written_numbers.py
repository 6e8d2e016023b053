# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as a publication prints them: fixed notation, rounded by their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_UNITS = {'motion.period': 's', 'motion.opening': 'rad', 'motion.occlusal_gap': 'm',
          'strokes': 'strokes'}  # fmt: skip
_DIGITS = 3  # of a number without a known uncertainty
_SPACE, _MINUS = '\u00a0', '\u2212'  # no line breaks at either


def places(size: float, digits: int) -> int:
    """Decimal places at which a size has so many digits; negative: whole tens, hundreds."""
    if not math.isfinite(size) or size == 0.0:
        return digits - 1
    found = digits - 1 - math.floor(math.log10(abs(size)))
    # Rounding up may have made a digit more: 0.0996 is 0.10, not 0.100.
    more = round(abs(size), found) >= 10.0 ** (digits - found)
    return found - 1 if more else found


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
    for uncertainty in (half_width, deviation):
        if math.isfinite(uncertainty) and uncertainty > 1e-9 * abs(value):
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


def named_term(term: str) -> str:
    """A factor, or an interaction such as ``food:motion.period``, as it is read."""
    return ' × '.join(factor.removeprefix('motion.') for factor in term.split(':'))


def condition(levels: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> str:
    """A condition by the levels of its factors."""
    return ', '.join(level(*pair) for pair in dict(levels).items()) or 'all'
