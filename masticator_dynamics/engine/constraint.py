# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scalar equations that close loops, in numpy: gaps, Jacobian rows and the wrenches they exert.

The unit is one scalar equation. It is about the motion of body b relative to body a or, for
couplings, about joint coordinates. A :class:`Constraint` is a few equations of one kind between the
same two bodies; which constraints a closure consists of, by type, is in ``closure_equations.py``.

With p_a, p_b the two points and d = p_b - p_a in base axes:

============ ================================================= ==================================
kind         gap of row r                                      wrench of a unit multiplier on b
============ ================================================= ==================================
``point``    rows[r] . d + offset[r]                           force rows[r] at p_b
``turn``     rows[r] . partners[r] + offset[r]                 torque partners[r] x rows[r]
``distance`` (d . d / length - length) / 2                     force d / length at p_b
``surface``  z - h(x, y), d = x partners[0] + y partners[1]    force along the gradient at p_b:
             + z partners[2]                                   (-h_x, -h_y, 1) in these axes
``coupling`` offset[0] + sum over ``terms`` of polynomials     none; efforts on the joints: the
             of joint coordinates                              slopes of their polynomials
============ ================================================= ==================================

``rows`` are constant in base axes or, where the constraint is ``carried``, in those of body a;
``partners`` are constant in the axes of body b, of surfaces in those of body a. The opposite wrench
acts on body a: for rows in base axes at p_a, otherwise on the same line of action, so that joints
which carry both bodies feel nothing. A row of the Jacobian is the power of these two wrenches per
joint velocity. Gaps of points are in m, of turns in rad (sines), of couplings in the unit of their
first joint; multipliers are in N, N m and in the unit of that joint's effort.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.surface import Surface, polynomial
from masticator_dynamics.engine.tree import SpanningTree, TreePoses

_NONE: FloatArray = np.zeros((0, 3))


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
    kind: str = 'point'
    carried: bool = False  # rows turn with body a
    contact: bool = False  # of a contact rather than a closure
    partners: FloatArray = dataclasses.field(default_factory=lambda: _NONE)  # (size or 3, 3)
    length: float = 0.0  # of a rod, m
    surface: Surface | None = None
    terms: tuple[tuple[int, tuple[float, ...]], ...] = ()  # joint, coefficients from constant on

    @property
    def size(self) -> int:
        """Number of equations."""
        return len(self.rows)

    @property
    def in_base(self) -> bool:
        """Whether it measures the difference of two points in constant directions."""
        return self.kind == 'point' and not self.carried

    def unit(self, tree: SpanningTree, extent: float) -> float:
        """The unit of a gap: ``extent`` (m), or 1 rad."""
        if self.kind == 'coupling':
            return extent if tree.joints[self.terms[0][0]].slides else 1.0
        return 1.0 if self.kind == 'turn' else extent

    def unit_name(self, tree: SpanningTree) -> str:
        """Name of the unit of a gap: m or rad."""
        if self.kind == 'coupling':
            return tree.joints[self.terms[0][0]].unit
        return 'rad' if self.kind == 'turn' else 'm'

    def moved(self, new: dict[int, int]) -> 'Constraint':
        """The same constraint with its bodies and joints renumbered."""
        return dataclasses.replace(
            self, body_a=new[self.body_a], body_b=new[self.body_b],
            terms=tuple((new[joint], coefficients) for joint, coefficients in self.terms),
        )  # fmt: skip


def unit_names(tree: SpanningTree, constraints: Iterable[Constraint], name: str) -> str:
    """Unit of the gaps of a closure or contact; of both kinds if it has both: m or rad."""
    units = {c.unit_name(tree): None for c in constraints if c.name == name}
    return ' or '.join(sorted(units))


def moving_joints(tree: SpanningTree, constraint: Constraint) -> dict[int, float]:
    """Joints whose motion changes a gap: +1 with body b, -1 with body a; for couplings all +1."""
    if constraint.kind == 'coupling':
        return {joint: 1.0 for joint, _ in constraint.terms}
    side_a, side_b = tree.supports(constraint.body_a), tree.supports(constraint.body_b)
    moving = {j: 1.0 for j in side_b - side_a} | {j: -1.0 for j in side_a - side_b}
    if constraint.kind == 'turn':
        return {j: sign for j, sign in moving.items() if not tree.joints[j].slides}
    return moving


def supporting_joints(tree: SpanningTree, constraint: Constraint) -> set[int]:
    """Joints that carry either side of a constraint; they come before it, or with it."""
    bodies = [joint for joint, _ in constraint.terms] or [constraint.body_a, constraint.body_b]
    return set().union(*(tree.supports(body) for body in bodies))


def points(poses: TreePoses, constraint: Constraint) -> tuple[FloatArray, FloatArray]:
    """Positions (3,) of the two points in the base, m."""
    return (
        poses.point(constraint.body_a, constraint.point_a),
        poses.point(constraint.body_b, constraint.point_b),
    )


def residual(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Gaps (size,) of a constraint, m or rad."""
    if constraint.kind == 'coupling':
        values = [polynomial(c, poses.q[j])[0] for j, c in constraint.terms]
        return constraint.offset + sum(values)
    a, b = points(poses, constraint)
    if constraint.kind == 'distance':
        return np.array([0.5 * ((b - a) @ (b - a) / constraint.length - constraint.length)])
    if constraint.surface is not None:
        x, y, z = _turned(poses, constraint.body_a, constraint.partners) @ (b - a)
        return np.array([z - constraint.surface.height(x, y)[0]])
    rows = rows_in_base(poses, constraint)
    if constraint.kind == 'turn':
        partners = _turned(poses, constraint.body_b, constraint.partners)
        return np.einsum('ij,ij->i', rows, partners) + constraint.offset
    return rows @ (b - a) + constraint.offset


def rows_in_base(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Current directions (size, 3) of the rows, base axes."""
    if not constraint.carried:
        return constraint.rows
    return _turned(poses, constraint.body_a, constraint.rows)


def jacobian(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Rates (size, n) of a constraint's gaps per joint velocity."""
    if constraint.kind == 'coupling':
        rates = np.zeros((1, len(poses.q)))
        for joint, coefficients in constraint.terms:
            rates[0, joint] += polynomial(coefficients, poses.q[joint])[1]
        return rates
    a, b = points(poses, constraint)
    at_a = a if constraint.in_base else b
    if constraint.kind == 'turn':
        turning = poses.angular_jacobian(constraint.body_b)
        turning -= poses.angular_jacobian(constraint.body_a)
        return wrenches(poses, constraint)[:, 3:] @ turning
    moving = poses.point_jacobian(constraint.body_b, b)
    moving -= poses.point_jacobian(constraint.body_a, at_a)
    if constraint.kind == 'point':
        return rows_in_base(poses, constraint) @ moving
    return wrenches(poses, constraint)[:, :3] @ moving


def wrenches(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Force and torque (size, 6) on body b of unit multipliers, base axes, torque about p_b.

    The opposite acts on body a, about p_a for rows in base axes, else about p_b.
    """
    unit = np.zeros((constraint.size, 6))
    if constraint.kind == 'coupling':
        return unit
    a, b = points(poses, constraint)
    if constraint.kind == 'distance':
        unit[0, :3] = (b - a) / constraint.length
    elif constraint.surface is not None:
        axes = _turned(poses, constraint.body_a, constraint.partners)
        x, y, _ = axes @ (b - a)
        _, slope_x, slope_y, *_ = constraint.surface.height(x, y)
        unit[0, :3] = axes[2] - slope_x * axes[0] - slope_y * axes[1]
    elif constraint.kind == 'turn':
        partners = _turned(poses, constraint.body_b, constraint.partners)
        unit[:, 3:] = np.cross(partners, rows_in_base(poses, constraint))
    else:
        unit[:, :3] = rows_in_base(poses, constraint)
    return unit


def _turned(poses: TreePoses, body: int, rows: FloatArray) -> FloatArray:
    """Rows fixed to a body, in base axes."""
    return rows @ poses.rotations[body].T
