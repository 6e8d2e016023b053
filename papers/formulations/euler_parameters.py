# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Newton-Euler with Euler parameters, i.e. a unit quaternion, for the end effector (S1 Sec. 3).

With the contacts, the coordinates are q_EE^P = (X, Y, theta0, theta1, theta2); theta3 and Z are
parasitic (S1 Eq. 7), and the norm of the four parameters is a constraint on the motion. Without
contacts, the coordinates are Y_EE^P = (X, Y, Z, e0, e1, e2, e3).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.coordinates import parasitic_angle
from papers.formulations.formulation import RssFormulation, Solution
from papers.formulations.geometry import SocketPlanes
from papers.formulations.newton_euler import EndEffectorMotion, newton_euler
from papers.formulations.rotations import (
    angular_map,
    quadratic_form,
    rotation_by_parameters,
)

_SINGULAR = 1e-9
_X, _Y, _Z = np.eye(3)


class NewtonEulerParameters(RssFormulation):
    """Newton-Euler, with the end effector's rotation in Euler parameters."""

    title = 'Newton-Euler, Euler parameters'
    source = 'S1 Secs. 3, 4'

    def coordinates(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Convert a motion to the method's own coordinates, with velocities and accelerations.

        Parameters
        ----------
        q_EE, q_EE_dot, q_EE_ddot : (n,) array
            Coordinates with Euler angles and their time derivatives, m, rad and s; n is 4 with
            contacts and 6 without.
        """
        sockets, given = self.geometry.sockets, (q_EE, q_EE_dot, q_EE_ddot)
        free = 3 if sockets is None else 2
        position, velocity, acceleration = (
            np.concatenate([q[:free], theta[: free + 1]])
            for q, theta in zip(given, parameters_from_angles(sockets, *given), strict=True)
        )
        return position, velocity, acceleration

    def of_coordinates(
        self, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        """Solve from a motion in the method's own coordinates.

        Parameters
        ----------
        q, q_dot, q_ddot : (5,) or (7,) array
            As returned by :meth:`coordinates`.
        wrench : (6,) array
            Wrench on the end effector in axes of {S} about O_M, N and N m.
        """
        motion = motion_by_parameters(self.geometry.sockets, q, q_dot, q_ddot)
        return newton_euler(self.geometry, motion, wrench)

    def _solve(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        return self.of_coordinates(*self.coordinates(q_EE, q_EE_dot, q_EE_ddot), wrench)


def motion_by_parameters(
    sockets: SocketPlanes | None, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray
) -> EndEffectorMotion:
    """Twist and its rate from q_EE^P (5,) or Y_EE^P (7,), S1 Eqs. 8-14 and 76-82.

    Parameters
    ----------
    sockets : SocketPlanes or None
        None without contacts.
    q, q_dot, q_ddot : (5,) or (7,) array
        Coordinates with Euler parameters, and their time derivatives.
    """
    X, M_J, M_J_dot = _all_coordinates(sockets, q, q_dot)
    theta, X_dot = X[3:], M_J @ q_dot
    E, E_dot = angular_map(theta), angular_map(X_dot[3:])
    M_1b = np.vstack([M_J[:3], 2.0 * E @ M_J[3:]])  # Eq. 13
    M_1b_dot = np.vstack([M_J_dot[:3], 2.0 * (E_dot @ M_J[3:] + E @ M_J_dot[3:])])
    return EndEffectorMotion(
        X[:3], rotation_by_parameters(theta), M_1b @ q_dot, M_1b_dot @ q_dot + M_1b @ q_ddot
    )


def _all_coordinates(
    sockets: SocketPlanes | None, q: FloatArray, q_dot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X_EE^P (7,), M_J = dX_EE^P/dq (S1 Eq. 10) and its time derivative (Eq. 11)."""
    if sockets is None:
        return q, np.eye(7), np.zeros((7, 7))
    theta3, f, f_dot = _parasitic_parameter(sockets.p1, q[2:], q_dot[2:])
    theta = np.append(q[2:], theta3)
    theta_q = np.vstack([np.eye(3), f])
    theta_dot = theta_q @ q_dot[2:]
    # Z = -(p1 X + p2 + m), m = M_H · R (T_L(1), 0, T_L(3)) a quadratic form of theta, Eq. 7.
    Q, constant = quadratic_form(sockets.M_H, sockets.middle)
    Z = -(sockets.p1 * q[0] + sockets.p2 + theta @ Q @ theta - constant)
    M_J, M_J_dot = np.zeros((7, 5)), np.zeros((7, 5))
    M_J[:2, :2] = np.eye(2)
    M_J[2, 0], M_J[2, 2:] = -sockets.p1, -2.0 * theta @ Q @ theta_q
    M_J[3:, 2:] = theta_q
    M_J_dot[2, 2:] = -2.0 * theta_dot @ Q @ theta_q
    M_J_dot[2, 2:] -= 2.0 * (theta @ Q)[3] * f_dot
    M_J_dot[6, 2:] = f_dot
    return np.concatenate([q[:2], [Z], theta]), M_J, M_J_dot


def _parasitic_parameter(
    p1: float, theta: FloatArray, theta_dot: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """theta3 = theta1 N/D (S1 Eq. 7), its gradient (3,) and the gradient's time derivative.

    N = p1 theta2 + theta0, D = p1 theta0 - theta2.
    """
    N, N_dot = p1 * theta[2] + theta[0], p1 * theta_dot[2] + theta_dot[0]
    D, D_dot = p1 * theta[0] - theta[2], p1 * theta_dot[0] - theta_dot[2]
    if abs(D) < _SINGULAR:
        raise SingularityError('the fourth Euler parameter is undetermined here')
    # Derivatives of N/D by theta0 and theta2.
    by_0, by_2 = (D - p1 * N) / D**2, (p1 * D + N) / D**2
    by_0_dot = (D_dot - p1 * N_dot) / D**2 - 2.0 * by_0 * D_dot / D
    by_2_dot = (p1 * D_dot + N_dot) / D**2 - 2.0 * by_2 * D_dot / D
    ratio_dot = by_0 * theta_dot[0] + by_2 * theta_dot[2]
    gradient = np.array([theta[1] * by_0, N / D, theta[1] * by_2])
    change = np.array(
        [
            theta_dot[1] * by_0 + theta[1] * by_0_dot,
            ratio_dot,
            theta_dot[1] * by_2 + theta[1] * by_2_dot,
        ]
    )
    return float(theta[1] * N / D), gradient, change


def parameters_from_angles(
    sockets: SocketPlanes | None, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Euler parameters (4,) and their first and second time derivatives from q_EE (S1 Sec. 5.2).

    S1 claims that, with the contacts, the two descriptions can share a pose but neither the twist
    nor its rate. They can share all three: both describe the same four-dimensional tangent space,
    and the four equations that S1 counts as too many for its unknowns are consistent. Here the
    parameters satisfy four equations, each a quadratic form in them: norm 1, two for the alpha and
    beta of R, and the contacts (or gamma). Differentiating these twice gives velocities and
    accelerations without using the parasitic rates of the angles.

    Parameters
    ----------
    sockets : SocketPlanes or None
        None without contacts.
    q, q_dot, q_ddot : (n,) array
        q_EE and its time derivatives, m, rad and s; n is 4 with contacts and 6 without.

    Raises
    ------
    SingularityError
        At beta = ±pi/2.
    """
    first = 2 if sockets is not None else 3
    alpha, beta = q[first], q[first + 1]
    gamma = q[5] if sockets is None else parasitic_angle(sockets.p1, alpha, beta)[0]
    *vector, scalar = Rotation.from_euler('XYZ', [alpha, beta, gamma]).as_quat()
    theta = np.array([scalar, *vector])
    forms = _conditions(sockets, q[first:], q_dot[first:], q_ddot[first:])
    # f = theta^T Q theta - c = 0 at all times: 2 theta^T Q theta_dot = c_dot - theta^T Q_dot theta.
    J = np.array([2.0 * theta @ Q[0] for Q, _ in forms])
    if abs(np.linalg.det(J)) < _SINGULAR:
        raise SingularityError(f'Euler angles are singular at beta = {beta:.6g}')
    slope = [c[1] - theta @ Q[1] @ theta for Q, c in forms]
    theta_dot = np.linalg.solve(J, slope)
    bend = [
        c[2] - theta @ Q[2] @ theta - 4.0 * theta @ Q[1] @ theta_dot
        - 2.0 * theta_dot @ Q[0] @ theta_dot
        for Q, c in forms
    ]  # fmt: skip
    return theta, theta_dot, np.linalg.solve(J, bend)


_Form = tuple[tuple[FloatArray, FloatArray, FloatArray], tuple[float, float, float]]
_FIXED = (np.zeros((4, 4)), np.zeros((4, 4)))


def _conditions(
    sockets: SocketPlanes | None, angles: FloatArray, rates: FloatArray, accelerations: FloatArray
) -> list[_Form]:
    """Four forms (Q, c), each with its first and second time derivatives."""
    norm: _Form = ((np.eye(4), *_FIXED), (1.0, 0.0, 0.0))
    # r13 = sin beta.
    Q, c = quadratic_form(_X, _Z)
    s, b_dot, b_ddot = np.sin(angles[1]), rates[1], accelerations[1]
    c_dot = np.cos(angles[1]) * b_dot
    c_ddot = np.cos(angles[1]) * b_ddot - s * b_dot**2
    for_beta: _Form = ((Q, *_FIXED), (c + s, c_dot, c_ddot))
    # r23 cos alpha + r33 sin alpha = 0.
    for_alpha = _crossed(_Y, _Z, _Z, _Z, angles[0], rates[0], accelerations[0])
    if sockets is not None:
        # The condyles' line R Y_M stays in the plane: M_H · R Y_M = 0, S1 Eq. 7.
        contact: _Form = ((quadratic_form(sockets.M_H, _Y)[0], *_FIXED), (0.0, 0.0, 0.0))
        return [norm, for_beta, for_alpha, contact]
    # r12 cos gamma + r11 sin gamma = 0.
    return [
        norm, for_beta, for_alpha,
        _crossed(_X, _Y, _X, _X, angles[2], rates[2], accelerations[2]),
    ]  # fmt: skip


def _crossed(
    a: FloatArray, m: FloatArray, b: FloatArray, p: FloatArray,
    angle: float, rate: float, acceleration: float,
) -> _Form:  # fmt: skip
    """The form (a · R m) cos(angle) + (b · R p) sin(angle) = 0."""
    (Q_1, c_1), (Q_2, c_2) = quadratic_form(a, m), quadratic_form(b, p)

    def at(cosine: float, sine: float) -> tuple[FloatArray, float]:
        return cosine * Q_1 + sine * Q_2, cosine * c_1 + sine * c_2

    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    here = at(cosine, sine)
    slope = at(-sine * rate, cosine * rate)
    bend = at(-cosine * rate**2 - sine * acceleration, -sine * rate**2 + cosine * acceleration)
    return (here[0], slope[0], bend[0]), (here[1], slope[1], bend[1])
