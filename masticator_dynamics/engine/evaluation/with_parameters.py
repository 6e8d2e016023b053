# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with other numbers: closed at a home of their own, and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from masticator_dynamics.description.urdf_text import with_tree
from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.arrays import FloatArray, as_number
from masticator_dynamics.engine.evaluation.model import Model, OnDemand, VariableModel
from masticator_dynamics.engine.rebuilt import rebuilt
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.functions import sine_cosine
from masticator_dynamics.engine.traced.variable import Variable
from masticator_dynamics.errors import InputError, MasticatorError, ReachError, SingularityError

_CLOSED = 1e-12  # m or rad, per size
_FOLLOWS = 1e-8  # of a mechanism's size, or rad: gap of an equation that follows from others
_SMALL = 1e-4  # by which parameters are changed to see what is special by chance, rad or sizes
_STEPS = (1, 8, 64)  # from the old numbers to the new ones
_LARGEST_JUMP = 0.5  # rad, or sizes, of a joint in one such step


def values_of(mechanism: Model, friction: bool, geometry: bool) -> dict[str, float]:
    """See :meth:`Mechanism.parameters`."""
    description, structure = mechanism.description, mechanism.structure
    values = naming.inertial(structure) | naming.of_joints(description)
    if friction:
        values |= naming.frictional(description)
    if geometry:
        values |= naming.geometric(description)
    variable = mechanism.variable
    changed = variable.code_of.values if variable else {}
    zeros = {name: x for name, x in changed.items() if name.endswith('.zero')}
    return values | {name: x for name, x in zeros.items() if name in values}


_Kind = TypeVar('_Kind', bound=Model)


def with_parameters(mechanism: _Kind, values: Mapping[str, float]) -> _Kind:
    """See :meth:`Mechanism.with_parameters`."""
    variable = mechanism.variable
    root: Model = variable.of if variable else mechanism
    parameters = naming.all_of(root.description, root.structure)
    if not isinstance(values, Mapping):
        raise InputError(f'values are {values!r:.60}; needed are numbers by name')
    naming.check_names(values, parameters, mechanism.name)
    changes = dict(variable.code_of.values) if variable else {}
    changes |= {name: check_value(name, x) for name, x in values.items()}
    changes = {name: changes[name] for name in parameters if name in changes}  # in one order
    numeric = sample_of(root, tuple(changes))
    description = naming.changed(root.description, changes, sine_cosine)
    description = naming.with_inertia(description, root.structure, changes)
    structure = closed_structure(root, changes)
    home = dict(zip(root.tree_joints, structure.home.tolist(), strict=True))
    text = with_tree(root.description.urdf_xml, root.description.tree, description.tree)
    description = dataclasses.replace(description, home=home, urdf_xml=text)
    code_of = Variable(root.description, root.structure, numeric, changes, structure.home)
    return type(mechanism)(description, root.driving, VariableModel(root, structure, code_of))


def sample_of(root: Model, names: tuple[str, ...]) -> Structure:
    """The structure with some parameters slightly changed, see :class:`Variable`.

    Which change depends on the names alone.

    Raises
    ------
    InputError
        If the structure depends on a parameter.
    """
    return root.made(_samples)[names]


def check_value(name: str, value: object) -> float:
    """A parameter as a number, refused where no mechanism can have it."""
    number = as_number(value, name)
    if not in_bounds(name, number):
        bound, unit = naming.bound_of(name), naming.unit_of(name)
        least = '0 or more' if bound.gt is None else f'more than {bound.gt:g}'
        most = '' if bound.lt is None else f' and less than {bound.lt:g}'
        size = f'{number:.6g} {unit}'.rstrip()
        raise InputError(f'{name} is {size}; {least}{most} is needed')
    return number


def in_bounds(name: str, value: Any) -> Any:
    """Whether a mechanism can have a parameter's value, or each of an array of them."""
    bound = naming.bound_of(name)
    if bound.gt is not None:
        return value > bound.gt
    inside = value == value if bound.ge is None else value >= bound.ge
    return inside if bound.lt is None else inside & (value < bound.lt)


def _samples(root: Model) -> OnDemand[tuple[str, ...], Structure]:
    """Structures with parameters slightly changed, by the names of the parameters."""
    geometry, size = naming.geometric(root.description), root.structure.extent()

    def sample(names: list[str]) -> Structure:
        rng, values = np.random.default_rng(0), {}
        for name in names:
            unit = size if 'length' in naming.quantities(root.description, name) else 1.0
            values[name] = geometry[name] + _SMALL * unit * float(rng.uniform(0.5, 1.0))
        return closed_structure(root, values)

    def made(names: tuple[str, ...]) -> Structure:
        moved = [name for name in names if name in geometry]
        try:
            return sample(moved)
        except (ReachError, SingularityError, InputError):
            for name in moved:
                try:
                    sample([name])
                except (ReachError, SingularityError, InputError) as error:
                    reason = f'the structure of {root.name} depends on {name}: {error}'
                    raise InputError(reason) from None
            raise

    return OnDemand(made)


def closed_structure(root: Model, values: Mapping[str, float]) -> Structure:
    """A mechanism's structure with other numbers, closed at home and checked.

    Raises
    ------
    ReachError
        When a loop cannot close.
    SingularityError
        When the loops do not determine all joints.
    InputError
        When an equation that followed from others no longer does.
    """
    old = naming.all_of(root.description, root.structure)
    failed: list[MasticatorError] = []
    for steps in _STEPS:
        try:
            structure = _followed(root, old, values, steps)
        except (ReachError, SingularityError) as error:
            failed.append(error)
        else:
            _check_others(root, structure)
            return structure
    raise failed[0]


def _followed(
    root: Model, old: Mapping[str, float], values: Mapping[str, float], steps: int
) -> Structure:
    """The structure after steps from the old numbers; raises where one of them fails."""
    home, structure = root.structure.home, root.structure
    signs = _block_signs(root.structure)
    for step in range(1, steps + 1):
        part = {name: old[name] + (x - old[name]) * step / steps for name, x in values.items()}
        if step == steps:
            part = dict(values)
        description = naming.changed(root.description, part, sine_cosine)
        start = home.copy()
        for joint, tree in enumerate(root.structure.tree.joints):
            if f'{tree.name}.zero' in part and tree.name in root.independent:
                start[joint] = root.structure.home[joint] - part[f'{tree.name}.zero']
        structure = rebuilt(root.structure, description, part, start)
        closed = _closed(root, structure, start)
        jump = np.abs(closed - home) / _units(root)
        structure = dataclasses.replace(structure, home=closed)
        if jump.max(initial=0.0) > _LARGEST_JUMP or _block_signs(structure) != signs:
            raise SingularityError(
                f'{root.name}: these numbers cannot be reached without passing a singularity'
            )
        home = closed
    return structure


def _units(root: Model) -> FloatArray:
    size = root.structure.extent()
    slides = [joint.slides for joint in root.structure.tree.joints]
    return np.where(slides, size, 1.0)


def _block_signs(structure: Structure) -> list[float]:
    """Signs of the determinants of all blocks at home: they belong to the branch."""
    poses, signs = structure.at_home(), []
    for block in structure.blocks:
        rows = [structure.constraints[c].rates(poses) for c in block.constraints]
        signs.append(float(np.sign(np.linalg.det(np.vstack(rows)[:, list(block.joints)]))))
    return signs


def _closed(root: Model, structure: Structure, q: FloatArray) -> FloatArray:
    """Tree positions at which all loops are closed, independent joints held.

    Raises
    ------
    ReachError, SingularityError
        As :func:`closed_structure`.
    """
    dependent = [j for block in structure.blocks for j in block.joints]
    q, size = q.copy(), root.structure.extent()
    gaps, largest = np.zeros(0), np.inf
    for _ in range(30 if dependent else 0):
        poses, before = structure.tree.poses(q), largest
        gaps = np.concatenate([c.gaps(poses) for c, _ in structure.ordered()])
        largest = float(np.abs(gaps).max())
        if not np.isfinite(largest):
            break
        rates = structure.jacobian(q)[:, dependent]
        scale = np.linalg.norm(rates, axis=0)
        if not np.linalg.cond(rates / np.where(scale > 0.0, scale, 1.0)) < 1e9:
            raise SingularityError(f'{root.name}: its loops do not determine all joints at home')
        if largest < _CLOSED * size and not largest < 0.5 * before:
            return q
        step = np.linalg.solve(rates, gaps)
        longest = np.abs(step / _units(root)[dependent]).max()
        q[dependent] -= step * min(1.0, 0.3 / max(longest, 1e-300))
    if not dependent or largest < _CLOSED * size:
        return q
    worst = max(structure.ordered(), key=lambda part: np.abs(gaps[part[1]]).max())
    name, gap = worst[0].name, float(np.abs(gaps[worst[1]]).max())
    raise ReachError(
        f'{root.name}: {name} cannot close at home with these numbers: {gap * 1e3:.6g} mm are '
        'missing'
    )


def _check_others(root: Model, structure: Structure) -> None:
    """Refuse numbers with which an equation that was left out no longer follows from others."""
    if not structure.redundant:
        return
    rng, size = np.random.default_rng(1), structure.extent()
    rows = root.independent_rows
    starts = [structure.home] + [structure.home.copy() for _ in range(2)]
    for start in starts[1:]:
        start[rows] += 0.02 * rng.uniform(-1.0, 1.0, len(rows)) * _units(root)[rows]
    for start in starts:
        try:
            q = _closed(root, structure, start)
        except (ReachError, SingularityError):
            continue
        poses = structure.tree.poses(q)
        for constraint, old in zip(structure.described, root.structure.described, strict=True):
            gap = float(np.abs(constraint.gaps(poses)).max(initial=0.0))
            gap_before = next((r.gap for r in structure.redundant if r.name == old.name), 0.0)
            if gap > _FOLLOWS * size + 2.0 * gap_before:
                raise InputError(
                    f'{root.name}: {old.name} followed in part from other closures; with these '
                    f'numbers it does not, and stays open by {gap * 1e3:.3g} mm'
                )
