# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The one door of all formulations, and what comes out of it."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.errors import InputError
from masticator_dynamics.papers.formulations.reading import read_geometry


@dataclasses.dataclass(frozen=True)
class Solution:
    """What a formulation finds for one motion.

    Attributes
    ----------
    actuated : array, shape (6,)
        Torques of least norm tau, N m (of sliders: forces, N), in actuated order.
    contact : array, shape (2,), (0,) or None
        Multipliers of the contacts, N: the plane pushes the end effector with normal times
        multiplier. With S1's normal (p1, 0, 1) they are its F_Z. None where a method gives none.
    pin_force : array, shape (6, 3), or None
        F_S, crank on coupler at S_i, N, base axes. None where a method gives none.
    shaft_force : array, shape (6, 3), or None
        F_G, base on crank at G_i, N, base axes. None where a method gives none.
    """

    actuated: FloatArray
    contact: FloatArray | None = None
    pin_force: FloatArray | None = None
    shaft_force: FloatArray | None = None


class Formulation(abc.ABC):
    """Inverse dynamics without friction of one kind of mechanism."""

    title: str
    source: str

    @property
    @abc.abstractmethod
    def freedoms(self) -> int:
        """Count of independent coordinates."""

    def inverse_dynamics(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
    ) -> Solution:
        """Torques of least norm for a motion, as ``Mechanism.feedforward``.

        Parameters
        ----------
        y, y_dot, y_ddot : array_like, shape (n,)
            q_EE (S2: x_P) and its time derivatives, m and rad; omitted derivatives are zero.
        wrench : array_like, shape (6,), optional
            Force (N) and torque (N m) of the environment on the end effector, base axes, about
            its origin. S0's F_EE and S1's W_FB are this wrench.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ReachError, SingularityError
            When a limb cannot reach, or where the equations are singular.
        """
        n = self.freedoms
        parts = (('y', y, n), ('y_dot', y_dot, n), ('y_ddot', y_ddot, n), ('wrench', wrench, 6))
        return self._solve(*(_checked(*part) for part in parts))

    @abc.abstractmethod
    def _solve(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        """The method itself."""


class RssFormulation(Formulation):
    """Inverse dynamics of a 6-RSS mechanism, with its two contacts or without, without friction.

    Parameters
    ----------
    description : MechanismDescription
        For example ``Mechanism.load('masticator').description``.

    Raises
    ------
    DescriptionError
        When the mechanism is not a 6-RSS.
    """

    def __init__(self, description: MechanismDescription):
        self.geometry = read_geometry(description)

    @property
    def freedoms(self) -> int:
        """4 with the contacts, 6 without."""
        return self.geometry.freedoms


def _checked(name: str, values: npt.ArrayLike | None, length: int) -> FloatArray:
    numbers = np.zeros(length) if values is None else as_floats(values, name)
    if numbers.shape != (length,):
        raise InputError(f'{name} has shape {numbers.shape}, needed is ({length},)')
    if not np.isfinite(numbers).all():
        raise InputError(f'{name} is not finite')
    return numbers
