# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incisor tracking as S1 does it: position, velocity and acceleration optimised separately.

S1 Sec. 5.1 in its notation and units (mm, s). The mandible has five coordinates q = (X, Y, theta_0,
theta_1, theta_2) for four freedoms, since the Euler parameters have norm 1 (Eq. 5); Z and theta_3
follow from Eq. 7. At each sample, three problems are solved by sequential quadratic programming,
each started from its own result at the sample before:

    min f_D = |I(q) - I|                         (Eq. 56), Eq. 5, ranges of X, Y and theta
    min f_V = |M_I q_dot - V|                    (Eq. 60), Eq. 58
    min f_A = |M_I q_ddot + M_I_dot q_dot - A|   (Eq. 62), Eq. 59

Each problem chooses the free coordinate independently of the others, so the results are not the
position, velocity and acceleration of one motion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ReachError
from masticator_dynamics.mechanism import Mechanism
from papers.formulations.rotations import rotation_by_parameters

# S1 prints q = 0, for which Eq. 7 divides by zero; this is the home pose.
HOME = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
RANGES = ((-10.0, 5.0), (-3.0, 3.0), (-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))
_OPTIONS = {'ftol': 1e-12, 'maxiter': 400}
_TINY = 1e-30  # complex steps are exact, however small
_STEP = 1e-6  # s, along the motion
_FAR = 1e-2  # mm; at larger distances the incisor has left its path
Function = Callable[[FloatArray], FloatArray]


@dataclasses.dataclass(frozen=True)
class Mandible:
    """Geometry of the mandible on its condyles, mm.

    Attributes
    ----------
    incisor, condyle : array, shape (3,)
        Incisor point I and left condyle centre T_L in {M}.
    p1, p2 : float
        The condyles' plane p1 x + z + p2 = 0.
    """

    incisor: FloatArray
    condyle: FloatArray
    p1: float
    p2: float

    @classmethod
    def of(cls, masticator: Mechanism) -> Mandible:
        """Read the geometry from a masticator at home, where {M} is {S}."""
        contact, home = masticator.description.contacts[0], masticator.home
        return cls(
            1e3 * masticator.frame_pose(home, 'incisor').position,
            1e3 * masticator.frame_pose(home, contact.frame).position,
            contact.normal[0] / contact.normal[2],
            1e3 * contact.offset / contact.normal[2],
        )

    def euler_parameters(self, q: FloatArray) -> FloatArray:
        """Euler parameters theta (4,), with theta_3 from Eq. 7."""
        _, _, t0, t1, t2 = q
        return np.array([t0, t1, t2, (self.p1 * t2 + t0) / (self.p1 * t0 - t2) * t1])

    def rotation(self, q: FloatArray) -> FloatArray:
        """R (3, 3), from {M} to {S} components (Eq. 4)."""
        return rotation_by_parameters(self.euler_parameters(q))

    def point(self, q: FloatArray, local: FloatArray) -> FloatArray:
        """Position (3,) in {S} of a point given in {M}, with Z from Eq. 7."""
        rotation = self.rotation(q)
        middle = self.condyle * (1.0, 0.0, 1.0)
        z = -(self.p1 * q[0] + self.p2 + (self.p1 * rotation[0] + rotation[2]) @ middle)
        return np.array([q[0], q[1], z]) + rotation @ local

    def incisor_and_norm(self, q: FloatArray) -> FloatArray:
        """I(q) and the error of the norm, theta^T theta - 1 (Eq. 5), together (4,)."""
        theta = self.euler_parameters(q)
        return np.append(self.point(q, self.incisor), theta @ theta - 1.0)


class ThreeOptimisations(NamedTuple):
    """Coordinates (N, 5), mm and 1, per s and s^2; what is left of the objectives (N,), mm, s."""

    q: FloatArray
    q_dot: FloatArray
    q_ddot: FloatArray
    f_d: FloatArray
    f_v: FloatArray
    f_a: FloatArray


def track_by_three_optimisations(
    mandible: Mandible,
    position: FloatArray,
    velocity: FloatArray,
    acceleration: FloatArray,
    samples: Iterable[int] | None = None,
) -> ThreeOptimisations:
    """Solve Eqs. 56, 60 and 62 along a path of the incisor, each (N, 3), mm and s, in {S}.

    Parameters
    ----------
    samples : iterable of int, optional
        0 to N - 1 in this order, for showing progress.

    Raises
    ------
    ReachError
        If the incisor cannot reach its path.
    """
    count = len(position)
    q, q_dot, q_ddot = (np.empty((count, 5)) for _ in range(3))
    left = np.empty((3, count))
    before = (HOME, np.zeros(5), np.zeros(5))
    for k in range(count) if samples is None else samples:
        q[k], left[0, k] = _positions(mandible, position[k], before[0])
        if left[0, k] > _FAR:
            raise ReachError(
                f'sample {k + 1}: the three optimisations leave the incisor {left[0, k]:.3g} mm '
                'off its path inside the ranges of S1 Eq. 56'
            )
        both = _complex_step(mandible.incisor_and_norm, q[k])
        q_dot[k], left[1, k] = _rates(both, -np.append(velocity[k], 0.0), before[1])
        ahead, behind = (
            _complex_step(mandible.incisor_and_norm, q[k] + side * _STEP * q_dot[k])
            for side in (1.0, -1.0)
        )
        bias = (ahead - behind) @ q_dot[k] / (2.0 * _STEP)
        q_ddot[k], left[2, k] = _rates(both, bias - np.append(acceleration[k], 0.0), before[2])
        before = (q[k], q_dot[k], q_ddot[k])
    return ThreeOptimisations(q, q_dot, q_ddot, *left)


def _positions(
    mandible: Mandible, target: FloatArray, guess: FloatArray
) -> tuple[FloatArray, float]:
    """Solve Eq. 56."""
    return _least_norm(
        lambda q: mandible.incisor_and_norm(q) - np.append(target, 0.0),
        lambda q: _complex_step(mandible.incisor_and_norm, q),
        guess,
        RANGES,
    )


def _rates(both: FloatArray, offset: FloatArray, guess: FloatArray) -> tuple[FloatArray, float]:
    """Solve Eq. 60 or 62, which are linear, with the derivative of Eq. 5 in the last row."""
    return _least_norm(lambda rate: both @ rate + offset, lambda _: both, guess, None)


def _least_norm(
    errors: Function,
    slopes: Function,
    guess: FloatArray,
    ranges: tuple[tuple[float, float], ...] | None,
) -> tuple[FloatArray, float]:
    """Minimise the norm of the first three errors with the fourth zero, by SQP with gradients."""

    def aim(x: FloatArray) -> float:
        return float(np.linalg.norm(errors(x)[:3]))

    def gradient(x: FloatArray) -> FloatArray:
        error, length = errors(x)[:3], aim(x)
        return np.asarray(slopes(x)[:3].T @ error / length if length > 0.0 else np.zeros(5))

    norm = {'type': 'eq', 'fun': lambda x: errors(x)[3], 'jac': lambda x: slopes(x)[3]}
    answer = minimize(
        aim, guess, method='SLSQP', jac=gradient, bounds=ranges, constraints=[norm],
        options=_OPTIONS,
    )  # fmt: skip
    return answer.x, float(answer.fun)


def _complex_step(function: Function, x: FloatArray) -> FloatArray:
    """Exact derivatives (m, n) of an algebraic function (m,) by x (n,)."""
    columns = []
    for k in range(len(x)):
        moved = x.astype(complex)
        moved[k] += 1j * _TINY
        columns.append(np.imag(function(moved)) / _TINY)
    return np.array(columns).T
