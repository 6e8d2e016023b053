# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Array types and the conversion of user input."""

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
        If it is not an array of numbers.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f'{name} is not an array of numbers: {error}') from None
