# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Force control pressed against springs without a mechanism: a straight way, delays, a sensor."""

from __future__ import annotations

import collections
import dataclasses
import math
import random
from collections.abc import Callable

from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import Commanded, Measured, Reference, State

PERIOD = 0.002
CYCLES_OF_PATH, CYCLES_OF_SENSOR = 2, 1


class Straight:
    """A way on which nothing changes."""

    stiffest, velocity, least_acceleration = 4e5, 1.0, 4.0

    def __init__(self, length: float = 0.012, hard: float = math.inf):
        self.length, self.hard = length, hard

    def stiffness(self, travel: float) -> float:
        return 4e5

    def acceleration(self, travel: float) -> float:
        return 4.0


@dataclasses.dataclass
class Row:
    """A cycle."""

    now: Measured
    commanded: Commanded
    state: State
    true: float


def spring(stiffness: float, at: float = 0.001) -> Callable[[float], float]:
    return lambda travel: max(stiffness * (travel - at), 0.0)


def pressed(
    law: ForceControl,
    force: Callable[[float], float],
    reference: Reference,
    *,
    seconds: float = 1.0,
    noise: float = 0.2,
    seed: int = 1,
    change: Callable[[Measured], Measured] = lambda now: now,
) -> list[Row]:
    """Rows until the time is over or it is done.

    What is commanded is reached two cycles later; a force is one cycle old when it comes. `change`
    spoils what is measured.
    """
    rng = random.Random(seed)
    way = collections.deque([0.0] * CYCLES_OF_PATH, maxlen=CYCLES_OF_PATH)
    forces = collections.deque([0.0] * CYCLES_OF_SENSOR, maxlen=CYCLES_OF_SENSOR)
    rows: list[Row] = []
    for k in range(round(seconds / PERIOD)):
        travel = way[0]
        felt, true = forces[0] + rng.gauss(0.0, noise), force(travel)
        forces.append(true)
        time = k * PERIOD
        now = change(Measured(time, travel, 0.0, felt, time - CYCLES_OF_SENSOR * PERIOD))
        commanded = law.step(now, reference)
        way.append(commanded.travel)
        rows.append(Row(now, commanded, law.state, true))
        if law.state is State.DONE:
            break
    return rows
