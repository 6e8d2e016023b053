# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The common interface of all formulations, and their result."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector
from papers.formulations.geometry import read_geometry


@dataclasses.dataclass(frozen=True)
class Solution:
    """Result of a formulation for one motion; None where the method does not give a quantity.

    Attributes
    ----------
    actuated : array, shape (6,)
        Torques tau of least norm, N m (forces of sliders, N), in actuated order.
    contact : array, shape (2,), (0,) or None
        Multipliers of the contacts, N: the plane pushes the end effector with normal times
        multiplier. With S1's normal (p1, 0, 1) they are S1's F_Z.
    pin_force : array, shape (6, 3), or None
        F_S, crank on coupler at S_i, N, base axes.
    shaft_force : array, shape (6, 3), or None
        F_G, base on crank at G_i, N, base axes.
    """

    actuated: FloatArray
    contact: FloatArray | None = None
    pin_force: FloatArray | None = None
    shaft_force: FloatArray | None = None


class Formulation(abc.ABC):
    """Frictionless inverse dynamics of one kind of mechanism."""

    title: str
    source: str
    freedoms: int  # number of independent coordinates

    def inverse_dynamics(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
    ) -> Solution:
        """Torques of least norm for a motion, like ``Mechanism.feedforward``.

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
            If a limb cannot reach, or the equations are singular.
        """
        n = self.freedoms
        parts = (('y', y, n), ('y_dot', y_dot, n), ('y_ddot', y_ddot, n), ('wrench', wrench, 6))
        return self._solve(
            *(
                np.zeros(length) if values is None else as_finite_vector(values, name, length)
                for name, values, length in parts
            )
        )

    @abc.abstractmethod
    def _solve(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        """Solve from checked arrays."""


class RssFormulation(Formulation):
    """Frictionless inverse dynamics of a 6-RSS mechanism, with or without its two contacts.

    Parameters
    ----------
    description : MechanismDescription
        For example ``Mechanism.load('masticator').description``.

    Raises
    ------
    DescriptionError
        If the mechanism is not a 6-RSS.
    """

    def __init__(self, description: MechanismDescription):
        self.geometry = read_geometry(description)
        self.freedoms = self.geometry.freedoms
