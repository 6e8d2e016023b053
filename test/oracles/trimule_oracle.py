# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
TriMule's parallel part by hand, wrist locked: closed-form limbs and virtual work (S4).

Every body's centre and axes are formulas in the point P with exact time
derivatives (`jets`); partial velocities are velocities at unit rates of P. Independent of the
description files, of Pinocchio and of constraint Jacobians. Masses and inertias are typed from
S4 Table 2; dimensions and the platform's inertia, which S4 does not print, are the project's
choices. SI units, base frame {R0} at B4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .jets import Jet, angular, cross, norm, unit

Array = NDArray[np.float64]

# limb ends: B_i in the base, A_i in the platform axes {e_x, s2, s} about A4
A_X, A_Y, B_X, B_Y = 0.143, 0.121, 0.301, 0.545
LIMB_BASES = np.array([[0.0, -B_Y, 0.0], [B_X, 0.0, 0.0], [-B_X, 0.0, 0.0]])
LIMB_TIPS = np.array([[0.0, -A_Y, 0.0], [A_X, 0.0, 0.0], [-A_X, 0.0, 0.0]])
A4_TO_P = 0.352
WRIST_V, WRIST_W = 0.05, 0.25
PITCH = 0.010
SCREW_INERTIA = 10.75e-4
GRAVITY = np.array([0.0, -9.81, 0.0])
RADIANS_PER_METRE = 2.0 * np.pi / PITCH
X_AXIS = Jet.of([1.0, 0.0, 0.0])

Triad = tuple[Jet, Jet, Jet]


@dataclass(frozen=True)
class _Body:
    mass: float
    inertia: Array
    centre: Jet
    axes: Triad


@dataclass(frozen=True)
class TrimuleResult:
    """
    Solution at one state.

    `limb` (3,): lengths B_i A_i (m) with derivatives; `effort` (3,): motor torques, N·m;
    `jacobian` (3, 3): d limb / d P; `load_inertia` (3, 3): (p / 2 pi)² M + I_s, kg·m².
    """

    limb: Array
    limb_dot: Array
    limb_ddot: Array
    effort: Array
    jacobian: Array
    load_inertia: Array


def inverse_dynamics(
    y: ArrayLike, y_dot: ArrayLike, y_ddot: ArrayLike, wrench: ArrayLike | None = None
) -> TrimuleResult:
    """
    Return limb motions and motor torques.

    Parameters
    ----------
    y, y_dot, y_ddot : (3,) position of P in {R0} (m) and derivatives.
    wrench : (6,) force at P and moment on the platform, base axes.
    """
    motion = Jet(*(np.asarray(c, dtype=float) for c in (y, y_dot, y_ddot)))
    limbs, bodies, axes = _bodies(motion)
    units = [_bodies(Jet(motion.value, rate, np.zeros(3))) for rate in np.eye(3)]
    generalized = np.zeros(3)
    mass_matrix = np.zeros((3, 3))
    for index, body in enumerate(bodies):
        directions = np.array([partial[1][index].centre.dot for partial in units])
        spins = np.array([angular(partial[1][index].axes)[0] for partial in units])
        to_base = np.stack([axis.value for axis in body.axes], axis=1)
        inertia = to_base @ body.inertia @ to_base.T
        omega, omega_dot = angular(body.axes)
        generalized += directions @ (body.mass * (body.centre.ddot - GRAVITY))
        generalized += spins @ (inertia @ omega_dot + np.cross(omega, inertia @ omega))
        mass_matrix += body.mass * directions @ directions.T + spins @ inertia @ spins.T
    if wrench is not None:
        wrench = np.asarray(wrench, dtype=float)
        spins = np.array([angular(partial[2])[0] for partial in units])
        generalized -= wrench[:3] + spins @ wrench[3:]
    jacobian = np.array([[float(limb.dot) for limb in partial[0]] for partial in units]).T
    limb, limb_dot, limb_ddot = (
        np.array([float(getattr(q, part)) for q in limbs]) for part in ('value', 'dot', 'ddot')
    )
    force = np.linalg.solve(jacobian.T, generalized)
    inverse = np.linalg.inv(jacobian)
    return TrimuleResult(
        limb,
        limb_dot,
        limb_ddot,
        effort=force / RADIANS_PER_METRE + RADIANS_PER_METRE * SCREW_INERTIA * limb_ddot,
        jacobian=jacobian,
        load_inertia=inverse.T @ mass_matrix @ inverse / RADIANS_PER_METRE**2
        + SCREW_INERTIA * np.eye(3),
    )


def _cardan_axes(direction: Jet) -> Triad:
    """Return the columns of Rx(a) Ry(b) whose third column is a given unit vector."""
    second = unit(cross(direction, X_AXIS))
    return cross(second, direction), second, direction


def _bodies(p: Jet) -> tuple[list[Jet], list[_Body], Triad]:
    """Return limb lengths, bodies and the platform's axes {e_x, s2, s} for the motion of P."""
    axes = _cardan_axes(unit(p))
    u, v, w = axes
    a4 = p - w * A4_TO_P
    tool = p + v * WRIST_V + w * WRIST_W
    origin = Jet.of(np.zeros(3))
    bodies = [
        # base link: turns about x0 only
        _Body(115.80, np.diag([1.17, 0.0, 0.0]), origin, (X_AXIS, v, cross(X_AXIS, v))),
        _Body(14.39, np.diag([0.13, 0.09, 0.11]), origin, axes),
        _Body(25.0, np.diag([3.0, 3.0, 0.1]), p - w * 0.55, axes),
        _Body(32.03, np.diag([0.50, 0.28, 0.40]), p - w * 0.09, (cross(w, u), w, u)),
        _Body(38.48, np.diag([0.49, 0.43, 0.19]), tool - w * 0.16, axes),
    ]
    limbs = []
    for base, tip in zip(LIMB_BASES, LIMB_TIPS, strict=True):
        end = a4 + u * tip[0] + v * tip[1] + w * tip[2]
        reach = end - Jet.of(base)
        along = unit(reach)
        limb_axes = _cardan_axes(along)
        bodies.append(
            _Body(36.02, np.diag([5.33, 5.33, 0.07]), Jet.of(base) - along * 0.19, limb_axes)
        )
        bodies.append(_Body(13.83, np.diag([1.35, 1.35, 0.01]), end - along * 0.47, limb_axes))
        limbs.append(norm(reach))
    return limbs, bodies, axes
