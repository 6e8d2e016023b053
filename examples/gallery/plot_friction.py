# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Friction
========

Dry and viscous friction of the motors' joints and of the sockets, as the torques have to
overcome it.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
path = chewing_stroke(strokes=1)
time = np.linspace(0.0, path.end, 300)
for friction in (False, True):
    effort = jaw.feedforward_batch(*path.sample(time), friction=friction)
    label = 'with friction' if friction else 'without friction'
    plt.plot(time, effort.actuated[:, 4], label=label)
plt.xlabel('time, s')
plt.ylabel(f'torque of {jaw.actuated[4]}, N m')
plt.legend()
plt.show()
