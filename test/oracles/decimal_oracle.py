# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop inverse dynamics to forty digits, to tell how many digits of others are right.

Numbers are `decimal.Decimal` in numpy's arrays of objects. The derivation knows neither angular
velocities nor forces: rotation matrices and positions of all links are differentiated in time,
loops are closed by Newton's method on the URDF's joints, and efforts follow from virtual work,
with the second moments of mass in place of inertias. Closures of type point and contacts with
planes are enough for the shipped mechanisms.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

Exact = Any  # array of Decimal
DIGITS = 40
CLOSED = Decimal(10) ** (3 - DIGITS)  # of the last step of a joint, rad or m


def exact(numbers: Any) -> Exact:
    """Floats as they are."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(numbers, dtype=float))


_UNIT, _ZERO, _NONE = exact(np.eye(3)), exact(np.zeros((3, 3))), exact(np.zeros(3))


def sine_and_cosine(angle: Decimal) -> tuple[Decimal, Decimal]:
    """By their series."""
    sums, term, power = [Decimal(0), Decimal(1)], Decimal(1), 0
    while power < 2 * abs(angle) or abs(term) > Decimal(10) ** -DIGITS:
        power += 1
        term = term * angle / power
        sums[power % 2 == 0] += term if power % 4 < 2 else -term
    return sums[0], sums[1]


def solve(matrix: Exact, right: Exact) -> Exact:
    """By Gauss-Jordan elimination, with pivots of the matrix's own."""
    size, work = len(matrix), np.hstack([matrix, right])
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(work[k:, k])))
        work[[k, pivot]] = work[[pivot, k]]
        work[k] = work[k] / work[k, k]
        for row in range(size):
            if row != k:
                work[row] = work[row] - work[row, k] * work[k]
    return work[:, size:]


def least_squares(matrix: Exact, right: Exact) -> Exact:
    """More equations than unknowns, which agree: in planar loops some say nothing."""
    return solve(matrix.T @ matrix, matrix.T @ right)


class DecimalOracle:
    """Inverse dynamics of a mechanism as described, without springs.

    Parameters
    ----------
    description : MechanismDescription
        Plain data: URDF's links and joints, closures, contacts, names.
    """

    def __init__(self, description: Any) -> None:
        self._description = d = description
        names = [joint.name for joint in d.tree.joints if joint.type != 'fixed']
        assert {c.type for c in (*d.closures, *d.contacts)} <= {'point', 'plane'}
        assert not any(joint.stiffness for joint in d.joints.values())
        self.joints = tuple(names)
        self._free = [names.index(name) for name in d.independent]
        self._bound = [k for k in range(len(names)) if k not in self._free]
        self._driven = [names.index(name) for name in d.actuated]
        motors = [d.actuators.get(name) for name in d.actuated]
        self._ratio = exact([m.ratio if m else 1.0 for m in motors])
        self._rotor = exact([m.joint_inertia if m else 0.0 for m in motors])
        self._placed = [(j, exact(j.position), _orthogonal(j.rotation), *_axis(j.axis))
                        for j in d.tree.joints]  # fmt: skip
        self._bodies = [
            (link, Decimal(float(i.mass)), exact(i.center_of_mass), exact(i.about_center))
            for link, i in d.tree.links.items()
        ]

    def efforts(self, state: Sequence[Any], near: Any, shift: Any = 0.0) -> tuple[Exact, Exact]:
        """Motors' efforts of least norm, and positions of all joints in the URDF's order.

        Parameters
        ----------
        state : sequence
            y, y_dot, y_ddot and the wrench on the platform.
        near : array, shape (n_q,)
            Positions of the joints at which the loops nearly close.
        shift : array, shape (n_y,), optional
            Is added to y, without rounding.
        """
        with localcontext() as context:
            context.prec = DIGITS + 10
            y, y_dot, y_ddot, wrench = map(exact, state)
            q = exact(near)
            q[self._free] = y + exact(np.zeros(len(y)) + shift)
            self._close(q)
            links, rates = self._columns(q)
            tangent = exact(np.zeros((len(q), len(y))))
            tangent[self._free] = exact(np.eye(len(y)))
            tangent[self._bound] = -least_squares(rates[:, self._bound], rates[:, self._free])
            v, a = tangent @ y_dot, tangent @ y_ddot
            drift = self._gaps(self._moving(q, v, a), 2)[:, None]
            a[self._bound] -= least_squares(rates[:, self._bound], drift)[:, 0]
            moving = self._moving(q, v, a)
            work = [self._work(moving, links, column, wrench) for column in tangent.T]
            needed = (
                np.array(work, object) + (self._rotor * a[self._driven]) @ tangent[self._driven]
            )
            motors = (tangent[self._driven] * self._ratio[:, None]).T
            return motors.T @ solve(motors @ motors.T, needed[:, None])[:, 0], q

    def _close(self, q: Exact) -> None:
        _, rates = self._columns(q)
        rest = exact(np.zeros(len(q)))
        step = [Decimal(1)]
        while max(map(abs, step)) > CLOSED:
            gaps = self._gaps(self._moving(q, rest, rest), 0)
            step = least_squares(rates[:, self._bound], gaps[:, None])[:, 0]
            q[self._bound] -= step

    def _columns(self, q: Exact) -> tuple[list[Any], Exact]:
        """How all links move with each joint, and the rates of the gaps per joint."""
        still = exact(np.zeros(len(q)))
        links = [self._moving(q, unit, still) for unit in exact(np.eye(len(q)))]
        return links, np.array([self._gaps(moving, 1) for moving in links], object).T

    def _moving(self, q: Exact, v: Exact, a: Exact) -> dict[str, list[tuple[Exact, Exact]]]:
        """Rotation and position of every link, with first and second derivatives in time."""
        found = {self._description.tree.root: [(_UNIT, _NONE), (_ZERO, _NONE), (_ZERO, _NONE)]}
        for joint, position, rotation, axis, turn in self._placed:
            (r, p), (r1, p1), (r2, p2) = (
                (carrier @ rotation, origin + carrier @ position)
                for carrier, origin in found[joint.parent]
            )
            if joint.type == 'prismatic':
                x, x1, x2 = (axis * rates[self.joints.index(joint.name)] for rates in (q, v, a))
                p, p1, p2 = p + r @ x, p1 + r1 @ x + r @ x1, p2 + r2 @ x + 2 * r1 @ x1 + r @ x2
            elif joint.type != 'fixed':
                angle, rate, change = (x[self.joints.index(joint.name)] for x in (q, v, a))
                sine, cosine = sine_and_cosine(angle)
                m = _UNIT + sine * turn + (1 - cosine) * turn @ turn
                slope = cosine * turn + sine * turn @ turn
                m1, m2 = slope * rate, slope * change + turn @ slope * rate**2
                r, r1, r2 = r @ m, r1 @ m + r @ m1, r2 @ m + 2 * r1 @ m1 + r @ m2
            found[joint.child] = [(r, p), (r1, p1), (r2, p2)]
        return found

    def _gaps(self, moving: Any, order: int) -> Exact:
        """Of all closures and contacts, or their first or second derivatives in time."""
        points = {link: derivatives[order][1] for link, derivatives in moving.items()}
        found = [x for c in self._description.closures
                 for x in points[c.frames[1]] - points[c.frames[0]]]  # fmt: skip
        for c in self._description.contacts:
            offset = Decimal(c.offset) if order == 0 else Decimal(0)
            found.append(exact(c.normal) @ points[c.frame] + offset)
        return np.array(found, object)

    def _work(self, moving: Any, links: Any, rates: Exact, wrench: Exact) -> Decimal:
        """Work of inertia less that of weight and wrench, in the virtual motion of these rates."""

        def virtual(link: str) -> tuple[Exact, Exact]:
            parts = [[rate * x for x in of[link][1]] for of, rate in zip(links, rates, strict=True)]
            turned, moved = zip(*parts, strict=True)
            return sum(turned), sum(moved)

        gravity = exact(self._description.gravity)
        found = Decimal(0)
        for link, mass, center, about in self._bodies:
            turned, moved = virtual(link)
            turning, acceleration = moving[link][2]
            second_moments = _UNIT * np.trace(about) / 2 - about
            found += mass * (acceleration + turning @ center - gravity) @ (moved + turned @ center)
            found += np.trace(turning @ second_moments @ turned.T)
        platform = self._description.platform
        turned, moved = virtual(platform)
        cross = turned @ moving[platform][0][0].T
        turn = np.array([cross[2, 1], cross[0, 2], cross[1, 0]], object)
        return Decimal(found - wrench[:3] @ moved - wrench[3:] @ turn)


def _orthogonal(rotation: Any) -> Exact:
    """The rotation next to one that is rounded."""
    r = exact(rotation)
    for _ in range(3):
        r = r @ (3 * _UNIT - r.T @ r) / 2
    return r


def _axis(axis: Any) -> tuple[Exact, Exact]:
    """A direction of length one, and its cross product as a matrix."""
    x, y, z = unit = exact(axis) / (exact(axis) @ exact(axis)).sqrt()
    zero = Decimal(0)
    return unit, np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]], object)
