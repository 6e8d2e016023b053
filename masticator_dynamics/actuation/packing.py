# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction and goal of a mechanism to the flat records that kernels read."""

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from masticator_dynamics.actuation import layout
from masticator_dynamics.actuation.distribute import distribute
from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import moving_joints
from masticator_dynamics.engine.layout import assemble
from masticator_dynamics.engine.packing import Model
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import ActuationError, InputError

MOST_CONTACTS = 5  # with friction; patterns of signs are kept as bits
GOALS = ('torque', 'power', 'joint-force', 'contact-force')


class Distribution(NamedTuple):
    """``distribute`` for one mechanism, goal and friction, and where its forces stand in a row."""

    run: Callable[..., None]  # (task, given, out), rows one after the other
    width: int  # of a row of output
    slices: dict[str, slice]  # of a row of output, the engine's included
    tables: dict[str, FloatArray]  # what `run` leaves behind for its last row; see layout.Tables
    goals: FloatArray  # (4,) weights, in the order of GOALS


def pack_distribution(
    description: MechanismDescription,
    structure: Structure,
    model: Model,
    driving: int,
    goals: Mapping[str, float],
    friction: bool,
) -> Distribution:
    """Records for a weighted sum of goals, with friction or without.

    Parameters
    ----------
    driving : int
        Number of powered actuators.
    goals : mapping of str to float
        Weights of the squares of the goals' norms.

    Raises
    ------
    InputError
        For an unknown goal or a weight that is no weight.
    ActuationError
        When a goal does not determine the efforts of this mechanism.
    """
    check_goals(description, goals, driving, friction)
    observed = [*description.actuated]
    if goals.get('joint-force'):
        observed += description.force_joints
    contacts, slots = (
        _contacts(description, structure, friction),
        _slots(description, structure, observed, friction),
    )
    free = driving - len(description.independent)
    counts = layout.Counts(
        len(structure.tree.joints), len(description.actuated),
        sum(len(c.rows) for c in structure.constraints), len(contacts), len(slots), free,
    )  # fmt: skip
    sections = {
        'contacts': contacts,
        'slots': slots,
        'taps': _taps(description, structure, observed),
        'goal': np.array([goals.get(goal, 0.0) for goal in GOALS]),
        'sizes': np.array([free, counts.causes, int(friction)]),
        'stays': np.zeros(len(contacts), dtype=np.int64),
        'ends': layout.row_ends(counts),
    }
    lengths = {
        'optimality': 1, 'friction': counts.actuated,
        'contact_friction': 3 * counts.contacts, 'bearing_force': 3 * counts.actuated,
        'shortfall': len(description.independent),
    }  # fmt: skip
    slices = model.sizes.answer_slices()
    start = slices['tangent'].stop
    for name, length in lengths.items():
        slices[name] = slice(start, start + length)
        start += length
    block, memory = assemble(sections, layout.SECTIONS), layout.scratch(counts)
    return Distribution(
        functools.partial(distribute, model.memory, model.scratch, block, memory),
        start,
        slices,
        layout.views(counts, memory),
        sections['goal'],
    )


def check_goals(
    description: MechanismDescription, goals: Mapping[str, float], driving: int, friction: bool
) -> None:
    """Refuse what :func:`pack_distribution` refuses."""
    _check_weights(goals)
    if friction and driving < len(description.actuated):
        raise ActuationError(
            f'{description.name}: friction with {driving} of {len(description.actuated)} actuators '
            'driving is not covered: idle joints would have to be dragged along'
        )
    if friction and len(description.contacts) > MOST_CONTACTS:
        raise ActuationError(
            f'{description.name}: friction of {len(description.contacts)} contacts is not covered, '
            f'at most {MOST_CONTACTS} are: their signs make too many patterns'
        )
    free = driving - len(description.independent)
    _check_terms(description, goals, free)


def _check_weights(goals: Mapping[str, float]) -> None:
    for name, weight in goals.items():
        if name not in GOALS:
            raise InputError(f'no goal {name!r}; there are: {", ".join(GOALS)}')
        number = isinstance(weight, int | float) and np.isfinite(weight)
        if not (number and weight >= 0.0):
            raise InputError(
                f'goal {name!r} has weight {weight!r}; a number of 0 or more is needed'
            )
    if not any(goals.values()):
        raise InputError('a goal needs a weight above 0')


def _check_terms(description: MechanismDescription, goals: Mapping[str, float], free: int) -> None:
    """Refuse goals that leave efforts open."""
    if free <= 0 or goals.get('torque') or goals.get('power'):
        return
    terms = 3 * len(description.force_joints) * bool(goals.get('joint-force'))
    terms += len(description.contacts) * bool(goals.get('contact-force'))
    if terms < free:
        names = ', '.join(goal for goal, weight in goals.items() if weight)
        raise ActuationError(
            f'{description.name}: goal {names} looks at {terms} forces and cannot choose '
            f'among {free} free efforts'
        )


def _contacts(
    description: MechanismDescription, structure: Structure, friction: bool
) -> np.ndarray:
    order = [c for block in structure.blocks for c in block.constraints]
    records = np.zeros(len(description.contacts), layout.CONTACT)
    for record, contact in zip(records, description.contacts, strict=True):
        constraint = structure.constraint(contact.name)
        record['constraint'] = order.index(structure.constraints.index(constraint))
        (record['row'],) = structure.rows(contact.name)
        if friction:
            length = 1.0 if contact.height is not None else np.linalg.norm(contact.normal)
            record['coulomb'] = contact.friction.coulomb * length
            record['viscous'] = contact.friction.viscous
            record['transition'] = contact.friction.transition_velocity
    return records


def _slots(
    description: MechanismDescription, structure: Structure, observed: list[str], friction: bool
) -> np.ndarray:
    records = np.zeros(len(observed), layout.SLOT)
    for record, name in zip(records, observed, strict=True):
        record['joint'] = structure.index(name)
    if friction:
        for record, name in zip(records, description.actuated, strict=False):
            data = description.actuators[name].friction
            slides = structure.tree.joints[structure.index(name)].type == 'prismatic'
            ratio = description.actuators[name].ratio
            per_newton = data.coulomb * (1.0 if slides else data.radius)
            record['coulomb'], record['viscous'] = per_newton / ratio, data.viscous / ratio
            record['transition'] = data.transition_velocity
    return records


def _taps(
    description: MechanismDescription, structure: Structure, observed: list[str]
) -> np.ndarray:
    names = [contact.name for contact in description.contacts]
    order = [c for block in structure.blocks for c in block.constraints]
    taps = []
    for slot, joint in enumerate(observed):
        for position, c in enumerate(order):
            constraint = structure.constraints[c]
            sign = moving_joints(structure.tree, constraint).get(structure.index(joint))
            contact = names.index(constraint.name) if constraint.name in names else -1
            if sign is not None:
                taps.append((slot, position, sign, contact))
    return np.array(taps, layout.TAP)
