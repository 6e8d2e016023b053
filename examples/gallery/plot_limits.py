# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Forces that pull only
=====================

Cables cannot push: their torques have to stay within ranges, which redundancy makes possible.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism

robot = Mechanism.load('cable_planar')
y = np.tile(robot.home.y, (60, 1))
y[:, 0] += np.linspace(-0.1, 0.1, len(y))

figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout='constrained')
for axes, limits in zip(panels, (False, True), strict=True):
    effort = robot.feedforward_batch(y, limits=limits)
    axes.plot(1e3 * y[:, 0], effort.actuated, label=robot.actuated)
    axes.axhline(0.0, color='k', lw=0.5)
    axes.set(xlabel='x, mm', title='within limits' if limits else 'least norm')
panels[0].set_ylabel(f'effort, {robot.effort_units[0]}')
figure.legend(*panels[0].get_legend_handles_labels(), loc='outside right upper')
plt.show()
