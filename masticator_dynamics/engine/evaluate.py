# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The one function that Python calls: rows of input to rows of output, one or many."""

import math

from masticator_dynamics.engine.closure import close_loops
from masticator_dynamics.engine.jit import entry_point, kernel
from masticator_dynamics.engine.layout import answer_of, unpack
from masticator_dynamics.engine.motion import linearise, tree_accelerations, tree_rates
from masticator_dynamics.engine.status import CLOSED, NOT_FINITE, OVERFLOW


@entry_point
def evaluate(memory, scratch, given, out):
    """Motions of rows of ``given``: y, y_dot, y_ddot and others; one row after the other, flat.

    How many rows there are is seen in ``out``. ``memory`` and ``scratch`` come from
    ``packing.pack``; a row of ``out``, flat as well, is ``layout.Answer``, of which efforts and
    multipliers are left out. A row that fails carries a status, the block and an amount in its
    report.
    """
    model = unpack(memory, scratch)
    told = model.answer[len(model.answer) - 1]
    rows = len(out) // told
    asked = len(given) // max(rows, 1)
    for row in range(rows):
        answer = answer_of(out[row * told : (row + 1) * told], model.answer)
        status, block, amount = _evaluate_row(model, given[row * asked : (row + 1) * asked], answer)
        answer.report[0], answer.report[1], answer.report[2] = status, block, amount


@kernel
def _evaluate_row(model, given, answer):
    """One row; returns status, block and amount."""
    for i in range(len(given)):
        if not math.isfinite(given[i]):
            return NOT_FINITE, i, given[i]
    k = len(model.independent)
    y, y_dot, y_ddot = given[:k], given[k : 2 * k], given[2 * k : 3 * k]
    status, block, amount = close_loops(model, y, answer.q)
    if status != CLOSED:
        return status, block, amount
    status, block, amount, answer.report[3] = linearise(model)
    if status != CLOSED:
        return status, block, amount
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
    return CLOSED, -1, 0.0
