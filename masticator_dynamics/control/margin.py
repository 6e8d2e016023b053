# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""By how much the gain of force control could be raised before it oscillates.

The loop is an integrator (the travel) with the bandwidth that the law chose, the smoothing of the
velocity, the delays of command and sensor, the drive layer's lead, the hold of a cycle, and the
drives' position loops that move a mass against what is pressed:

    L(s) = b k / K / s exp(-s (path + sensor + period / 2)) / (1 + smoothing s)
           ((m s^2 + d s + D) (1 + lead s) + c s) / (m s^2 + (d + c) s + D + k)

with the true stiffness k, the assumed one K, and stiffness D, damping d and mass m of the drives at
the point. Friction and gear losses change sides over a small velocity: there they are a damper c,
and what the drive layer adds for the commanded velocity to overcome them is the same damper the
other way round, a direct path from commanded velocity to force. The acceleration of the travel is
fed forward as the mass needs it; the force is fed forward as wanted and not as measured, so that it
closes no loop.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.control.force_goal import LoopTiming
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

_FREQUENCIES = np.geomspace(1.0, 3e3, 20000)  # rad/s


@dataclasses.dataclass(frozen=True)
class PressedLoop:
    """Numbers of the loop at one pose."""

    stiffness: float  # of what is pressed, N/m
    # At the point, N/m, N s/m and kg.
    drive_stiffness: float
    drive_damping: float
    mass: float
    sensor_delay: float  # s
    timing: LoopTiming
    # Of friction and gear losses by velocity at rest, N s/m at the point.
    friction_slope: float = 0.0

    def open_loop(self, frequency: FloatArray, assumed: float) -> FloatArray:
        """Transfer function at frequencies (N,), rad/s, with an assumed stiffness, N/m."""
        s, timing = 1j * frequency, self.timing
        bandwidth = timing.bandwidth(self.sensor_delay)
        delay = timing.path_delay + self.sensor_delay + 0.5 * timing.period
        drives = self.mass * s**2 + self.drive_damping * s + self.drive_stiffness
        losses = self.friction_slope * s
        moved = (drives * (1.0 + timing.lead * s) + losses) / (drives + losses + self.stiffness)
        planned = np.exp(-s * delay) / (1.0 + timing.smoothing * s)
        loop: FloatArray = bandwidth * self.stiffness / assumed / s * planned * moved
        return loop

    def gain_margin(self, assumed: float | None = None) -> float:
        """Factor by which the gain could be raised, with an assumed stiffness (the true one).

        Raises
        ------
        InputError
            If the phase nowhere crosses half a turn.
        """
        loop = self.open_loop(_FREQUENCIES, self.stiffness if assumed is None else assumed)
        phase = np.unwrap(np.angle(loop))
        crossings = np.flatnonzero((phase[:-1] > -np.pi) & (phase[1:] <= -np.pi))
        if not len(crossings):
            raise InputError('the phase of this loop nowhere crosses half a turn')
        return 1.0 / float(np.abs(loop[crossings]).max())
