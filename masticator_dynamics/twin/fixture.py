# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A fixture that holds the mechanism at home until its drives do."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.twin.plant import MechanismPlant


class Fixture:
    """A plant that stands still until the first effort, like a robot in its homing fixture.

    Without it the jaw would hang open before the drives are enabled.

    Parameters
    ----------
    plant : MechanismPlant

    Attributes
    ----------
    joints, step
        Those of the plant.
    """

    def __init__(self, plant: MechanismPlant):
        self.joints, self.step = plant.joints, plant.step
        self._plant, self._holds = plant, True

    @property
    def position(self) -> FloatArray:
        """Positions (n_u,) of the actuated joints."""
        return self._plant.position

    @property
    def velocity(self) -> FloatArray:
        """Velocities (n_u,) of the actuated joints."""
        return self._plant.velocity

    def advance(self, efforts: FloatArray) -> None:
        """Advance by one step, or stay."""
        if self._holds and not np.any(efforts):
            return
        self._holds = False
        self._plant.advance(efforts)
