# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts within limits, for a row that was computed without them.

As in ``traced/sign_pattern.py`` there is one smooth problem per pattern of contact signs, now with
the signs and the limits as constraints: a few quadratic programs (sequential quadratic
programming on the Lagrangian's second derivatives) end at its minimum. The lowest over all
patterns is the answer. Where no pattern can meet the limits, the same problems with one more
unknown, the fraction by which all limits are exceeded, give the least such fraction.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.jit import entry_point, leaf
from masticator_dynamics.limits.quadratic_program import (
    FOUND,
    solve_quadratic_program,
    solve_small,
)

ITERATIONS = 40
SMALL_STEP = 1e-10  # relative
SLACK = 1e-12  # of a limit
MET = 1e-9  # likewise, at the end
STEP_WEIGHT = 1e-4  # of the length of steps relative to the excess


class Problem(NamedTuple):
    """Everything affine in the load cases of ``traced/load_tables.py``, with limits and goal.

    Rows of ``cases``: efforts (n_u), forces of the actuated joints in their own axes (3 n_u),
    joint forces of the goal, multipliers of the contacts (n_c).
    """

    sizes: IntArray  # n_u, free efforts d, n_c, joint forces
    cases: FloatArray  # (rows, 1 + d + n_c)
    actuators: (
        FloatArray  # (8, n_u) weight, drag, per_newton; highest effort, lowest, negative, and what
        # excesses of them are parts of; limits of axial and radial force
    )
    contacts: FloatArray  # (4, n_c) 1 with Coulomb friction; lowest and highest multiplier, and
    # the force that an excess is a part of
    goal: FloatArray  # (3,) weights of |joint force|^2 and |contact|^2, and of the length of steps
    # in the free efforts: 0 unless the goal leaves some of them open


class Scratch(NamedTuple):
    """Scratch memory of :func:`limit_efforts`; ``d`` counts the excess as well."""

    terms: FloatArray  # (rows, 1 + d) load cases combined for a pattern of signs
    normals: FloatArray  # (constraints, d)
    values: FloatArray  # (constraints,)
    curved: FloatArray  # (constraints, 3) multiplier, first row of the length, its factor
    hessian: FloatArray  # (d + n_c, d + n_c)
    right: FloatArray  # (d + n_c, d + n_c + 1)
    vectors: FloatArray  # (5, d) gradient, point, step, scratch, start
    active: FloatArray  # (2, d + 1)
    small: FloatArray  # (2 d + 5, d + 2) of the quadratic program


def scratch(problem: Problem) -> Scratch:
    """Scratch memory for problems of the same sizes."""
    actuators, free, contacts, _ = (int(size) for size in problem.sizes)
    d, square = free + 1, free + 1 + contacts
    constraints = 5 * actuators + 3 * contacts + 1
    shapes = (
        (len(problem.cases), 1 + free), (constraints, d), (constraints,), (constraints, 3),
        (square, square), (square, square + 1), (5, d), (2, d + 1), (2 * d + 5, d + 2),
    )  # fmt: skip
    return Scratch(*(np.zeros(shape) for shape in shapes))


@entry_point
def limit_efforts(problem: Any, work: Any, relaxed: float, amounts: FloatArray) -> Any:
    """Best amounts of the load cases within limits widened by a fraction ``relaxed``.

    Parameters
    ----------
    problem : Problem
        Load cases, goal and limits of one row.
    work : Scratch
        From :func:`scratch`; is overwritten.
    relaxed : float
        Fraction of each limit; 0 keeps the limits as they are.
    amounts : (1 + free + contacts,) array
        Is filled with the amounts, unless nothing keeps the limits.

    Returns
    -------
    value, slope
        Half the square of the goal, infinite where the limits cannot be met; and what is left of
        the optimality conditions, relative.
    """
    best, slope = math.inf, 0.0
    for pattern in range(1 << problem.sizes[2]):
        if not _combine(problem, work, pattern):
            continue
        value, left = _best_of(problem, work, pattern, relaxed)
        if value < best:
            best, slope = value, left
            _keep(problem, work, pattern, amounts)
    return best, slope


@entry_point
def least_excess(problem: Any, work: Any, amounts: FloatArray) -> float:
    """Least fraction by which all limits must be widened; infinite if that does not help.

    Parameters
    ----------
    problem, work
        As for the search.
    amounts : array, shape (n_f,)
        Is set to the amounts found.
    """
    best = math.inf
    for pattern in range(1 << problem.sizes[2]):
        if not _combine(problem, work, pattern):
            continue
        work.vectors[1, :] = 0.0
        value, _ = _minimise(problem, work, pattern, 0.0, True)
        if value < best:
            best = value
            _keep(problem, work, pattern, amounts)
    return best


@leaf
def _sign(pattern, contact):
    """Sign of a contact's multiplier in a pattern."""
    return -1.0 if pattern >> contact & 1 else 1.0


@leaf
def _combine(problem, work, pattern):
    """Load cases as affine functions of the free efforts, contact friction included."""
    free, contacts = problem.sizes[1], problem.sizes[2]
    rows, cases = len(problem.cases), problem.cases
    matrix, right = work.hessian, work.right
    for i in range(contacts):
        if pattern >> i & 1 and problem.contacts[0, i] == 0.0:
            return False  # no friction: one sign is enough
        row = rows - contacts + i
        for j in range(contacts):
            own = 1.0 if i == j else 0.0
            matrix[i, j] = own - _sign(pattern, j) * cases[row, 1 + free + j]
        for m in range(1 + free):
            right[i, m] = cases[row, m]
    if contacts > 0 and not solve_small(matrix, right, contacts, 1 + free):
        return False
    for r in range(rows):
        for m in range(1 + free):
            work.terms[r, m] = cases[r, m]
            for i in range(contacts):
                friction = _sign(pattern, i) * cases[r, 1 + free + i]
                work.terms[r, m] += friction * right[i, m]
    return True


@leaf
def _best_of(problem, work, pattern, relaxed):
    """Minimum of a pattern: value and slope.

    Friction bends the limits: linearised far away, they may seem to contradict one another.
    Then the search restarts from where they are exceeded least.
    """
    free = problem.sizes[1]
    point, start = work.vectors[1], work.vectors[4]
    point[:] = 0.0
    value, slope = _minimise(problem, work, pattern, relaxed, False)
    if value < math.inf:
        return value, slope
    point[:] = 0.0
    excess, _ = _minimise(problem, work, pattern, relaxed, True)
    if not excess <= relaxed + MET:
        return math.inf, 0.0
    for m in range(free):
        start[m] = point[m]
    value, slope = _minimise(problem, work, pattern, relaxed, False)
    if value < math.inf:
        return value, slope
    # Only this one point keeps the limits.
    for m in range(free):
        point[m] = start[m]
    return _derivatives(problem, work, free), math.nan


@leaf
def _minimise(problem, work, pattern, relaxed, widening):
    """Minimum from the current point: value and slope.

    ``widening`` makes the excess the last unknown, and its least value the minimum.
    """
    free = problem.sizes[1]
    size = free + 1 if widening else free
    gradient, point, step = work.vectors[0, :size], work.vectors[1, :size], work.vectors[2, :size]
    normals, inverse = work.normals[:, :size], work.right[:size, :size]
    active = work.active[:, : size + 1]
    work.curved[:, 0] = 0.0
    for _ in range(ITERATIONS):
        count = _constraints(problem, work, pattern, relaxed, widening)
        open_by = 0.0
        for k in range(count):
            open_by = max(open_by, work.values[k])
        _derivatives(problem, work, size)
        if widening:
            _seek_excess(work, free, count)
        _bend_limits(work, free, count)
        if not _invert(work.hessian, inverse, free):
            return math.inf, 0.0
        if widening:
            inverse[free, :] = 0.0
            inverse[:, free] = 0.0
            inverse[free, free] = 1.0
        if (
            solve_quadratic_program(
                inverse, gradient, normals, work.values, count, SLACK, step, active, work.small
            )
            != FOUND
        ):
            return math.inf, 0.0
        work.curved[:, 0] = 0.0
        for a in range(size + 1):
            if active[0, a] >= 0.0:
                work.curved[int(active[0, a]), 0] = active[1, a]
        longest, reach = 0.0, 1e-300
        for m in range(size):
            point[m] += step[m]
            longest, reach = max(longest, abs(step[m])), max(reach, abs(point[m]))
        if longest <= SMALL_STEP * reach and open_by <= MET:
            break
    count = _constraints(problem, work, pattern, relaxed, widening)
    for k in range(count):
        if not work.values[k] <= MET:
            return math.inf, 0.0
    value = _derivatives(problem, work, size)
    if widening:
        return point[free], 0.0
    return value, _slope(work, size, count, value)


@leaf
def _affine(terms, row, point, free):
    """Value of a row at the point."""
    value = terms[row, 0]
    for m in range(free):
        value += terms[row, 1 + m] * point[m]
    return value


@leaf
def _across(terms, row, point, free):
    """A force across an axis at the point: its components, in two rows, and its length."""
    x, y = _affine(terms, row, point, free), _affine(terms, row + 1, point, free)
    return x, y, math.sqrt(x * x + y * y)


@leaf
def _constraints(problem, work, pattern, relaxed, widening):
    """Values and gradients at the point, relative to their limits; return how many there are."""
    actuators, free, contacts = problem.sizes[0], problem.sizes[1], problem.sizes[2]
    terms, count, size = work.terms, 0, free
    excess = relaxed
    if widening:
        excess, size = work.vectors[1, free], free + 1
    work.normals[:, :size] = 0.0
    for i in range(actuators):
        limits, across = problem.actuators[3:, i], actuators + 3 * i
        per_newton, drag = problem.actuators[2, i], problem.actuators[1, i]
        for bound, sign in ((limits[0], 1.0), (limits[1], -1.0)):
            axial, unit = limits[3], limits[2]
            count = _limit(
                work, count, bound, unit, sign, i, drag, across, per_newton, free, excess
            )
            row = across + 2
            count = _limit(work, count, axial, axial, sign, row, 0.0, across, 0.0, free, excess)
        radial = limits[4]
        count = _limit(work, count, radial, radial, 1.0, -1, 0.0, across, 1.0, free, excess)
    for i in range(contacts):
        row, low, high = len(terms) - contacts + i, problem.contacts[1, i], problem.contacts[2, i]
        multiplier, scale = _affine(terms, row, work.vectors[1], free), problem.contacts[3, i]
        for limit, sign in ((low, -1.0), (high, 1.0)):
            if abs(limit) < math.inf:
                value = sign * (multiplier - limit) / scale - excess
                count = _linear(work, count, row, sign / scale, value, free)
    if widening:
        work.normals[:count, free] = -1.0
    for i in range(contacts):
        if problem.contacts[0, i] != 0.0:
            row, scale = len(terms) - contacts + i, -_sign(pattern, i) / problem.contacts[3, i]
            value = scale * _affine(terms, row, work.vectors[1], free)
            count = _linear(work, count, row, scale, value, free)
    if widening:  # the limits themselves are good enough
        work.normals[count, free], work.values[count] = -1.0, -excess
        work.curved[count, 2] = 0.0
        count += 1
    return count


@leaf
def _limit(work, count, limit, unit, sign, row, constant, across, bend, free, excess):
    """Add ``sign * (terms[row] + constant + bend * length) <= limit``; return the new count.

    The length is that of the force across an actuated joint's axis; ``row`` may be -1 for none. An
    excess is a part of ``unit``.
    """
    if not limit < math.inf:
        return count
    terms, point = work.terms, work.vectors[1]
    x, y, length = _across(terms, across, point, free)
    value = constant + bend * length
    if row >= 0:
        value += _affine(terms, row, point, free)
    work.values[count] = sign * value / unit - limit / unit - excess
    work.curved[count, 1], work.curved[count, 2] = across, sign * bend / unit
    for m in range(free):
        slope = _slope_of(terms, row, across, m, x, y, length, bend)
        work.normals[count, m] = sign * slope / unit
    return count + 1


@leaf
def _linear(work, count, row, factor, value, free):
    """Add a constraint without curvature; return the new count."""
    work.values[count] = value
    work.curved[count, 2] = 0.0
    for m in range(free):
        work.normals[count, m] = factor * work.terms[row, 1 + m]
    return count + 1


@leaf
def _derivatives(problem, work, size):
    """Half the square of the goal at the point, its gradient and Hessian."""
    actuators, free, contacts = problem.sizes[0], problem.sizes[1], problem.sizes[2]
    terms, hessian = work.terms, work.hessian
    gradient, point = work.vectors[0], work.vectors[1]
    rows, total = len(terms), 0.0
    gradient[:size] = 0.0
    hessian[:size, :size] = 0.0
    for r in range(rows):
        weight = 0.0
        if r < actuators:
            weight = problem.actuators[0, r]
        elif r >= rows - contacts:
            weight = problem.goal[1]
        elif r >= 4 * actuators:
            weight = problem.goal[0]
        if weight == 0.0:
            continue
        value, x, y, length, per_newton = _affine(terms, r, point, free), 0.0, 0.0, 0.0, 0.0
        across = actuators + 3 * r
        if r < actuators:
            x, y, length = _across(terms, across, point, free)
            per_newton = problem.actuators[2, r]
            value += problem.actuators[1, r] + per_newton * length
            _bend(work, across, x, y, length, weight * value * per_newton, free)
        total += weight * value * value
        for m in range(free):
            slope = _slope_of(terms, r, across, m, x, y, length, per_newton)
            gradient[m] += weight * value * slope
            for n in range(free):
                other = _slope_of(terms, r, across, n, x, y, length, per_newton)
                hessian[m, n] += weight * slope * other
    for m in range(free):
        hessian[m, m] += problem.goal[2]
    return 0.5 * total


@leaf
def _bend_limits(work, free, count):
    """Add the active limits' part of the Lagrangian's Hessian."""
    terms, point = work.terms, work.vectors[1]
    for k in range(count):
        factor = work.curved[k, 0] * work.curved[k, 2]
        if factor != 0.0:
            row = int(work.curved[k, 1])
            x, y, length = _across(terms, row, point, free)
            _bend(work, row, x, y, length, factor, free)


@leaf
def _slope_of(terms, row, across, m, x, y, length, per_newton):
    """Derivative, by a free effort, of a row (-1: none) and of a multiple of a length."""
    slope = terms[row, 1 + m] if row >= 0 else 0.0
    if per_newton != 0.0 and length > 0.0:
        slope += per_newton * (x * terms[across, 1 + m] + y * terms[across + 1, 1 + m]) / length
    return slope


@leaf
def _bend(work, row, x, y, length, factor, free):
    """Add second derivatives of a length: it bends only across its own direction.

    Omitted where they would make the Hessian indefinite: friction bends so little that the
    programs still converge fast.
    """
    if length == 0.0 or factor <= 0.0:
        return
    for m in range(free):
        turn = (x * work.terms[row + 1, 1 + m] - y * work.terms[row, 1 + m]) / length
        for n in range(free):
            other = (x * work.terms[row + 1, 1 + n] - y * work.terms[row, 1 + n]) / length
            work.hessian[m, n] += factor * turn * other / length


@leaf
def _seek_excess(work, free, count):
    """Minimise half the square of the excess instead of the goal, with a small cost on steps.

    A step's cost is how much it changes the limits, so that units do not matter.
    """
    gradient, hessian = work.vectors[0], work.hessian
    gradient[: free + 1] = 0.0
    gradient[free] = work.vectors[1, free]
    hessian[:free, :free] = 0.0
    for m in range(free):
        square = 0.0
        for k in range(count):
            square = max(square, work.normals[k, m] ** 2)
        hessian[m, m] = STEP_WEIGHT * square if square > 0.0 else 1.0


@leaf
def _invert(matrix, inverse, size):
    """Inverse, destroying the matrix; False where there is none."""
    for i in range(size):
        for j in range(size):
            inverse[i, j] = 1.0 if i == j else 0.0
    return solve_small(matrix, inverse, size, size)


@leaf
def _slope(work, size, count, value):
    """Residual of the optimality conditions, in the measure of ``traced/sign_pattern.py``."""
    if not value > 0.0:
        return 0.0
    left, square = work.vectors[3], 0.0
    for m in range(size):
        left[m] = work.vectors[0, m]
        for k in range(count):
            left[m] += work.curved[k, 0] * work.normals[k, m]
    for m in range(size):
        for n in range(size):
            square += left[m] * work.right[m, n] * left[n]
    return math.sqrt(max(square, 0.0) / (2.0 * value))


@leaf
def _keep(problem, work, pattern, amounts):
    """Store the amounts of the load cases at the point."""
    free, contacts = problem.sizes[1], problem.sizes[2]
    rows = len(work.terms)
    amounts[0] = 1.0
    for m in range(free):
        amounts[1 + m] = work.vectors[1, m]
    for i in range(contacts):
        multiplier = _affine(work.terms, rows - contacts + i, work.vectors[1], free)
        amounts[1 + free + i] = _sign(pattern, i) * multiplier
