# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerations that go with efforts, at one state."""

import math
from typing import Any, NamedTuple

from masticator_dynamics.actuation.affine import solve_small
from masticator_dynamics.actuation.causes import constrain
from masticator_dynamics.actuation.distribute import JAMMED, weigh
from masticator_dynamics.engine.closure import CLOSED, SINGULAR, close_loops
from masticator_dynamics.engine.evaluate import OVERFLOW
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.motion import linearise, tree_accelerations, tree_rates
from masticator_dynamics.twin.equations import find_loads, measure_energy, reduce_loads
from masticator_dynamics.twin.friction import (
    add_units,
    find_bearing_forces,
    respond,
    settle_friction,
)


class Outside(NamedTuple):
    """What acts on the mechanism besides its motors; empty arrays where nothing does."""

    wrench: Any  # (6,) on the platform, base axes, about its origin
    points: Any  # (stops, POINT_WIDTH), see layout.py
    joints: Any  # (stops, JOINT_WIDTH)
    limbs: Any  # (stops, LIMB_WIDTH)
    food: Any  # see food.py


@kernel
def accelerate(model, tables, scratch, state, effort, outside, rubs, full, answer, results):
    """Accelerations of a state (y, then y_dot) under motor efforts, into ``results.y_ddot``.

    ``rubs``: with friction. ``full``: food yields and breaks for good, and energies, accelerations,
    multipliers and balance are reported; the stages of a step need none of it.

    Returns
    -------
    status, block, amount
        As the engine's, ``JAMMED`` where friction has no solution.
    """
    freedoms = len(model.independent)
    y, y_dot = state[:freedoms], state[freedoms:]
    for i in range(2 * freedoms):
        if not math.isfinite(state[i]):
            return OVERFLOW, -1, 0.0
    status, block, amount = close_loops(model, y, answer.q)
    if status != CLOSED:
        return status, block, amount
    status, block, amount, answer.report[3] = linearise(model)
    if status != CLOSED:
        return status, block, amount
    for f in range(freedoms):
        results.y_ddot[f] = 0.0
    tree_rates(model, y_dot, answer.v)
    tree_accelerations(model, answer.v, results.y_ddot, answer.a)
    for i in range(len(model.actuated)):
        answer.position[i] = answer.q[model.actuated[i]]
        answer.velocity[i] = answer.v[model.actuated[i]]
        answer.effort[i] = effort[i]
    find_loads(model, tables, scratch, answer, results, outside, rubs, full)
    unknown = 0
    if rubs:
        unknown = len(model.actuated) + len(tables.contacts)
        add_units(model, tables, answer.v)
    for i in range(len(model.actuated)):
        tables.loads[model.actuated[i], 0] -= model.ratio[i] * effort[i]
    reduce_loads(model, tables, scratch, unknown)
    if full:
        measure_energy(model, scratch, answer.q, y_dot, results)
    if not solve_small(scratch.mass, scratch.right, freedoms, 1 + unknown):
        return SINGULAR, 0, 0.0
    if rubs or full:
        constrain(model, tables, 1 + freedoms + unknown)
    if rubs:
        find_bearing_forces(model, tables, scratch)
        weigh(model, tables, answer)
        respond(model, tables, scratch)
        if not settle_friction(model, tables, scratch):
            return JAMMED, -1, 0.0
    for f in range(freedoms):
        value = scratch.right[f, 0]
        for m in range(unknown):
            value += scratch.right[f, 1 + m] * scratch.amounts[m]
        if not math.isfinite(value):
            return OVERFLOW, -1, 0.0
        results.y_ddot[f] = value
    if full:
        report(model, tables, scratch, unknown, answer, results)
    return CLOSED, -1, 0.0


@kernel
def report(model, tables, scratch, unknown, answer, results):
    """Accelerations, multipliers and friction of a solved state, and what stays unbalanced."""
    freedoms, actuators = len(model.independent), len(model.actuated)
    amounts = tables.amounts
    amounts[0] = 1.0
    for f in range(freedoms):
        amounts[1 + f] = results.y_ddot[f]
    for m in range(unknown):
        amounts[1 + freedoms + m] = scratch.amounts[m]
    for j in range(len(model.joints)):
        for f in range(freedoms):
            answer.a[j] += model.tangent[j, f] * results.y_ddot[f]
    for i in range(actuators):
        answer.acceleration[i] = answer.a[model.actuated[i]]
        results.joint_friction[i] = scratch.amounts[i] if unknown > 0 else 0.0
    for i in range(len(tables.contacts)):
        for x in range(3):
            pull = 0.0
            if unknown > 0:
                pull = scratch.amounts[actuators + i] * tables.friction[3 * i + x]
                pull += tables.viscous[3 * i + x]
            results.contact_friction[3 * i + x] = -pull
    for r in range(len(model.dependent)):
        answer.multipliers[r] = 0.0
        for c in range(1 + freedoms + unknown):
            answer.multipliers[r] += tables.multipliers[r, c] * amounts[c]
    results.report[2] = 0.0
    for j in range(len(model.joints)):
        left = 0.0
        for c in range(1 + freedoms + unknown):
            left += tables.loads[j, c] * amounts[c]
        results.report[2] = max(results.report[2], abs(left))
