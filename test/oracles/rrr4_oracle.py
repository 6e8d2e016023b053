# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Planar 4-RRR by hand, rigid links: circle intersection, then virtual work (S3).

Every position is a formula in (x, y, phi) with exact time derivatives (`jets`);
partial velocities are velocities at unit rates; forces follow from the virtual work of inertia
forces. Independent of the description files, of Pinocchio and of constraint Jacobians. The square
of the bases A_i and the platform's inertia are the project's choices. Horizontal plane. SI units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .jets import Jet, cross, dot, norm

Array = NDArray[np.float64]

BASES = np.array([[-0.12, 0.12, 0], [-0.12, -0.12, 0], [0.12, -0.12, 0], [0.12, 0.12, 0]])
LINK_LENGTH = 0.1
PLATFORM_RADIUS = 0.035
ROD_MASS = 2700.0 * 16e-6 * LINK_LENGTH
ROD_INERTIA = ROD_MASS * LINK_LENGTH**2 / 12.0
PLATFORM_MASS = 0.02
# square plate of half-diagonal PLATFORM_RADIUS: m side² / 6
PLATFORM_INERTIA = PLATFORM_MASS * PLATFORM_RADIUS**2 / 3.0
Z_AXIS = Jet.of([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Rrr4Result:
    """
    Solution at one state.

    `angle` (4,): absolute angles of A_i B_i, rad, counter-clockwise from x, with derivatives;
    `effort` (4,): motor torques of minimum norm, N·m; `jacobian` (4, 3): d angle / d (x, y, phi).
    """

    angle: Array
    angle_dot: Array
    angle_ddot: Array
    effort: Array
    jacobian: Array


@dataclass(frozen=True)
class _Legs:
    """Accelerations of the moving bodies and motion of the motors for one set of rates."""

    # per body: velocity (3,), acceleration (3,), spin rate, spin acceleration
    bodies: list[tuple[Array, Array, float, float]]
    angle: Array
    angle_dot: Array
    angle_ddot: Array


def inverse_dynamics(
    y: ArrayLike, y_dot: ArrayLike, y_ddot: ArrayLike, wrench: ArrayLike | None = None
) -> Rrr4Result:
    """
    Return motor motions and torques.

    Parameters
    ----------
    y, y_dot, y_ddot : (3,) x, y (m), phi = phi_1 (rad, absolute) and derivatives.
    wrench : (6,) force and moment about the platform's origin on the platform, base axes.
    """
    y, y_dot, y_ddot = (np.asarray(c, dtype=float) for c in (y, y_dot, y_ddot))
    legs = _legs(y, y_dot, y_ddot)
    units = [_legs(y, rate, np.zeros(3)) for rate in np.eye(3)]
    masses = [(PLATFORM_MASS, PLATFORM_INERTIA)] + 8 * [(ROD_MASS, ROD_INERTIA)]
    generalized = np.zeros(3)
    for k, partial in enumerate(units):
        for (mass, inertia), body, direction in zip(
            masses, legs.bodies, partial.bodies, strict=True
        ):
            generalized[k] += mass * direction[0] @ body[1] + inertia * direction[2] * body[3]
    if wrench is not None:
        generalized -= np.asarray(wrench, dtype=float)[[0, 1, 5]]
    jacobian = np.stack([partial.angle_dot for partial in units], axis=1)
    effort = np.linalg.pinv(jacobian.T) @ generalized
    return Rrr4Result(legs.angle, legs.angle_dot, legs.angle_ddot, effort, jacobian)


def _legs(y: Array, y_dot: Array, y_ddot: Array) -> _Legs:
    centre = Jet(*(np.append(c[:2], 0.0) for c in (y, y_dot, y_ddot)))
    bodies = [(centre.dot, centre.ddot, float(y_dot[2]), float(y_ddot[2]))]
    cranks = []
    for i in range(4):
        base = Jet.of(BASES[i])
        joint = centre + _radius_vector(y[2] + i * np.pi / 2, y_dot[2], y_ddot[2])
        elbow = base + _crank(joint - base)
        for start, end in ((base, elbow), (elbow, joint)):
            middle = (start + end) * 0.5
            bodies.append((middle.dot, middle.ddot, *_spin(end - start)))
        cranks.append(elbow - base)
    rates = np.array([_spin(crank) for crank in cranks])
    angle = np.array([np.arctan2(crank.value[1], crank.value[0]) for crank in cranks])
    return _Legs(bodies, angle, rates[:, 0], rates[:, 1])


def _radius_vector(angle: float, rate: float, acceleration: float) -> Jet:
    along = PLATFORM_RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
    across = np.array([-along[1], along[0], 0.0])
    return Jet(along, rate * across, acceleration * across - rate**2 * along)


def _crank(reach: Jet) -> Jet:
    """Return A to B from A to C: links are equal, B is on the left, so the leg bends clockwise."""
    distance = norm(reach)
    height = (Jet.of(LINK_LENGTH**2) - distance * distance * 0.25).sqrt()
    left = cross(Z_AXIS, reach) * distance.reciprocal()
    return reach * 0.5 + left * height


def _spin(link: Jet) -> tuple[float, float]:
    """Return the angular rate and acceleration about z of a vector of constant length."""
    square = float(dot(link, link).value)
    return (
        float(np.cross(link.value, link.dot)[2]) / square,
        float(np.cross(link.value, link.ddot)[2]) / square,
    )
