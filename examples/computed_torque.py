#!/usr/bin/env python3
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computed-torque control of the jaw in its twin, with mass matrix and bias (1 kHz).

The jaw starts beside its chewing stroke. With the equations of motion the error of each degree of
freedom dies out as (1 + w t) exp(-w t), all by themselves; with the same gains, but the mass
matrix of home and no bias, it does not.
"""

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin import MechanismPlant

STEP = 1e-3  # s
BANDWIDTH = 60.0  # rad/s: both poles of every error
BESIDE = np.array([5e-4, -4e-4, 0.008, 0.02])  # m, m, rad, rad


def chew(jaw: Mechanism, model: bool) -> np.ndarray:
    """Errors (N, 4) of a stroke, with the model or with what is known at home."""
    path = chewing_stroke(strokes=1, period=0.5, opening=0.1)
    plant = MechanismPlant(jaw, step=STEP, start=path(0.0)[0] + BESIDE)
    at_home = jaw.mass_matrix(jaw.home)
    errors = []
    for k in range(round(path.end / STEP)):
        y, y_dot, y_ddot = path(k * STEP)
        now, rate = plant.state
        errors.append(now - y)
        wanted = y_ddot - 2.0 * BANDWIDTH * (rate - y_dot) - BANDWIDTH**2 * (now - y)
        motion = jaw.solve(now, rate)
        mass = jaw.mass_matrix(motion) if model else at_home
        force = mass @ wanted + (jaw.bias(motion) if model else 0.0)
        # Six motors for four freedoms: of all torques with this effect, the least.
        jacobian = jaw.jacobian_actuated_from_independent(motion)
        plant.advance(np.linalg.lstsq(jacobian.T, force, rcond=None)[0])
    return np.array(errors)


def main() -> None:
    """Print the errors of both controllers, and what they should be."""
    jaw = Mechanism.load('masticator')
    computed, simple = chew(jaw, model=True), chew(jaw, model=False)
    print('error of beta, mrad: time s, expected, computed torque, mass of home without bias')
    for time in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4):
        phase = BANDWIDTH * time
        expected = BESIDE[3] * (1.0 + phase) * np.exp(-phase)
        cells = (expected, *(found[round(time / STEP), 3] for found in (computed, simple)))
        print(f'{time:6.2f}', *(f'{1e3 * cell:10.4f}' for cell in cells))


if __name__ == '__main__':
    main()
