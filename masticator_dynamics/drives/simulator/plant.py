# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant that simulated motors drive."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray


class Plant(Protocol):
    """A machine that moves in fixed steps under the efforts of its motors.

    The plant includes the inertia of the motors' rotors, as reflected to the joints.

    Attributes
    ----------
    joints : tuple of str
        Actuated joints, in the order of all arrays.
    step : float
        Time by which :meth:`advance` advances, s.
    """

    joints: tuple[str, ...]
    step: float

    @property
    def position(self) -> FloatArray:
        """Positions of the joints, (n,), rad."""

    @property
    def velocity(self) -> FloatArray:
        """Velocities of the joints, (n,), rad/s."""

    def advance(self, efforts: FloatArray) -> None:
        """Move on by a step under constant efforts at the joints, (n,), N m."""


class FreeMotors:
    """Motors that each drive only an inertia; exact for constant efforts.

    Parameters
    ----------
    joints : tuple of str
    inertia : (n,) array
        kg m^2 at the joints.
    step : float
        s.
    """

    def __init__(self, joints: tuple[str, ...], inertia: FloatArray, step: float):
        self.joints, self.step = joints, step
        self._inertia = np.array(inertia, dtype=float)
        self.position = np.zeros(len(joints))
        self.velocity = np.zeros(len(joints))

    def advance(self, efforts: FloatArray) -> None:
        """Move on by a step under constant efforts at the joints, (n,), N m."""
        acceleration = efforts / self._inertia
        self.position = self.position + (self.velocity + 0.5 * self.step * acceleration) * self.step
        self.velocity = self.velocity + self.step * acceleration
