# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with other numbers: closed at a home of their own, and checked."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.arrays import FloatArray, as_number
from masticator_dynamics.engine.evaluation.model import Model, OnDemand, VariableModel
from masticator_dynamics.engine.rebuilt import rebuilt
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.changed_home import changed_home
from masticator_dynamics.engine.traced.functions import sine_cosine
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.variable import Variable, Variation
from masticator_dynamics.errors import InputError, MasticatorError, ReachError, SingularityError

_CLOSED = 1e-12  # m or rad, per size
_FOLLOWS = 1e-8  # of a mechanism's size, or rad: gap of an equation that follows from others
AT_FIRST = 3  # times for the same parameters: making code takes as long as dozens of them
_CERTAIN = 0.5  # of the gap that an equation may have
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
    known = root.made(_Known)
    if not isinstance(values, Mapping):
        raise InputError(f'values are {values!r:.60}; needed are numbers by name')
    naming.check_names(values, known.values, mechanism.name)
    changes = dict(variable.code_of.values) if variable else {}
    changes |= {name: check_value(name, x) for name, x in values.items()}
    names = tuple(sorted(changes, key=known.order.__getitem__))  # in one order
    changes = {name: changes[name] for name in names}
    code_of = variation_of(root, names)
    known.check_bodies(changes)
    home = root.made(_homes)[names].at(changes)
    return type(mechanism)(
        root.description, root.driving, VariableModel(root, Variable(code_of, changes, home))
    )


class _Known:
    """What a mechanism's parameters are before anything is changed."""

    def __init__(self, root: Model):
        self._root = root
        self.values = naming.all_of(root.description, root.structure)
        self.order = {name: k for k, name in enumerate(self.values)}
        self.geometric = naming.geometric(root.description)
        self._bodies = {
            link: [f'{link}.{part}' for part in naming.INERTIAL]
            for link in naming.bodies_with_mass(root.structure)
        }

    def check_bodies(self, changes: Mapping[str, float]) -> None:
        """Refuse moments of mass that no body has."""
        changed = {name.rpartition('.')[0] for name in changes}
        rows = [[changes.get(key, self.values[key]) for key in keys]
                for link, keys in self._bodies.items() if link in changed]  # fmt: skip
        if rows and not naming.consistent(np.array(rows)).all():
            naming.with_inertia(self._root.description, self._root.structure, changes)  # says why


def variation_of(root: Model, names: tuple[str, ...]) -> Variation:
    """What code with some parameters as inputs is made of, see :class:`Variation`.

    In its structure they are slightly changed; which change depends on the names alone.

    Raises
    ------
    InputError
        If the structure depends on a parameter.
    """
    return root.made(_variations)[names]


class _Home:
    """Home with other numbers: on floats the first few times, then by machine code.

    Code is for numbers that are certainly a mechanism's; others are looked at on floats.
    """

    def __init__(self, root: Model, names: tuple[str, ...]):
        self._root, self._asked = root, 0
        self._moved = any(name in root.made(_Known).geometric for name in names)
        self._of, self._units = variation_of(root, names), _units(root)

    def at(self, values: Mapping[str, float]) -> FloatArray:
        """Tree positions (n_q,) at home; raises as :func:`closed_structure`."""
        if not self._moved:
            return self._root.made(_closed_home)
        self._asked += 1
        if self._asked > AT_FIRST and self._code.available:
            start = self._root.structure.home
            valid, *positions = self._code(Variable(self._of, values, start).numbers)
            home = np.array(positions)
            if valid == 1.0 and (np.abs(home - start) / self._units).max() < _LARGEST_JUMP:
                return home
        return closed_structure(self._root, values).home

    @functools.cached_property
    def _code(self) -> RowCode:
        structure, rows = self._root.structure, self._root.independent_rows
        if not structure.redundant:
            return changed_home(self._of, (), ())
        shifts = [shift[rows].tolist() for shift in _shifts(self._root)]
        allowed = [_CERTAIN * gap for gap in _allowed_gaps(self._root, structure.extent())]
        return changed_home(self._of, shifts, allowed)


def _homes(root: Model) -> OnDemand[tuple[str, ...], _Home]:
    return OnDemand(functools.partial(_Home, root))


def _closed_home(root: Model) -> FloatArray:
    """Where no number changes it."""
    return closed_structure(root, {}).home


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


def _variations(root: Model) -> OnDemand[tuple[str, ...], Variation]:
    """By the names of the parameters."""
    geometry, size = root.made(_Known).geometric, root.structure.extent()

    def sample(names: list[str]) -> Structure:
        rng, values = np.random.default_rng(0), {}
        for name in names:
            unit = size if 'length' in naming.quantities(root.description, name) else 1.0
            values[name] = geometry[name] + _SMALL * unit * float(rng.uniform(0.5, 1.0))
        return closed_structure(root, values)

    def made(names: tuple[str, ...]) -> Variation:
        moved = [name for name in names if name in geometry]
        try:
            return Variation(root.description, root.structure, sample(moved), names)
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
    old = root.made(_Known).values
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
    allowed = _allowed_gaps(root, structure.extent())
    for shift in (np.zeros(len(structure.home)), *_shifts(root)):
        try:
            q = _closed(root, structure, structure.home + shift)
        except (ReachError, SingularityError):
            continue
        poses = structure.tree.poses(q)
        for constraint, most in zip(structure.described, allowed, strict=True):
            gap = float(np.abs(constraint.gaps(poses)).max(initial=0.0))
            if gap > most:
                raise InputError(
                    f'{root.name}: {constraint.name} followed in part from other closures; with '
                    f'these numbers it does not, and stays open by {gap * 1e3:.3g} mm'
                )


def _shifts(root: Model) -> list[FloatArray]:
    """Tree positions (n_q,) from home to places at which all equations are looked at, too."""
    rng, rows, units = np.random.default_rng(1), root.independent_rows, _units(root)
    shifts = [np.zeros(len(units)) for _ in range(2)]
    for shift in shifts:
        shift[rows] = 0.02 * rng.uniform(-1.0, 1.0, len(rows)) * units[rows]
    return shifts


def _allowed_gaps(root: Model, size: float) -> list[float]:
    """How far each described constraint may stay open, m or rad, in a mechanism of this size, m."""
    of = root.structure
    before = {c.name: c.gap for c in reversed(of.redundant)}
    return [_FOLLOWS * size + 2.0 * before.get(c.name, 0.0) for c in of.described]
