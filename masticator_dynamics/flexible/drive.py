# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drive modes of S3: the flexible mechanism gets the efforts that the rigid one would need."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.flexible.flexible_model import FlexibleModel
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.path import MotionPath

MODES = {
    'a': 'as many motors as degrees of freedom, the first ones',
    'b': 'all motors, least torques',
    'c': 'all motors, least powers',
}


def driven_mechanism(description: MechanismDescription, mode: str) -> tuple[Mechanism, str]:
    """Rigid mechanism with the motors of a drive mode, and the goal by which they share the load.

    Raises
    ------
    InputError
        For an unknown mode.
    """
    if mode not in MODES:
        raise InputError(f'drive mode {mode!r} is not one of {", ".join(MODES)}')
    few = description.actuated[: len(description.independent)]
    mechanism = Mechanism(description, few if mode == 'a' else None)
    return mechanism, 'power' if mode == 'c' else 'torque'


def feedforward(
    model: FlexibleModel, mechanism: Mechanism, goal: str, path: MotionPath
) -> Callable[[float], FloatArray]:
    """Efforts (n,) on the coordinates of a model along a path, as a function of time.

    Parameters
    ----------
    model : FlexibleModel
        What is driven.
    mechanism : Mechanism
        The rigid mechanism whose efforts are taken.
    goal : str
        As for :meth:`Mechanism.feedforward`.
    path : MotionPath
        Of the independent coordinates.
    """
    columns = [model.index(name) for name in mechanism.actuated]

    @functools.lru_cache(maxsize=64)  # implicit steps return to the same times
    def effort(time: float) -> FloatArray:
        out = np.zeros(len(model.coordinates))
        motors = mechanism.feedforward(*path(time), goal=goal).actuated
        out[columns] = mechanism.transmission_ratios * motors  # of motors, on joints
        return out

    return effort
