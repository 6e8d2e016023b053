# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Torques of a chewing stroke
===========================

Inverse dynamics of a whole motion at once: two strokes with 30 N of food on the jaw.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
path = chewing_stroke(strokes=2)
time = np.linspace(0.0, path.end, 400)
food = np.tile([0.0, 0.0, -30.0, 0.0, 0.0, 0.0], (len(time), 1))  # N, N m; base axes
effort = jaw.feedforward_batch(*path.sample(time), food)

plt.figure(layout='constrained')
plt.plot(time, effort.actuated, label=jaw.actuated)
plt.xlabel('time, s')
plt.ylabel('torque, N m')
plt.figlegend(loc='outside right upper')
print(f'loops closed to {effort.closure_residual.max():.1e} m')
plt.show()
