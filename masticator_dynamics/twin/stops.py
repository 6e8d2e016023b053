# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the mechanism stops: ends of joint ranges and sockets, and teeth on teeth.

Stops are stiff, one-sided springs with dampers. Their stiffness follows from a frequency: that at
which the mechanism, at home, would swing on the stop. It is then right for any mechanism, and a
frequency is what the step of the integration must resolve.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.twin.layout import JOINT_WIDTH, POINT_WIDTH

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

TEETH = ('incisor', 'molar_left', 'molar_right')


@dataclasses.dataclass(frozen=True)
class Stops:
    """What the stops are made of.

    Attributes
    ----------
    frequency : float
        Hz, of the mechanism at home swinging on one stop.
    damping : float
        Part of the critical damping.
    ramp : float
        m or rad of depth over which damping grows to its full value.
    teeth : tuple of str
        URDF links whose origins do not rise above their height at home (base z); those that the
        mechanism does not have are left out.
    """

    frequency: float = 300.0
    damping: float = 0.5
    ramp: float = 1e-4
    teeth: tuple[str, ...] = TEETH

    def __post_init__(self) -> None:
        """Refuse numbers that are none of a spring (`InputError`)."""
        for name in ('frequency', 'damping', 'ramp'):
            value = getattr(self, name)
            if not (math.isfinite(value) and (value > 0.0 or (name == 'damping' and value == 0.0))):
                raise InputError(f'{name} of the stops is {value}; a positive number is needed')

    def law(self, inertia: float) -> tuple[float, float, float]:
        """Stiffness, damping and ramp where the mechanism's inertia is this, kg or kg m^2."""
        rate = 2.0 * math.pi * self.frequency
        return inertia * rate**2, 2.0 * self.damping * inertia * rate, self.ramp


def pack_stops(
    stops: Stops | None, mechanism: Mechanism, mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Stops of points (P, POINT_WIDTH) and of joints (J, JOINT_WIDTH) as kernels take them.

    Parameters
    ----------
    mass : array, shape (n_y, n_y)
        Mass matrix of the independent coordinates at home.
    """
    if stops is None:
        return np.zeros((0, POINT_WIDTH)), np.zeros((0, JOINT_WIDTH))
    points, home = [], mechanism.home

    def add(frame: str, axis: int, lower: float, upper: float) -> None:
        placement = mechanism.structure.tree.frames[frame]
        felt = _inertia(mechanism.frame_jacobian(home, frame)[axis], mass)
        points.append(
            [placement.body, *placement.position, axis, lower, upper, *stops.law(felt)]
        )

    for contact in mechanism.description.contacts:
        for axis, name in enumerate('xyz'):
            interval = getattr(contact.range, name)
            if interval is not None:
                add(contact.frame, axis, *interval)
    for frame in stops.teeth:
        if frame in mechanism.frames:
            add(frame, 2, -math.inf, float(mechanism.frame_pose(home, frame).position[2]))
    joints = []
    lower, upper = mechanism.limits.lower, mechanism.limits.upper
    for j in np.flatnonzero(np.isfinite(lower) | np.isfinite(upper)).tolist():
        joints.append([j, lower[j], upper[j], *stops.law(_inertia(home.tangent[j], mass))])
    return (
        np.array(points, dtype=float).reshape(-1, POINT_WIDTH),
        np.array(joints, dtype=float).reshape(-1, JOINT_WIDTH),
    )


def _inertia(jacobian: FloatArray, mass: FloatArray) -> float:
    """Inertia that the mechanism opposes to a force along a coordinate with this Jacobian (n_y,).

    Where the coordinate hardly moves at home, that of the direction that moves it most, undivided.
    """
    mobility = float(jacobian @ np.linalg.solve(mass, jacobian))
    return 1.0 / mobility if mobility > 0.0 else 0.0
