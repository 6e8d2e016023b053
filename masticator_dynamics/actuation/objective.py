# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a goal weighs, as a function of the free efforts, and its derivatives."""

import math

from masticator_dynamics.actuation.affine import affine
from masticator_dynamics.engine.jit import kernel


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
    effort = tables.drag[i]
    if tables.rubbing[i] != 0.0:
        effort += tables.rubbing[i] * force_across(tables, i, free)
    return effort


@kernel
def force_across(tables, i, free):
    """Length of the force across the axis of actuated joint ``i``, N."""
    x = affine(tables.bearing_terms, 3 * i, free, tables.sizes[0])
    y = affine(tables.bearing_terms, 3 * i + 1, free, tables.sizes[0])
    return math.sqrt(x * x + y * y)


@kernel
def bent(model, tables):
    """Whether joint friction bends the objective: without it one step is exact."""
    if tables.goal[0] + tables.goal[1] == 0.0:
        return False
    for i in range(len(model.actuated)):
        if tables.rubbing[i] != 0.0:
            return True
    return False


@kernel
def derivatives(model, tables, size):
    """Objective at ``tables.free``; its Hessian and gradient into ``tables.newton``.

    The gradient is column ``size``; rows and columns beyond the free efforts stay zero.
    """
    count, actuators, goal = tables.sizes[0], len(model.actuated), tables.goal
    newton, value = tables.newton, 0.0
    for m in range(size):
        for n in range(size + 1):
            newton[m, n] = 0.0
    if goal[0] + goal[1] > 0.0:
        for i in range(actuators):
            effort = affine(tables.terms, i, tables.free, count) + tables.drag[i]
            for m in range(count):
                tables.gradient[m] = tables.terms[i, 1 + m]
            if tables.rubbing[i] != 0.0:
                effort = bend(tables, i, tables.rubbing[i], effort)
            value += add_square(tables, tables.gradient, effort, tables.weights[i], size)
    if goal[2] > 0.0:
        for r in range(actuators, actuators + 3 * (len(tables.slots) - actuators)):
            part = affine(tables.terms, r, tables.free, count)
            value += add_square(tables, tables.terms[r, 1:], part, goal[2], size)
    if goal[3] > 0.0:
        for i in range(len(tables.contacts)):
            part = affine(tables.contact, i, tables.free, count)
            value += add_square(tables, tables.contact[i, 1:], part, goal[3], size)
    return 0.5 * value


@kernel
def add_square(tables, gradient, value, weight, size):
    """Add the Gauss-Newton part of one squared term; the term itself."""
    for m in range(tables.sizes[0]):
        part = weight * gradient[m]
        tables.newton[m, size] += value * part
        for n in range(tables.sizes[0]):
            tables.newton[m, n] += part * gradient[n]
    return weight * value * value


@kernel
def bend(tables, i, factor, effort):
    """Friction's share: in the gradient of effort ``i``, and its curvature in the Hessian.

    Returns
    -------
    float
        The effort, friction included.
    """
    count, force = tables.sizes[0], tables.bearing_terms
    x = affine(force, 3 * i, tables.free, count)
    y = affine(force, 3 * i + 1, tables.free, count)
    length = math.sqrt(x * x + y * y)
    if length == 0.0:
        return effort
    effort += factor * length
    per_length = 1.0 / length
    x, y = x * per_length, y * per_length
    weight = tables.weights[i] * effort * factor * per_length
    for m in range(count):
        sx, sy = force[3 * i, 1 + m], force[3 * i + 1, 1 + m]
        tables.gradient[m] += factor * (x * sx + y * sy)
        # The length bends only across its own direction.
        turn = weight * (x * sy - y * sx)
        for n in range(count):
            tables.newton[m, n] += turn * (x * force[3 * i + 1, 1 + n] - y * force[3 * i, 1 + n])
    return effort
