# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a mouthful costs the robot: loads and wear of the sockets, heat and energy of the motors."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import trapezoid

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.frames import frame_poses
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.laboratory.mouthful import Series

# m^3/(N m), assumed: 1e-6 mm^3/(N m), a common order of magnitude for lubricated polyethylene on
# polished metal. Nothing is known of the robot's own sockets.
WEAR_RATE = 1e-15


@dataclasses.dataclass(frozen=True)
class JawLoads:
    """Loads of one mouthful.

    Attributes
    ----------
    contacts : tuple of str
    peak, impulse, wear : array, shape (n_c,)
        Largest force of each contact (N), its time integral (N s), and the wear volume by
        Archard's law (m^3): wear rate times force times sliding distance.
    pulled : array, shape (n_c,)
        Share of the time in which the contact pulls, which only a slot can.
    lifts : tuple of int
        How often each contact lifted off, if sockets are open.
    effort_rms : array, shape (n_u,)
        RMS effort of each motor, N m or N: what heats it.
    energy : float
        J delivered by the motors, less what they took back.
    """

    contacts: tuple[str, ...]
    peak: FloatArray
    impulse: FloatArray
    wear: FloatArray
    pulled: FloatArray
    lifts: tuple[int, ...]
    effort_rms: FloatArray
    energy: float

    @classmethod
    def of(cls, series: Series, mechanism: Mechanism) -> JawLoads:
        """Loads during a mouthful."""
        normals = np.array(
            [np.linalg.norm(contact.normal) for contact in mechanism.description.contacts]
        )
        force = series.contact * normals
        step = np.diff(series.time)[:, None]
        mean = 0.5 * np.abs(force[1:] + force[:-1])
        travel = np.zeros_like(mean)
        for k, contact in enumerate(mechanism.description.contacts):
            where, _ = frame_poses(mechanism, series.q, contact.frame)
            travel[:, k] = np.linalg.norm(np.diff(where, axis=0), axis=1)
        power = np.sum(series.effort * series.velocity, axis=1)
        return cls(
            mechanism.contacts,
            np.abs(force).max(axis=0, initial=0.0),
            np.sum(mean * step, axis=0),
            WEAR_RATE * np.sum(mean * travel, axis=0),
            np.mean(series.contact < 0.0, axis=0),
            series.lifts,
            np.sqrt(np.mean(series.effort**2, axis=0)),
            float(trapezoid(power, series.time)),
        )

    def figures(self) -> dict[str, float]:
        """Figures by name, for tables."""
        found = {}
        for k, name in enumerate(self.contacts):
            for figure in ('peak', 'impulse', 'wear', 'pulled', 'lifts'):
                found[f'{name}_{figure}'] = float(getattr(self, figure)[k])
        found['largest_effort_rms'] = float(self.effort_rms.max())
        found['motor_energy'] = self.energy
        return found
