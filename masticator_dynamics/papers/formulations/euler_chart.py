# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From Euler angles to Euler parameters: pose, velocity and acceleration (S1 Sec. 5.2).

S1 claims that, with the contacts, the two descriptions can share a pose but neither the twist nor
its rate. They can share all three: both describe the same four-dimensional tangent space, and the
four equations that S1 counts as too many for its unknowns are consistent. Here the parameters
satisfy four equations, each a quadratic form in them: norm 1, two for the alpha and beta of R, and
the contacts (or gamma). Differentiating these twice gives velocities and accelerations without
using the parasitic rates of the angles.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from masticator_dynamics.papers.formulations.coordinates import parasitic_angle
from masticator_dynamics.papers.formulations.geometry import SocketPlanes
from masticator_dynamics.papers.formulations.quaternions import quadratic_form

_SINGULAR = 1e-9
_X, _Y, _Z = np.eye(3)


def parameters_from_angles(
    sockets: SocketPlanes | None, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Euler parameters (4,) and their first and second time derivatives from q_EE.

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
