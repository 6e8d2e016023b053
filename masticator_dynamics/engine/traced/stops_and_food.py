# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What surrounds a mechanism in the twin: stops of points, joints and limbs, and food."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, TracedJoint
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.forces import Efforts
from masticator_dynamics.engine.traced.numbers import (
    greater,
    in_lane,
    lesser,
    reciprocal,
    select,
    square_root,
    stacked,
)
from masticator_dynamics.engine.traced.vectors import Vector

# Columns of the stops of points: a point of a body must not leave a range along a base axis.
BODY, POINT, AXIS, LOWER, UPPER, LAW, POINT_WIDTH = 0, 1, 4, 5, 6, 7, 10
# Of the stops of joints: tree index, range, law.
JOINT, JOINT_LOWER, JOINT_UPPER, JOINT_LAW, JOINT_WIDTH = 0, 1, 2, 3, 6
# Of the stops of limbs before their dead points: a driven link, a rod that pivots on its end.
FIRST, ROD, TIP, SIGN, LEAST, LIMB_LAW, LIMB_WIDTH = 0, 1, 2, 5, 6, 7, 10
# A law is stiffness, damping, and the depth over which damping grows.


class PackedStops(NamedTuple):
    """Stops as rows of numbers."""

    points: FloatArray  # (P, POINT_WIDTH) of bodies
    joints: FloatArray  # (J, JOINT_WIDTH)
    limbs: FloatArray  # (L, LIMB_WIDTH)


NO_STOPS = PackedStops(
    np.zeros((0, POINT_WIDTH)), np.zeros((0, JOINT_WIDTH)), np.zeros((0, LIMB_WIDTH))
)


@dataclasses.dataclass
class Bolus:
    """Food between the teeth; numbers, known or not, in the order in which they are packed."""

    set: Any  # permanent flattening, m
    broken: Any  # 1 when it has broken
    # How often it was renewed, and the fraction of its strength left after that.
    bite: Any
    weaker: Any
    point: Vector  # where it acts, m, in the frame of the platform's body
    height: Any  # base z of the point where the teeth meet, m
    thickness: Any
    stiffness: Any
    damping: Any
    ramp: Any
    yield_force: Any
    break_depth: Any
    rest: Any
    wide: Any
    softening: Any
    bites: Any
    # Compression that no longer resists, m: of a Maxwell branch, which flows between steps.
    relaxed: Any

    STATE = 4  # numbers that change in a step, the first ones
    WIDTH = 19

    @classmethod
    def of(cls, numbers: Sequence[Any]) -> Bolus:
        """From as many numbers as ``WIDTH``."""
        parts: list[Any] = [*numbers[:4], numbers[4:7], *numbers[7:]]
        return cls(*parts)

    def numbers(self) -> list[Any]:
        """All of them in a row."""
        packed = [getattr(self, field.name) for field in dataclasses.fields(self)]
        return [*packed[:4], *packed[4], *packed[5:]]

    def crush(self, gap: Any, rate: Any, settle: Any) -> tuple[Any, list[Any]]:
        """Force with which it pushes the teeth apart, N, and its state after that.

        Parameters
        ----------
        gap : number
            Between the teeth, m.
        rate : number
            At which the gap closes, m/s.
        settle : number
            Above zero: the force is that of food which breaks at this gap, if it does.
        """
        stiffness, most = self.weaker * self.stiffness, self.weaker * self.yield_force
        # Flow is tried from the thickness of the last settling, which gives what settling would.
        thickness = self.thickness - self.relaxed
        depth = thickness - self.set - gap
        flattened = greater(self.set, thickness - gap - most * reciprocal(stiffness))
        breaks = select(self.thickness - gap - self.break_depth, 1.0, self.broken)
        elastic = lesser(stiffness * depth, most)
        force = push(elastic, depth, rate, [0.0, self.weaker * self.damping, self.ramp])
        strength = select(select(settle, breaks, self.broken), self.rest, 1.0)
        force = select(depth, force * strength, 0.0)
        # A bite that was neither flattened nor broken is not used up.
        renewed = select(gap - self.wide, greater(flattened, breaks), 0.0)
        last = self.bite + 1.5 - self.bites
        state = [
            select(renewed, 0.0, flattened),
            select(renewed, 0.0, breaks),
            select(renewed, select(last, 0.0, self.bite + 1.0), self.bite),
            select(renewed, select(last, 1.0, self.weaker * self.softening), self.weaker),
        ]
        return force, state


def push(elastic: Any, depth: Any, rate: Any, law: Sequence[Any]) -> Any:
    """Force of a one-sided contact, N or N m, never negative.

    ``elastic`` is what the depth alone would give. Damping grows from zero at touch to its full
    value at the depth of the law, so that the force has no jump; it never makes the contact pull.

    Parameters
    ----------
    elastic : number
        Force that the depth alone would give, N or N m.
    depth, rate : number
        How far in, m or rad, and how fast it gets deeper.
    law : sequence of number
        Stiffness, damping, and the depth over which damping grows.
    """
    _, damping, ramp = law
    return greater(elastic + damping * rate * lesser(depth * reciprocal(ramp), 1.0), 0.0)


class Surroundings:
    """Forces of stops and food in the present motion.

    Parameters
    ----------
    settle : number
        See :meth:`Bolus.crush`.

    Attributes
    ----------
    joints : dict of TracedJoint
        Efforts that stops supply to joints.
    food : number
        Force of the food along -z of the base.
    arm : vector
        From the platform's origin to where the food acts, base axes.
    gap : number
        Between the teeth, m.
    bolus : list
        State of the food after this; empty without food.
    """

    def __init__(self, run: Evaluation, stops: PackedStops, bolus: Bolus | None, settle: Any):
        self._run = run
        self._supplied: list[tuple[Body, Vector, Vector]] = []
        self.joints: Efforts = {}
        for row in stops.points.tolist():
            self._stop_point(row)
        self._stop_joints(stops.joints)
        self._stop_limbs(stops.limbs)
        self.food, self.gap, self.arm = 0.0, 0.0, vec.ZERO
        self.bolus: list[Any] = []
        if bolus is not None:
            self._feed(bolus, settle)

    def relieve(self) -> None:
        """Subtract what stops of points and food supply from what the bodies' joints must."""
        for body, force, moment in self._supplied:
            body.force = vec.subtract(body.force, force)
            body.moment = vec.subtract(body.moment, moment)

    def _act(self, joint: TracedJoint, lane: int, point: Vector, force: Vector) -> None:
        """Note a force at a point of a joint's body, of one lane."""
        force = vec.scale(force, in_lane(lane, joint.stage.lanes))
        arm = vec.subtract(point, joint.body.position)
        self._supplied.append((joint.body, force, vec.cross(arm, force)))

    def _stop_point(self, row: list[float]) -> None:
        joint, lane = self._run.plan.joint(int(row[BODY]))
        body, axis = joint.body, int(row[AXIS])
        point = body.point(stacked([row[POINT : POINT + 3]]))
        rate = body.velocity_at(point)[axis]
        force = [0.0, 0.0, 0.0]
        force[axis] = _range_force(point[axis], rate, row[LOWER], row[UPPER], row[LAW:])
        self._act(joint, lane, point, force)

    def _by_lane(self, table: FloatArray, keys: int, idle: FloatArray) -> list[tuple[Any, ...]]:
        """Rows of joints that share operations: these joints, known numbers of all lanes.

        The first ``keys`` columns are joints. Lanes without a row get the numbers ``idle``.
        """
        by_joints: dict[tuple[TracedJoint, ...], FloatArray] = {}
        for row in table:
            joints, lanes = zip(*(self._run.plan.joint(int(j)) for j in row[:keys]), strict=True)
            numbers = by_joints.setdefault(joints, np.tile(idle, (joints[0].stage.lanes, 1)))
            numbers[lanes[0]] = row[keys:]
        return [(joints, stacked(list(numbers))) for joints, numbers in by_joints.items()]

    def _stop_joints(self, table: FloatArray) -> None:
        idle = np.array([-np.inf, np.inf, 0.0, 0.0, 1.0])
        for (joint,), (lower, upper, *law) in self._by_lane(table, 1, idle):
            force = _range_force(joint.unwound(), joint.velocity, lower, upper, law)
            self._supply(joint, force)

    def _stop_limbs(self, table: FloatArray) -> None:
        """Keep limbs away from their dead points.

        The lever of a rod is the sine of its angle with the link that drives it: how fast its foot
        moves along the rod, over how fast it moves at all. Only the rod's own joints change it.
        """
        idle = np.array([1.0, 0.0, 0.0, 1.0, -2.0, 0.0, 0.0, 1.0])
        for (first, rod), (*tip, sign, least, stiffness, damping, ramp) in self._by_lane(
            table, 2, idle
        ):
            foot = rod.body.position
            along = vec.subtract(rod.body.point(tip), foot)
            swing = first.moves(foot)
            square = vec.dot(along, along) * vec.dot(swing, swing)
            scale = sign * reciprocal(square_root(square))
            depth = least - scale * vec.dot(swing, along)
            # Derivative of the lever for a turn about an axis: axis . (rod x foot velocity).
            turned = vec.scale(vec.cross(along, swing), scale)
            pivots, body = [], rod.body
            while body is not first.body:
                pivots.append(body.joint)
                body = body.parent
            levers = [vec.dot(pivot.body.axis, turned) for pivot in pivots]
            rate: Any = 0.0
            for pivot, lever in zip(pivots, levers, strict=True):
                rate = rate + lever * pivot.velocity
            force = push(stiffness * depth, depth, -rate, [stiffness, damping, ramp])
            force = select(depth, force, 0.0)
            for pivot, lever in zip(pivots, levers, strict=True):
                self._supply(pivot, force * lever)

    def _supply(self, joint: TracedJoint, effort: Any) -> None:
        self.joints[joint] = self.joints.get(joint, 0.0) + effort

    def _feed(self, bolus: Bolus, settle: Any) -> None:
        plan = self._run.plan
        frame = plan.tree.frames[plan.description.platform]
        joint, lane = plan.joint(frame.body)
        body = joint.body
        point = body.point(bolus.point)
        rate = body.velocity_at(point)[2]
        self.gap = bolus.height - point[2]
        self.food, self.bolus = bolus.crush(self.gap, rate, settle)
        self.arm = vec.subtract(point, body.point(stacked([frame.position])))
        self._act(joint, lane, point, [0.0, 0.0, -self.food])

    def wrench(self) -> list[Any]:
        """Of the food on the platform: force and torque about its origin, base axes."""
        force = [0.0, 0.0, -self.food]
        return [*force, *vec.cross(self.arm, force)]


def _range_force(value: Any, rate: Any, lower: Any, upper: Any, law: Sequence[Any]) -> Any:
    """Force of a stop at either end of a range."""
    low, high = lower - value, value - upper
    above = select(high, -push(law[0] * high, high, rate, law), 0.0)
    return select(low, push(law[0] * low, low, -rate, law), above)
