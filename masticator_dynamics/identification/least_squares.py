# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Least squares without belief: what everybody can have, to stand beside what was identified.

Same rows and same terms of friction, rotors and offsets. Motors are weighted by what they leave
(Gautier 1997, "Dynamic identification of robots with power model"), and of all answers the one
nearest to the file is taken. Bodies that it finds need not be possible.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.identification.weighted_equations import Equations

_STEPS = 2  # of weights
_ROUNDING = 1e-6  # of the largest singular value, when columns are of one size


def least_squares(equations: Equations) -> FloatArray:
    """Unknowns (n_x,) that leave least."""
    matrix, target = equations.back @ equations.matrix, equations.errors(0.0)
    sizes = np.linalg.norm(matrix, axis=(0, 1))
    sizes[sizes == 0.0] = 1.0
    weights = 1.0 / equations.usual
    for _ in range(_STEPS):
        rows = (weights[:, None] * matrix / sizes).reshape(-1, len(sizes))
        x = np.linalg.lstsq(rows, (weights * target).reshape(-1), rcond=_ROUNDING)[0] / sizes
        weights = 1.0 / np.maximum(_rms(target - matrix @ x), 1e-9 * equations.usual)
    return np.asarray(x)


def _rms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((rows**2).mean(axis=0)))
