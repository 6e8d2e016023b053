# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The motion that efforts are for, where commands carry efforts alone."""

from __future__ import annotations

from typing import NamedTuple

from masticator_dynamics.engine.arrays import FloatArray


class DesiredMotion(NamedTuple):
    """What all joints are meant to do, in actuated order, (n,).

    Motors and gears need it: a torque that overcomes friction has the sign of the intended
    velocity, which an effort does not tell.
    """

    time: float  # when it was desired, s of ``time.monotonic()``
    position: FloatArray  # rad or m
    velocity: FloatArray  # rad/s or m/s

    def distance(self, measured: FloatArray, now: float) -> FloatArray:
        """Desired minus measured positions (n,) at a time near its own, s."""
        return self.position + (now - self.time) * self.velocity - measured
