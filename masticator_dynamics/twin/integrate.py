# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a fixed length by the classical Runge-Kutta method, all in one call."""

from masticator_dynamics.actuation.layout import unpack_tables
from masticator_dynamics.engine.closure import CLOSED
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.layout import answer_of, unpack
from masticator_dynamics.twin.evaluate import Outside, accelerate
from masticator_dynamics.twin.jit import entry_point
from masticator_dynamics.twin.layout import results_of, scratch_of


@entry_point
def integrate(
    memory, scratch, block, table_memory, twin_memory, wrench, points, joints, limbs, food,
    rubs, steps, length, efforts, state, out, told,
):  # fmt: skip
    """Move ``state`` (y, then y_dot) on by steps of ``length`` s and report on where it arrives.

    ``efforts`` has one row, held, or ``2 * steps + 1``: at every step's start and middle and at the
    end. ``out`` is the engine's row of output, ``told`` that of the twin (``layout.Results``). A
    status other than 0 in ``out[0]`` says that the state stands at the start of the step that could
    not be done. No steps: the report only.
    """
    model = unpack(memory, scratch)
    tables = unpack_tables(block, table_memory)
    freedoms, actuated = len(model.independent), len(model.actuated)
    work = scratch_of(twin_memory, freedoms, actuated)
    answer = answer_of(out, model.answer)
    results = results_of(told, freedoms, actuated)
    outside = Outside(wrench, points, joints, limbs, food)
    held = len(efforts) == 1
    for e in range(4 * steps + 1):
        stage = e % 4
        row = 0 if held else 2 * (e // 4) + (stage + 1) // 2
        if stage == 0:
            for f in range(freedoms):
                work.base[f], work.base_rate[f] = state[f], state[freedoms + f]
        # A call for each stage would compile everything once more.
        status, at, amount = accelerate(
            model, tables, work, state, efforts[row], outside, rubs,
            stage == 0, answer, results,
        )  # fmt: skip
        answer.report[0], answer.report[1], answer.report[2] = status, at, amount
        if status != CLOSED:
            for f in range(freedoms):
                state[f], state[freedoms + f] = work.base[f], work.base_rate[f]
            return
        if e < 4 * steps:
            next_stage(work, results.y_ddot, stage, length, state)


@kernel
def next_stage(work, y_ddot, stage, length, state):
    """From the rates at one stage to the state of the next, or to the end of the step."""
    freedoms = len(y_ddot)
    weight = 2.0 if stage == 1 or stage == 2 else 1.0
    ahead = length if stage == 2 else 0.5 * length
    for f in range(freedoms):
        rate = state[freedoms + f]
        work.sum[f] = weight * rate + (0.0 if stage == 0 else work.sum[f])
        work.sum_rate[f] = weight * y_ddot[f] + (0.0 if stage == 0 else work.sum_rate[f])
        if stage == 3:
            state[f] = work.base[f] + length / 6.0 * work.sum[f]
            state[freedoms + f] = work.base_rate[f] + length / 6.0 * work.sum_rate[f]
        else:
            state[f] = work.base[f] + ahead * rate
            state[freedoms + f] = work.base_rate[f] + ahead * y_ddot[f]
