# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures by which a study judges geometries, each the worst over states and joints."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.analysis.singularity import SingularityMeasures
from masticator_dynamics.design.formulas import Formula
from masticator_dynamics.design.states import States
from masticator_dynamics.design.study_file import Figure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.inertia_coupling import inertia_units
from masticator_dynamics.errors import InputError, meant
from masticator_dynamics.files.units import QUANTITIES
from masticator_dynamics.mechanism import Mechanism

Quantities = Mapping[str, FloatArray]  # (G, N, ...), of the engine
WorstValue = tuple[FloatArray, Any]  # figure (G,), and state (G,) in which it is worst


@dataclasses.dataclass(frozen=True)
class FigureKind:
    """A figure that can be asked for."""

    quantity: str  # of the engine; empty for those that need none
    # 'largest' size, 'most' or 'least' value, 'share' of states that count, or of the joint with
    # the largest the 'rms' over states or the 'span'.
    reduced: str
    over: str  # what it has values of: 'actuated', 'contacts', 'force_joints' or nothing
    unit: str


KINDS = {
    'peak_torque': FigureKind('actuated', 'largest', 'actuated', 'N m or N'),
    'rms_torque': FigureKind('actuated', 'rms', 'actuated', 'N m or N'),
    'peak_power': FigureKind('power', 'largest', 'actuated', 'W'),
    'joint_speed': FigureKind('velocity', 'largest', 'actuated', 'rad/s or m/s'),
    'joint_range': FigureKind('position', 'span', 'actuated', 'rad or m'),
    'socket_force': FigureKind('contact', 'largest', 'contacts', 'N'),
    'least_socket_force': FigureKind('contact', 'least', 'contacts', 'N'),
    'joint_force': FigureKind('joint_force', 'largest', 'force_joints', 'N'),
    'bearing_force': FigureKind('bearing_force', 'largest', 'actuated', 'N'),
    'coupling': FigureKind('inertia_coupling', 'largest', 'actuated', ''),
    'load_inertia': FigureKind('load_inertia', 'largest', 'actuated', 'kg m^2 or kg'),
    'condition': FigureKind('jacobian', 'largest', '', ''),
    'singularity': FigureKind('jacobian', 'least', '', ''),
    'reachable': FigureKind('', 'share', '', ''),
}
MORE_IS_BETTER = ('least_socket_force', 'singularity', 'reachable')


def measured_by(name: str, figures: Mapping[str, Figure]) -> tuple[str, ...]:
    """What a figure of a study may measure, of ``files.units.QUANTITIES``; empty: anything."""
    figure = figures.get(name)
    if figure is None or figure.formula or figure.experiment:
        return ()
    kind = KINDS.get(figure.figure or name)
    if kind is None:
        return ()
    units = kind.unit.split(' or ')
    return tuple(q for q, its_units in QUANTITIES.items() if {*units} & {*its_units}) or ('ratio',)


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A figure of a study, resolved."""

    name: str
    kind: FigureKind
    states: Any  # array of int: in which it is taken
    columns: list[int]  # of the quantity, if it has several
    formula: Formula | None = None  # of joint positions
    # Array: what the quantity is multiplied by: lengths of contacts' normals, for example.
    scale: Any = 1.0
    lengths: Any = 1.0  # (n_u, 1), of a Jacobian's rows at home

    def __call__(self, quantities: Quantities, valid: Any, joints: Mapping[str, int]) -> WorstValue:
        """The figure of G geometries, and the state in which it is worst; NaN where none closes.

        Parameters
        ----------
        quantities : mapping of str to array, shape (G, N, ...)
            By name.
        valid : array of bool, shape (G, N)
            States that count.
        joints : mapping of str to int
            Columns of tree positions by joint.
        """
        every = len(self.states) == valid.shape[1]
        valid = valid if every else valid[:, self.states]
        nowhere = np.full(len(valid), -1)
        if self.kind.reduced == 'share':
            return valid.mean(axis=1), nowhere
        values = self._values(quantities, slice(None) if every else self.states, joints)
        none = ~valid.any(axis=1)
        if self.kind.reduced in _OVER_STATES:
            return np.where(none, np.nan, _OVER_STATES[self.kind.reduced](values, valid)), nowhere
        if self.kind.reduced == 'least':
            worst = np.where(valid, values, np.inf).argmin(axis=1)
        else:
            worst = np.where(valid, values, -np.inf).argmax(axis=1)
        figure = np.where(none, np.nan, values[np.arange(len(values)), worst])
        return figure, np.where(none, -1, self.states[worst])

    def unit(self, mechanism: Mechanism) -> str:
        """SI unit of the figure, of the joints that it has values of; empty for a formula."""
        tree = mechanism.structure.tree.joints
        joints = [tree[j].unit for j in mechanism.actuated_rows]
        by_joint = {
            'actuated': mechanism.effort_units,
            'position': joints,
            'velocity': [f'{unit}/s' for unit in joints],
            'load_inertia': inertia_units(mechanism),
        }.get(self.kind.quantity)
        if by_joint is None:
            return self.kind.unit
        return ' or '.join(dict.fromkeys(by_joint[k] for k in self.columns))

    def _values(self, quantities: Quantities, states: Any, joints: Mapping[str, int]) -> Any:
        """The worst of all joints (G, N), or a list of them for what is summed up over states."""
        if self.formula is not None:
            q = quantities['q'][:, states]
            value = self.formula({name: q[..., joints[name]] for name in self.formula.names})
            return np.broadcast_to(value, q.shape[:2])
        values = quantities[self.kind.quantity][:, states]
        if self.kind.quantity == 'jacobian':
            jacobian = values * self.scale
            if self.kind.reduced == 'least':
                return type_2(jacobian, self.lengths)
            return 1.0 / np.maximum(isotropy(jacobian), 1e-300)
        if values.ndim == 4:
            values = np.sqrt(np.einsum('...i,...i->...', values, values))
        columns = [values[..., k] for k in self.columns]  # reducing short rows takes longer
        if self.kind.over == 'contacts':
            columns = [x * scale for x, scale in zip(columns, self.scale, strict=True)]
        if self.kind.reduced in _OVER_STATES:
            return columns
        if self.kind.reduced == 'least':
            return functools.reduce(np.minimum, columns)
        return functools.reduce(np.maximum, map(np.abs, columns))


def _rms(columns: list[FloatArray], valid: Any) -> FloatArray:
    squares = [np.einsum('gn,gn->g', x, x) for x in columns]  # 0 where not valid
    mean = functools.reduce(np.maximum, squares) / np.maximum(valid.sum(axis=1), 1)
    return np.asarray(np.sqrt(mean))


def _span(columns: list[FloatArray], valid: Any) -> FloatArray:
    if valid.all():
        return functools.reduce(np.maximum, [np.ptp(x, axis=1) for x in columns])
    highest = [np.where(valid, x, -np.inf).max(axis=1) for x in columns]
    lowest = [np.where(valid, x, np.inf).min(axis=1) for x in columns]
    return functools.reduce(np.maximum, map(np.subtract, highest, lowest))


_OVER_STATES: dict[str, Callable[[list[FloatArray], Any], FloatArray]] = {
    'rms': _rms, 'span': _span,
}  # fmt: skip


def isotropy(jacobian: FloatArray) -> FloatArray:
    """Least over largest singular value (...) of Jacobians (..., n_u, n_y)."""
    values = _singular_values(jacobian)
    ratio: FloatArray = values[..., 0] / np.maximum(values[..., -1], 1e-300)
    return ratio


def type_2(jacobian: FloatArray, lengths: FloatArray) -> FloatArray:
    """Distance from singularities of type II (...), as in ``analysis/singularity.py``."""
    row_lengths = np.linalg.norm(jacobian, axis=-1, keepdims=True)
    actuators, freedoms = jacobian.shape[-2:]
    least = _singular_values(jacobian / np.maximum(row_lengths, lengths))[..., 0]
    return np.asarray(least / np.sqrt(actuators / freedoms))


def _singular_values(jacobian: FloatArray) -> FloatArray:
    """Singular values (..., n_y), increasing; from squares, so to some 1e-8 of the largest."""
    squares = np.swapaxes(jacobian, -1, -2) @ jacobian
    return np.sqrt(np.maximum(np.linalg.eigvalsh(squares), 0.0))


def chosen_figures(
    figures: Mapping[str, Figure], mechanism: Mechanism, states: States
) -> list[Chosen]:
    """Figures of a study that the engine computes.

    Parameters
    ----------
    figures : mapping of str to Figure
        By name.

    Raises
    ------
    InputError
        For names that do not exist.
    """
    chosen = []
    for name, figure in figures.items():
        if figure.experiment is not None:
            continue
        where = f'figures.{name}'
        rows = _states(where, figure, states)
        if figure.formula is not None:
            chosen.append(_of_formula(where, name, figure, mechanism, rows))
            continue
        kind = KINDS.get(figure.figure or name)
        if kind is None:
            wanted = figure.figure or name
            raise InputError(
                f'{where}: no figure is called {wanted!r}{meant(wanted, KINDS, 0.0)} '
                f'There are: {", ".join(KINDS)}'
            )
        names = _members(kind, mechanism)
        if kind.over and not names:
            raise InputError(f'{where}: {mechanism.name} has no {kind.over}')
        for only in figure.only:
            if only not in names:
                raise InputError(f'{where}: no {only!r}; there are: {", ".join(names) or "none"}')
        columns = [names.index(n) for n in figure.only or names]
        sizes: Any = 1.0
        lengths: Any = 1.0
        if kind.over == 'contacts':
            contacts = mechanism.description.contacts
            sizes = np.array([contacts[column].force_per_multiplier for column in columns])
        elif kind.quantity == 'jacobian':
            measures = SingularityMeasures(mechanism)
            sizes, lengths = measures.scale, measures.home_lengths
        chosen.append(Chosen(name, kind, rows, columns, None, sizes, lengths))
    return chosen


def _states(where: str, figure: Figure, states: States) -> Any:
    for name in figure.motions:
        if name not in states.motions:
            raise InputError(f'{where}: no motion {name!r}; there are: {", ".join(states.motions)}')
    parts = [np.arange(states.motions[m].start, states.motions[m].stop)
             for m in figure.motions or states.motions]  # fmt: skip
    return np.concatenate(parts)


def _of_formula(where: str, name: str, figure: Figure, mechanism: Mechanism, rows: Any) -> Chosen:
    formula = Formula(figure.formula or '')
    for joint in formula.names:
        if joint not in mechanism.tree_joints:
            joints = ', '.join(mechanism.tree_joints)
            raise InputError(f'{where}: no joint {joint!r}; there are: {joints}')
    kind = FigureKind('q', 'most' if figure.worst == 'largest' else 'least', '', '')
    return Chosen(name, kind, rows, [], formula)


def _members(kind: FigureKind, mechanism: Mechanism) -> tuple[str, ...]:
    return {
        'actuated': mechanism.actuated,
        'contacts': mechanism.contacts,
        'force_joints': mechanism.description.force_joints,
        '': (),
    }[kind.over]
