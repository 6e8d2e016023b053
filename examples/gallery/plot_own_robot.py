# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot of your own
===================

``masticator new my_robot --like delta`` begins with these two files; here it draws a circle.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism

robot = Mechanism.load('delta')  # or the path of your YAML
radius, rate = 0.05, 2.0 * np.pi / 0.6  # m, rad/s
phase = np.linspace(0.0, 2.0 * np.pi, 200)
c, s, zero = np.cos(phase), np.sin(phase), np.zeros(200)
y = robot.home.y + radius * np.column_stack([c, s, zero])
y_dot = radius * rate * np.column_stack([-s, c, zero])
y_ddot = -radius * rate**2 * np.column_stack([c, s, zero])
effort = robot.feedforward_batch(y, y_dot, y_ddot)

plt.figure(layout='constrained')
plt.plot(phase / rate, effort.actuated, label=robot.actuated)
plt.xlabel('time, s')
plt.ylabel('torque, N m')
plt.figlegend(loc='outside right upper')
plt.show()
