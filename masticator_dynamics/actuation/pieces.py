# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts, piece by piece.

With friction the forces depend on the sign of each contact's multiplier. Within a pattern of
signs everything is affine in the free efforts, but for the friction of the actuated joints, which
goes with the length of an affine vector: the objective is smooth and a few Newton steps find its
minimum. A multiplier may also be zero at the optimum; that is a pattern too, with the zero as a
side condition. The best consistent pattern is the global optimum.
"""

import math

import numpy as np

from masticator_dynamics.actuation.affine import combine, solve_small
from masticator_dynamics.engine.jit import kernel

ITERATIONS = 30
HALVINGS = 30
SMALL_STEP = 1e-7  # of the free efforts; what is left is about its square
SIGN_SLACK = 1e-9  # of the largest multiplier
WIDE_SLACK = 0.1  # likewise, after one step
ROUNDING = 1e-14


@kernel
def solve_pieces(model, tables):
    """Best free efforts into ``tables.best``, signs into ``best_signs``.

    Patterns with a multiplier at zero are looked at only where no neighbour, with a sign in place
    of the zero, has its minimum inside: otherwise that minimum is the lower one.

    Returns
    -------
    value : float
        Half the square of the goal; infinite when no pattern of signs is consistent.
    """
    contacts = len(tables.contacts)
    best, inside = np.inf, 0
    for zeros in range(contacts + 1):
        for pattern in range(3**contacts):
            if not read_pattern(tables, pattern, zeros) or has_better_neighbour(
                tables, pattern, inside
            ):
                continue
            if not combine(model, tables, tables.goal[0] + tables.goal[1] > 0.0):
                continue
            value = minimise(model, tables)
            if not (value < np.inf and consistent(tables, SIGN_SLACK)):
                continue
            inside |= 1 << pattern
            if value < best:
                best = value
                for m in range(tables.sizes[0]):
                    tables.best[m] = tables.free[m]
                for i in range(contacts):
                    tables.best_signs[i] = tables.signs[i]
    return best


@kernel
def has_better_neighbour(tables, pattern, inside):
    """Whether a pattern with one zero less has its minimum inside."""
    power = 1
    for i in range(len(tables.contacts)):
        if tables.signs[i] == 0.0:
            # A digit 1 stands for zero, 0 for plus and 2 for minus.
            if inside & (1 << (pattern - power)) or inside & (1 << (pattern + power)):
                return True
        power *= 3
    return False


@kernel
def read_pattern(tables, pattern, zeros):
    """Set the signs of a pattern; whether it has so many zeros and makes a difference.

    A contact without friction has no pieces: only its positive sign is looked at.
    """
    found = 0
    for i in range(len(tables.contacts)):
        digit = pattern % 3
        pattern //= 3
        tables.signs[i] = 1.0 - digit if digit < 2 else -1.0
        if tables.signs[i] == 0.0:
            found += 1
        if tables.signs[i] != 1.0 and not rubs(tables, i):
            return False
    return found == zeros


@kernel
def rubs(tables, i):
    """Whether contact ``i`` has Coulomb friction in this motion."""
    f = tables.friction
    return f[3 * i] != 0.0 or f[3 * i + 1] != 0.0 or f[3 * i + 2] != 0.0


@kernel
def consistent(tables, slack):
    """Whether the multipliers have the signs assumed, within a part of the largest."""
    free = tables.sizes[0]
    largest = 1e-300
    for i in range(len(tables.contacts)):
        largest = max(largest, abs(affine(tables.contact, i, tables.free, free)))
    for i in range(len(tables.contacts)):
        multiplier = affine(tables.contact, i, tables.free, free)
        if rubs(tables, i) and tables.signs[i] * multiplier < -slack * largest:
            return False
    return True


@kernel
def affine(matrix, row, free, count):
    """Value of a row at the free efforts."""
    value = matrix[row, 0]
    for m in range(count):
        value += matrix[row, 1 + m] * free[m]
    return value


@kernel
def minimise(model, tables):
    """Newton steps on the piece, from zero free efforts; half the square of the goal reached.

    Infinite where the piece has no minimum, or has it far from the signs assumed: friction bends
    the objective so little that the first step tells.
    """
    free = tables.sizes[0]
    for m in range(free):
        tables.free[m] = 0.0
    size = free + zero_signs(tables)
    if free == 0:
        return objective(model, tables, tables.free) if size == 0 else np.inf
    value = np.inf
    for iteration in range(ITERATIONS):
        derivatives(model, tables)
        side_conditions(tables)
        if not solve_small(tables.newton, tables.newton[:, size:], size, 1):
            return np.inf
        step, reach = 0.0, 0.0
        for m in range(free):
            tables.free[m] -= tables.newton[m, size]
            step = max(step, abs(tables.newton[m, size]))
            reach = max(reach, abs(tables.free[m]))
        if iteration == 0:
            if not consistent(tables, WIDE_SLACK):
                return np.inf
            value = objective(model, tables, tables.free)
        else:
            value = shorten(model, tables, size, value)
        if step <= SMALL_STEP * reach or not bent(tables):
            return value
    return value


@kernel
def shorten(model, tables, size, value):
    """Take back halves of the last step while the objective is above ``value``."""
    trial, part = objective(model, tables, tables.free), 1.0
    for _ in range(HALVINGS):
        if trial <= value * (1.0 + ROUNDING):
            break
        part *= 0.5
        for m in range(tables.sizes[0]):
            tables.free[m] += part * tables.newton[m, size]
        trial = objective(model, tables, tables.free)
    return trial


@kernel
def bent(tables):
    """Whether joint friction bends the objective: without it one step is exact."""
    if tables.goal[0] + tables.goal[1] == 0.0:
        return False
    for i in range(len(tables.rates)):
        if i < len(tables.slots) and tables.slots[i].coulomb * tables.sense[i] != 0.0:
            return True
    return False


@kernel
def objective(model, tables, free):
    """Half the weighted square of efforts, joint forces and contact multipliers."""
    count, actuators, goal = tables.sizes[0], len(model.actuated), tables.goal
    value = 0.0
    if goal[0] + goal[1] > 0.0:
        for i in range(actuators):
            effort = affine(tables.terms, i, free, count) + friction(tables, i, free)
            value += tables.weights[i] * effort * effort
    if goal[2] > 0.0:
        for r in range(actuators, actuators + 3 * (len(tables.slots) - actuators)):
            value += goal[2] * affine(tables.terms, r, free, count) ** 2
    if goal[3] > 0.0:
        for i in range(len(tables.contacts)):
            value += goal[3] * affine(tables.contact, i, free, count) ** 2
    return 0.5 * value


@kernel
def friction(tables, i, free):
    """Effort that the friction of actuated joint ``i`` takes (S1 Eq. for tau_f)."""
    slot = tables.slots[i]
    effort = slot.viscous * tables.rates[i]
    if slot.coulomb != 0.0:
        effort += slot.coulomb * tables.sense[i] * force_across(tables, i, free)
    return effort


@kernel
def force_across(tables, i, free):
    """Length of the force across the axis of actuated joint ``i``, N."""
    square = 0.0
    for x in range(2 * i, 2 * i + 2):
        square += affine(tables.sliding, x, free, tables.sizes[0]) ** 2
    return math.sqrt(square)


@kernel
def derivatives(model, tables):
    """Hessian and gradient of the objective at ``tables.free`` into ``tables.newton``."""
    count, actuators, goal = tables.sizes[0], len(model.actuated), tables.goal
    newton = tables.newton
    size = count + zero_signs(tables)
    for m in range(size):
        for n in range(size + 1):
            newton[m, n] = 0.0
    if goal[0] + goal[1] > 0.0:
        for i in range(actuators):
            effort = affine(tables.terms, i, tables.free, count)
            effort += tables.slots[i].viscous * tables.rates[i]
            for m in range(count):
                tables.gradient[m] = tables.terms[i, 1 + m]
            factor = tables.slots[i].coulomb * tables.sense[i]
            if factor != 0.0:
                effort = bend(tables, i, factor, effort)
            add_square(tables, tables.gradient, effort, tables.weights[i], size)
    if goal[2] > 0.0:
        for r in range(actuators, actuators + 3 * (len(tables.slots) - actuators)):
            value = affine(tables.terms, r, tables.free, count)
            add_square(tables, tables.terms[r, 1:], value, goal[2], size)
    if goal[3] > 0.0:
        for i in range(len(tables.contacts)):
            value = affine(tables.contact, i, tables.free, count)
            add_square(tables, tables.contact[i, 1:], value, goal[3], size)


@kernel
def add_square(tables, gradient, value, weight, size):
    """Add the Gauss-Newton part of one squared term."""
    for m in range(tables.sizes[0]):
        tables.newton[m, size] += weight * value * gradient[m]
        for n in range(tables.sizes[0]):
            tables.newton[m, n] += weight * gradient[m] * gradient[n]


@kernel
def bend(tables, i, factor, effort):
    """Friction's share: in the gradient of effort ``i``, and its curvature in the Hessian.

    Returns
    -------
    float
        The effort, friction included.
    """
    count, sliding = tables.sizes[0], tables.sliding
    x = affine(sliding, 2 * i, tables.free, count)
    y = affine(sliding, 2 * i + 1, tables.free, count)
    length = math.sqrt(x * x + y * y)
    if length == 0.0:
        return effort
    effort += factor * length
    x, y = x / length, y / length
    weight = tables.weights[i] * effort * factor / length
    for m in range(count):
        sx, sy = sliding[2 * i, 1 + m], sliding[2 * i + 1, 1 + m]
        tables.gradient[m] += factor * (x * sx + y * sy)
        # The length bends only across its own direction.
        turn = weight * (x * sy - y * sx)
        for n in range(count):
            tables.newton[m, n] += turn * (
                x * sliding[2 * i + 1, 1 + n] - y * sliding[2 * i, 1 + n]
            )
    return effort


@kernel
def zero_signs(tables):
    """How many multipliers the pattern holds at zero."""
    count = 0
    for i in range(len(tables.contacts)):
        if tables.signs[i] == 0.0:
            count += 1
    return count


@kernel
def side_conditions(tables):
    """Append the multipliers held at zero to the Newton system; how many there are."""
    free, newton = tables.sizes[0], tables.newton
    size, row = free + zero_signs(tables), free
    for i in range(len(tables.contacts)):
        if tables.signs[i] != 0.0:
            continue
        for m in range(size):
            newton[row, m] = 0.0
        for m in range(free):
            newton[row, m] = newton[m, row] = tables.contact[i, 1 + m]
        newton[row, size] = affine(tables.contact, i, tables.free, free)
        row += 1
    return row - free


@kernel
def objective_scale(model, tables):
    """Half the goal's square with no free effort, the yardstick for zero."""
    for m in range(tables.sizes[0]):
        tables.trial[m] = 0.0
    return objective(model, tables, tables.trial)


@kernel
def optimality(model, tables):
    """Slope of the goal's norm along the piece at ``tables.free``: zero at an optimum.

    The norm of the projected gradient of the norm (not its square), so per unit of free effort.
    """
    free = tables.sizes[0]
    value = objective(model, tables, tables.free)
    if free == 0 or not value > 1e-20 * objective_scale(model, tables):
        return 0.0
    derivatives(model, tables)
    size = free + side_conditions(tables)
    slope = 0.0
    for m in range(free):
        tables.gradient[m] = tables.newton[m, size]
    if not solve_small(tables.newton, tables.newton[:, size:], size, 1):
        return 0.0
    for m in range(free):
        slope += tables.gradient[m] * tables.newton[m, size]
    return math.sqrt(max(slope, 0.0) / (2.0 * value))
