# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which of the efforts for a motion a call requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masticator_dynamics.actuation.goals import Goal

if TYPE_CHECKING:
    from masticator_dynamics.limits.load_limits import LoadLimits


class EffortOptions(NamedTuple):
    """Keywords of `Mechanism.inverse_dynamics`, which documents them, and of related methods."""

    goal: Goal = 'torque'
    friction: bool = False
    limits: LoadLimits | bool = False
    nearest: bool = False

    @property
    def least_norm(self) -> bool:
        """Whether these are the frictionless efforts of least norm."""
        return self.goal == 'torque' and not self.friction

    @property
    def unlimited(self) -> bool:
        """Whether no limits need to be kept."""
        return self.limits is False and not self.nearest
