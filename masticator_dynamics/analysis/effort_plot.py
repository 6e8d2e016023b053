# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Picture of efforts over time."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from masticator_dynamics.analysis.pictures import BLACK, plot_lines, png_figure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism


def plot_efforts(
    target: IO[Any], mechanism: Mechanism, time: FloatArray, efforts: FloatArray
) -> None:
    """Write a PNG of the efforts of the actuated joints, torques above forces.

    Parameters
    ----------
    target : stream
    time : array, shape (N,)
        s.
    efforts : array, shape (N, n_a)
        N m or N.
    """
    units = np.array(mechanism.effort_units)
    names = {'N m': 'torque', 'N': 'force'}
    kinds = [unit for unit in names if unit in units]
    with png_figure(target, (9.0, 1.2 + 3.6 * len(kinds))) as figure:
        panels = figure.subplots(len(kinds), 1, sharex=True, squeeze=False)[:, 0]
        for axes, unit in zip(panels, kinds, strict=True):
            chosen = np.flatnonzero(units == unit)
            joints = [mechanism.actuated[k] for k in chosen]
            plot_lines(axes, time, joints, efforts[:, chosen])
            axes.set_ylabel(f'{names[unit]} ({unit})')
            axes.axhline(0.0, color=BLACK, linewidth=0.6)
        panels[-1].set_xlabel('time (s)')
        figure.suptitle(f'{mechanism.name}: efforts of the actuators')
