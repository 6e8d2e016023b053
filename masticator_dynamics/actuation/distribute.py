# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of input to the efforts that serve a goal best, friction included."""

import math

from masticator_dynamics.actuation.causes import REST, find_causes
from masticator_dynamics.actuation.layout import unpack_tables
from masticator_dynamics.actuation.pieces import solve_pieces
from masticator_dynamics.engine.evaluate import evaluate_row
from masticator_dynamics.engine.jit import entry_point, kernel
from masticator_dynamics.engine.layout import answer_of, unpack

JAMMED = 7  # no pattern of contact signs is consistent with friction


@entry_point
def distribute(memory, scratch, block, table_memory, task, given, out):
    """Evaluate rows as ``engine.evaluate`` does, then choose the efforts anew.

    A row of ``out`` goes on, after what the engine tells, with the optimality, the friction of the
    actuated joints (n_u,), the friction force of each contact on its body (3 each, base axes), the
    force that each actuated joint transmits to its child (3 each, the joint's axes) and the
    accelerations that are given up (n_y,): none.
    """
    model = unpack(memory, scratch)
    tables = unpack_tables(block, table_memory)
    told = model.answer[len(model.answer) - 1]
    actuators, contacts = len(model.actuated), len(tables.contacts)
    width = told + 1 + actuators + 3 * contacts + 3 * actuators + len(model.independent)
    rows = len(out) // width
    asked = len(given) // max(rows, 1)
    for row in range(rows):
        answer = answer_of(out[row * width : row * width + told], model.answer)
        evaluate_row(model, task, given[row * asked : (row + 1) * asked], answer)
        if answer.report[0] == 0.0:
            forces = out[row * width + told : (row + 1) * width]
            answer.report[0] = _distribute_row(model, tables, answer, forces)


@kernel
def _distribute_row(model, tables, answer, forces):
    """Replace efforts and multipliers of an answer by the best; status."""
    find_causes(model, tables, answer)
    weigh(model, tables, answer)
    if not solve_pieces(model, tables, answer, forces):
        return JAMMED
    report_forces(model, tables, answer, forces)
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
        tables.weights[i] = tables.goal[0] + tables.goal[1] * model.ratio[i] ** 2 * power
        tables.drag[i] = tables.slots[i].viscous * rate
        speed = math.sqrt(rate * rate + tables.slots[i].transition ** 2)
        sense = rate / speed if abs(rate) > REST * fastest else 0.0
        tables.rubbing[i] = tables.slots[i].coulomb * sense


@kernel
def report_forces(model, tables, answer, forces):
    """Multipliers, forces and balance for the amounts of the causes."""
    free, causes, actuators = tables.sizes[0], tables.sizes[1], len(model.actuated)
    contacts, amounts = len(tables.contacts), tables.amounts
    for i in range(contacts):
        rubbing = amounts[1 + free + i]
        for x in range(3):
            pull = rubbing * tables.friction[3 * i + x] + tables.viscous[3 * i + x]
            forces[1 + actuators + 3 * i + x] = -pull
    for r in range(len(model.dependent)):
        answer.multipliers[r] = 0.0
        for k in range(causes):
            answer.multipliers[r] += tables.multipliers[r, k] * amounts[k]
    for r in range(3 * actuators):
        value = 0.0
        for k in range(causes):
            value += tables.bearing[r, k] * amounts[k]
        forces[1 + actuators + 3 * contacts + r] = value
    for f in range(len(model.independent)):
        forces[1 + 4 * actuators + 3 * contacts + f] = 0.0
    for j in range(len(model.joints)):
        left = 0.0
        for k in range(causes):
            left += tables.loads[j, k] * amounts[k]
        answer.report[4] = max(answer.report[4], abs(left))
