# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Six motors, four freedoms
=========================

The same motion needs no particular torques: they can spare the motors or the sockets of the jaw.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
path = chewing_stroke(strokes=1)
time = np.linspace(0.0, path.end, 200)
food = np.tile([0.0, 0.0, -60.0, 0.0, 0.0, 0.0], (len(time), 1))

figure, (motors, sockets) = plt.subplots(1, 2, figsize=(9, 3.5), layout='constrained')
for goal in ('torque', 'contact-force'):
    effort = jaw.feedforward_batch(*path.sample(time), food, goal=goal)
    motors.plot(time, np.linalg.norm(effort.actuated, axis=1), label=f'least {goal}')
    sockets.plot(time, np.linalg.norm(effort.contact, axis=1), label=f'least {goal}')
motors.set(xlabel='time, s', ylabel='norm of torques, N m')
sockets.set(xlabel='time, s', ylabel='norm of socket forces, N')
motors.legend()
plt.show()
