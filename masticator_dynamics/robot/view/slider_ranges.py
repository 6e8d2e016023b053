# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sliders in mm and degrees, with round steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

_STEPS = 150  # of a slider over its range, at least


def slider_ranges(mechanism: Mechanism) -> list[tuple[str, float, float, float, float]]:
    """Unit, SI units in one of it, lowest, highest and step of each independent coordinate.

    The last three are in the unit; steps are 1, 2 or 5 times a power of ten, 1 at most, so that
    sliders show whole numbers where the range is wide enough.
    """
    found = []
    for name, home in zip(mechanism.independent, mechanism.home.y.tolist(), strict=True):
        j = mechanism.tree_joints.index(name)
        low, high = mechanism.limits.lower[j], mechanism.limits.upper[j]
        slides = mechanism.structure.tree.joints[j].type == 'prismatic'
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            half = 0.2 * mechanism.structure.extent() if slides else 1.0
            low, high = home - half, home + half
        unit, per = ('mm', 1e-3) if slides else ('°', math.pi / 180.0)
        step = _round_step((high - low) / per / _STEPS)
        slack = 1e-9
        least, most = math.ceil(low / per / step - slack), math.floor(high / per / step + slack)
        found.append((unit, per, least * step, most * step, step))
    return found


def _round_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size, and at most 1."""
    power = math.floor(math.log10(size))
    base = max(b for b in (1, 2, 5) if b * 10.0**power <= size * (1.0 + 1e-12))
    return min(1.0, float(f'{base}e{power}'))
