# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia in actuated space of a mechanism at given tree positions (S0 Sec. 6).

A column of the inertia matrix is what all actuators feel when one accelerates. Twice the kinetic
energy is a quadratic form in the independent velocities and, of each limb, that of its actuator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.parameters import Moments
from masticator_dynamics.engine.status import (
    CLOSED,
    NOT_ACTUATED,
    OUTSIDE_RANGES,
    WEAK_ACTUATION,
)
from masticator_dynamics.engine.structure import Block
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Twist
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS, Kernels
from masticator_dynamics.engine.traced.matrices import orthogonal, solve_triangle
from masticator_dynamics.engine.traced.numbers import absolute, reciprocal, select, total
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.vectors import Matrix, Vector

ON_THE_LINE = 1e-6  # of a rod's length


def inertia_code(kernels: Kernels, limbs: Sequence[Block]) -> RowCode:
    """From tree positions: status, block and amount, first rod off its line, inertia, coupling.

    Inertia is (n_u, n_u), coupling that of :func:`coupling`. The first number is 1 only where
    there is neither a status nor such a rod.

    Parameters
    ----------
    limbs : sequence of Block
        Those that are a driven link and a rod, per actuator, where the rods are to follow their
        ends. All other bodies move as the loops say.
    """
    joints, actuators, rest = kernels.tree, kernels.actuators, [0.0] * kernels.freedoms

    def function(inputs: Sequence[Any], share: bool) -> list[Any]:
        description, structure = kernels.recorded(inputs[joints:])
        q = inputs[:joints]
        y = [q[structure.index(name)] for name in description.independent]
        motion = (y, rest, rest)
        run = TracedEquationsOfMotion(description, structure, q, motion, [0.0] * 6, (), False, q)
        inertia = TracedActuatedInertia(run, limbs)
        status = select(inertia.controlled, float(CLOSED), float(NOT_ACTUATED))
        valid, matrix = run.valid(), inertia.matrix()
        good = select(inertia.controlled, select(inertia.fault + 0.5, 0.0, 1.0), 0.0)
        counts = select(good, valid, OUTSIDE_RANGES * valid)
        return [
            counts, status, -1.0, 0.0, inertia.fault, *vec.flat(matrix), *coupling(matrix)
        ]  # fmt: skip

    return RowCode(
        f'inertia in actuated space, rods: {len(limbs)}', joints, 5 + actuators**2 + actuators,
        function, lambda: kernels.identity[:-1], largest=MOST_OPERATIONS,
        constants=kernels.constants,
        impossible='' if rest and actuators else 'it has no freedoms, or no actuators',
    )  # fmt: skip


def coupling(matrix: Matrix) -> Vector:
    """Exponentials less one of the indices of coupling (S0 Eq. 60) of an inertia matrix."""
    others = max(len(matrix) - 1, 1)
    return [
        total(absolute(x) for b, x in enumerate(row) if b != a)
        * reciprocal(absolute(row[a]) * float(others))
        for a, row in enumerate(matrix)
    ]


class TracedActuatedInertia:
    """The inertia of an evaluation; see :func:`inertia_code`. Limbs must not share lanes.

    Attributes
    ----------
    controlled : number
        1 where the actuators control all freedoms, else 0.
    fault : number
        The first rod whose centre of mass is off its line; -1: none.
    """

    def __init__(self, run: TracedEquationsOfMotion, limbs: Sequence[Block]):
        self._plan = run.plan
        self._find_rates(run)
        in_limbs = {j for block in limbs for j in block.joints}
        free = [j for j in range(len(self._plan.tree.joints)) if j not in in_limbs]
        actuators = range(len(self._plan.actuated))
        # Of the independent velocities; of these and an actuator's; of an actuator's alone.
        idle = {joint for joint in self._plan.joints if not joint.actuator}
        self._shared = run.mass_of({self._plan.body(j) for j in free}, idle)
        self._mixed: list[Vector] = [[0.0] * len(self._shared) for _ in actuators]
        names = self._plan.description.actuated
        self._own = [self._plan.description.joint_inertia(names[a]) for a in actuators]
        self.fault: Any = -1.0
        for actuator, block in reversed([*enumerate(limbs)]):
            link = self._plan.body(block.joints[0])  # moves with its actuator only
            twist = _own_twist(link)
            force, moment = run.forces.inertial_wrench(link.joint, twist)
            self._own[actuator] += vec.dot(force, twist[0]) + vec.dot(moment, twist[1])
            self._add_rod(actuator, block)

    def matrix(self) -> list[list[Any]]:
        """The inertia, at the motors, whose rotors are included.

        The Hessian of the kinetic energy by the actuators' velocities (S0 Eq. 59; S4 Eq. 21). With
        as many actuators as freedoms it is ``A^-T M A^-1``. With more, rho_a being the independent
        velocities that come closest to a unit velocity of actuator a alone, S the inertia of what
        the independent velocities move, m_a and o_a the shares of a limb that mix both velocities
        or depend on the actuator's alone, and r its transmission ratio::

            M_A[a, b] = (rho_a . S rho_b + rho_a . m_b + m_a . rho_b + [a = b] o_a) / (r_a r_b)
        """
        description = self._plan.description
        ratios = [description.actuators[name].ratio for name in description.actuated]
        felt = [
            vec.add(vec.apply(self._shared, rates), mixed)
            for rates, mixed in zip(self._rates, self._mixed, strict=True)
        ]

        def entry(a: int, b: int) -> Any:
            shared = vec.dot(self._rates[a], felt[b]) + vec.dot(self._mixed[a], self._rates[b])
            return (shared + (self._own[a] if a == b else 0.0)) * (1.0 / (ratios[a] * ratios[b]))

        count = range(len(ratios))
        upper = {(a, b): entry(a, b) for a in count for b in count if a <= b}
        return [[upper[min(a, b), max(a, b)] for b in count] for a in count]

    def _find_rates(self, run: TracedEquationsOfMotion) -> None:
        """Independent velocities per unit velocity of each actuated joint, by least squares."""
        plan, freedoms = self._plan, len(self._plan.independent)
        tangent = run.tangent()
        columns = [[tangent[j * freedoms + c] for j in plan.actuated] for c in range(freedoms)]
        basis, triangle = orthogonal(columns)
        at_home = plan.structure.home_tangent(plan.independent)[plan.actuated]
        self.controlled: Any = 1.0
        for c, usual in enumerate(np.linalg.norm(at_home, axis=0).tolist()):
            margin = triangle[c][c] - WEAK_ACTUATION * usual
            self.controlled = select(margin, self.controlled, 0.0)
        self._rates = [solve_triangle(triangle, row) for row in zip(*basis, strict=True)]

    def _add_rod(self, actuator: int, block: Block) -> None:
        """A rod that follows its ends, stretching if it must.

        Foot and tip with the velocities V_f and V_t: m/2 |(1 - s) V_f + s V_t|^2 and
        I/(2 L^2) |V_t - V_f|^2, the centre being at the part s of the length L, and I the mean of
        the moments of inertia across it.
        """
        plan, structure = self._plan, self._plan.structure
        driven, rod = plan.body(block.joints[0]), block.joints[-1]
        closure, body = structure.constraints[block.constraints[0]], plan.body(rod)
        ends = (closure.body_a, closure.point_a), (closure.body_b, closure.point_b)
        (_, tip_in_rod), (seat, _) = ends if closure.body_a == rod else ends[::-1]
        foot, tip = plan.body(block.joints[1]).position, body.point([*tip_in_rod])
        mass, center, about = _central(plan.tree.inertias[rod])
        line = vec.subtract(tip, foot)
        square = vec.dot(line, line)
        share = self._check_line(actuator, line, square, vec.subtract(body.point(center), foot))
        along = vec.rotate_back(body.rotation, line)
        trace = about[0][0] + about[1][1] + about[2][2]
        tilting = (trace - vec.dot(along, vec.apply(about, along)) / square) * (0.5 / square)
        carrier = plan.body(seat)
        tips = [_velocity(carrier, twist, tip) for twist in carrier.twists]
        foot_moving = _velocity(driven, _own_twist(driven), foot)
        rest = 1.0 - share
        both = mass * share * rest - tilting
        self._own[actuator] += (mass * rest * rest + tilting) * vec.dot(foot_moving, foot_moving)
        self._mixed[actuator] = [both * vec.dot(foot_moving, moving) for moving in tips]
        far = mass * share * share + tilting
        for row, tip_rates in zip(self._shared, tips, strict=True):
            for k, other in enumerate(tips):
                row[k] = row[k] + far * vec.dot(tip_rates, other)

    def _check_line(self, actuator: int, line: Vector, square: Any, out: Vector) -> Any:
        """Where along a rod its centre of mass is, from 0 to 1."""
        share = vec.dot(out, line) / square
        off = vec.subtract(out, vec.scale(line, share))
        beyond = vec.dot(off, off) - ON_THE_LINE**2 * square
        self.fault = select(beyond, float(actuator), self.fault)
        return share


def _own_twist(body: Body) -> Twist:
    """Velocity of a body's origin, and angular velocity, per velocity of its joint alone."""
    return body.joint.subspace(body.axis)


def _velocity(body: Body, twist: Twist, point: Vector) -> Vector:
    """Velocity of the point of a body that is at a position in the base."""
    return vec.add(twist[0], vec.cross(twist[1], vec.subtract(point, body.position)))


def _central(inertia: Any) -> tuple[Any, Vector, Matrix]:
    """Mass, centre of mass and inertia about it, of which some numbers may be recorded."""
    if not isinstance(inertia, Moments):
        return inertia.mass, [*inertia.center_of_mass], [[*row] for row in inertia.about_center]
    center = [x * reciprocal(inertia.mass) for x in inertia.first]
    square = vec.dot(center, center)
    about = [
        [
            moment - inertia.mass * ((square if i == j else 0.0) - center[i] * center[j])
            for j, moment in enumerate(row)
        ]
        for i, row in enumerate(inertia.second)
    ]
    return inertia.mass, center, about
