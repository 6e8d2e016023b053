# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How fast can the drives chew?
=============================

Largest and effective torque of every motor against the period of a stroke; drives heat by
the latter.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
periods = np.geomspace(0.15, 2.0, 20)
peak, effective = [], []
for period in periods:
    path = chewing_stroke(strokes=1, period=period)
    torque = jaw.feedforward_batch(*path.sample(np.linspace(0.0, path.end, 200))).actuated
    peak.append(np.max(np.abs(torque) / jaw.effort_limits))
    effective.append(np.max(np.sqrt(np.mean(torque**2, axis=0)) / jaw.effort_limits))
plt.semilogy(periods, peak, label='peak')
plt.semilogy(periods, effective, label='effective (RMS)')
plt.axhline(1.0, color='k', ls=':', label='limit')
plt.xlabel('period of a stroke, s')
plt.ylabel('torque over its limit, of the worst motor')
plt.legend()
plt.show()
