# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction in forward dynamics: loads decide friction, friction decides accelerations and loads.

The laws are those of :mod:`masticator_dynamics.actuation`. Accelerations, contact forces and
bearing forces are affine in the amounts of friction, so what is left is a small map from amounts
to amounts. It contracts while friction is weak, by some 0.1 per turn for the masticator.
"""

import math

from masticator_dynamics.actuation.causes import (
    bearing_forces,
    contact_friction,
    joint_forces,
)
from masticator_dynamics.engine.jit import kernel

TURNS = 200
SETTLED = 1e-13  # of the largest amount of its kind


@kernel
def add_units(model, tables, v):
    """Columns of the loads that overcome a unit of each friction; viscous friction in column 0."""
    first = 1 + len(model.independent)
    for j in range(len(model.joints)):
        for c in range(first, tables.sizes[1]):
            tables.loads[j, c] = 0.0
    for i in range(len(model.actuated)):
        tables.loads[model.actuated[i], first + i] = model.ratio[i]
    for i in range(len(tables.contacts)):
        contact_friction(model, tables, i, v)


@kernel
def find_bearing_forces(model, tables, scratch):
    """Forces in the axes of the actuated joints for all columns; the multipliers are there."""
    joint_forces(model, tables, tables.sizes[1])
    for r in range(3 * len(model.actuated)):
        for f in range(len(model.independent)):
            tables.forces[r, 1 + f] += scratch.forces[r, f]
    bearing_forces(model, tables, tables.sizes[1])


@kernel
def respond(model, tables, scratch):
    """Contact multipliers and bearing forces as functions of the amounts of friction."""
    contacts, actuators = len(tables.contacts), len(model.actuated)
    freedoms, unknown = len(model.independent), contacts + actuators
    for r in range(contacts + 2 * actuators):
        if r < contacts:
            causes = tables.multipliers[tables.contacts[r].row]
        else:
            causes = tables.bearing[3 * ((r - contacts) // 2) + (r - contacts) % 2]
        for m in range(1 + unknown):
            value = causes[0] if m == 0 else causes[freedoms + m]
            for f in range(freedoms):
                value += causes[1 + f] * scratch.right[f, m]
            scratch.response[r, m] = value


@kernel
def settle_friction(model, tables, scratch):
    """Amounts of friction that go with the loads that they cause; False where there are none."""
    contacts, actuators = len(tables.contacts), len(model.actuated)
    amounts = scratch.amounts
    for m in range(contacts + actuators):
        amounts[m] = 0.0
    for _ in range(TURNS):
        change, largest = 0.0, 0.0
        for i in range(actuators):
            row = contacts + 2 * i
            x = loaded(scratch, row, contacts + actuators)
            y = loaded(scratch, row + 1, contacts + actuators)
            value = tables.drag[i] + tables.rubbing[i] * math.sqrt(x * x + y * y)
            change = max(change, abs(value - amounts[i]))
            # What the loads would be without friction counts: they may all but cancel.
            bare = abs(scratch.response[row, 0]) + abs(scratch.response[row + 1, 0])
            largest = max(largest, max(abs(value), abs(tables.rubbing[i]) * bare))
            amounts[i] = value
        settled = change <= SETTLED * largest
        change, largest = 0.0, 0.0
        for i in range(contacts):
            value = abs(loaded(scratch, i, contacts + actuators))
            change = max(change, abs(value - amounts[actuators + i]))
            largest = max(largest, max(value, abs(scratch.response[i, 0])))
            amounts[actuators + i] = value
        if settled and change <= SETTLED * largest:
            return True
    return False


@kernel
def loaded(scratch, row, unknown):
    """A load at the present amounts of friction."""
    value = scratch.response[row, 0]
    for m in range(unknown):
        value += scratch.response[row, 1 + m] * scratch.amounts[m]
    return value
