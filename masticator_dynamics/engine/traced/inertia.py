# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the inertia of bodies needs in a motion, linear in their moments of mass.

With the axes e_i of a body, their second rates w_i, the acceleration a of its origin, its mass m,
first moments s_i and second moments P_ij of mass (sums of mass times coordinates), force and moment
about the origin are m a + s_i w_i and e_i x (s_i a + P_ij w_j). Unlike an inertia tensor, P has no
elements for directions in which a body has no extent, such as those across a thin rod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.parameters import Moments
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Body, Twist, is_base
from masticator_dynamics.engine.traced.numbers import is_known, stacked
from masticator_dynamics.engine.traced.vectors import Matrix, Vector

_NOTHING = 1e-14  # of a body's largest second moment: rounding of turned axes


class Swing:
    """A body's axes with their first and second rates, each made when it is needed.

    Parameters
    ----------
    rotation : matrix
        The axes in its columns.
    change, turning : vector
        Angular acceleration and velocity.
    """

    def __init__(self, rotation: Matrix, change: Vector, turning: Vector):
        self._rotation, self.change, self._turning = rotation, change, turning
        self.rates: dict[int, tuple[Vector, Vector]] = {}

    def axis(self, i: int) -> Vector:
        """An axis, in base axes."""
        return vec.column(self._rotation, i)

    def second(self, i: int) -> Vector:
        """Its second rate."""
        if i not in self.rates:
            first = vec.cross(self._turning, self.axis(i))
            second = vec.cross(self.change, self.axis(i))
            self.rates[i] = first, vec.add(second, vec.cross(self._turning, first))
        return self.rates[i][1]

    def weighted(self, weights: Vector) -> Vector:
        """Sum of second rates."""
        weighted = vec.ZERO
        for i, weight in enumerate(weights):
            if not is_known(weight, 0.0):
                weighted = vec.add(weighted, vec.scale(self.second(i), weight))
        return weighted


@dataclasses.dataclass(frozen=True)
class Spread:
    """Moments of mass in body axes about the origin, per lane: kg, kg m and kg m^2."""

    mass: Any
    first: Vector
    second: Matrix

    @classmethod
    def of(cls, inertias: Sequence[Any]) -> Spread | None:
        """Of one body per lane; of one body, some numbers may be recorded. None without mass."""
        tables = [_numbers(inertia) for inertia in inertias]
        if not any(is_recorded or table.any() for table, is_recorded in tables):
            return None
        mass, *rest = stacked([table for table, _ in tables])
        return cls(mass, rest[:3], [rest[3:6], rest[6:9], rest[9:12]])

    def wrench(self, swing: Swing, acceleration: Vector) -> tuple[Vector, Vector]:
        """Force, and moment about the origin, that an acceleration of the origin needs.

        Newton and Euler's equations by moments of mass (m, s = m c and S, the integral of x x^T):
        what ``f = m a_c`` and ``n = I alpha + w x I w + m c x a`` say, in fewer products::

            f = m a + R_ddot s
            n = sum over i of e_i x (s_i a + R_ddot S_i)

        with the body's axes e_i, columns of R, and R_ddot = (alpha x + w x w x) R.
        """
        force = vec.add(vec.scale(acceleration, self.mass), swing.weighted(self.first))
        moment = vec.ZERO
        for i, row in enumerate(self.second):
            pull = vec.add(vec.scale(acceleration, self.first[i]), swing.weighted(row))
            moment = vec.add(moment, vec.cross(swing.axis(i), pull))
        return force, moment


def powers(body: Body, rotation: Matrix) -> list[list[Any]]:
    """Power of what each unit of the ten inertial numbers needs, per unit independent velocity.

    By Newton's and Euler's equations in axes of the body's own, where most of their terms vanish;
    rows (n_y, 10) in the order of ``engine.parameters.INERTIAL``.

    Parameters
    ----------
    rotation : matrix
        From these axes to those of the body.
    """
    axes, joint = vec.product(body.rotation, rotation), body.joint

    def own(twist: Twist, rate: Any) -> Twist:
        if not is_base(joint.parent):
            return vec.rotate_back(axes, twist[0]), vec.rotate_back(axes, twist[1])
        # Along the joint's axis, of which the base has no motion.
        return joint.subspace(vec.scale(rotation[2], rate))

    _, turning = own(body.twist, joint.velocity)
    _, change = own((vec.ZERO, body.angular_acceleration), joint.acceleration)
    acceleration = vec.rotate_back(axes, body.acceleration)

    def wrench(numbers: list[float]) -> tuple[Vector, Vector]:
        """Force and moment about the origin that a body with these numbers needs."""
        moments = Moments.from_numbers(numbers)
        first, second = moments.first.tolist(), moments.second.tolist()
        inward = vec.cross(turning, vec.cross(turning, first))
        force = vec.add(vec.cross(change, first), inward)
        gyroscopic = vec.cross(turning, vec.apply(second, turning))
        moment = vec.add(vec.cross(first, acceleration), vec.apply(second, change))
        return (
            vec.add(vec.scale(acceleration, moments.mass), force),
            vec.add(moment, gyroscopic),
        )

    needed = [wrench(unit) for unit in np.eye(10).tolist()]
    rows = [own(*of) for of in zip(body.twists, joint.tangent, strict=True)]
    return [
        [vec.dot(force, velocity) + vec.dot(moment, turn) for force, moment in needed]
        for velocity, turn in rows
    ]


def _numbers(inertia: Any) -> tuple[Any, bool]:
    """Mass, first and second moments (13,), and whether any of them is recorded."""
    moments = inertia if isinstance(inertia, Moments) else Moments.of(inertia)
    about = np.array(moments.second)
    trace = about[0, 0] + about[1, 1] + about[2, 2]
    second = np.eye(3) * (0.5 * trace) - about
    table = np.array([moments.mass, *moments.first, *second.ravel()])
    if table.dtype == object:
        return table, True
    spread = np.abs(table[4:])
    table[4:][spread < _NOTHING * spread.max()] = 0.0
    return table, False
