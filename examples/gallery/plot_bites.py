# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The hardest bite at each tooth
==============================

Without friction, torques of least norm are linear in the force of the food: two batches are enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism

jaw = Mechanism.load('masticator')
opening = np.linspace(0.0, 0.2, 9)  # rad
y = np.zeros((len(opening), 4))
y[:, jaw.independent.index('beta')] = opening
unloaded = jaw.feedforward_batch(y).actuated
for tooth in ('incisor', 'molar_left', 'molar_right'):
    food = [
        jaw.wrench_on_platform(jaw.solve(row), [0.0, 0.0, -1.0], np.zeros(3), point=tooth)
        for row in y
    ]
    per_newton = jaw.feedforward_batch(y, W=np.array(food)).actuated - unloaded
    room = jaw.effort_limits - np.sign(per_newton) * unloaded
    largest = (room / np.maximum(np.abs(per_newton), 1e-12)).min(axis=1)
    plt.plot(np.degrees(opening), largest, '--' if 'right' in tooth else '-', label=tooth)
plt.xlabel('opening, °')
plt.ylabel('largest bite force, N')
plt.ylim(bottom=0.0)
plt.legend()
plt.show()
