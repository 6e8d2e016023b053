# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The one function that Python calls: rows of input to rows of output, one or many."""

import math

from masticator_dynamics.engine.closure import CLOSED, SINGULAR, close_loops, measure_all
from masticator_dynamics.engine.dynamics import (
    constraint_multipliers,
    least_norm_effort,
    tree_load,
)
from masticator_dynamics.engine.jit import entry_point, kernel
from masticator_dynamics.engine.layout import answer_of, unpack
from masticator_dynamics.engine.motion import (
    accelerate_bodies,
    linearise,
    tree_accelerations,
    tree_rates,
)
from masticator_dynamics.engine.pose import place_bodies

NOT_FINITE, NOT_ACTUATED, OVERFLOW = 4, 5, 6  # besides the states of closure.py
MOTION, FEEDFORWARD, EFFORT = 0, 1, 2  # what to compute; EFFORT takes q, v, a from the output


@entry_point
def evaluate(memory, scratch, task, given, out):
    """Evaluate rows of ``given``: y, y_dot, y_ddot, wrench; one row after the other, flat.

    Rows may go on with wrenches on all bodies, see ``tree_load``. How many rows there are is seen
    in ``out``.

    ``memory`` and ``scratch`` come from ``packing.pack``; a row of ``out``, flat as well, holds
    ``layout.Answer``. A row that fails carries a status, the block and an amount in its report.
    """
    model = unpack(memory, scratch)
    told = model.answer[len(model.answer) - 1]
    rows = len(out) // told
    asked = len(given) // max(rows, 1)
    for row in range(rows):
        answer = answer_of(out[row * told : (row + 1) * told], model.answer)
        evaluate_row(model, task, given[row * asked : (row + 1) * asked], answer)


@kernel
def evaluate_row(model, task, given, answer):
    """One row, with its report."""
    status, block, amount = _evaluate_row(model, task, given, answer)
    answer.report[0], answer.report[1], answer.report[2] = status, block, amount


@kernel
def _evaluate_row(model, task, given, answer):
    """One row; returns status, block and amount."""
    for i in range(len(given)):
        if not math.isfinite(given[i]):
            return NOT_FINITE, i, given[i]
    k = len(model.independent)
    y, y_dot, y_ddot, wrench = given[:k], given[k : 2 * k], given[2 * k : 3 * k], given[3 * k :]
    if task == EFFORT:
        place_bodies(model, answer.q, 0, len(model.joints))
        singular, answer.report[3] = measure_all(model, answer.q)
        if singular >= 0:
            return SINGULAR, singular, 0.0
    else:
        status, block, amount = close_loops(model, y, answer.q)
        if status != CLOSED:
            return status, block, amount
    status, block, amount, answer.report[3] = linearise(model)
    if status != CLOSED:
        return status, block, amount
    if task != EFFORT:
        tree_rates(model, y_dot, answer.v)
        tree_accelerations(model, answer.v, y_ddot, answer.a)
    for j in range(len(model.joints)):
        for i in range(k):
            answer.tangent[j * k + i] = model.tangent[j, i]
    for i in range(len(model.actuated)):
        j = model.actuated[i]
        answer.position[i] = answer.q[j]
        answer.velocity[i] = answer.v[j]
        answer.acceleration[i] = answer.a[j]
    for j in range(len(model.joints)):
        if not (math.isfinite(answer.v[j]) and math.isfinite(answer.a[j])):
            return OVERFLOW, -1, 0.0
    if task == MOTION:
        return CLOSED, -1, 0.0
    accelerate_bodies(model, answer.v, answer.a)
    tree_load(model, answer.q, answer.a, wrench)
    if least_norm_effort(model, answer.effort) == 0.0:
        return NOT_ACTUATED, -1, 0.0
    answer.report[4] = constraint_multipliers(model, answer.effort, answer.multipliers)
    if not math.isfinite(answer.report[4]):
        return OVERFLOW, -1, 0.0
    return CLOSED, -1, 0.0
