# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of input to the efforts that serve a goal best, friction included."""

import math

from masticator_dynamics.actuation.affine import combine
from masticator_dynamics.actuation.causes import REST, find_causes
from masticator_dynamics.actuation.layout import unpack_tables
from masticator_dynamics.actuation.pieces import affine, friction, optimality, solve_pieces
from masticator_dynamics.engine.evaluate import evaluate
from masticator_dynamics.engine.jit import entry_point, kernel
from masticator_dynamics.engine.layout import answer_of, unpack

JAMMED = 7  # no pattern of contact signs is consistent with friction


@entry_point
def distribute(memory, scratch, block, table_memory, task, given, out, extra):
    """Evaluate rows as ``engine.evaluate`` does, then choose the efforts anew.

    A row of ``extra`` holds the optimality, the friction of the actuated joints (n_u,), the
    friction force of each contact on its body (3 each, base axes) and the force that the joint of
    each slot transmits (3 each, base axes).
    """
    model = unpack(memory, scratch)
    tables = unpack_tables(block, table_memory)
    for row in range(len(given)):
        evaluate(memory, scratch, task, given[row : row + 1], out[row : row + 1])
        answer = answer_of(out[row], model.answer)
        if answer.report[0] == 0.0:
            answer.report[0] = _distribute_row(model, tables, answer, extra[row])


@kernel
def _distribute_row(model, tables, answer, extra):
    """Replace efforts and multipliers of an answer by the best; status."""
    find_causes(model, tables, answer)
    weigh(model, tables, answer)
    if not solve_pieces(model, tables) < math.inf:
        return JAMMED
    for i in range(len(tables.contacts)):
        tables.signs[i] = tables.best_signs[i]
    for m in range(tables.sizes[0]):
        tables.free[m] = tables.best[m]
    combine(model, tables, True)
    extra[0] = optimality(model, tables)
    report_forces(model, tables, answer, extra)
    return 0


@kernel
def weigh(model, tables, answer):
    """Weights of the efforts, and the sense in which the actuated joints slide."""
    fastest = 0.0
    for i in range(len(model.actuated)):
        fastest = max(fastest, abs(answer.velocity[i]))
    for i in range(len(model.actuated)):
        rate = answer.velocity[i]
        power = rate * rate + (1e-3 * fastest) ** 2 if fastest > 0.0 else 1.0
        tables.weights[i] = tables.goal[0] + tables.goal[1] * power
        tables.rates[i] = rate
        speed = math.sqrt(rate * rate + tables.slots[i].transition ** 2)
        tables.sense[i] = rate / speed if abs(rate) > REST * fastest else 0.0


@kernel
def report_forces(model, tables, answer, extra):
    """Efforts, multipliers and forces at the free efforts chosen."""
    free, causes, actuators = tables.sizes[0], tables.sizes[1], len(model.actuated)
    contacts = len(tables.contacts)
    for i in range(actuators):
        extra[1 + i] = friction(tables, i, tables.free)
        answer.effort[i] = affine(tables.terms, i, tables.free, free) + extra[1 + i]
    for i in range(contacts):
        rubbing = tables.signs[i] * affine(tables.contact, i, tables.free, free)
        for x in range(3):
            pull = rubbing * tables.friction[3 * i + x] + tables.viscous[3 * i + x]
            extra[1 + actuators + 3 * i + x] = -pull
    amounts = tables.gradient
    for k in range(causes):
        amounts[k] = affine(tables.combination, k, tables.free, free)
    for r in range(len(model.dependent)):
        answer.multipliers[r] = 0.0
        for k in range(causes):
            answer.multipliers[r] += tables.multipliers[r, k] * amounts[k]
    for r in range(3 * len(tables.slots)):
        value = 0.0
        for k in range(causes):
            value += tables.forces[r, k] * amounts[k]
        extra[1 + actuators + 3 * contacts + r] = value
    for j in range(len(model.joints)):
        left = 0.0
        for k in range(causes):
            left += tables.loads[j, k] * amounts[k]
        answer.report[4] = max(answer.report[4], abs(left))
