# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of the spanning tree, and the stages in which they are placed.

A stage is a block of the structure, or several blocks of the same kind whose limbs go into SIMD
lanes: numbers of such a stage have one value per limb.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.formula_limb import Limb, limb_of
from masticator_dynamics.engine.structure import Block, Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.functions import angle_of, nearest_turn, sine_cosine
from masticator_dynamics.engine.traced.numbers import lane_sum, lesser, per_lane, stacked
from masticator_dynamics.engine.traced.vectors import Matrix, Vector
from masticator_dynamics.engine.tree import SpanningTree

Twist = tuple[Vector, Vector]  # velocity of the origin, angular velocity
Turn = tuple[Any, Any]  # sine and cosine

_FARTHEST = 1e9  # rad or m, in place of no limit


class Body:
    """State of a body in base axes; each attribute needs those before it."""

    parent: Body | None  # None: the base
    stage: Stage | None  # the stage it belongs to; None for the base
    joint: TracedJoint  # that carries it; not of the base
    # Of the body's frame in the tree: origin, axes, and the axis of its joint.
    position: Vector
    rotation: Matrix
    axis: Vector
    # Of the origin, gravity taken as an upward acceleration of the base.
    velocity: Vector
    angular_velocity: Vector
    acceleration: Vector
    angular_acceleration: Vector
    twists: list[Twist]  # (velocity, angular velocity): per unit velocity of each independent joint
    # Transmitted by the joint to the body from its parent; the moment about the origin.
    force: Vector
    moment: Vector

    def __init__(self, parent: Body | None, stage: Stage | None):
        self.parent, self.stage = parent, stage

    @property
    def twist(self) -> Twist:
        """Velocity of the origin, and angular velocity."""
        return self.velocity, self.angular_velocity

    def point(self, local: Vector) -> Vector:
        """Position of a point given in the body's frame."""
        return vec.add(self.position, vec.apply(self.rotation, local))

    def velocity_at(self, point: Vector) -> Vector:
        """Velocity of the body's point at a position in the base."""
        arm = vec.subtract(point, self.position)
        return vec.add(self.velocity, vec.cross(self.angular_velocity, arm))

    def bear(self, force: Vector, moment: Vector, stage: Stage | None = None) -> None:
        """Add to what the body needs; from another stage, the sum over that one's lanes."""
        if self.parent is None:
            return
        lanes = 1 if stage is None or stage is self.stage else stage.lanes
        self.force = vec.add(self.force, [lane_sum(x, lanes) for x in force])
        self.moment = vec.add(self.moment, [lane_sum(x, lanes) for x in moment])


def fixed_base(gravity: tuple[float, ...], freedoms: int) -> Body:
    """The base, at rest except for the acceleration that stands for gravity."""
    base = Body(None, None)
    base.rotation = np.eye(3).tolist()
    base.position = base.velocity = base.angular_velocity = base.angular_acceleration = vec.ZERO
    base.acceleration = [-g for g in gravity]
    base.twists = [(vec.ZERO, vec.ZERO)] * freedoms
    base.force = base.moment = vec.ZERO
    return base


@dataclasses.dataclass(eq=False)
class TracedJoint:
    """A moving joint of a stage, its state, and the body that it carries."""

    joints: tuple[int, ...]  # index in the tree, per lane
    spin: float  # motion of the body per unit of position: turn about the axis, and
    shift: float  # shift along it
    rotation: Matrix  # of the joint frame at zero, in the parent body
    offset: Vector
    home: Any
    independent: int | None  # index of its independent coordinate
    actuator: tuple[int, ...]  # index of its actuator, per lane; empty: none
    body: Body
    # Its position; or the sine and cosine of it, where a formula gave these.
    position: Any = None
    turn: Turn | None = None
    velocity: Any = None
    acceleration: Any = None
    # Velocity per unit velocity of each independent joint.
    tangent: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        """Have the body know its joint."""
        self.body.joint = self

    @property
    def stage(self) -> Stage:
        """The stage that it belongs to."""
        assert self.body.stage is not None
        return self.body.stage

    @property
    def parent(self) -> Body:
        """The body that carries the joint."""
        assert self.body.parent is not None
        return self.body.parent

    @property
    def slides(self) -> bool:
        """Whether it shifts its body and no more."""
        return not self.spin

    @property
    def turns(self) -> bool:
        """Whether it turns its body and no more."""
        return not self.shift

    def subspace(self, axis: Vector) -> Twist:
        """Motion of its body per unit velocity: of its origin, and angular; an axis is told."""
        return _part(axis, self.shift), _part(axis, self.spin)

    def moves(self, point: Vector) -> Vector:
        """Velocity of a point of its body per unit velocity."""
        linear, turning = self.subspace(self.body.axis)
        return vec.add(linear, vec.cross(turning, vec.subtract(point, self.body.position)))

    def effort(self, force: Vector, moment: Vector) -> Any:
        """Power per unit velocity of a force and a moment about its body's origin."""
        linear, turning = self.subspace(self.body.axis)
        by_turn = vec.dot(turning, moment) if self.spin else 0.0
        return by_turn + vec.dot(linear, force) if self.shift else by_turn

    def constant(self, of: Callable[[int], Any]) -> Any:
        """Known numbers, per lane, from those of a joint of the tree."""
        return stacked([of(j) for j in self.joints])

    def unwound(self) -> Any:
        """Its position, by whole turns the one closest to home."""
        return nearest_turn(angle_of(*self.turn), self.home) if self.turn else self.position

    def room(self, lower: FloatArray, upper: FloatArray, home: FloatArray) -> Any:
        """Positive where it is within its range.

        Sine and cosine, where a formula gave them, tell the cosine of its distance from the middle
        of the range, or of the part of it that lies within half a turn from home.

        Parameters
        ----------
        lower, upper, home : array, shape (n_q,)
            Of all joints of the tree, rad or m.
        """
        low, high, home = (x[list(self.joints)] for x in (lower, upper, home))
        if self.turn is None:
            low, high = (per_lane(np.clip(x, -_FARTHEST, _FARTHEST)) for x in (low, high))
            return lesser(self.position - low, high - self.position)
        low, high = np.maximum(low, home - np.pi), np.minimum(high, home + np.pi)
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        least = np.where(half < np.pi, np.cos(half), -2.0)
        sine, cosine = self.turn
        return per_lane(np.sin(middle)) * sine + per_lane(np.cos(middle)) * cosine - per_lane(least)

    def place(self) -> None:
        """Place the body."""
        body, parent = self.body, self.parent
        before = vec.product(parent.rotation, self.rotation)
        origin = vec.add(parent.position, vec.apply(parent.rotation, self.offset))
        body.axis = vec.column(before, 2)
        body.rotation, body.position = before, origin
        if self.shift:
            along = vec.scale(body.axis, self.position * self.shift)
            body.position = vec.add(origin, along)
        if not self.spin:
            return
        sine, cosine = self.turn or sine_cosine(self.position)
        x, y = vec.column(before, 0), vec.column(before, 1)
        new_x = vec.add(vec.scale(x, cosine), vec.scale(y, sine))
        new_y = vec.subtract(vec.scale(y, cosine), vec.scale(x, sine))
        body.rotation = [list(row) for row in zip(new_x, new_y, body.axis, strict=True)]


class Solved(NamedTuple):
    """A linear system: its matrix, the inverse of this, right side and solution."""

    matrix: Matrix
    inverse: Matrix
    right: Vector
    found: Vector


@dataclasses.dataclass(eq=False)
class Stage:
    """Bodies that are placed together, and the equations that determine their joints."""

    blocks: tuple[Block, ...]  # per lane; empty where nothing is to be closed
    joints: list[TracedJoint]
    unknowns: list[TracedJoint]  # determined by the equations of the stage
    constraints: list[tuple[Constraint, ...]]  # per constraint, per lane
    limbs: list[Limb | None]  # per lane, where a formula closes it
    home_jacobian: Any  # per lane (rows, unknowns)
    home_axes: list[FloatArray]  # of the unknown joints, per lane (unknowns, 3), base axes
    equations: list[Any] = dataclasses.field(default_factory=list)  # at the present poses
    jacobian: Matrix = ()  # rates of their gaps per velocity of the unknown joints
    inverse: Matrix = ()  # of the Jacobian
    # Systems with this Jacobian that were solved.
    solved: list[Solved] = dataclasses.field(default_factory=list)

    @property
    def lanes(self) -> int:
        """How many limbs share the stage's operations."""
        return max(len(self.blocks), 1)

    @property
    def in_base(self) -> bool:
        """Whether all gaps are distances along fixed directions."""
        return all(c.in_base for lanes in self.constraints for c in lanes)


class Plan:
    """The stages of a mechanism with fresh bodies: what one recording works on.

    Parameters
    ----------
    share : bool
        Put limbs of the same kind into SIMD lanes.
    """

    def __init__(self, description: MechanismDescription, structure: Structure, share: bool):
        self.description, self.structure, self.share = description, structure, share
        self.tree: SpanningTree = structure.tree
        self.independent = [structure.index(name) for name in description.independent]
        self.actuated = [structure.index(name) for name in description.actuated]
        self.base = fixed_base(description.gravity, len(self.independent))
        self._bodies: dict[int, Body] = {-1: self.base}
        self._home = structure.at_home()
        self.extent = structure.extent()
        self.stages = [self._stage(blocks, bodies) for blocks, bodies in self._groups()]

    @property
    def joints(self) -> list[TracedJoint]:
        """All joints, outwards."""
        return [joint for stage in self.stages for joint in stage.joints]

    def body(self, index: int) -> Body:
        """A body by its index in the tree; -1 is the base. Not for all limbs in lanes."""
        return self._bodies[index]

    def joint(self, index: int) -> tuple[TracedJoint, int]:
        """A joint by its index in the tree, and its lane."""
        for joint in self.joints:
            if index in joint.joints:
                return joint, joint.joints.index(index)
        raise KeyError(index)

    def _groups(self) -> list[tuple[list[Block], list[list[int]]]]:
        """Blocks, consecutive ones of the same kind grouped, with the bodies that each places."""
        placed: list[list[int]] = [[] for _ in range(len(self.structure.blocks) + 1)]
        for body, stage in enumerate(self.structure.stages):
            placed[stage].append(body)
        groups: list[tuple[list[Block], list[list[int]]]] = [([], [placed[0]])]
        previous: object = None
        for block, bodies in zip(self.structure.blocks, placed[1:], strict=True):
            kind = self._kind(block, bodies)
            if kind is not None and kind == previous:
                groups[-1][0].append(block)
                groups[-1][1].append(bodies)
            else:
                groups.append(([block], [bodies]))
            previous = kind
        return groups

    def _kind(self, block: Block, bodies: list[int]) -> object:
        """What limbs must have in common to share operations; None for one that shares none."""
        tree, places = self.tree, {body: i for i, body in enumerate(bodies)}
        if not self.share or self._needed_elsewhere(block, places):
            return None
        limb = limb_of(self.structure, block, self._home)

        def place(body: int) -> tuple[str, int]:
            return ('own', places[body]) if body in places else ('other', body)

        joints = [
            (
                (tree.joints[b].spin, tree.joints[b].shift),
                place(tree.placements[b].body),
                b in block.joints,
                b in self.actuated,
            )
            for b in bodies
        ]
        if any(self.structure.constraints[i].terms for i in block.constraints):
            return None
        constraints = [
            (place(c.body_a), place(c.body_b), type(c), c.carried, c.size, id(c.surface))
            for c in (self.structure.constraints[i] for i in block.constraints)
        ]
        return joints, constraints, limb and limb.side

    def _needed_elsewhere(self, block: Block, places: dict[int, int]) -> bool:
        """Whether anything outside a block depends on one of its bodies."""
        structure = self.structure
        if any(i in places for i in self.independent):
            return True
        if self.tree.frames[self.description.platform].body in places:
            return True
        for body, placement in enumerate(self.tree.placements):
            if placement.body in places and body not in places:
                return True
        others = [c for i, c in enumerate(structure.constraints) if i not in block.constraints]
        joints = (joint for c in others for joint, _ in c.terms)
        return any(body in places for c in others for body in (c.body_a, c.body_b)) or any(
            joint in places for joint in joints
        )

    def _stage(self, blocks: list[Block], bodies: list[list[int]]) -> Stage:
        constraints = [
            tuple(self.structure.constraints[b.constraints[i]] for b in blocks)
            for i in range(len(blocks[0].constraints) if blocks else 0)
        ]
        limbs = [limb_of(self.structure, block, self._home) for block in blocks]
        axes = [np.array([self._home.axis(j) for j in block.joints]) for block in blocks]
        stage = Stage(tuple(blocks), [], [], constraints, limbs, self._jacobian(blocks), axes)
        for position in range(len(bodies[0])):
            stage.joints.append(self._joint(stage, tuple(lane[position] for lane in bodies)))
        order = {joint.joints[0]: joint for joint in stage.joints}
        stage.unknowns = [order[j] for j in blocks[0].joints] if blocks else []
        return stage

    def _jacobian(self, blocks: list[Block]) -> Any:
        """Home Jacobian of the blocks' constraints with respect to their own joints, per lane."""
        jacobians = []
        for block in blocks:
            constraints = self.structure.in_floats.constraints
            rates = [constraints[c].rates(self._home) for c in block.constraints]
            jacobians.append(np.vstack(rates)[:, list(block.joints)])
        return jacobians

    def _joint(self, stage: Stage, joints: tuple[int, ...]) -> TracedJoint:
        first, tree = joints[0], self.tree
        body = Body(self._bodies[tree.placements[first].body], stage)
        self._bodies[first] = body  # bodies in lanes are looked up by the first
        return TracedJoint(
            joints,
            tree.joints[first].spin,
            tree.joints[first].shift,
            stacked([tree.placements[j].rotation for j in joints]),
            stacked([tree.placements[j].position for j in joints]),
            per_lane(self.structure.home[j] for j in joints),
            self.independent.index(first) if first in self.independent else None,
            tuple(self.actuated.index(j) for j in joints if j in self.actuated),
            body,
        )


def _part(axis: Vector, share: float) -> Vector:
    return axis if share == 1.0 else vec.scale(axis, share) if share else vec.ZERO


def chain(body: Body, stage: Stage | None = None) -> list[Body]:
    """A body and those that carry it, outermost first; of one stage, or all without the base."""
    bodies = []
    while not is_base(body) and (stage is None or body.stage is stage):
        bodies.append(body)
        body = body.joint.parent
    return bodies


def is_base(body: Body) -> bool:
    """Whether a body is the fixed base."""
    return body.parent is None


def carrier(body: Body, stage: Stage) -> Body:
    """The body outside a stage that carries a body."""
    while body.stage is stage:
        body = body.joint.parent
    return body
