# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a design is judged by, as outputs of machine code: any choice of quantities of a row."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.engine.structure import Block
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.actuated_inertia import TracedActuatedInertia, coupling
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS, Kernels
from masticator_dynamics.engine.traced.load_cases import bearing_forces, transmitted
from masticator_dynamics.engine.traced.matrices import singular_squares
from masticator_dynamics.engine.traced.numbers import (
    greater,
    lane_pick,
    lesser,
    reciprocal,
    square_root,
)
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.vectors import Vector

FIRST = 3  # number of outputs before the quantities
NEED_LIMBS = ('actuated_inertia', 'load_inertia', 'inertia_coupling')


class Quantities:
    """Quantities of an evaluation, each a list of numbers, by the names of :func:`shapes`.

    Parameters
    ----------
    limbs : sequence of Block
        As for :class:`ActuatedInertia`.
    """

    def __init__(self, run: InverseDynamics, limbs: Sequence[Block]):
        self._run, self._limbs = run, limbs
        self._description, self._structure = run.plan.description, run.plan.structure

    @functools.cached_property
    def _forces(self) -> LeastNorm:
        return LeastNorm(self._run)

    @functools.cached_property
    def _inertia(self) -> TracedActuatedInertia:
        return TracedActuatedInertia(self._run, self._limbs)

    def actuated(self) -> list[Any]:
        """Efforts of least norm."""
        return self._forces.efforts()

    def power(self) -> list[Any]:
        """Mechanical power of the motors."""
        motors = self._run.forces.motors
        rates = self._run.per_actuator([m.ratio * m.joint.velocity for m in motors])
        return [x * rate for x, rate in zip(self.actuated(), rates, strict=True)]

    def contact(self) -> list[Any]:
        """Multipliers of the contacts."""
        multipliers, rows = self._forces.multipliers(), self._structure.rows
        return [multipliers[row] for c in self._description.contacts for row in rows(c.name)]

    def joint_force(self) -> list[Any]:
        """Force of each joint of ``force_joints`` on its child, base axes."""
        index = self._structure.index
        forces: list[Any] = []
        for name in self._description.force_joints:
            joint, lane = self._run.plan.joint(index(name))
            force = transmitted(joint, self._forces.by_stage)
            forces += [lane_pick(x, lane) for x in force]
        return forces

    def bearing_force(self) -> list[Any]:
        """Force of each actuated joint on its child, the joint's axes."""
        forces = bearing_forces(self._run, self._forces.by_stage)
        return self._run.vectors_per_actuator(forces)

    def loop_force(self) -> list[Any]:
        """Force of each closure on the second frame's body, base axes."""
        forces: dict[str, Vector] = {}
        tree, by_stage = self._structure.tree, self._forces.by_stage
        second = {
            c.name: self._run.plan.body(tree.frames[c.frames[1]].body)
            for c in self._description.closures
            if c.frames
        }
        for stage in self._run.plan.stages:
            names = [
                constraint.name
                for (constraint,) in stage.constraints
                for _ in range(constraint.size)
            ]
            for name, equation, multiplier in zip(
                names, stage.equations, by_stage[stage], strict=True
            ):
                for wrench in equation.wrenches:
                    if name in second and wrench.body is second[name]:
                        force = vec.scale(wrench.force, multiplier)
                        forces[name] = vec.add(forces.get(name, vec.ZERO), force)
        return [x for c in self._description.closures for x in forces.get(c.name, vec.ZERO)]

    def position(self) -> list[Any]:
        """Of the actuated joints."""
        return self._run.of_actuated(self._run.positions())

    def velocity(self) -> list[Any]:
        """Of the actuated joints."""
        return self._run.of_actuated(self._run.velocities())

    def q(self) -> list[Any]:
        """Tree positions."""
        return self._run.positions()

    def jacobian(self) -> list[Any]:
        """Velocities of the actuated joints per independent velocity."""
        return self._run.of_actuated(self._run.tangent())

    def condition(self) -> list[Any]:
        """Condition number of this Jacobian."""
        freedoms, flat = len(self._run.plan.independent), self.jacobian()
        columns = [flat[k::freedoms] for k in range(freedoms)]
        squares = singular_squares(columns)
        largest = functools.reduce(greater, squares)
        return [square_root(largest * reciprocal(functools.reduce(lesser, squares)))]

    def mass(self) -> list[Any]:
        """Mass matrix in independent coordinates."""
        return vec.flat(self._run.mass)

    def actuated_inertia(self) -> list[Any]:
        """Inertia in actuated space (S0 Eq. 59)."""
        return vec.flat(self._inertia.matrix())

    def load_inertia(self) -> list[Any]:
        """Its diagonal."""
        return [row[a] for a, row in enumerate(self._inertia.matrix())]

    def inertia_coupling(self) -> list[Any]:
        """Exponentials less one of the indices (S0 Eq. 60)."""
        return list(coupling(self._inertia.matrix()))

    def fault(self, names: Sequence[str]) -> Any:
        """The first limb whose rod has its centre of mass off its line, if it matters; else -1."""
        return self._inertia.fault if {*names} & {*NEED_LIMBS} else -1.0


def shapes(kernels: Kernels) -> dict[str, tuple[int, ...]]:
    """Shape of each quantity of a row."""
    description, motors, freedoms = kernels.description, kernels.actuators, kernels.freedoms
    return {
        'actuated': (motors,), 'power': (motors,), 'contact': (len(description.contacts),),
        'joint_force': (len(description.force_joints), 3), 'bearing_force': (motors, 3),
        'loop_force': (len(description.closures), 3), 'position': (motors,), 'velocity': (motors,),
        'q': (kernels.tree,), 'jacobian': (motors, freedoms), 'condition': (),
        'mass': (freedoms, freedoms), 'actuated_inertia': (motors, motors),
        'load_inertia': (motors,), 'inertia_coupling': (motors,),
    }  # fmt: skip


def quantities_code(
    kernels: Kernels, names: Sequence[str], limbs: Sequence[Block], at_positions: bool = False
) -> RowCode:
    """From a row's inputs: whether it is valid, largest gap, first rod off its line, quantities.

    Parameters
    ----------
    names : sequence of str
        Of the quantities, in the order in which they are wanted.
    limbs : sequence of Block
        As for :class:`ActuatedInertia`.
    at_positions : bool
        Tree positions of the closed mechanism follow the inputs.
    """
    inputs, sizes = kernels.inputs + kernels.tree * at_positions, shapes(kernels)

    def function(row: Sequence[Any], share: bool) -> list[Any]:
        run = kernels.run(row[:inputs], False, at_positions, row[inputs:])
        quantities = Quantities(run, limbs)
        values = [x for name in names for x in getattr(quantities, name)()]
        return [run.valid(), run.closure_residual(), quantities.fault(names), *values]

    return RowCode(
        f'quantities at positions: {at_positions}', inputs,
        FIRST + sum(math.prod(sizes[name]) for name in names), function,
        lambda: [*kernels.identity, tuple(names), len(limbs)],
        largest=2 * MOST_OPERATIONS, constants=kernels.constants,
        impossible='' if kernels.freedoms and kernels.actuators else
        'it has no freedoms, or no actuators',
    )  # fmt: skip
