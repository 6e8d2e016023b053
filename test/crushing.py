# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Food crushed by hand, without a mechanism: the twin's law on floats."""

from samples import Array

from masticator_dynamics.engine.traced.stops_and_food import Bolus
from masticator_dynamics.robot.twin.food import FORCE, GAP


def crush(food: Array, gap: float, rate: float, settle: bool) -> float:
    """Force with which packed food pushes teeth apart, N; its state changes only if ``settle``."""
    bolus = Bolus.of(food[: Bolus.WIDTH].tolist())
    force, state = bolus.crush(gap, rate, float(settle))
    if settle:
        food[: Bolus.STATE], food[GAP], food[FORCE] = state, gap, force
    return float(force)
