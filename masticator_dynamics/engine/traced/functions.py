# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and angle as arithmetic, so that rows and limbs share registers.

Reduction by Cody and Waite, then the polynomials of fdlibm (Sun Microsystems, 1993); the error is
within two units in the last place for angles up to ``LARGEST_ANGLE``.
"""

import math
from typing import Any

from masticator_dynamics.engine.traced.numbers import (
    Lanes,
    Number,
    Scalar,
    absolute,
    greater,
    lesser,
    nearest_integer,
    select,
    sign_of,
    square_root,
)

LARGEST_ANGLE = 100.0  # rad; far beyond it the reduction loses digits

_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
_ARCTANGENT = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
    -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
    6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
    -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip
_TANGENT = (  # of the series of the hyperbolic tangent, from x^3 on
    -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155925.0,
    21844.0 / 6081075.0, -929569.0 / 638512875.0, 6404582.0 / 10854718875.0,
    -443861162.0 / 1856156927625.0, 18888466084.0 / 194896477400625.0,
)  # fmt: skip
_DOUBLED = 6  # times
_ONE = 20.0  # where the tangent is one up to rounding
_PI_HIGH, _PI_LOW = 3.141592653589793116, 1.2246467991473532e-16


def sine_cosine(angle: Scalar) -> tuple[Any, Any]:
    """Sine and cosine of an angle, rad."""
    if not isinstance(angle, Number | Lanes):
        return math.sin(angle), math.cos(angle)
    # Half the remainder after whole half turns lies within a quarter of pi, where the series hold.
    half_turns = nearest_integer(angle * (1.0 / math.pi))
    rest = ((angle - half_turns * _PI_HIGH) - half_turns * _PI_LOW) * 0.5
    square = rest * rest
    sine = rest + rest * square * _polynomial(_SINE, square)
    cosine = 1.0 - 0.5 * square + square * square * _polynomial(_COSINE, square)
    half = half_turns * 0.5
    sign = 1.0 - absolute(half - nearest_integer(half)) * 4.0  # -1 for an odd number
    return sign * (2.0 * sine * cosine), sign * (1.0 - 2.0 * sine * sine)


def angle_of(sine: Scalar, cosine: Scalar) -> Any:
    """Angle of a unit vector, -pi to pi."""
    quarter = sine / (absolute(cosine) + 1.0)  # tangent of the half, then of the quarter angle
    quarter = quarter / (square_root(quarter * quarter + 1.0) + 1.0)
    square = quarter * quarter
    acute = (quarter - quarter * square * _polynomial(_ARCTANGENT, square)) * 4.0
    return select(cosine, acute, sign_of(sine) * math.pi - acute)


def nearest_turn(angle: Scalar, home: Scalar) -> Any:
    """The angle, by whole turns, that is closest to home."""
    return angle - nearest_integer((angle - home) * (0.5 / math.pi)) * (2.0 * math.pi)


def hyperbolic_tangent(x: Scalar) -> Any:
    """To a few units in the last place: its series, then the double-angle formula six times."""
    part = lesser(greater(x, -_ONE), _ONE) * 0.5**_DOUBLED
    square = part * part
    value: Any = part + part * square * _polynomial(_TANGENT, square)
    for _ in range(_DOUBLED):
        value = 2.0 * value / (1.0 + value * value)
    return value


def exponential(x: Scalar) -> Any:
    """For numbers within a few units of zero; beyond, digits are lost."""
    half = hyperbolic_tangent(0.5 * x)
    return (1.0 + half) / (1.0 - half)


def whole_below(x: Scalar) -> Any:
    """The greatest integer that is not above a number of less than 2^51."""
    nearest = nearest_integer(x)
    return nearest - select(nearest - x, 1.0, 0.0)


def _polynomial(coefficients: tuple[float, ...], x: Scalar) -> Any:
    value: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value
