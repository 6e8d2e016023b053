# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How strongly motors are coupled
===============================

The mechanism's coupling index (MCI) of every motor along a stroke: what the others' accelerations
ask of it, relative to its own.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
path = chewing_stroke(strokes=1)
time = np.linspace(0.0, path.end, 60)
coupling = [jaw.inertia_coupling(jaw.solve(y)) for y in path.sample(time)[0]]
plt.figure(layout='constrained')
plt.plot(time, coupling, label=jaw.actuated)
plt.xlabel('time, s')
plt.ylabel('inertia coupling')
plt.figlegend(loc='outside right upper')
plt.show()
