# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Array types and the conversion of user input."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def as_floats(values: npt.ArrayLike, name: str) -> FloatArray:
    """Floating-point array from user input.

    Raises
    ------
    InputError
        If it is not an array of real numbers.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    try:
        if np.ma.is_masked(values):
            raise TypeError('some of its values are masked')
        numbers = np.asarray(values)
        if numbers.dtype.kind not in 'biufO':
            raise TypeError(f'its elements are of type {numbers.dtype.name}')
        return numbers.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f'{name} is not an array of numbers: {error}') from None


def as_number(value: object, name: str, *, finite: bool = True) -> float:
    """A number from user input, which may be infinite if that is allowed.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        if isinstance(value, bool | np.bool_ | str):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f'{name} is {value!r:.60}, not a number') from None
    if np.isnan(number) or (finite and np.isinf(number)):
        raise InputError(f'{name} is {number}, not a finite number')
    return number


def as_flag(value: object, name: str) -> bool:
    """True or False from user input; anything else, but 1 and 0, is an InputError."""
    if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
        raise InputError(f'{name} is {value!r:.60}, neither True nor False')
    return bool(value)


def as_names(values: object, name: str) -> tuple[str, ...]:
    """Names from user input; an InputError if it is no sequence, or a single text."""
    names = tuple(values) if isinstance(values, Iterable) else (None,)
    if isinstance(values, str | bytes) or not all(isinstance(x, str) for x in names):
        raise InputError(f'{name} are {values!r:.60}; needed is a sequence of names')
    return names


def as_vector(values: npt.ArrayLike, name: str, length: int) -> FloatArray:
    """Floating-point array (length,) from user input.

    Parameters
    ----------
    values : array_like
        The numbers.
    name : str
        What they are, for messages.
    length : int
        How many there must be.

    Raises
    ------
    InputError
        For a wrong shape.
    """
    numbers = as_floats(values, name)
    if numbers.shape != (length,):
        raise InputError(f'{name} has shape {numbers.shape}, needed is ({length},)')
    return numbers


def as_finite_vector(values: npt.ArrayLike, name: str, length: int) -> FloatArray:
    """A vector of finite numbers.

    Parameters
    ----------
    values : array_like

    Raises
    ------
    InputError
        For a wrong shape, NaN and infinity.
    """
    numbers = as_vector(values, name, length)
    if not np.isfinite(numbers).all():
        raise InputError(f'{name} is not finite: {numbers}')
    return numbers


def consecutive(lengths: Mapping[str, int], start: int = 0) -> dict[str, slice]:
    """Where parts of these lengths are in a row, one after the other."""
    ends = [*itertools.accumulate(lengths.values(), initial=start)]
    return dict(zip(lengths, map(slice, ends, ends[1:]), strict=True))


def rms(values: npt.ArrayLike) -> float:
    """Root mean square of all values."""
    return float(np.sqrt(np.mean(np.square(values))))


def between(values: FloatArray, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
    """Values cut to a range, as by `np.clip`, which takes twice as long for a few."""
    cut: FloatArray = np.minimum(np.maximum(values, low), high)
    return cut


def where(mask: npt.NDArray[np.bool_]) -> list[int]:
    """Where a short mask (n,) is true; ``mask.any()`` alone takes three times as long."""
    flags = mask.tolist()
    return [k for k, flag in enumerate(flags) if flag] if True in flags else []


def outside(values: FloatArray, low: FloatArray, high: FloatArray) -> list[int]:
    """Where values (n,) are not within a range; NaN is not."""
    inside = ((low <= values) & (values <= high)).tolist()
    return [k for k, flag in enumerate(inside) if not flag] if False in inside else []


def larger(values: FloatArray, limits: FloatArray) -> list[int]:
    """Where values (n,) are not within limits (n,) of either sign; NaN is not."""
    inside = (abs(values) <= limits).tolist()
    return [k for k, flag in enumerate(inside) if not flag] if False in inside else []


def within(values: FloatArray, limit: float) -> bool:
    """Whether values (n,) are within a limit of either sign; NaN is not."""
    return False not in (abs(values) <= limit).tolist()


def as_slice(indices: IntArray) -> slice | IntArray:
    """Indices as a slice where they are evenly spaced and rise: it selects without copying."""
    steps = np.unique(np.diff(indices))
    if not len(indices) or len(steps) > 1 or (steps < 1).any():
        return indices
    return slice(int(indices[0]), int(indices[-1]) + 1, int(steps[0]) if len(steps) else 1)
