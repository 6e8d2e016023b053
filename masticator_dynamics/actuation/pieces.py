# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts, piece by piece.

With friction the forces depend on the sign of each contact's multiplier. Within a pattern of
signs everything is affine in the free efforts, but for the friction of the actuated joints, which
goes with the length of an affine vector: the objective is smooth and a few Newton steps find its
minimum. A multiplier may also be zero at the optimum: such a face is a piece of its own, with the
zero as a side condition. The best consistent piece is the global optimum.

A pattern is a bit per contact, 1 where the multiplier is negative; a face has a second mask of
the multipliers that are zero.
"""

import math

import numpy as np

from masticator_dynamics.actuation.affine import affine, combine, solve_small
from masticator_dynamics.actuation.objective import bent, derivatives, objective
from masticator_dynamics.engine.jit import kernel

ITERATIONS = 30
HALVINGS = 30
SMALL_STEP = 1e-7  # of the free efforts; what is left is about its square
SIGN_SLACK = 1e-9  # of the largest multiplier
CLEARLY = 0.1  # likewise, on the assumed side of zero
STILL_TO_COME = 3.0  # of the last step; Newton's remaining steps together are shorter
ROUNDING = 1e-14


@kernel
def solve_pieces(model, tables, answer, forces):
    """Best efforts into ``answer`` and ``forces``, amounts of the causes into ``amounts``.

    Returns
    -------
    bool
        Whether any pattern of signs is consistent.
    """
    contacts = len(tables.contacts)
    rubbing, best, inside = 0, np.inf, 0
    for i in range(contacts):
        tables.stays[i] = 0
        if rubs(tables, i):
            rubbing |= 1 << i
    for zeros in range(1 << contacts):
        for pattern in range(1 << contacts):
            # A contact without friction has no pieces: only its positive sign is looked at.
            if pattern & zeros or (pattern | zeros) & ~rubbing:
                continue
            if zeros and not may_be_lowest(tables, pattern, zeros, inside):
                continue
            for i in range(contacts):
                tables.signs[i] = -1.0 if pattern >> i & 1 else 1.0 - (zeros >> i & 1)
            if not combine(model, tables, tables.goal[0] + tables.goal[1] > 0.0):
                continue
            value, slope = minimise(model, tables, pattern)
            if not (value < np.inf and consistent(tables, SIGN_SLACK, 0.0)):
                continue
            if zeros == 0:
                inside |= 1 << pattern
            if value < best:
                best, forces[0] = value, slope
                keep(model, tables, answer, forces)
    return best < np.inf


@kernel
def keep(model, tables, answer, forces):
    """Write down efforts, friction and amounts of the causes at ``tables.free``."""
    free, amounts = tables.sizes[0], tables.amounts
    amounts[0] = 1.0
    for m in range(free):
        amounts[1 + m] = tables.free[m]
    for i in range(len(tables.contacts)):
        amounts[1 + free + i] = tables.signs[i] * affine(tables.contact, i, tables.free, free)
    for i in range(len(model.actuated)):
        x, y, effort = 0.0, 0.0, 0.0
        for k in range(tables.sizes[1]):
            x += tables.bearing[3 * i, k] * amounts[k]
            y += tables.bearing[3 * i + 1, k] * amounts[k]
            effort += tables.efforts[i, k] * amounts[k]
        forces[1 + i] = tables.drag[i] + tables.rubbing[i] * math.sqrt(x * x + y * y)
        answer.effort[i] = effort + forces[1 + i]


@kernel
def may_be_lowest(tables, pattern, zeros, inside):
    """Whether a face can hold the optimum, by what the patterns that it bounds have shown.

    It cannot when one of them has its minimum inside. A face with one zero cannot either when the
    minimum of a neighbour lies away from it: from the face the goal then falls into the neighbour.
    """
    part = zeros
    while True:  # all subsets of the zeros
        if inside >> (pattern | part) & 1:
            return False
        if part == 0:
            break
        part = (part - 1) & zeros
    if zeros & (zeros - 1):
        return True
    for i in range(len(tables.contacts)):
        if zeros >> i & 1:
            stays = tables.stays[i]
            return not (stays >> pattern & 1 or stays >> (pattern | zeros) & 1)
    return True


@kernel
def rubs(tables, i):
    """Whether contact ``i`` has Coulomb friction in this motion."""
    f = tables.friction
    return f[3 * i] != 0.0 or f[3 * i + 1] != 0.0 or f[3 * i + 2] != 0.0


@kernel
def consistent(tables, part, amount):
    """Whether multipliers have the signs assumed, within a part of the largest and an amount."""
    free = tables.sizes[0]
    largest, lowest = 1e-300, 0.0
    for i in range(len(tables.contacts)):
        multiplier = affine(tables.contact, i, tables.free, free)
        largest = max(largest, abs(multiplier))
        if rubs(tables, i):
            lowest = min(lowest, tables.signs[i] * multiplier)
    return lowest >= -part * largest - amount


@kernel
def note_stays(tables, pattern, uncertain):
    """Note for which contacts the minimum of a pattern is clearly on the assumed side of zero.

    ``uncertain`` is by how much the multipliers (N) may differ from those at the minimum.
    """
    free = tables.sizes[0]
    largest = 1e-300
    for i in range(len(tables.contacts)):
        largest = max(largest, abs(affine(tables.contact, i, tables.free, free)))
    for i in range(len(tables.contacts)):
        multiplier = affine(tables.contact, i, tables.free, free)
        if tables.signs[i] * multiplier > CLEARLY * largest + uncertain:
            tables.stays[i] |= 1 << pattern


@kernel
def minimise(model, tables, pattern):
    """Newton steps on the piece, from zero free efforts.

    Returns
    -------
    value : float
        Half the square of the goal reached; infinite where the piece has no minimum, or when the
        steps still to come can no longer lead to the signs assumed.
    slope : float
        Of the goal's norm along the piece, per unit of free effort, relative: 0 at a minimum.
    """
    free, zeros = tables.sizes[0], zero_signs(tables)
    for m in range(free):
        tables.free[m] = 0.0
    if zeros > free:
        return np.inf, 0.0
    size, curved = free + zeros, bent(model, tables)
    start, value, last = 0.0, np.inf, free == 0
    for iteration in range(ITERATIONS):
        reached = derivatives(model, tables, size)
        if iteration == 0:
            start = reached
        if iteration > 1 and not last and reached > value * (1.0 + ROUNDING):
            shorten(model, tables, value)
            continue
        value = reached
        side_conditions(tables, size)
        for m in range(free):
            tables.gradient[m] = tables.newton[m, size]
        if not solve_small(tables.newton, tables.newton[:, size:], size, 1):
            return np.inf, 0.0
        if last:
            break
        last = newton_step(tables, size) or not curved
        if iteration > 0 and not last:
            uncertain = STILL_TO_COME * largest_change(tables)
            if not consistent(tables, 0.0, uncertain):
                note_stays(tables, pattern, uncertain)
                return np.inf, 0.0
    note_stays(tables, pattern, 0.0)
    square = 0.0
    for m in range(free):
        square += tables.gradient[m] * tables.newton[m, size]
    return value, math.sqrt(max(square, 0.0) / (2.0 * value)) if value > 1e-20 * start else 0.0


@kernel
def newton_step(tables, size):
    """Take the step that was solved for; whether it was a last one."""
    step, reach = 0.0, 0.0
    for m in range(tables.sizes[0]):
        tables.step[m] = tables.newton[m, size]
        tables.free[m] -= tables.step[m]
        step = max(step, abs(tables.step[m]))
        reach = max(reach, abs(tables.free[m]))
    return step <= SMALL_STEP * reach


@kernel
def largest_change(tables):
    """Largest change of a multiplier in the last step, N."""
    largest = 0.0
    for i in range(len(tables.contacts)):
        change = 0.0
        for m in range(tables.sizes[0]):
            change += tables.contact[i, 1 + m] * tables.step[m]
        largest = max(largest, abs(change))
    return largest


@kernel
def shorten(model, tables, value):
    """Take back halves of the last step while the objective is above ``value``."""
    part = 1.0
    for _ in range(HALVINGS):
        part *= 0.5
        for m in range(tables.sizes[0]):
            tables.free[m] += part * tables.step[m]
        if objective(model, tables, tables.free) <= value * (1.0 + ROUNDING):
            break


@kernel
def zero_signs(tables):
    """How many multipliers the pattern holds at zero."""
    count = 0
    for i in range(len(tables.contacts)):
        if tables.signs[i] == 0.0:
            count += 1
    return count


@kernel
def side_conditions(tables, size):
    """Append the multipliers held at zero to the Newton system of the given size."""
    free, newton = tables.sizes[0], tables.newton
    row = free
    if row == size:
        return
    for i in range(len(tables.contacts)):
        if tables.signs[i] != 0.0:
            continue
        for m in range(size):
            newton[row, m] = 0.0
        for m in range(free):
            newton[row, m] = newton[m, row] = tables.contact[i, 1 + m]
        newton[row, size] = affine(tables.contact, i, tables.free, free)
        row += 1
