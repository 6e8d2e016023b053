# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of many geometries in many states: parameters as arrays, nothing compiled again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.engine.status import CLOSED
from masticator_dynamics.errors import InputError
from masticator_dynamics.evaluation.model import Model
from masticator_dynamics.evaluation.other_parameters import check_value, sample_of
from masticator_dynamics.evaluation.packing import pack_rows
from masticator_dynamics.traced import kernels
from masticator_dynamics.traced.row_code import RowCode
from masticator_dynamics.traced.variable import Variable

_TOGETHER = 4096  # rows whose inputs are built at once: they stay in the caches
Bools = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class GeometryEfforts:
    """Efforts of G geometries in N states each.

    Attributes
    ----------
    closed : array of bool, shape (G,)
        Geometries that close at home.
    valid : array of bool, shape (G, N)
        States in which they close on home's branch and have efforts; elsewhere all is zero.
    actuated : array, shape (G, N, n_u)
        Efforts, N m or N.
    contact : array, shape (G, N, n_contacts)
        Multipliers, N.
    by_parameters : array, shape (G, N, n_u, n_p), or None
        Derivatives of the efforts, where they were asked for.
    """

    closed: Bools
    valid: Bools
    actuated: FloatArray
    contact: FloatArray
    by_parameters: FloatArray | None = None


@dataclasses.dataclass(frozen=True)
class GeometryPositions:
    """Actuated positions of G geometries in N poses.

    Attributes
    ----------
    valid : array of bool, shape (G, N)
        Poses in which they close on home's branch; elsewhere all is zero.
    position : array, shape (G, N, n_u)
        What the encoders of the actuated joints show, rad or m.
    by_y : array, shape (G, N, n_u, n_y)
        Derivatives by the independent positions.
    by_parameters : array, shape (G, N, n_u, n_p), or None
        Derivatives by the parameters, independent positions held, where they were asked for.
    """

    valid: Bools
    position: FloatArray
    by_y: FloatArray
    by_parameters: FloatArray | None


class ParameterBatch:
    """A mechanism with some parameters as arrays.

    Rows that fast code leaves are closed from home in as many steps as it takes.

    Attributes
    ----------
    names : tuple of str
        Of the parameters; columns of the arrays.
    values : array, shape (n_p,)
        What the mechanism itself has.
    """

    def __init__(self, mechanism: Model, names: Sequence[str]):
        root = mechanism.variable.of if mechanism.variable else mechanism
        given = dict(mechanism.variable.code_of.values) if mechanism.variable else {}
        known = naming.all_of(root.description, root.structure)
        naming.check_names(names, known, mechanism.name)
        if len(set(names)) < len(names):
            raise InputError('a parameter is named twice')
        merged = known | given
        values = {name: merged[name] for name in known if name in given or name in names}
        numeric = sample_of(root, tuple(values))
        variable = Variable(
            root.description, root.structure, numeric, values, mechanism.structure.home
        )
        self.mechanism, self.names = mechanism, tuple(names)
        self.values = np.array([values[name] for name in names])
        self._all = np.array(list(values.values()))
        self._columns = [list(values).index(name) for name in names]
        self._variable = variable
        self._kernels = kernels.Kernels(root.description, root.structure, root.driving, variable)

    # Geometries

    def constants(self, parameters: npt.ArrayLike) -> tuple[FloatArray, Bools]:
        """What machine code takes for each geometry, and which of them close at home.

        Parameters
        ----------
        parameters : array_like, shape (G, n_p)

        Raises
        ------
        InputError
            For a wrong shape, and numbers that no mechanism can have, naming row and parameter.
        """
        values = as_floats(parameters, 'parameters')
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise InputError(
                f'parameters have shape {values.shape}, needed is (G, {len(self.names)})'
            )
        self._check(values)
        whole = np.tile(self._all, (len(values), 1))
        whole[:, self._columns] = values
        variable = self._variable
        start = np.tile(variable.home[variable.dependent], (len(values), 1))
        given = np.zeros((len(values), self._kernels.inputs))
        given[:, : self._kernels.freedoms] = self._home(whole)
        found = self._called(self._kernels.positions, np.hstack([given, whole, start]))
        closed = found[:, 0] == 1.0
        homes = found[:, 1:]
        for g in np.flatnonzero(~closed):
            row = self._kernels.from_home.of_complete(np.hstack([given[g], whole[g], start[g]]))
            closed[g] = row[0] == 1.0 and row[1] == CLOSED
            homes[g] = row[1:][self.mechanism.slices['q']]
        homes = np.where(closed[:, None], homes[:, variable.dependent], start)
        return np.hstack([whole, homes]), closed

    def _home(self, whole: FloatArray) -> FloatArray:
        """Independent positions at home (G, n_y): where encoders show it."""
        rows, names = self.mechanism.independent_rows, self._variable.names
        home = np.tile(self._variable.structure.home[rows], (len(whole), 1))
        for k, joint in enumerate(self.mechanism.independent):
            if f'{joint}.zero' in names:
                home[:, k] -= whole[:, names.index(f'{joint}.zero')]
        return home

    def _check(self, values: FloatArray) -> None:
        wrong = np.argwhere(~np.isfinite(values))
        for name, column in zip(self.names, values.T, strict=True):
            if len(column) and not len(wrong):
                g = int(np.argmin(column))
                check_value(f'parameters, row {g + 1}: {name}', column[g])
        if len(wrong):
            g, k = wrong[0]
            raise InputError(f'parameters, row {g + 1}: {self.names[k]} is {values[g, k]}')
        bodies = {n.rpartition('.')[0] for n in self.names if n.rpartition('.')[2] in _INERTIAL}
        of = self._variable
        for g in range(len(values) if bodies & set(naming.bodies_with_mass(of.structure)) else 0):
            row = dict(zip(self.names, values[g], strict=True))
            try:
                naming.with_inertia(of.description, of.structure, dict(of.values) | row)
            except InputError as error:
                raise InputError(f'parameters, row {g + 1}: {error}') from None

    def positions(
        self, parameters: npt.ArrayLike, Y: npt.ArrayLike, *, derivatives: bool = True
    ) -> GeometryPositions:
        """Actuated positions of all geometries in all poses, with exact derivatives.

        Parameters
        ----------
        parameters : array_like, shape (G, n_p)
            In the order of ``names``.
        Y : array_like, shape (N, n_y)
            Independent positions, rad or m.
        derivatives : bool
            Derivatives by the parameters, too.
        """
        of = self._kernels
        constants, closed = self.constants(parameters)
        given = pack_rows(of.freedoms, Y, None, None, None)
        if not np.isfinite(given).all():
            raise InputError('a pose is not finite')
        code = of.position_derivatives(self._inputs if derivatives else ())
        table = np.zeros((len(constants), len(given), code.outputs))
        for part in self._parts(len(constants), len(given)):
            table[part] = self._rows(code, given, constants[part], closed[part])
        valid = table[..., 0] != 0.0
        found = np.where(valid[..., None], table[..., 1:], 0.0)
        ends = np.cumsum([of.actuators, of.actuators * of.freedoms])
        position, by_y, by_parameters = np.split(found, ends, axis=-1)
        shape = (*valid.shape, of.actuators)
        return GeometryPositions(
            valid,
            position,
            by_y.reshape(*shape, of.freedoms),
            by_parameters.reshape(*shape, len(self.names)) if derivatives else None,
        )

    # Efforts

    def feedforward(
        self,
        parameters: npt.ArrayLike,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
        W: npt.ArrayLike | None = None,
        *,
        derivatives: bool = False,
    ) -> GeometryEfforts:
        """Efforts of least norm of all geometries in all states.

        Parameters
        ----------
        parameters : array_like, shape (G, n_p)
            In the order of ``names``.
        Y, Y_dot, Y_ddot, W : array_like, shape (N, ...)
            As for :meth:`Mechanism.feedforward_batch`.
        derivatives : bool
            Derivatives by the parameters, too.
        """
        of = self._kernels
        constants, closed = self.constants(parameters)
        given = pack_rows(of.freedoms, Y, Y_dot, Y_ddot, W)
        if not np.isfinite(given).all():
            raise InputError('a state is not finite')
        shape = len(constants), len(given)
        code = of.parameter_derivatives(self._inputs) if derivatives else of.evaluate
        first = 1 if derivatives else kernels.EFFORT
        width = of.actuators * (1 + len(self.names) * derivatives)
        valid = np.zeros(shape, dtype=bool)
        actuated = np.zeros((*shape, width))
        contact = np.zeros((*shape, len(self.mechanism.contacts)))
        for part in self._parts(len(constants), len(given)):
            found = self._rows(code, given, constants[part], closed[part])
            valid[part] = found[..., 0] != 0.0
            keep = valid[part][..., None]
            actuated[part] = np.where(keep, found[..., first : first + width], 0.0)
            if not derivatives:
                multipliers = found[..., first + width :][..., self.mechanism.contact_rows]
                contact[part] = np.where(keep, multipliers, 0.0)
        slopes = actuated[..., of.actuators :].reshape(*shape, of.actuators, -1)
        return GeometryEfforts(
            closed, valid, actuated[..., : of.actuators], contact, slopes if derivatives else None
        )

    def gradient(
        self, weights: npt.ArrayLike, parameters: npt.ArrayLike, *states: npt.ArrayLike
    ) -> tuple[FloatArray, Bools]:
        """Derivatives of a weighted sum of efforts by all parameters, in one reverse sweep.

        Of any objective, if the weights are its derivatives by the efforts.

        Parameters
        ----------
        weights : array_like, shape (G, N, n_u)
        parameters, states
            As for :meth:`feedforward`.

        Returns
        -------
        gradient : array, shape (G, N, n_p)
        valid : array of bool, shape (G, N)
            Elsewhere the gradient is zero.
        """
        of = self._kernels
        constants, closed = self.constants(parameters)
        given = pack_rows(of.freedoms, *states, *[None] * (4 - len(states)))
        weights = as_floats(weights, 'weights')
        shape = len(constants), len(given)
        if weights.shape != (*shape, of.actuators):
            raise InputError(f'weights have shape {weights.shape}, needed {(*shape, of.actuators)}')
        code, found = of.parameter_gradient(self._inputs), []
        for part in self._parts(*shape):
            found.append(self._rows(code, given, constants[part], closed[part], weights[part]))
        table = np.concatenate(found) if found else np.zeros((*shape, 1 + len(self.names)))
        valid = table[..., 0] == 1.0
        return np.where(valid[..., None], table[..., 1:], 0.0), valid

    @property
    def _inputs(self) -> tuple[int, ...]:
        """Parameters by their places among the constants."""
        return tuple(self._columns)

    @staticmethod
    def _parts(geometries: int, states: int) -> list[slice]:
        count = max(_TOGETHER // max(states, 1), 1)
        return [slice(first, first + count) for first in range(0, geometries, count)]

    def _rows(
        self,
        code: RowCode,
        given: FloatArray,
        constants: FloatArray,
        closed: Bools,
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Outputs (G, N, outputs) for some geometries in all states."""
        extra = 0 if weights is None else weights.shape[-1]
        n = given.shape[1]
        rows = np.empty((len(constants), len(given), n + extra + constants.shape[1]))
        rows[..., :n] = given
        if weights is not None:
            rows[..., n : n + extra] = weights
        rows[..., n + extra :] = constants[:, None]
        flat = rows.reshape(-1, rows.shape[-1])
        found = np.asarray(self._called(code, flat))
        left = np.flatnonzero((found[:, 0] == 0.0) & np.repeat(closed, len(given)))
        for i in left:
            found[i] = self._from_home(code, flat[i], n, extra)
        found[~np.repeat(closed, len(given)), 0] = 0.0
        return found.reshape(len(constants), len(given), -1)

    def _from_home(self, code: RowCode, row: FloatArray, n: int, extra: int) -> FloatArray:
        """The same for a row whose loops are closed in as many steps as it takes."""
        nothing = np.zeros(code.outputs)
        constants = row[n + extra :]
        motion = self._kernels.from_home.of_complete(np.concatenate([row[:n], constants]))
        if motion[0] != 1.0 or motion[1] != CLOSED:
            return nothing
        q = motion[1:][self.mechanism.slices['q']]
        parts = [row[:n], q, row[n : n + extra], constants]
        found = self._at_positions(code).of_complete(np.concatenate(parts))
        return found if found[0] != 0.0 and np.isfinite(found).all() else nothing

    def _at_positions(self, code: RowCode) -> RowCode:
        of = self._kernels
        if code is of.evaluate:
            return of.evaluate.at_positions
        if code.kind.startswith('positions'):
            places = self._inputs if code is of.position_derivatives(self._inputs) else ()
            return of.position_derivatives(places, at_positions=True)
        if code.kind.startswith('gradient'):
            return of.parameter_gradient(self._inputs, at_positions=True)
        return of.parameter_derivatives(self._inputs, at_positions=True)

    @staticmethod
    def _called(code: RowCode, rows: FloatArray) -> FloatArray:
        return code.of_complete(rows)


_INERTIAL = naming.INERTIAL
