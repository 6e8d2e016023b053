# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a study varies: variables, and the parameters of the mechanism that follow from them.

For variables that are arguments of a xacro file, the file is expanded anew.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from scipy.stats import qmc

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.design.formulas import Formula
from masticator_dynamics.design.study_file import Samples, StudyFile, StudyVariable
from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.tree import spanning_tree
from masticator_dynamics.errors import InputError, meant
from masticator_dynamics.files.units import in_si, is_size
from masticator_dynamics.mechanism import Mechanism

_DIGITS = 1e-12  # by which expanding in another process changes nothing


class XacroNumbers:
    """Reads parameters of the same mechanism with other arguments.

    Attributes
    ----------
    names : tuple of str
        Parameters that depend on the arguments.

    Parameters
    ----------
    mechanism : Mechanism
        With the file's own arguments.
    probes : iterable of mapping
        Arguments at which to look which parameters depend on them.

    Raises
    ------
    InputError
        If the mechanism's structure depends on an argument.
    """

    def __init__(self, mechanism: Mechanism, probes: Iterable[Mapping[str, float]]):
        self._mechanism = mechanism
        self._before = self._numbers(mechanism.description)
        moved = {name for probe in probes for name in self._moved(self._expanded(probe))}
        self.names = tuple(name for name in self._before if name in moved)

    def of(self, arguments: Mapping[str, float]) -> dict[str, float]:
        """Parameters for arguments.

        Raises
        ------
        DescriptionError
            If the file cannot be read with them.
        InputError
            If they change more than these parameters.
        """
        parameters = self._expanded(arguments)
        others = [name for name in self._moved(parameters) if name not in self.names]
        if others:
            raise InputError(
                f'{others[0]} is changed by {_in_words(arguments)}, but by no corner of the ranges'
            )
        return {name: parameters[name] for name in self.names}

    def _expanded(self, arguments: Mapping[str, float]) -> dict[str, float]:
        """All parameters for arguments."""
        description = self._mechanism.description
        expanded = load_description(description.file, _as_texts(arguments))
        if _plan(expanded) != _plan(description):
            raise InputError(f'the structure of {expanded.name} depends on {_in_words(arguments)}')
        return self._numbers(expanded)

    def _numbers(self, description: MechanismDescription) -> dict[str, float]:
        structure = self._mechanism.structure
        joints = [joint.name for joint in structure.tree.joints]
        tree = spanning_tree(description.tree)
        names = [joint.name for joint in tree.joints]
        tree = tree.reordered([names.index(joint) for joint in joints])
        return naming.all_of(description, dataclasses.replace(structure, tree=tree))

    def _moved(self, parameters: Mapping[str, float]) -> list[str]:
        """Names of parameters that are not as in the mechanism."""
        return [
            name
            for name, before in self._before.items()
            if abs(parameters[name] - before) > _DIGITS * max(abs(before), 1.0)
        ]


def _as_texts(arguments: Mapping[str, float]) -> dict[str, str]:
    return {name: repr(float(x)) for name, x in arguments.items()}


def _in_words(arguments: Mapping[str, float]) -> str:
    return ', '.join(f'{name}:={text}' for name, text in _as_texts(arguments).items())


def _plan(description: MechanismDescription) -> object:
    """What parameters cannot change."""
    joints = [
        (j.name, j.type, j.parent, j.child, *np.round(j.axis, 12)) for j in description.tree.joints
    ]
    closures = [(c.name, c.type) for c in description.closures]
    return joints, closures, description.independent, description.actuated


MOTORS = 'actuators'  # name of the variable that chooses them


@dataclasses.dataclass(frozen=True)
class DesignAxis:
    """A variable: a range, or levels."""

    name: str
    low: float  # SI
    high: float  # SI
    # The only values; empty for a range. Choices of motors are numbered from 0.
    levels: tuple[float, ...] = ()
    steps: int = 5  # of a range on a grid
    given: float | None = None  # of the mechanism as it is

    @classmethod
    def of(
        cls, name: str, variable: StudyVariable, now: float | None, quantity: Collection[str]
    ) -> DesignAxis:
        """From the file; raises InputError for an empty range, or another quantity's units."""
        given_value = now if variable.given is None else in_si(variable.given, name, quantity)
        if (variable.range is None) == (not variable.values):
            raise InputError(f'variables.{name}: either a range or values are needed')
        if variable.range is None:
            levels = tuple(in_si(value, name, quantity) for value in variable.values)
            return cls(name, min(levels), max(levels), levels, given=given_value)
        low, high = (in_si(end, name, quantity) for end in variable.range)
        if not low < high:
            raise InputError(
                f'variables.{name}: the range from {low:g} to {high:g} is empty; write the lower '
                'end first'
            )
        return cls(name, low, high, steps=variable.steps, given=given_value)

    @property
    def on_grid(self) -> int:
        """How many values it has on a grid."""
        return len(self.levels) or self.steps

    def values(self, fractions: FloatArray) -> FloatArray:
        """Values for numbers from 0 to 1."""
        if not self.levels:
            return self.low * (1.0 - fractions) + self.high * fractions
        n = len(self.levels)
        return np.array(self.levels)[np.minimum((fractions * n).astype(int), n - 1)]

    def fractions(self, values: FloatArray) -> FloatArray:
        """Numbers from 0 to 1 that stand for values."""
        if self.levels:
            nearest = np.abs(values[:, None] - np.array(self.levels)).argmin(axis=1)
            return (nearest + 0.5) / len(self.levels)
        return np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)

    def grid(self, index: Any) -> Any:
        """Numbers from 0 to 1 of values by their number on a grid."""
        if self.levels:
            return (index + 0.5) / len(self.levels)
        return index / max(self.steps - 1, 1)


@dataclasses.dataclass(frozen=True)
class Space:
    """All variables, and the parameters that follow."""

    axes: tuple[DesignAxis, ...]
    formulas: dict[str, Formula]  # of parameters, and of numbers in between, in order
    names: tuple[str, ...]  # parameters of the mechanism that change
    given: dict[str, float]  # parameters of the mechanism as it is
    arguments: dict[str, Formula]  # of the xacro file
    expanded: XacroNumbers | None  # reads the file with other arguments

    @classmethod
    def of(cls, study: StudyFile, mechanism: Mechanism) -> Space:
        """From a study file.

        Raises
        ------
        InputError
            For names that do not exist, empty ranges and formulas that cannot be read.
        """
        parameters = mechanism.parameters(friction=True, geometry=True)
        measured = {name: naming.quantities(mechanism.description, name) for name in parameters}
        axes = [
            DesignAxis.of(name, variable, parameters.get(name), measured.get(name, ()))
            for name, variable in study.variables.items()
        ]
        if len(study.actuators) > 1:
            levels = tuple(float(k) for k in range(len(study.actuators)))
            axes.append(DesignAxis(MOTORS, 0.0, levels[-1], levels))
        if not axes:
            raise InputError('variables: nothing is varied')
        formulas = {axis.name: Formula(axis.name) for axis in axes if '.' in axis.name}
        for name, text in study.parameters.items():
            formulas[name] = _formula(text, name, measured.get(name, ()))
        arguments = {n: _formula(text, n) for n, text in study.xacro_arguments.items()}
        _check_names(formulas, arguments, axes, parameters)
        space = cls(tuple(axes), formulas, (), parameters, arguments, None)
        expanded = XacroNumbers(mechanism, space._probes()) if arguments else None
        names = dict.fromkeys([*(expanded.names if expanded else ()), *formulas])
        return dataclasses.replace(
            space, names=tuple(n for n in names if '.' in n), expanded=expanded
        )

    @property
    def only_arguments(self) -> bool:
        """Whether everything follows from arguments of the xacro file."""
        return bool(self.arguments) and not any('.' in name for name in self.formulas)

    def size(self, samples: Samples) -> int:
        """How many samples there are."""
        if samples.method == 'grid':
            return math.prod(axis.on_grid for axis in self.axes)
        return samples.count

    def sample(self, samples: Samples, start: int, count: int) -> FloatArray:
        """Numbers from 0 to 1 (count, d) of samples by their numbers, whoever draws the others."""
        d = len(self.axes)
        if samples.method == 'grid':
            shape = tuple(axis.on_grid for axis in self.axes)
            places = np.unravel_index(np.arange(start, start + count), shape)
            columns = [axis.grid(k) for axis, k in zip(self.axes, places, strict=True)]
            return np.column_stack(columns)
        engine = qmc.Halton(d, seed=samples.seed)
        engine.fast_forward(start)  # at once, unlike Sobol's
        return np.asarray(engine.random(count))

    def values(self, fractions: FloatArray) -> FloatArray:
        """Values (G, d) of the variables for numbers from 0 to 1."""
        columns = [axis.values(u) for axis, u in zip(self.axes, fractions.T, strict=True)]
        return np.column_stack(columns)

    def fractions(self, values: FloatArray) -> FloatArray:
        """Numbers from 0 to 1 (G, d) that stand for values of the variables."""
        columns = [axis.fractions(v) for axis, v in zip(self.axes, values.T, strict=True)]
        return np.column_stack(columns)

    def parameters(self, values: FloatArray) -> FloatArray:
        """Parameters (G, n_p) for values of the variables; NaN where a formula has no value."""
        variables: dict[str, Any] = {a.name: v for a, v in zip(self.axes, values.T, strict=True)}
        numbers: dict[str, Any] = dict(self.given)
        if self.expanded is not None:
            rows = [self.expanded.of(row) for row in self._arguments(values)]
            numbers |= {n: np.array([row[n] for row in rows]) for n in self.expanded.names}
        numbers |= variables
        for name, formula in self.formulas.items():
            numbers[name] = formula(numbers)
        columns = [np.broadcast_to(numbers[name], len(values)) for name in self.names]
        return np.column_stack(columns) if columns else np.zeros((len(values), 0))

    def arguments_of(self, values: FloatArray) -> dict[str, float]:
        """Arguments of the xacro file for values (d,) of the variables."""
        return self._arguments(values[None])[0] if self.arguments else {}

    def _arguments(self, values: FloatArray) -> list[dict[str, float]]:
        numbers: dict[str, Any] = {a.name: v for a, v in zip(self.axes, values.T, strict=True)}
        for name, formula in self.formulas.items():
            if '.' not in name:
                numbers[name] = formula(numbers)
        columns = {n: np.broadcast_to(f(numbers), len(values)) for n, f in self.arguments.items()}
        return [{n: float(c[g]) for n, c in columns.items()} for g in range(len(values))]

    def _probes(self) -> list[dict[str, float]]:
        """Arguments in the middle, at the ends of each variable, and at some points between."""
        d = len(self.axes)
        fractions = [np.full(d, 0.5), *np.random.default_rng(0).uniform(size=(3, d))]
        for k in range(d):
            for end in (0.0, 1.0):
                fractions.append(np.where(np.arange(d) == k, end, 0.5))
        return self._arguments(self.values(np.array(fractions)))

    @functools.cached_property
    def given_values(self) -> FloatArray | None:
        """Variables (d,) of the mechanism as it is, if they are all known."""
        variables = [axis.given for axis in self.axes]
        return None if None in variables else np.array(variables, dtype=float)


def _formula(text: float | str, name: str, quantity: Collection[str] = ()) -> Formula:
    """A formula, or a number, perhaps with a unit."""
    return Formula(in_si(text, name, quantity) if is_size(text) else text)


def _check_names(
    formulas: Mapping[str, Formula],
    arguments: Mapping[str, Formula],
    axes: Iterable[DesignAxis],
    parameters: Mapping[str, float],
) -> None:
    """Refuse parameters that do not exist, and names that nothing has said yet."""
    seen = {axis.name for axis in axes}
    for name in [*seen, *formulas]:
        if '.' in name and name not in parameters:
            raise InputError(
                f'the mechanism has no parameter {name!r}{meant(name, parameters, 0.0)}'
            )
    for name, formula in formulas.items():
        _check_formula(f'parameters.{name}', formula, seen, parameters)
        seen.add(name)
    plain = {name for name in seen if '.' not in name}
    for name, formula in arguments.items():
        _check_formula(f'xacro_arguments.{name}', formula, plain, {})


def _check_formula(
    where: str, formula: Formula, seen: set[str], parameters: Mapping[str, float]
) -> None:
    for wanted in formula.names:
        if wanted not in seen and wanted not in parameters:
            near = meant(wanted, [*seen, *parameters], 0.0)
            raise InputError(f'{where}: nothing is called {wanted!r} before it{near}')
