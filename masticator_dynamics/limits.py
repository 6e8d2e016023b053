# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of joints, sockets and efforts: reported here, enforced by nodes and planners."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.description.urdf import Joint
from masticator_dynamics.engine.arrays import FloatArray

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.results import Effort, Motion


@dataclasses.dataclass(frozen=True)
class Limits:
    """Ranges of the tree joints (n_q,): rad or m, their rates, N m or N; infinite where none."""

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    @classmethod
    def of(cls, joints: Sequence[Joint]) -> Limits:
        """From the URDF's ``<limit>`` elements."""
        columns = ('lower', 'upper', 'velocity', 'effort')
        return cls(*(np.array([getattr(j, c) for j in joints], dtype=float) for c in columns))


@dataclasses.dataclass(frozen=True)
class RangeViolation:
    """A quantity outside its range; printing it gives a sentence."""

    name: str
    quantity: str
    value: float
    lower: float
    upper: float
    unit: str

    def __str__(self) -> str:
        """E.g. ``crank_3 position 1.9 rad is outside [-1.7, 1.7] rad``."""
        return (
            f'{self.name} {self.quantity} {self.value:.6g} {self.unit} is outside '
            f'[{self.lower:.6g}, {self.upper:.6g}] {self.unit}'
        )


def find_violations(
    mechanism: Mechanism, motion: Motion | Effort, effort: Effort | None
) -> tuple[RangeViolation, ...]:
    """Violations of one motion: joint positions and velocities, sockets, efforts."""
    limits = mechanism.limits
    units = [joint.unit for joint in mechanism.structure.tree.joints]
    found = _outside(mechanism.tree_joints, 'position', motion.q, limits.lower, limits.upper, units)
    rates = [f'{unit}/s' for unit in units]
    found += _outside(
        mechanism.tree_joints, 'velocity', motion.v, -limits.velocity, limits.velocity, rates
    )
    for contact in mechanism.description.contacts:
        position = mechanism.frame_pose(motion, contact.frame).position
        for axis, value in zip('xyz', position, strict=True):
            interval = getattr(contact.range, axis)
            if interval is not None:
                low, high = np.array([interval[0]]), np.array([interval[1]])
                found += _outside((contact.name,), axis, np.array([value]), low, high, ['m'])
    if effort is not None:
        actuated = mechanism.tree_indices(mechanism.actuated)
        bound = limits.effort[actuated]
        names = ['N' if units[j] == 'm' else 'N m' for j in actuated]
        found += _outside(mechanism.actuated, 'effort', effort.actuated, -bound, bound, names)
    return tuple(found)


def _outside(
    names: Sequence[str],
    quantity: str,
    values: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    units: Sequence[str],
) -> list[RangeViolation]:
    # A hair of tolerance: a limit written in decimal must not refuse the value it names.
    slack = 1e-12
    return [
        RangeViolation(names[i], quantity, float(values[i]), float(lower[i]), float(upper[i]), units[i])
        for i in np.flatnonzero((values < lower - slack) | (values > upper + slack))
    ]
