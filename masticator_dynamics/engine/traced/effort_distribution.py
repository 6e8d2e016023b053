# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction, and the efforts that best serve a goal among those that drive the same motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.best_pattern import best_of
from masticator_dynamics.engine.traced.closed_motion import LARGEST_SQUARE
from masticator_dynamics.engine.traced.effort_goals import force_weights, motor_weights
from masticator_dynamics.engine.traced.friction import (
    effort_lost,
    friction_of_actuators,
    gear_losses,
    smoothness,
)
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import absolute, largest, select, sign_of
from masticator_dynamics.engine.traced.sign_pattern import PatternGoal, direction

ON_A_FACE = 1e-9  # of the largest multiplier; a sliding contact below it counts as held at zero


class Distribution:
    """The best efforts of an evaluation.

    Parameters
    ----------
    goals : mapping of str to float
        Weights of the squares of :data:`~.effort_goals.GOALS`.
    friction : bool
        Include friction of contacts and actuated joints.
    exhaustive : bool
        Iterate every pattern of contact signs to convergence, for rows that are handed over.
    best : callable, optional
        Finds the best free efforts, as ``best_pattern.best_of``.

    Attributes
    ----------
    optimality : number
        Relative slope of the goal's norm.
    """

    def __init__(
        self,
        run: InverseDynamics,
        goals: Mapping[str, float],
        friction: bool,
        exhaustive: bool = False,
        best: Any = best_of,
    ):
        self._run, self._friction = run, friction
        description = run.plan.description
        run.comment('What each load case does: load, free efforts, contact friction')
        self._cases = LoadCases(run, friction, observed_joints(description, goals))
        run.comment('The best free efforts for each pattern of contact signs')
        self._goal = goal = goal_of(run, goals, friction)
        conditions = run.forces.conditions
        best_answer = best(self._cases, goal, conditions, exhaustive, run.plan.share)
        free, loads, self.optimality = best_answer
        run.comment('Efforts and forces with the best of them')
        self._loads = loads
        cases, amounts = self._cases, [1.0, *free, *loads]
        efforts = zip(*(c.efforts for c in (cases.load, *cases.free, *cases.coulomb)), strict=True)
        self._total = cases.total([vec.dot(effort, amounts) for effort in efforts], loads)
        self._drag = [
            drag + per_newton * direction(*bearing[:2])[0] + effort_lost(lost, effort)
            for drag, per_newton, lost, bearing, effort in zip(
                goal.drag, goal.per_newton, goal.gear_loss, self._total.bearing,
                self._total.efforts, strict=True,
            )
        ]  # fmt: skip
        self._efforts = vec.add(self._total.efforts, self._drag)
        sizes = [*self.efforts(), *self.multipliers()]
        conditions.append(LARGEST_SQUARE - vec.dot(sizes, sizes))

    # Results, scalar by scalar

    def efforts(self) -> list[Any]:
        """Of the actuators, friction included."""
        return self._run.per_actuator(self._efforts)

    def multipliers(self) -> list[Any]:
        """Of all constraint equations, in block order."""
        return self._run.in_block_order(self._total.multipliers)

    def balance_residual(self) -> Any:
        """Largest generalised force left unbalanced, N or N m."""
        return largest(self._total.rest)

    def joint_friction(self) -> list[Any]:
        """Part of the efforts that overcomes the friction of the actuated joints."""
        return self._run.per_actuator(self._drag)

    def contact_friction(self) -> list[Any]:
        """Friction force of each contact on its body, N, base axes, one after the other."""
        forces: list[Any] = []
        for contact, load in zip(self._cases.contacts, self._loads, strict=True):
            force = vec.add(vec.scale(contact.coulomb, load), contact.viscous)
            forces += vec.scale(force, -1.0)
        return forces

    def bearing_force(self) -> list[Any]:
        """Force of each actuated joint on its child, N, the joint's axes, one after the other."""
        return self._run.vectors_per_actuator(self._total.bearing)

    def contacts(self) -> list[Any]:
        """Multipliers of the contacts."""
        return self._total.contacts

    def smooth(self) -> list[Any]:
        """See :func:`smoothness`."""
        if not self._friction:
            return [1.0] * (len(self._cases.contacts) + len(self._run.plan.tree.joints))
        across = [direction(*force[:2])[0] for force in self._total.bearing]
        return smoothness(
            self._run, self._cases.contacts, self._goal.per_newton, across, self._goal.gear_loss,
            self._total.efforts,
        )  # fmt: skip


def contact_signs(
    description: MechanismDescription, friction: bool, multipliers: Sequence[Any]
) -> list[Any]:
    """Of the contacts' multipliers, 0 where friction holds one at zero; 1 without friction."""
    least = ON_A_FACE * largest(multipliers)
    return [
        select(absolute(x) - least, sign_of(x), 0.0)
        if friction and contact.friction.coulomb
        else 1.0
        for x, contact in zip(multipliers, description.contacts, strict=True)
    ]


def observed_joints(
    description: MechanismDescription, goals: Mapping[str, float]
) -> tuple[str, ...]:
    """Joints whose transmitted force enters the goals."""
    return tuple(description.force_joints) if force_weights(goals)[0] else ()


def goal_of(run: InverseDynamics, goals: Mapping[str, float], friction: bool) -> PatternGoal:
    """The goal's weights at this motion, and the friction of the actuated joints.

    Parameters
    ----------
    goals : mapping
        Weights of what is minimised.
    friction : bool
        Whether joints and contacts have friction.
    """
    weights = motor_weights(run, goals)
    drag, per_newton = friction_of_actuators(run, friction)
    lanes = [m.lanes for m in run.forces.motors]
    lost = gear_losses(run, friction)
    return PatternGoal(weights, drag, per_newton, lost, lanes, *force_weights(goals))
