# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One evaluation of a mechanism: loop closure and rates of all joints, common to all dynamics.

On floats it computes; on recording numbers it builds the graph that becomes machine code or C.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Plan, Stage, TracedJoint
from masticator_dynamics.engine.traced.closing import Closing
from masticator_dynamics.engine.traced.forces import Forces
from masticator_dynamics.engine.traced.functions import LARGEST_ANGLE
from masticator_dynamics.engine.traced.motion import move
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    is_known,
    lane_least,
    lane_pick,
    lane_sum,
    largest,
    lesser,
    select,
    total,
)
from masticator_dynamics.engine.traced.vectors import Vector

SLACK = 1e-9  # rad or m: a limit written in decimal does not exclude its own value
LARGEST_SQUARE = 1e250  # of inputs and results together; beyond it, and for NaN, floats decide


class Evaluation:
    """Closed loops and the motion.

    Parameters
    ----------
    inputs : sequence
        All inputs; the following sequences are parts of it.
    y, y_dot, y_ddot, wrench : sequence
        Independent positions and their derivatives; wrench on the platform. Wrenches on all bodies,
        base axes, about their origins, may follow; then limbs must not share lanes.
    driving : collection of str
        Actuated joints that are powered.
    share : bool
        Put limbs of the same kind into SIMD lanes.
    positions : sequence, optional
        Of all joints, if the loops are already closed.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        inputs: Vector,
        motion: tuple[Vector, Vector, Vector],
        wrench: Vector,
        driving: Collection[str],
        share: bool,
        positions: Vector | None = None,
    ):
        self._given, (y, y_dot, y_ddot) = inputs, motion
        self.plan = Plan(description, structure, share)
        self.closings: list[Closing] = []
        self.comments: dict[int, str] = {}  # by the node of the recording at which a section begins
        for stage in self.plan.stages:
            names = [c.name for lanes in stage.constraints for c in lanes]
            self.comment(f'Positions to accelerations: {", ".join(names) or "open joints"}')
            closing = Closing(stage, self.plan, y)
            if positions is None:
                closing.close()
            else:
                closing.close_at(positions)
            self.closings.append(closing)
            move(stage, y_dot, y_ddot)
        self.comment('Forces that the motion needs, inwards')
        self.forces = Forces(self.plan, wrench, driving)

    def comment(self, text: str) -> None:
        """Note what comes next, for generated C code."""
        if isinstance(self._given[0], Number):
            self.comments[len(self._given[0].graph.nodes)] = text

    # Results, scalar by scalar

    def per_actuator(self, values: Sequence[Any]) -> list[Any]:
        """Numbers of the motors, in the order of the actuators."""
        by_actuator: dict[int, Any] = {}
        for motors, value in zip(self.forces.motors, values, strict=True):
            for lane, actuator in enumerate(motors.joint.actuator):
                by_actuator[actuator] = lane_pick(value, lane)
        return [by_actuator[i] for i in sorted(by_actuator)]

    def vectors_per_actuator(self, vectors: vec.Matrix) -> list[Any]:
        """The same of vectors (3,), one after the other."""
        parts = [self.per_actuator([vector[x] for vector in vectors]) for x in range(3)]
        return vec.flat(zip(*parts, strict=True))

    def of_actuated(self, per_joint: list[Any]) -> list[Any]:
        """Numbers of the actuated joints, from as many of each joint of the tree."""
        count = len(per_joint) // len(self.plan.tree.joints)
        return [x for j in self.plan.actuated for x in per_joint[j * count : (j + 1) * count]]

    def in_block_order(self, multipliers: dict[Stage, list[Any]]) -> list[Any]:
        """Numbers of all constraint equations, given per stage and equation."""
        return [
            lane_pick(multiplier, lane)
            for stage in self.plan.stages
            for lane in range(stage.lanes)
            for multiplier in multipliers[stage]
        ]

    def closure_residual(self) -> Any:
        """Largest loop gap, m."""
        return largest([e.gap for stage in self.plan.stages for e in stage.equations])

    def positions(self) -> list[Any]:
        """Of all joints, in tree order."""
        return self.per_joint(lambda joint: [joint.unwound()])

    def velocities(self) -> list[Any]:
        """Of all joints."""
        return self.per_joint(lambda joint: [joint.velocity])

    def accelerations(self) -> list[Any]:
        """Of all joints."""
        return self.per_joint(lambda joint: [joint.acceleration])

    def bodies(self) -> list[Any]:
        """Current rotation, origin, force and moment of all bodies, body by body."""

        def numbers(joint: TracedJoint) -> list[Any]:
            body = joint.body
            rotation = [x for row in body.rotation for x in row]
            return [*rotation, *body.position, *body.force, *body.moment]

        return self.per_joint(numbers)

    def tangent(self) -> list[Any]:
        """Velocities of all joints per unit independent velocity, row by row."""
        return self.per_joint(lambda joint: joint.tangent)

    def valid(self) -> Any:
        """1 where the results are valid, 0 where the reference must be used."""
        passed: Any = 1.0
        for condition in self._conditions():
            passed = select(lane_least(condition), passed, 0.0)
        return passed

    def within_ranges(self) -> Any:
        """Positive where coordinates and motors are within the ranges of their joints."""
        tree, home = self.plan.tree, self.plan.structure.in_floats.home
        lower = np.array([joint.lower for joint in tree.joints]) - SLACK
        upper = np.array([joint.upper for joint in tree.joints]) + SLACK
        joints = {*self.plan.independent, *self.plan.actuated}
        limited = {i for i in joints if np.isfinite(lower[i]) or np.isfinite(upper[i])}
        least: Any = 1.0
        for joint in self.plan.joints:
            if limited.intersection(joint.joints):
                least = lesser(lane_least(joint.room(lower, upper, home)), least)
        return least

    def _conditions(self) -> list[Any]:
        conditions = [self._size_condition()]
        conditions += self.angle_conditions()
        for closing in self.closings:
            wide: Any = 1.0
            for condition in closing.conditions:
                wide = select(condition, wide, 0.0)
            conditions.append(wide)
        return [c for c in [*conditions, *self.forces.conditions] if not is_known(c, 1.0)]

    def angle_conditions(self) -> list[Any]:
        """Conditions that angles are small enough for their sines."""
        return [
            LARGEST_ANGLE - absolute(joint.position)
            for joint in self.plan.joints
            if joint.independent is not None and not joint.slides
        ]

    def _size_condition(self) -> Any:
        """Condition that everything is finite, and small enough that nothing overflows."""
        squares = [lane_sum(x * x, n) for x, n in self._everything()]
        return LARGEST_SQUARE - total(squares) - vec.dot(self._given, self._given)

    def _everything(self) -> list[tuple[Any, int]]:
        """Numbers that must be finite, with their lanes."""
        return [
            (x, stage.lanes)
            for stage in self.plan.stages
            for x in (
                *(joint.velocity for joint in stage.joints),
                *(joint.acceleration for joint in stage.joints),
            )
        ]

    def per_joint(self, of: Callable[[TracedJoint], list[Any]]) -> list[Any]:
        """Numbers of all joints of the tree, joint by joint, from those of a stage's joints."""
        by_joint: dict[int, list[Any]] = {}
        for joint in self.plan.joints:
            numbers = of(joint)
            for lane, index in enumerate(joint.joints):
                by_joint[index] = [lane_pick(x, lane) for x in numbers]
        return [x for i in sorted(by_joint) for x in by_joint[i]]
