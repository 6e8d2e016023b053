# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a mechanism: efforts of least norm for a motion, and what they cause."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.traced.evaluation import Evaluation, largest
from masticator_dynamics.traced.vectors import Vector


class InverseDynamics(Evaluation):
    """One evaluation.

    Parameters
    ----------
    given : sequence, length 3 n_y + 6 or more
        y, y_dot, y_ddot, wrench on the platform; where more follow, wrenches on all bodies, as of
        :class:`Evaluation`. Limbs must then not share lanes.
    driving : collection of str
        Actuated joints that are powered.
    share : bool
        Put limbs alike into lanes.
    positions : sequence, optional
        As of :class:`Evaluation`.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        given: Vector,
        driving: Collection[str],
        share: bool = True,
        positions: Vector | None = None,
    ):
        count = len(description.independent)
        y, y_dot, y_ddot = (given[i * count : (i + 1) * count] for i in range(3))
        motion, wrench = (y, y_dot, y_ddot), given[3 * count :]
        super().__init__(description, structure, given, motion, wrench, driving, share, positions)
        self.forces.factor()
        self.forces.inertial()
        needed = self.forces.balance().freedoms
        self.comment('Efforts of least norm')
        self.motor_efforts = self.forces.least_norm(needed)
        self.comment('Forces of the constraints with these efforts, and whether all this counts')
        self.forces.inertial()
        self.balance = self.forces.balance(self.forces.on_joints(self.motor_efforts))

    def efforts(self) -> list[Any]:
        """Of the actuators, in their order."""
        return self.per_actuator(self.motor_efforts)

    def multipliers(self) -> list[Any]:
        """Of all constraint equations, in block order."""
        return self.in_block_order(self.balance.multipliers)

    def balance_residual(self) -> Any:
        """Largest generalised force left unbalanced, N or N m."""
        return largest([rest for rest, _ in self.balance.rest])

    def _everything(self) -> list[tuple[Any, int]]:
        found = []
        for stage, motion, multipliers in zip(
            self.plan.stages, self.motions, self.balance.multipliers, strict=True
        ):
            rates = [*motion.velocity.values(), *motion.acceleration.values(), *multipliers]
            found += [(x, stage.lanes) for x in rates]
        return found
