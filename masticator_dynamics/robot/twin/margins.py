# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far the servo loops of simulated drives are from instability.

With equal gains the loops of all joints decouple into one for each mode of the mechanism, with
inertias J that solve det(M - J A^T A) = 0, where M is the mass matrix of the independent
coordinates and A the actuated velocities per independent velocity. Each is the double integrator
1 / (J s^2) with a hold over the servo's step, after the current loop's lag; the velocity is the
filtered difference of positions. Friction, which only damps, is left out.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy.linalg

from masticator_dynamics.drives.configuration import Gains
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism

_FREQUENCIES = 3000
_LOWEST = 1.0  # Hz


@dataclasses.dataclass(frozen=True)
class Margins:
    """Margins of a loop, or the least of several.

    Attributes
    ----------
    gain : float
        Factor by which all gains can be raised; below 1 the loop is unstable.
    phase : float
        rad.
    """

    gain: float
    phase: float


def modal_inertias(mechanism: Mechanism, poses: FloatArray) -> tuple[float, float]:
    """Least and largest modal inertia at the joints, kg m^2, over poses (N, n_y)."""
    found = []
    for y in poses:
        motion = mechanism.solve(y)
        turned = mechanism.jacobian_actuated_from_independent(motion)
        found.append(scipy.linalg.eigvalsh(mechanism.mass_matrix(motion), turned.T @ turned))
    return float(np.min(found)), float(np.max(found))


def margins(gains: Gains, inertia: float, drive: SimulatedDrive, step: float) -> Margins:
    """Margins of the loop that turns an inertia, kg m^2.

    Parameters
    ----------
    gains : Gains
        Of the position loop, at the joint.
    inertia : float
        At the joint, kg m^2.
    drive : SimulatedDrive
        For the lags of its filters and current loop.
    step : float
        Of the loop, s.
    """
    frequency = np.geomspace(_LOWEST, 0.499 / step, _FREQUENCIES)
    loop = _open_loop(gains, inertia, drive, step, np.exp(2j * np.pi * frequency * step))
    size, angle = np.abs(loop), np.unwrap(np.angle(loop))
    angle += math.tau * round((-math.pi - angle[0]) / math.tau)  # it begins near -180 degrees
    ahead = angle + math.pi
    falls = np.flatnonzero((ahead[:-1] > 0.0) & (ahead[1:] <= 0.0))
    crosses = np.flatnonzero((size[:-1] > 1.0) & (size[1:] <= 1.0))
    gain = 1.0 / float(size[falls].max()) if len(falls) else 0.0
    phase = float(ahead[crosses].min()) if len(crosses) else -math.inf
    return Margins(gain, phase)


def least_margins(
    gains: Gains, inertias: tuple[float, float], drives: list[SimulatedDrive], step: float
) -> Margins:
    """The least margins over a range of inertias and over drives.

    Parameters
    ----------
    gains : Gains
        Of the position loop, at the joint.
    inertias : tuple of float
        The least and the largest, kg m^2.
    drives : list of SimulatedDrive
        All that have these gains.
    step : float
        Of the loop, s.
    """
    found = [
        margins(gains, inertia, drive, step)
        for inertia in np.geomspace(*inertias, 3).tolist()
        for drive in dict.fromkeys(drives)
    ]
    return Margins(min(m.gain for m in found), min(m.phase for m in found))


def _open_loop(
    gains: Gains, inertia: float, drive: SimulatedDrive, step: float, z: FloatArray
) -> FloatArray:
    """Transfer function of controller, current loop and inertia, sampled by the step."""
    kept = math.exp(-math.tau * drive.velocity_filter * step)
    velocity = (1.0 - kept) / (1.0 - kept / z) * (1.0 - 1.0 / z) / step
    left = math.exp(-math.tau * drive.current_bandwidth * step)
    lag = 1.0 / (math.tau * drive.current_bandwidth * step)
    current = (1.0 - left) / (z - left)
    mean = 1.0 + (current - 1.0) * lag * (1.0 - left)  # over the step, as the motor's effort is
    turned = step * step / (2.0 * inertia) * (z + 1.0) / (z - 1.0) ** 2
    loop: FloatArray = (gains.position + gains.velocity * velocity) * mean * turned
    return loop
