# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Where a robot can go
====================

Every pose of a grid is classified: usable, out of reach, outside a range, or near a singularity.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.grid import Axis, make_grid
from masticator_dynamics.analysis.workspace_map import PoseClass, WorkspaceSurveyor

robot = Mechanism.load('five_bar')
grid = make_grid(robot, [Axis(name, steps=61) for name in robot.independent])
survey = WorkspaceSurveyor(robot).survey(grid.poses())

for kind in np.unique(survey.pose_class):
    here = survey.y[survey.pose_class == kind]
    plt.plot(*(1e3 * here).T, 's', ms=3, label=PoseClass(kind).label)
plt.xlabel(f'{robot.independent[0]}, mm')
plt.ylabel(f'{robot.independent[1]}, mm')
plt.axis('equal')
plt.legend()
print(f'{survey.usable.mean():.0%} of {len(survey.y)} poses can be used')
plt.show()
