# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A structure with other numbers: the same blocks, joints and equations, on other geometry.

Numbers may be floats, or recorded ones; decisions are then those of the structure in floats.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.closure_equations import Constraint, all_constraints
from masticator_dynamics.engine.parameters import Moments, changed_moments
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.tree import SpanningTree, spanning_tree


def rebuilt(
    structure: Structure,
    description: MechanismDescription,
    values: Mapping[str, Any],
    home: Any,
    numeric: Structure | None = None,
) -> Structure:
    """A structure for a changed description.

    Parameters
    ----------
    structure : Structure
        Of the description before it was changed.
    values : mapping
        Inertial parameters, by name (``parameters.py``); others are in the description already.
    home : array, shape (n_q,)
        Tree positions.
    numeric : Structure, optional
        In floats, if others are not: what is decided by numbers is decided by its.
    """
    tree = spanning_tree(description.tree)
    names = [joint.name for joint in tree.joints]
    tree = tree.reordered([names.index(joint.name) for joint in structure.tree.joints])
    tree = _with_moments(tree, changed_moments(structure, values))
    described = [_key(c) for c in structure.described]
    new = dict(zip(map(_key, now := all_constraints(description, tree)), now, strict=True))
    old = dict(zip(described, structure.described, strict=True))
    constraints = tuple(_changed(c, old[_key(c)], new[_key(c)]) for c in structure.constraints)
    return dataclasses.replace(
        structure, tree=tree, constraints=constraints, home=home, numeric=numeric,
        described=tuple(new[key] for key in described),
    )  # fmt: skip


def _key(constraint: Constraint) -> tuple[str, type[Constraint], bool]:
    return constraint.name, type(constraint), constraint.contact


def _with_moments(tree: SpanningTree, moments: Mapping[str, Moments]) -> SpanningTree:
    inertias: list[Any] = list(tree.inertias)
    for k, joint in enumerate(tree.joints):
        if joint.child in moments:
            turned = moments[joint.child].turned(tree.frames[joint.child].rotation)
            in_floats = np.array(turned.numbers()).dtype != object
            inertias[k] = turned.inertia() if in_floats else turned
    return dataclasses.replace(tree, inertias=tuple(inertias))


def _changed(used: Constraint, old: Constraint, new: Constraint) -> Constraint:
    """What was kept of a constraint, with its new numbers.

    Parameters
    ----------
    used, old : Constraint
        Before the change: some of the rows, and all of them.
    new : Constraint
        All of them, after it.
    """
    if (used.body_a, used.body_b) != (new.body_a, new.body_b):
        new = dataclasses.replace(
            new, body_a=new.body_b, body_b=new.body_a, point_a=new.point_b, point_b=new.point_a,
        )  # fmt: skip
        old = dataclasses.replace(old, rows=np.full_like(old.rows, np.nan))
    same = [
        next((i for i, other in enumerate(old.rows) if _alike(used, old, row, i, other)), -1)
        for row, _ in enumerate(used.rows)
    ]
    if -1 in same:  # directions that were found, constant in the axes of a body
        return dataclasses.replace(new, rows=used.rows, offset=used.offset, carried=used.carried)
    partners = new.partners[same] if used.turns else new.partners
    # A rack's terms tell how often its pinion has turned; a coupling's are its numbers.
    terms = new.terms if used.of_joints else used.terms
    return dataclasses.replace(
        new, rows=new.rows[same], offset=new.offset[same], partners=partners, terms=terms
    )


def _alike(used: Constraint, old: Constraint, row: int, i: int, other: Any) -> bool:
    """Whether a row that was kept is the i-th of all."""
    if used.turns and not np.array_equal(used.partners[row], old.partners[i]):
        return False
    return used.carried == old.carried and np.array_equal(used.rows[row], other)
