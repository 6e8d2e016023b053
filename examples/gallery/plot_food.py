# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A food from a measured curve
============================

Fit stiffness, yield force and fracture to a compression, as ``masticator fit-food`` does; the food
is then chewed in experiments (``masticator experiment``).
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics.robot.laboratory.curves import fit_food, predicted

depth = np.linspace(0.0, 0.005, 251)  # m; in place of a file of a texture analyser
noise = np.random.default_rng(0).normal(0.0, 0.4, len(depth))
force = np.where(depth < 0.0031, 16e3 * np.maximum(depth - 0.0005, 0.0), 11.0) + noise

fit = fit_food(depth, force, thickness=0.008)
print(f'{fit.food.stiffness / 1e3:.1f} N/mm, breaks at {1e3 * fit.food.break_compression:.2f} mm')
plt.plot(1e3 * depth, force, '.', ms=3, color='0.6', label='measured')
plt.plot(1e3 * depth, predicted(fit.food, depth - fit.touch), label='fitted')
plt.xlabel('displacement, mm')
plt.ylabel('force, N')
plt.legend()
plt.show()
