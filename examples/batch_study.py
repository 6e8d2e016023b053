#!/usr/bin/env python3
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A batch study: the hardest bite at each tooth, for each opening of the mouth.

Without friction the torques of least norm are linear in the force of the food, so two batches tell
the largest force: one without food, one with 1 N of it pressing the jaw down.
"""

import numpy as np

from masticator_dynamics import Mechanism

TEETH = ('incisor', 'molar_left', 'molar_right')
OPENINGS = np.linspace(0.0, 0.2, 9)  # beta, rad; 0 is occlusion


def main() -> None:
    """Print the largest bite force (N) for each opening and tooth, and the motor that limits it."""
    jaw = Mechanism.load('masticator')
    y = np.zeros((len(OPENINGS), len(jaw.independent)))
    y[:, jaw.independent.index('beta')] = OPENINGS
    unloaded = jaw.feedforward_batch(y).actuated

    forces, motors = [], []
    for tooth in TEETH:
        food = [
            jaw.wrench_on_platform(jaw.solve(row), [0.0, 0.0, -1.0], np.zeros(3), point=tooth)
            for row in y
        ]
        per_newton = jaw.feedforward_batch(y, W=np.array(food)).actuated - unloaded
        # unloaded + force * per_newton stays within plus and minus the limit of each motor.
        room = jaw.effort_limits - np.sign(per_newton) * unloaded
        largest = room / np.maximum(np.abs(per_newton), 1e-12)
        forces.append(largest.min(axis=1))
        motors.append([jaw.actuated[k] for k in largest.argmin(axis=1)])

    print('opening rad', *(f'{tooth:>22}' for tooth in TEETH))
    for k, opening in enumerate(OPENINGS):
        cells = (f'{f[k]:8.0f} N  ({m[k]})' for f, m in zip(forces, motors, strict=True))
        print(f'{opening:11.3f}', *(f'{cell:>22}' for cell in cells))


if __name__ == '__main__':
    main()
