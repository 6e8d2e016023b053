# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A robot to try things on
========================

Forward dynamics with friction and stops: the motors are off, the jaw falls open, and its
stops end the fall.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.robot.twin import MechanismPlant

jaw = Mechanism.load('masticator')
plant = MechanismPlant(jaw, step=1e-3, friction=True)
beta = []
for _ in range(400):
    beta.append(plant.state[0][3])
    plant.advance(np.zeros(6))
plt.plot(np.arange(len(beta)) / 1000.0, np.degrees(beta))
plt.xlabel('time, s')
plt.ylabel('opening, °')
plt.show()
