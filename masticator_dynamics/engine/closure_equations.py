# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scalar equations of closures and contacts, in numpy: gaps, Jacobian rows and their wrenches.

The unit is one scalar equation. It is about the motion of body b relative to body a or, for
couplings, about joint coordinates. A :class:`Constraint` is a few equations of one kind between the
same two bodies; :func:`all_constraints` says which of them closures and contacts consist of. Each
kind is a class here, and a function of recorded numbers in ``traced/closure_equations.py``.

With p_a, p_b the two points and d = p_b - p_a in base axes:

================= ============================================= ==================================
kind              gap of row r                                  wrench of a unit multiplier on b
================= ============================================= ==================================
``SamePoint``     rows[r] . d + offset[r]                       force rows[r] at p_b
``RightAngle``    rows[r] . partners[r] + offset[r]             torque partners[r] x rows[r]
``Rod``           (d . d / length - length) / 2                 force d / length at p_b
``OnSurface``     z - h(x, y), d = x partners[0]                force along the gradient at p_b:
                  + y partners[1] + z partners[2]               (-h_x, -h_y, 1) in these axes
``Rack``          ``SamePoint``, plus length times the angle    the same, and torque length
                  between the bodies                            partners[1]
``JointCoupling`` offset[0] + sum over ``terms`` of polynomials none; efforts on the joints: the
                  of joint coordinates                          slopes of their polynomials
================= ============================================= ==================================

``rows`` are constant in base axes or, where the constraint is ``carried``, in those of body a;
``partners`` are constant in the axes of body b, of surfaces in those of body a. The opposite wrench
acts on body a: for rows in base axes at p_a, otherwise on the same line of action, so that joints
which carry both bodies feel nothing. A row of the Jacobian is the power of these two wrenches per
joint velocity. Gaps of points are in m, of turns in rad (sines), of couplings in the unit of their
first joint; multipliers are in N, N m and in the unit of that joint's effort. Poses may be many,
with leading axes, which gaps, rates and wrenches then have, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.closures import COUPLING, DISTANCE, RACK, Closure, ClosureKind
from masticator_dynamics.description.contacts import Contact, Height, ends
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.surface import Surface, polynomial
from masticator_dynamics.engine.tree import Placement, SpanningTree, TreePoses, cross

_PARALLEL = 1e-9  # of a cosine
_PLAY = 0.05  # of the radius, by which a pinion may stand off its rack
_NONE: FloatArray = np.zeros((0, 3))
_Kind = TypeVar('_Kind', bound='Constraint')


@dataclasses.dataclass(frozen=True, eq=False)
class Constraint:
    """Equations of one kind between two bodies of the tree; see the module's docstring."""

    name: str  # of the closure or contact that it belongs to, which may have several
    body_a: int
    body_b: int
    point_a: FloatArray  # (3,) in the axes of its body, m
    point_b: FloatArray
    rows: FloatArray  # (size, 3), base axes or those of body a; zeros where the kind has none
    offset: FloatArray  # (size,)
    carried: bool = False  # rows turn with body a
    contact: bool = False  # of a contact rather than a closure
    partners: FloatArray = dataclasses.field(default_factory=lambda: _NONE)  # (size or 3, 3)
    length: float = 0.0  # of a rod, m
    surface: Surface | None = None
    terms: tuple[tuple[int, tuple[float, ...]], ...] = ()  # joint, coefficients from constant on

    turns: ClassVar[bool] = False  # it measures turns: its rows have a partner each
    of_joints: ClassVar[bool] = False  # about joints and not about bodies
    seen: ClassVar[bool] = False  # as a rod between its points

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.rows)

    @property
    def in_base(self) -> bool:
        """Whether it measures the difference of two points in constant directions."""
        return False

    @property
    def ball(self) -> bool:
        """Whether it is all that keeps two points together."""
        return False

    def unit(self, tree: SpanningTree, extent: float) -> float:
        """The unit of a gap: ``extent`` (m), or 1 rad."""
        return extent if self.unit_name(tree) == 'm' else 1.0

    def unit_name(self, tree: SpanningTree) -> str:
        """Name of the unit of a gap: m or rad."""
        return 'rad' if self.turns else 'm'

    def moved(self, new: dict[int, int]) -> Constraint:
        """The same constraint with its bodies and joints renumbered."""
        return dataclasses.replace(
            self, body_a=new[self.body_a], body_b=new[self.body_b],
            terms=tuple((new[joint], coefficients) for joint, coefficients in self.terms),
        )  # fmt: skip

    @classmethod
    def between(
        cls: type[_Kind], closure: Closure, tree: SpanningTree, rows: FloatArray, **fields: Any
    ) -> _Kind:
        """Equations about the two frames of a closure."""
        a, b = (tree.frames[name] for name in closure.frames)
        offset = np.zeros(len(rows))
        return cls(closure.name, a.body, b.body, a.position, b.position, rows, offset, **fields)

    @classmethod
    def of(cls, closure: Closure, tree: SpanningTree) -> Constraint:
        """What a closure of the kind says; only of kinds in :data:`OF_CLOSURES`."""
        raise NotImplementedError

    def moving_joints(self, tree: SpanningTree) -> dict[int, float]:
        """Joints whose motion changes a gap: +1 with body b, -1 with body a; in couplings +1."""
        side_a, side_b = tree.supports(self.body_a), tree.supports(self.body_b)
        return {j: 1.0 for j in side_b - side_a} | {j: -1.0 for j in side_a - side_b}

    def supporting_joints(self, tree: SpanningTree) -> set[int]:
        """Joints that carry either side; they come before the constraint, or with it."""
        return tree.supports(self.body_a) | tree.supports(self.body_b)

    def points(self, poses: TreePoses) -> tuple[FloatArray, FloatArray]:
        """Positions (..., 3) of the two points in the base, m."""
        return (
            poses.point(self.body_a, self.point_a),
            poses.point(self.body_b, self.point_b),
        )

    def gaps(self, poses: TreePoses) -> FloatArray:
        """Gaps (..., size), m or rad."""
        raise NotImplementedError

    def largest_gap(self, poses: TreePoses) -> float:
        """Largest gap, m or rad; of planes as distance, infinite outside a surface."""
        largest = float((np.abs(self.gaps(poses)) / self._scale()).max(initial=0.0))
        return np.inf if np.isnan(largest) else largest

    def unfit(self, poses: TreePoses) -> str:
        """Why its bodies move as the kind does not allow, as a sentence; empty if they do not."""
        return ''

    def _scale(self) -> FloatArray | float:
        return 1.0

    def rates(self, poses: TreePoses) -> FloatArray:
        """Rates (..., size, n) of the gaps per joint velocity: rows of the closures' Jacobian K.

        The power of a unit multiplier's wrench (f, n) in the motion of body b against body a
        (Featherstone, Rigid Body Dynamics Algorithms, 2008, Sec. 8.2)::

            gap_dot = f . (v_b - v_a) + n . (w_b - w_a) = K q_dot

        with velocities at p_b, of body a at p_a for rows in base axes.
        """
        a, b = self.points(poses)
        apart = poses.twists(self.body_b, b)
        if self.body_a >= 0:
            apart -= poses.twists(self.body_a, a if self.in_base else b)
        return self.wrenches(poses) @ apart

    def wrenches(self, poses: TreePoses) -> FloatArray:
        """Force and torque (..., size, 6) on body b of unit multipliers, base axes.

        The torque is about p_b. The opposite acts on body a, about p_a for rows in base axes, else
        about p_b.
        """
        unit = np.zeros((*poses.q.shape[:-1], self.size, 6))
        unit[..., :3] = self.forces(poses)
        return unit

    def forces(self, poses: TreePoses) -> FloatArray:
        """Forces (..., size, 3) on body b at p_b of unit multipliers, base axes."""
        raise NotImplementedError

    def rows_in_base(self, poses: TreePoses) -> FloatArray:
        """Current directions (..., size, 3) of the rows, base axes."""
        return poses.turned(self.body_a, self.rows) if self.carried else self.rows


@dataclasses.dataclass(frozen=True, eq=False)
class SamePoint(Constraint):
    """A point of body b on planes: fixed ones, or planes carried by body a."""

    @property
    def in_base(self) -> bool:
        """Whether its directions are constant in the base."""
        return not self.carried

    @property
    def ball(self) -> bool:
        """Whether no direction is free."""
        return self.size == 3

    def gaps(self, poses: TreePoses) -> FloatArray:
        """``rows . d + offset``, m."""
        a, b = self.points(poses)
        return (self.rows_in_base(poses) @ (b - a)[..., None])[..., 0] + self.offset

    def _scale(self) -> FloatArray:
        return np.linalg.norm(self.rows, axis=1)  # planes as written are not normalised

    def forces(self, poses: TreePoses) -> FloatArray:
        """The rows."""
        return self.rows_in_base(poses)


@dataclasses.dataclass(frozen=True, eq=False)
class RightAngle(Constraint):
    """Directions of body b at given angles to some of body a."""

    turns = True

    def moving_joints(self, tree: SpanningTree) -> dict[int, float]:
        """Those that turn."""
        moving = super().moving_joints(tree)
        return {j: sign for j, sign in moving.items() if tree.joints[j].spin}

    def gaps(self, poses: TreePoses) -> FloatArray:
        """``rows . partners + offset``, sines."""
        partners = poses.turned(self.body_b, self.partners)
        return np.einsum('...ij,...ij->...i', self.rows_in_base(poses), partners) + self.offset

    def wrenches(self, poses: TreePoses) -> FloatArray:
        """Torques ``partners x rows``."""
        unit = np.zeros((*poses.q.shape[:-1], self.size, 6))
        partners = poses.turned(self.body_b, self.partners)
        unit[..., 3:] = cross(partners, self.rows_in_base(poses))
        return unit


@dataclasses.dataclass(frozen=True, eq=False)
class Rod(Constraint):
    """A massless rod between two points."""

    seen = True

    @classmethod
    def of(cls, closure: Closure, tree: SpanningTree) -> Constraint:
        """The rod that a closure is."""
        return cls.between(closure, tree, np.zeros((1, 3)), length=closure.length or 0.0)

    def gaps(self, poses: TreePoses) -> FloatArray:
        """``(d . d / length - length) / 2``, m."""
        a, b = self.points(poses)
        square = np.square(b - a).sum(axis=-1, keepdims=True)
        return np.asarray(0.5 * (square / self.length - self.length))

    def forces(self, poses: TreePoses) -> FloatArray:
        """``d / length``."""
        a, b = self.points(poses)
        return (b - a)[..., None, :] / self.length


@dataclasses.dataclass(frozen=True, eq=False)
class OnSurface(Constraint):
    """A point of body b on a curved surface of body a: its height over a plane."""

    def _place(self, poses: TreePoses) -> tuple[FloatArray, FloatArray]:
        """Axes (..., 3, 3) of the surface, and z - h, h_x and h_y (..., 3)."""
        assert self.surface is not None
        (a, b), axes = self.points(poses), poses.turned(self.body_a, self.partners)
        place = (axes @ (b - a)[..., None])[..., 0]
        heights = [self.surface.height(x, y)[:3] for x, y, _ in place.reshape(-1, 3)]
        height, *slopes = np.moveaxis(np.reshape(heights, place.shape), -1, 0)
        return axes, np.stack([place[..., 2] - height, *slopes], axis=-1)

    def gaps(self, poses: TreePoses) -> FloatArray:
        """``z - h(x, y)``, m."""
        return self._place(poses)[1][..., :1]

    def forces(self, poses: TreePoses) -> FloatArray:
        """Along the gradient: ``(-h_x, -h_y, 1)`` in the axes of the surface."""
        axes, above = self._place(poses)
        slopes = above[..., 1:, None] * axes[..., :2, :]
        return axes[..., 2:, :] - slopes[..., :1, :] - slopes[..., 1:, :]


@dataclasses.dataclass(frozen=True, eq=False)
class JointCoupling(Constraint):
    """A sum of polynomials of joint positions."""

    of_joints = True

    @classmethod
    def of(cls, closure: Closure, tree: SpanningTree) -> Constraint:
        """A joint less its offset and the polynomials of others."""
        names = [joint.name for joint in tree.joints]
        follower = (names.index(str(closure.joint)), (0.0, 1.0))
        others = [
            (names.index(joint), (0.0, *(-c for c in coefficients)))
            for joint, coefficients in closure.of.items()
        ]
        nowhere = np.zeros(3)
        return cls(
            closure.name, -1, -1, nowhere, nowhere, np.zeros((1, 3)), np.array([-closure.offset]),
            terms=(follower, *others),
        )  # fmt: skip

    def unit_name(self, tree: SpanningTree) -> str:
        """That of its first joint."""
        return tree.joints[self.terms[0][0]].unit

    def moving_joints(self, tree: SpanningTree) -> dict[int, float]:
        """Those that it couples."""
        return {joint: 1.0 for joint, _ in self.terms}

    def supporting_joints(self, tree: SpanningTree) -> set[int]:
        """Those that it couples, and what carries them."""
        return set().union(*(tree.supports(joint) for joint, _ in self.terms))

    def gaps(self, poses: TreePoses) -> FloatArray:
        """The polynomials' sum, in the unit of its first joint."""
        return self.offset + sum(polynomial(c, poses.q[..., j, None])[0] for j, c in self.terms)

    def rates(self, poses: TreePoses) -> FloatArray:
        """The polynomials' slopes."""
        rates = np.zeros((*poses.q.shape[:-1], 1, poses.q.shape[-1]))
        for joint, coefficients in self.terms:
            rates[..., 0, joint] += polynomial(coefficients, poses.q[..., joint])[1]
        return rates

    def forces(self, poses: TreePoses) -> FloatArray:
        """None."""
        return np.zeros((1, 3))


@dataclasses.dataclass(frozen=True, eq=False)
class Rack(SamePoint):
    """A pinion of body b rolls on a rack of body a; ``length`` is its radius.

    ``partners`` are Y and Z of the rack, in body a, and X of the pinion, in body b. ``terms`` are
    the pinion's angle by joint positions, from which it is known how often it has turned.
    """

    in_base = False
    ball = False

    @classmethod
    def of(cls, closure: Closure, tree: SpanningTree) -> Constraint:
        """The rack that a closure is."""
        a, b = (tree.frames[name] for name in closure.frames)
        x, y, z = a.rotation.T
        rack = cls.between(
            closure, tree, x[None], partners=np.array([y, z, b.rotation[:, 0]]),
            length=closure.radius, carried=a.body >= 0,
        )  # fmt: skip
        rack = dataclasses.replace(rack, offset=np.array([-closure.offset]))
        if any(
            part.dtype == object for at in tree.placements for part in (at.position, at.rotation)
        ):
            return rack  # of recorded numbers, which decide nothing
        poses = tree.poses(np.zeros(len(tree.joints)))
        axis = poses.rotations[a.body] @ z
        turning = [
            (j, float(np.sign(side * (axis @ poses.axis(j)))))
            for j, side in rack.moving_joints(tree).items()
            if tree.joints[j].spin
        ]
        angle = float(rack._angle(poses))
        terms = ((j, (0.0 if k else angle, sign)) for k, (j, sign) in enumerate(turning))
        return dataclasses.replace(rack, terms=tuple(terms))

    def unfit(self, poses: TreePoses) -> str:
        """Where rack and pinion are not in one plane, or not a radius apart."""
        y, z = poses.turned(self.body_a, self.partners[:2])
        joints, (a, b) = poses.tree.joints, self.points(poses)
        skew = [joints[j].name for j, _ in self.terms if abs(z @ poses.axis(j)) < 1.0 - _PARALLEL]
        if skew:
            return f'{", ".join(skew)} between rack and pinion do not turn about Z of the rack'
        if abs(z @ poses.turned(self.body_b, self.partners[2])) > _PARALLEL:
            return 'Z of rack and pinion are not parallel'
        if abs(y @ (b - a) - self.length) > _PLAY * abs(self.length):
            return (
                f"the pinion's centre is at y = {y @ (b - a):.6g} m of the rack, its radius "
                f'{self.length:.6g} m'
            )
        return '' if self.terms else 'no joint turns the pinion against the rack'

    def _angle(self, poses: TreePoses) -> FloatArray:
        """From X of the rack to X of the pinion, rad, as near as can be to what joints say."""
        y = poses.turned(self.body_a, self.partners[:1])[..., 0, :]
        x = poses.turned(self.body_b, self.partners[2:])[..., 0, :]
        along = self.rows_in_base(poses)[..., 0, :]
        angle = np.arctan2((y * x).sum(axis=-1), (along * x).sum(axis=-1))
        about = sum(polynomial(c, poses.q[..., j])[0] for j, c in self.terms)
        return np.asarray(angle - 2.0 * np.pi * np.round((angle - about) / (2.0 * np.pi)))

    def gaps(self, poses: TreePoses) -> FloatArray:
        """``x + radius * angle + offset``, m."""
        return super().gaps(poses) + self.length * self._angle(poses)[..., None]

    def wrenches(self, poses: TreePoses) -> FloatArray:
        """Along X at the pinion's centre, with the couple of a force at its radius."""
        unit = super().wrenches(poses)
        unit[..., 3:] = self.length * poses.turned(self.body_a, self.partners[1:2])
        return unit


# Of closures that are more than points and directions of two frames.
OF_CLOSURES: dict[ClosureKind, type[Constraint]] = {
    DISTANCE: Rod,
    COUPLING: JointCoupling,
    RACK: Rack,
}


def all_constraints(description: MechanismDescription, tree: SpanningTree) -> list[Constraint]:
    """Every equation that closures and contacts state, in the order of the file."""
    constraints: list[Constraint] = []
    for closure in description.closures:
        constraints += _closure(closure, tree)
    return [*constraints, *(_contact(contact, tree) for contact in description.contacts)]


def _closure(closure: Closure, tree: SpanningTree) -> list[Constraint]:
    """The constraints that a closure consists of."""
    kind = closure.kind
    if kind in OF_CLOSURES:
        return [OF_CLOSURES[kind].of(closure, tree)]
    a, b = (tree.frames[name] for name in closure.frames)
    carried = a.body >= 0
    points = SamePoint.between(closure, tree, np.eye(3))
    if kind.joined < 3:  # along the other axes of the first frame it is free
        across = a.rotation[:, : kind.joined].T
        points = SamePoint.between(closure, tree, across, carried=carried)
    if not kind.turns:
        return [points]
    first, second = zip(*kind.turns, strict=True)
    turns = RightAngle.between(
        closure, tree, a.rotation.T[list(first)], partners=b.rotation.T[list(second)],
        carried=carried,
    )  # fmt: skip
    return [points, turns]


def _contact(contact: Contact, tree: SpanningTree) -> Constraint:
    """The origin of a link stays on a plane or a surface."""
    frame = tree.frames[contact.frame]
    on = Placement(-1, np.zeros(3), np.eye(3))
    if contact.carrier is not None:
        on = tree.frames[contact.carrier]
    normal = on.rotation @ contact.normal
    ends = contact.name, on.body, frame.body, on.position, frame.position
    if contact.height is None:
        return SamePoint(
            *ends, np.array([normal]), np.array([contact.offset]), on.body >= 0, contact=True
        )
    return OnSurface(
        *ends, on.rotation.T[2:], np.zeros(1), on.body >= 0, True, on.rotation.T,
        surface=contact_surface(contact.height),
    )  # fmt: skip


def contact_surface(height: Height) -> Surface:
    """The surface with these heights."""
    if height.polynomial:
        return Surface.polynomial(height.polynomial, ends(height.x), ends(height.y))
    return Surface.spline(height.x, height.y, height.heights)


def unit_names(tree: SpanningTree, constraints: Iterable[Constraint], name: str) -> str:
    """Unit of the gaps of a closure or contact; of both kinds if it has both: m or rad."""
    units = {c.unit_name(tree): None for c in constraints if c.name == name}
    return ' or '.join(sorted(units))
