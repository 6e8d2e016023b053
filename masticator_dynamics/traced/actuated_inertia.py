# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia in actuated space of a mechanism at given tree positions (S0 Sec. 6).

A column of the inertia matrix is what all actuators feel when one accelerates. Every body adds
weighted squares of vectors that are linear in the velocities of the actuators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import CLOSED, NOT_ACTUATED, WEAK_ACTUATION
from masticator_dynamics.engine.structure import Block, Structure
from masticator_dynamics.traced import vectors as vec
from masticator_dynamics.traced.bodies import Body, Twist
from masticator_dynamics.traced.evaluation import Evaluation
from masticator_dynamics.traced.kernels import MOST_OPERATIONS, identity
from masticator_dynamics.traced.matrices import orthogonal, solve_triangle
from masticator_dynamics.traced.numbers import select, total
from masticator_dynamics.traced.reference import Reference
from masticator_dynamics.traced.row_code import RowCode
from masticator_dynamics.traced.vectors import Vector

ON_THE_LINE = 1e-6  # of a rod's length

PerActuator = list[Vector]  # a vector per unit velocity of each actuated joint
Square = tuple[Any, PerActuator]  # with its weight: a part of twice the kinetic energy


def inertia_code(
    description: MechanismDescription, structure: Structure, limbs: Sequence[Block]
) -> Reference:
    """From tree positions: status, block and amount, first rod off its line, inertia (n_u * n_u).

    Parameters
    ----------
    description : MechanismDescription
    structure : Structure
    limbs : sequence of Block
        Those that are a driven link and a rod, per actuator, where the rods are to follow their
        ends. All other bodies move as the loops say.
    """
    joints, actuators = len(structure.tree.joints), len(description.actuated)
    rest = [0.0] * len(description.independent)

    def function(q: Sequence[Any], share: bool) -> list[Any]:
        y = [q[structure.index(name)] for name in description.independent]
        motion, positions = (y, rest, rest), q
        run = Evaluation(description, structure, q, motion, [0.0] * 6, (), False, positions)
        inertia = _ActuatedInertia(run, limbs)
        status = select(inertia.controlled, float(CLOSED), float(NOT_ACTUATED))
        return [run.valid(), status, -1.0, 0.0, inertia.fault, *inertia.matrix()]

    return Reference(
        RowCode(
            f'inertia in actuated space, rods: {len(limbs)}', joints, 5 + actuators**2, function,
            lambda: identity(description, structure), largest=MOST_OPERATIONS,
            impossible='' if rest and actuators else 'it has no freedoms, or no actuators',
        )
    )  # fmt: skip


class _ActuatedInertia:
    """The inertia of an evaluation; see :func:`inertia_code`.

    Attributes
    ----------
    controlled : number
        1 where the actuators control all freedoms, else 0.
    fault : number
        The first rod whose centre of mass is off its line; -1: none.
    """

    def __init__(self, run: Evaluation, limbs: Sequence[Block]):
        self._plan = run.plan
        self._find_rates(run)
        in_limbs = {j for block in limbs for j in block.joints}
        free = [j for j in range(len(self._plan.tree.joints)) if j not in in_limbs]
        self._squares = [square for j in free for square in self._of_body(j)]
        self._squares += self._of_armatures(run.tangent())
        self.fault: Any = -1.0
        for actuator, block in reversed([*enumerate(limbs)]):
            self._squares += self._of_driven_link(actuator, block.joints[0])
            self._squares += self._of_rod(actuator, block)

    def matrix(self) -> list[Any]:
        """The inertia, row by row; at the motors, whose rotors are included."""
        description = self._plan.description
        names = description.actuated
        ratios = [description.actuators[name].ratio for name in names]

        def entry(a: int, b: int) -> Any:
            found = total(weight * vec.dot(part[a], part[b]) for weight, part in self._squares)
            own = description.joint_inertia(names[a]) if a == b else 0.0
            return (found + own) * (1.0 / (ratios[a] * ratios[b]))

        count = len(names)
        upper = {(a, b): entry(a, b) for a in range(count) for b in range(a, count)}
        return [upper[min(a, b), max(a, b)] for a in range(count) for b in range(count)]

    def _find_rates(self, run: Evaluation) -> None:
        """Independent velocities per unit velocity of each actuated joint, by least squares."""
        plan, freedoms = self._plan, len(self._plan.independent)
        tangent = run.tangent()
        columns = [[tangent[j * freedoms + c] for j in plan.actuated] for c in range(freedoms)]
        basis, triangle = orthogonal(columns)
        at_home = plan.structure.home_tangent(plan.independent)[plan.actuated]
        self.controlled: Any = 1.0
        for c, usual in enumerate(np.linalg.norm(at_home, axis=0).tolist()):
            left = triangle[c][c] - WEAK_ACTUATION * usual
            self.controlled = select(left, self.controlled, 0.0)
        self._rates = [solve_triangle(triangle, row) for row in zip(*basis, strict=True)]

    def _per_actuator(self, by_freedom: Sequence[Vector]) -> PerActuator:
        """A vector that is linear in velocities, known per unit independent velocity."""
        components = [*zip(*by_freedom, strict=True)]
        return [vec.apply(components, rates) for rates in self._rates]

    def _only(self, actuator: int, vector: Vector) -> PerActuator:
        """A vector that depends on one actuator alone."""
        return [vector if a == actuator else vec.ZERO for a in range(len(self._rates))]

    def _of_armatures(self, tangent: list[Any]) -> Iterator[Square]:
        """Of joints without motors; all of these move as the loops say."""
        description, freedoms = self._plan.description, len(self._plan.independent)
        for j, joint in enumerate(self._plan.tree.joints):
            armature = description.joint_inertia(joint.name)
            if armature and joint.name not in description.actuated:
                rates = tangent[j * freedoms : (j + 1) * freedoms]
                yield armature, self._per_actuator([[rate] for rate in rates])

    # Bodies

    def _of_body(self, joint: int) -> list[Square]:
        """Of a body that moves as the loops say."""
        return self._of_twists(joint, self._plan.body(joint).twists, self._per_actuator)

    def _of_driven_link(self, actuator: int, joint: int) -> list[Square]:
        """Of a link that moves with its actuator only."""
        twist = _own_twist(self._plan.body(joint))
        return self._of_twists(joint, [twist], lambda found: self._only(actuator, found[0]))

    def _of_twists(self, joint: int, twists: Sequence[Any], per_actuator: Any) -> list[Square]:
        """Of a body with these twists: its mass at its centre, and its spin about that."""
        body, inertia = self._plan.body(joint), self._plan.tree.inertias[joint]
        if not (inertia.mass > 0.0 or inertia.about_center.any()):
            return []
        center = body.point(inertia.center_of_mass.tolist())
        root = _root(inertia.about_center)
        moving = [_velocity(body, twist, center) for twist in twists]
        spin = [vec.apply(root, vec.rotate_back(body.rotation, turning)) for _, turning in twists]
        return [(inertia.mass, per_actuator(moving)), (1.0, per_actuator(spin))]

    def _of_rod(self, actuator: int, block: Block) -> list[Square]:
        """Of a rod that follows its ends, stretching if it must.

        Foot and tip with the velocities V_f and V_t: m/2 |(1 - s) V_f + s V_t|^2 and
        I/(2 L^2) |V_t - V_f|^2, the centre being at the part s of the length L.
        """
        plan, structure = self._plan, self._plan.structure
        driven, rod = plan.body(block.joints[0]), block.joints[-1]
        closure, inertia = structure.constraints[block.constraints[0]], plan.tree.inertias[rod]
        ends = (closure.body_a, closure.point_a), (closure.body_b, closure.point_b)
        (_, tip_in_rod), (seat, _) = ends if closure.body_a == rod else ends[::-1]
        foot = plan.body(block.joints[1]).position
        tip = plan.body(rod).point(tip_in_rod.tolist())
        center = plan.body(rod).point(inertia.center_of_mass.tolist())
        square, share = self._check_line(actuator, foot, tip, center)
        foot_moving = self._only(actuator, _velocity(driven, _own_twist(driven), foot))
        carrier = plan.body(seat)
        tip_moving = self._per_actuator([_velocity(carrier, t, tip) for t in carrier.twists])
        stretching: PerActuator = [*map(vec.subtract, tip_moving, foot_moving)]
        center_moving = [
            vec.add(at_foot, vec.scale(change, share))
            for at_foot, change in zip(foot_moving, stretching, strict=True)
        ]
        transverse = max(float(np.linalg.eigvalsh(inertia.about_center)[-1]), 0.0)
        return [(inertia.mass, center_moving), (transverse / square, stretching)]

    def _check_line(self, actuator: int, foot: Vector, tip: Vector, center: Vector) -> Any:
        """Square of a rod's length, and where along it its centre of mass is, from 0 to 1."""
        line, out = vec.subtract(tip, foot), vec.subtract(center, foot)
        square = vec.dot(line, line)
        share = vec.dot(out, line) / square
        off = vec.subtract(out, vec.scale(line, share))
        beyond = vec.dot(off, off) - ON_THE_LINE**2 * square
        self.fault = select(beyond, float(actuator), self.fault)
        return square, share


def _own_twist(body: Body) -> Twist:
    """Velocity of a body's origin, and angular velocity, per velocity of its joint alone."""
    return (body.axis, vec.ZERO) if body.joint.slides else (vec.ZERO, body.axis)


def _velocity(body: Body, twist: Twist, point: Vector) -> Vector:
    """Velocity of the point of a body that is at a position in the base."""
    return vec.add(twist[0], vec.cross(twist[1], vec.subtract(point, body.position)))


def _root(inertia: FloatArray) -> list[list[float]]:
    """A matrix F (3, 3) with F^T F = inertia."""
    values, vectors = np.linalg.eigh(inertia)
    root: list[list[float]] = (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T).tolist()
    return root
