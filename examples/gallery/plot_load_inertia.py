# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Inertia that a motor feels
==========================

The diagonal of the inertia matrix in the space of the motors, over the workspace of TriMule.
"""

import matplotlib.pyplot as plt

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.grid import Axis, make_grid
from masticator_dynamics.analysis.load_inertia.sampling import load_inertia

robot = Mechanism.load('trimule')
grid = make_grid(robot, [Axis('x', -0.3, 0.3, 31), Axis('y', -0.3, 0.3, 31)])
poses = grid.poses()
inertia = load_inertia(robot, poses, where_possible=True)[:, 0].reshape(31, 31)

plt.contourf(1e3 * grid.values[0], 1e3 * grid.values[1], inertia.T, levels=15)
plt.colorbar(label=f'inertia at {robot.actuated[0]}, kg m²')
plt.xlabel('x, mm')
plt.ylabel('y, mm')
plt.axis('equal')
plt.show()
