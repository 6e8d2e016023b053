# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of the joints of a tree, from the URDF."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from masticator_dynamics.description.urdf import Joint
from masticator_dynamics.engine.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class JointLimits:
    """Ranges of the tree joints (n_q,): rad or m, their rates, N m or N; infinite where none."""

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    @classmethod
    def of(cls, joints: Sequence[Joint]) -> JointLimits:
        """From the URDF's ``<limit>`` elements."""
        columns = ('lower', 'upper', 'velocity', 'effort')
        return cls(*(np.array([getattr(j, c) for j in joints], dtype=float) for c in columns))
