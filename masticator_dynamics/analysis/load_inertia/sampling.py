# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load inertia of a mechanism at poses drawn from its workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.inertia_coupling import ActuatedInertia
from masticator_dynamics.errors import InputError
from masticator_dynamics.limits.ranges import range_room

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

Progress = Callable[[int], object]
_FIRST, _MARGIN = 200, 0.05
_CHUNK = 500  # poses tried at once
_FEWEST = 2e-4  # share of the tried poses that can be reached


def element_indices(count: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the elements of a symmetric matrix: the diagonal, then those above."""
    rows, columns = np.triu_indices(count, k=1)
    return np.concatenate([np.arange(count), rows]), np.concatenate([np.arange(count), columns])


def inertia_elements(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """Elements of the inertia (N, E), as :func:`element_indices` counts them; NaN like it."""
    rows, columns = element_indices(len(mechanism.actuated))
    return actuated_inertia_at(mechanism, poses)[:, rows, columns]


def joint_box(
    mechanism: Mechanism, ranges: Mapping[str, tuple[float, float]]
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (n_y,) of the independent coordinates: as given, else the URDF's.

    Raises
    ------
    InputError
        For an unknown name, an empty range, or a coordinate without a range.
    """
    indices = mechanism.tree_indices(mechanism.independent)
    low, high = mechanism.limits.lower[indices], mechanism.limits.upper[indices]
    for name, (first, last) in ranges.items():
        if name not in mechanism.independent:
            coordinates = ', '.join(mechanism.independent)
            raise InputError(f'{name!r} is no independent coordinate; there are: {coordinates}')
        if not first < last:
            raise InputError(f'the range of {name}, {first:g} to {last:g}, is empty')
        k = mechanism.independent.index(name)
        low[k], high[k] = first, last
    for name, first, last in zip(mechanism.independent, low, high, strict=True):
        if not np.isfinite(last - first):
            raise InputError(
                f'{name} has no limits in the URDF; give it a range (--range {name}=LOW:HIGH)'
            )
    return low, high


def reachable_poses(
    mechanism: Mechanism,
    count: int,
    ranges: Mapping[str, tuple[float, float]],
    rng: np.random.Generator,
    progress: Progress = lambda _: None,
) -> FloatArray:
    """Uniformly distributed poses (count, n_y) with closed loops and all joints in range.

    Parameters
    ----------
    count : int
        Number of poses wanted.
    ranges : mapping
        Lower and upper bound, m or rad, of coordinates that are not to use their whole range.
    progress : callable
        Called with the number of poses found since the last call.

    Raises
    ------
    InputError
        If hardly any pose can be reached.
    """
    low, high = joint_box(mechanism, ranges)
    poses = _drawn(mechanism, _FIRST, low, high, rng, lambda _: None)
    # Then from the box around the poses found: the full one may be far too large.
    margin = _MARGIN * np.ptp(poses, axis=0)
    low = np.maximum(low, poses.min(axis=0) - margin)
    high = np.minimum(high, poses.max(axis=0) + margin)
    return _drawn(mechanism, count, low, high, rng, progress)


def _drawn(
    mechanism: Mechanism,
    count: int,
    low: FloatArray,
    high: FloatArray,
    rng: np.random.Generator,
    progress: Progress,
) -> FloatArray:
    drawn, tried = np.empty((0, len(low))), 0
    while len(drawn) < count:
        if tried * _FEWEST > 10 + len(drawn):
            raise InputError(
                f'only {len(drawn)} of {tried} poses drawn can be reached within all ranges; give '
                'narrower ranges of the independent coordinates'
            )
        poses = rng.uniform(low, high, (_CHUNK, len(low)))
        attempts = mechanism.attempt(poses)
        inside = range_room(mechanism, attempts.motions).room >= 0.0
        reached = poses[attempts.closed][inside][: count - len(drawn)]
        drawn, tried = np.concatenate([drawn, reached]), tried + _CHUNK
        progress(len(reached))
    return drawn


def load_inertia(
    mechanism: Mechanism, poses: FloatArray, *, where_possible: bool = False
) -> FloatArray:
    """Load inertia (N, n_u) at poses (N, n_y): kg m^2 at motors that turn, kg at those that slide.

    It is the diagonal of the inertia in actuated space; ``where_possible`` makes it NaN instead of
    an error at poses out of reach or singular.

    Raises
    ------
    ReachError, SingularityError
        When the loops do not close at a pose or the actuators lose control there; the error's
        ``row`` says which.
    ActuationError
        As :func:`masticator_dynamics.engine.evaluation.inertia_coupling.actuated_inertia`.
    """
    if where_possible:
        inertia = actuated_inertia_at(mechanism, poses)
    else:
        inertia = mechanism.actuated_inertia(mechanism.attempt(poses).all())
    return np.diagonal(inertia, axis1=1, axis2=2).copy()


def actuated_inertia_at(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """Inertia matrices (N, n_u, n_u) in actuated space, NaN at poses out of reach or singular."""
    attempts, count = mechanism.attempt(poses), len(mechanism.actuated)
    inertia = np.full((len(poses), count, count), np.nan)
    inertia[attempts.closed] = mechanism.made(ActuatedInertia)(attempts.motions.q)
    return inertia
