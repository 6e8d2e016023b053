# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of the 6-PUS mechanism: generalized momentum and, for comparison, Lagrange (S2).

Both methods have the same inertia matrices I but different matrices V of Coriolis and centripetal
terms; the products V x_P_dot are equal.
"""

from __future__ import annotations

import abc
import functools
import operator
from collections.abc import Callable

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.formulation import Formulation, Solution
from papers.formulations.momentum_parts import Part, all_parts
from papers.formulations.pus_geometry import PusGeometry, read_pus_geometry
from papers.formulations.pus_kinematics import (
    Kinematics,
    check_reach,
    kinematics,
)

PartsOf = Callable[[PusGeometry, Kinematics], list[Part]]
_SINGULAR = 1e-9


class PusFormulation(Formulation):
    """Frictionless inverse dynamics of a 6-PUS mechanism; links do not spin (S2).

    Parameters
    ----------
    description : MechanismDescription
        For example ``Mechanism.load('rcid').description``.

    Raises
    ------
    DescriptionError
        If the mechanism is not a 6-PUS with round links.
    """

    def __init__(self, description: MechanismDescription):
        self.geometry = read_pus_geometry(description)
        self.freedoms = 6  # those of a free platform

    def _solve(
        self, x_P: FloatArray, x_P_dot: FloatArray, x_P_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        check_reach(self.geometry, x_P)
        at = kinematics(self.geometry, x_P, x_P_dot)
        parts = all_parts(self.geometry, at)
        f_E = sum((part.inertia_matrix @ x_P_ddot + part.gravity for part in parts), np.zeros(6))
        V = self.velocity_matrix(self.geometry, all_parts, x_P, x_P_dot)
        f_E = f_E + V @ x_P_dot - at.T.T @ wrench  # Eq. 1
        values = np.linalg.svd(at.J_E, compute_uv=False)
        if values[-1] < _SINGULAR * values[0]:
            raise SingularityError('the sliders do not control the platform here')
        # Eq. 2; in our copy of the text, Eqs. 25 and 27 have J^T instead of its inverse.
        return Solution(np.asarray(np.linalg.solve(at.J_E.T, f_E), dtype=np.float64))

    @staticmethod
    @abc.abstractmethod
    def velocity_matrix(
        geometry: PusGeometry, parts_of: PartsOf, x_P: FloatArray, x_P_dot: FloatArray
    ) -> FloatArray:
        """Matrix V (6, 6) of the parts' Coriolis and centripetal terms, in Euler angles.

        Parameters
        ----------
        geometry : PusGeometry
            The mechanism.
        parts_of : callable
            Returns the parts to include.
        x_P, x_P_dot : (6,) array
            Pose (x, y, z, psi, theta, phi) and its rates, m, rad and s.
        """


class GeneralizedMomentum(PusFormulation):
    """S2's own method: a single derivative, along the velocity."""

    title = 'Generalized momentum'
    source = 'S2 Sec. 3'

    @staticmethod
    def velocity_matrix(
        geometry: PusGeometry, parts_of: PartsOf, x_P: FloatArray, x_P_dot: FloatArray
    ) -> FloatArray:
        """Sum of S^T d/dt(I_c S) over the parts; see :class:`PusFormulation`."""
        parts = parts_of(geometry, kinematics(geometry, x_P, x_P_dot))
        return _sum([part.velocity_matrix for part in parts])


class LagrangeKoditschek(PusFormulation):
    """The method S2 compares with: derivatives of the inertia matrix by all six coordinates."""

    title = "Lagrange, Koditschek's form"
    source = 'S2 Sec. 4'

    @staticmethod
    def velocity_matrix(
        geometry: PusGeometry, parts_of: PartsOf, x_P: FloatArray, x_P_dot: FloatArray
    ) -> FloatArray:
        """The matrix of Christoffel symbols; see :class:`PusFormulation`."""
        along = (kinematics(geometry, x_P, e) for e in np.eye(6))
        slopes = [_sum([inertia_slope(p) for p in parts_of(geometry, at)]) for at in along]
        return koditschek(slopes, x_P_dot)


def inertia_slope(part: Part) -> FloatArray:
    """Derivative (6, 6) of a part's inertia matrix S^T I S along a direction."""
    half = part.S.T @ (part.I @ part.S_dot)
    slope = half + half.T + part.S.T @ (part.I_dot @ part.S)
    return np.triu(slope) + np.triu(slope, 1).T  # symmetric, so only half is needed


def koditschek(I_k: list[FloatArray], x_P_dot: FloatArray) -> FloatArray:
    """V = (I_dot + U^T - U) / 2 from I_k = dI/dx_k, with row k of U equal to x_P_dot^T I_k.

    V is the matrix of Christoffel symbols; I_dot - 2 V is skew-symmetric. In Lebret et al. 1993, J.
    Robotic Systems 10, 629, U is a Kronecker product.
    """
    I_dot = sum(rate * slope for rate, slope in zip(x_P_dot, I_k, strict=True))
    U = np.vstack([x_P_dot @ slope for slope in I_k])
    return np.asarray(0.5 * (I_dot + U.T - U))


def _sum(matrices: list[FloatArray]) -> FloatArray:
    """Sum of matrices, without an addition if there is only one."""
    return functools.reduce(operator.add, matrices)
