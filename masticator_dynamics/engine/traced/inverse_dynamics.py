# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of a mechanism: efforts of least norm for a motion, and their forces."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.bodies import Stage
from masticator_dynamics.engine.traced.closed_motion import LARGEST_SQUARE
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.numbers import lane_sum, largest, total
from masticator_dynamics.engine.traced.vectors import Vector


class InverseDynamics(TracedEquationsOfMotion):
    """One evaluation, with the motors' rates factored.

    Parameters
    ----------
    inputs : sequence, length 3 n_y + 6 or more
        y, y_dot, y_ddot, wrench on the platform; wrenches on all bodies may follow, as in
        :class:`Evaluation`. Limbs must then not share lanes.
    driving : collection of str
        Actuated joints that are powered.
    share : bool
        Put limbs of the same kind into SIMD lanes.
    positions : sequence, optional
        As in :class:`Evaluation`.
    thorough : bool
        Keep all digits where motors are about to lose a direction; with ``positions`` always.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        inputs: Vector,
        driving: Collection[str],
        share: bool = True,
        positions: Vector | None = None,
        thorough: bool = False,
    ):
        count = len(description.independent)
        y, y_dot, y_ddot = (inputs[i * count : (i + 1) * count] for i in range(3))
        motion, wrench = (y, y_dot, y_ddot), inputs[3 * count :]
        super().__init__(description, structure, inputs, motion, wrench, driving, share, positions)
        self.forces.factor(thorough or positions is not None)


class LeastNorm:
    """The efforts of least norm without friction, and the resulting forces."""

    def __init__(self, run: InverseDynamics):
        self._run, forces = run, run.forces
        forces.inertial()
        needed = forces.balance().freedoms
        run.comment('Efforts of least norm')
        self._efforts = forces.least_norm(needed)
        run.comment('Forces of the constraints with these efforts, and whether all this counts')
        forces.inertial()
        self._balance = forces.balance(forces.on_joints(self._efforts))
        multipliers = self._balance.multipliers
        squares = [
            lane_sum(x * x, stage.lanes) for stage in run.plan.stages for x in multipliers[stage]
        ]
        forces.conditions.append(LARGEST_SQUARE - total(squares))

    def efforts(self) -> list[Any]:
        """Of the actuators, in their order."""
        return self._run.per_actuator(self._efforts)

    @property
    def by_stage(self) -> dict[Stage, list[Any]]:
        """Multipliers per stage and equation."""
        return self._balance.multipliers

    def multipliers(self) -> list[Any]:
        """Of all constraint equations, in block order."""
        return self._run.in_block_order(self._balance.multipliers)

    def balance_residual(self) -> Any:
        """Largest generalised force left unbalanced, N or N m."""
        return largest(self._balance.rest.values())
