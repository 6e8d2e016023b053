# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The load cases of a motion as tables of numbers, for callers that iterate themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from masticator_dynamics.engine.arrays import FloatArray, consecutive
from masticator_dynamics.engine.status import RefusedError
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.effort_distribution import goal_of, observed_joints
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.kernels import Code, Kernels
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import Scalar
from masticator_dynamics.engine.traced.reference import Reference


class Tables:
    """Everything affine in the load cases, for a goal, with friction or without.

    Column 0 is the load of the motion, then come the efforts that cancel in it, then the Coulomb
    friction of each contact, per unit of its multiplier.

    Parameters
    ----------
    kernels : Kernels
    goals : mapping of str to float
        Weights of goals.
    friction : bool
        Of contacts and actuated joints.

    Attributes
    ----------
    shapes : dict
        Of each table: ``efforts`` (n_u), ``bearing`` force of the actuated joints in their own axes
        (3 n_u), ``forces`` of the goal's joints in base axes, ``multipliers``, ``loads`` left
        unbalanced (n_q), all by load cases; and what goes with the motion: ``friction`` and
        ``viscous`` of the contacts (n_c, 3), N, base axes, that their bodies have to overcome,
        ``weights`` of the efforts, ``drag`` and ``per_newton`` of the actuated joints (n_u).
    """

    def __init__(self, kernels: Kernels, goals: Mapping[str, float], friction: bool):
        self._goals, self._friction, description = goals, friction, kernels.description
        actuators, contacts = len(description.actuated), len(description.contacts)
        cases = 1 + len(kernels.driving) - kernels.freedoms + contacts
        self.shapes = {
            'efforts': (actuators, cases),
            'bearing': (3 * actuators, cases),
            'forces': (3 * len(observed_joints(description, goals)), cases),
            'multipliers': (kernels.rows, cases),
            'loads': (kernels.tree, cases),
            'friction': (contacts, 3),
            'viscous': (contacts, 3),
            'weights': (actuators,),
            'drag': (actuators,),
            'per_newton': (actuators,),
        }
        self._places = consecutive({k: math.prod(shape) for k, shape in self.shapes.items()}, 3)
        outputs = 1 + self._places['per_newton'].stop
        kind = f'load cases, {sorted(goals.items())}, friction {friction}'
        self._reference = Reference(Code(kernels, kind, self._outputs, outputs, at_positions=True))

    def __call__(self, given: FloatArray, q: FloatArray) -> dict[str, FloatArray]:
        """Tables of one input row, at tree positions (n_q,).

        Raises
        ------
        RefusedError
            If there is no answer.
        """
        (numbers,) = self._reference.at(given[None], q[None])
        if numbers[0]:
            raise RefusedError(int(numbers[0]), int(numbers[1]), numbers[2])
        return {
            name: numbers[where].reshape(self.shapes[name]) for name, where in self._places.items()
        }

    def _outputs(self, run: InverseDynamics) -> list[Scalar]:
        cases = LoadCases(run, self._friction, observed_joints(run.plan.description, self._goals))
        goal = goal_of(run, self._goals, self._friction)
        columns = [cases.load, *cases.free, *cases.coulomb]
        tables: list[list[list[Any]]] = [
            [run.per_actuator(c.efforts) for c in columns],
            [run.vectors_per_actuator(c.bearing) for c in columns],
            [vec.flat(c.observed) for c in columns],
            [run.in_block_order(c.multipliers) for c in columns],
            [c.rest for c in columns],
        ]  # fmt: skip
        contacts = cases.contacts
        weights = goal.efforts or [0.0] * len(goal.drag)
        return [
            run.valid(), 0.0, -1.0, 0.0,
            *(x for table in tables for row in zip(*table, strict=True) for x in row),
            *vec.flat(c.coulomb for c in contacts), *vec.flat(c.viscous for c in contacts),
            *(x for part in (weights, goal.drag, goal.per_newton) for x in run.per_actuator(part)),
        ]  # fmt: skip
