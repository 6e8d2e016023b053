# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Judges geometries: from values of the variables to figures, in whatever process."""

from __future__ import annotations

import dataclasses
import enum
import functools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from masticator_dynamics.design.figures import Chosen
from masticator_dynamics.design.space import MOTORS, Space
from masticator_dynamics.design.states import States
from masticator_dynamics.design.twin_figures import TwinFigure, twin_of
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.parameter_batch import ParameterBatch
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.mechanism import Mechanism

_ROWS = 65_536  # geometries times states of which all quantities are in memory at once

Made = TypeVar('Made')


class DesignStatus(enum.IntEnum):
    """What became of a geometry."""

    JUDGED = 0
    IMPOSSIBLE = 1  # numbers that no mechanism can have
    OPEN_AT_HOME = 2  # a loop cannot close
    OPEN_IN_A_MOTION = 3  # a loop cannot close, or the motors lose control, in a motion
    NOT_CHEWED = 4  # the twin cannot run the experiment

    @property
    def label(self) -> str:
        """In words."""
        return self.name.lower().replace('_', ' ')


@dataclasses.dataclass(frozen=True)
class Judge:
    """What is needed to judge geometries; can be sent to other processes."""

    mechanism: Mechanism  # as it is
    space: Space
    motors: tuple[tuple[str, ...], ...]  # choices of motors; those of the mechanism if there is one
    states: States
    figures: tuple[Chosen, ...]
    experiments: tuple[TwinFigure, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all figures."""
        return (*(f.name for f in self.figures), *(f.name for f in self.experiments))

    @property
    def units(self) -> dict[str, str]:
        """SI units of the figures that the engine computes; empty for those without."""
        return {figure.name: figure.unit(self.mechanism) for figure in self.figures}

    def label(self, name: str) -> str:
        """Name of a figure, with its unit if it has one."""
        return ', '.join(filter(None, (name, self.units.get(name))))

    @property
    def columns(self) -> tuple[str, ...]:
        """Of tables: variables, status, figures, and the states in which these are worst."""
        variables = (axis.name for axis in self.space.axes)
        return (*variables, 'status', *self.names, *(f'{f.name}_state' for f in self.figures))

    def __call__(self, fractions: FloatArray) -> FloatArray:
        """Table (G, columns) for numbers (G, d) from 0 to 1; NaN where there is no figure."""
        values, at_once = self.space.values(fractions), max(_ROWS // max(len(self.states), 1), 1)
        blocks = (values[k : k + at_once] for k in range(0, len(values), at_once))
        parts = [self._row_of(v, self.space.parameters(v), self._choice(v)) for v in blocks]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.columns)))

    def given(self) -> FloatArray:
        """Row (columns,) of the mechanism as it is; NaN for variables that are not known."""
        variables = self.space.given_values
        values = np.full(len(self.space.axes), np.nan) if variables is None else variables
        parameters = self._batch(0).values[None]
        return self._row_of(values[None], parameters, np.zeros(1, dtype=int))[0]

    def mechanism_of(self, values: FloatArray) -> Mechanism:
        """The mechanism that values (d,) of the variables stand for.

        Raises
        ------
        MasticatorError
            If there is none.
        """
        numbers = self.space.parameters(values[None])[0]
        return self._changed(self._driven(int(self._choice(values[None])[0])), numbers)

    def _row_of(self, values: FloatArray, parameters: FloatArray, choice: Any) -> FloatArray:
        table = np.full((len(values), len(self.columns)), np.nan)
        d = values.shape[1]
        table[:, :d] = values
        for motors in np.unique(choice).tolist():
            rows = np.flatnonzero(choice == motors)
            table[rows, d:] = self._judged(motors, parameters[rows])
        for k, experiment in enumerate(self.experiments, start=d + 1 + len(self.figures)):
            for g in np.flatnonzero(table[:, d] == DesignStatus.JUDGED):
                try:
                    table[g, k] = experiment.of(self._changed(self._twin(choice[g]), parameters[g]))
                except MasticatorError:
                    table[g, d] = DesignStatus.NOT_CHEWED
        return table

    def _changed(self, mechanism: Mechanism, parameters: FloatArray) -> Mechanism:
        named = dict(zip(self.space.names, parameters.tolist(), strict=True))
        return mechanism.with_parameters(named) if named else mechanism

    def _judged(self, motors: int, parameters: FloatArray) -> FloatArray:
        """Status, figures and states of geometries that have the same motors."""
        batch, figures = self._batch(motors), self.figures
        count = 1 + len(self.names) + len(figures)
        table = np.full((len(parameters), count), np.nan)
        table[:, 0] = DesignStatus.JUDGED
        good = batch.possible(parameters)
        table[~good, 0] = DesignStatus.IMPOSSIBLE
        rows = np.flatnonzero(good)
        if not len(rows):
            return table
        s, must = self.states, self.states.must_close
        results = batch.quantities(
            self._quantities, parameters[rows], s.y, s.y_dot, s.y_ddot, s.wrench, needed=must
        )
        table[rows[~results.closed], 0] = DesignStatus.OPEN_AT_HOME
        open_ = results.closed & ~results.valid[:, must].all(axis=1)
        table[rows[open_], 0] = DesignStatus.OPEN_IN_A_MOTION
        sound = table[rows, 0] == DesignStatus.JUDGED
        joints = {name: k for k, name in enumerate(self.mechanism.tree_joints)}
        for k, figure in enumerate(figures, start=1):
            value, state = figure(results.values, results.valid, joints)
            table[rows, k] = np.where(sound, value, np.nan)
            at = 1 + len(self.names) + k - 1
            table[rows, at] = np.where(sound, state, -1)
        return table

    @functools.cached_property
    def _quantities(self) -> tuple[str, ...]:
        names = dict.fromkeys(f.kind.quantity for f in self.figures if f.kind.quantity)
        return tuple(names) or ('position',)

    def _choice(self, values: FloatArray) -> Any:
        names = [axis.name for axis in self.space.axes]
        if MOTORS not in names:
            return np.zeros(len(values), dtype=int)
        return values[:, names.index(MOTORS)].astype(int)

    def _driven(self, motors: int) -> Mechanism:
        return self._once(
            ('driven', motors), lambda: Mechanism(self.mechanism.description, self.motors[motors])
        )

    def _twin(self, motors: int) -> Mechanism:
        return self._once(('twin', motors), lambda: twin_of(self._driven(motors)))

    def _batch(self, motors: int) -> ParameterBatch:
        names = self.space.names
        return self._once(('batch', motors), lambda: self._driven(motors).parameter_batch(names))

    def _once(self, key: object, make: Callable[[], Made]) -> Made:
        made: dict[object, Any] = self.__dict__.setdefault('_made', {})
        if key not in made:
            made[key] = make()
        product: Made = made[key]
        return product


def judged(judge: bytes, fractions: FloatArray) -> FloatArray:
    """Table for numbers from 0 to 1, by a pickled judge: what workers are asked for."""
    return _judge(judge)(fractions)


@functools.lru_cache(maxsize=2)
def _judge(pickled: bytes) -> Judge:
    judge: Judge = pickle.loads(pickled)
    return judge
