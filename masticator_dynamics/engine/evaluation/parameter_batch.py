# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many geometries in many states: parameters as arrays, nothing compiled again."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.arrays import FloatArray, IntArray, as_floats, as_names, consecutive
from masticator_dynamics.engine.evaluation.inertia_coupling import check_rods, limbs_of, rods_of
from masticator_dynamics.engine.evaluation.model import OnDemand
from masticator_dynamics.engine.evaluation.packing import pack_state
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.evaluation.with_parameters import (
    check_value,
    in_bounds,
    variation_of,
)
from masticator_dynamics.engine.status import CLOSED, NOT_ACTUATED, OUT_OF_REACH, OVERFLOW
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.design_quantities import (
    FIRST,
    NEED_LIMBS,
    quantities_code,
    shapes,
)
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.variable import Variable
from masticator_dynamics.errors import InputError

_Codes = OnDemand[bool, RowCode]  # of a row, and at given positions
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


@dataclasses.dataclass(frozen=True)
class GeometryQuantities:
    """Quantities of G geometries in N states each, ``found[name]`` by name.

    Attributes
    ----------
    closed : array of bool, shape (G,)
        Geometries that close at home.
    valid : array of bool, shape (G, N)
        States in which they close on home's branch and the motors control them; elsewhere all
        quantities are zero.
    status : array of int, shape (G, N)
        Why others are not valid, as in ``engine/status.py``: 1 a loop stays open, 2 it is singular,
        3 another branch is reached, 5 the motors lose control; 0 where valid.
    closure_residual : array, shape (G, N)
        Largest gap of a loop or contact, m; zero where not valid.
    values : dict of str to array
        Quantities by name, (G, N, ...).
    """

    closed: Bools
    valid: Bools
    status: IntArray
    closure_residual: FloatArray
    values: dict[str, FloatArray]

    def __getitem__(self, name: str) -> FloatArray:
        """One of the quantities."""
        return self.values[name]


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

    def __init__(self, mechanism: Evaluator, names: Sequence[str]):
        root = mechanism.variable.of if mechanism.variable else mechanism
        changes = dict(mechanism.variable.code_of.values) if mechanism.variable else {}
        parameters = naming.all_of(root.description, root.structure)
        naming.check_names(names, parameters, mechanism.name)
        if len(set(names)) < len(names):
            raise InputError('a parameter is named twice')
        merged = parameters | changes
        values = {name: merged[name] for name in parameters if name in changes or name in names}
        variable = Variable(variation_of(root, tuple(values)), values, mechanism.home_positions)
        self.mechanism, self.names = mechanism, tuple(names)
        self.values = np.array([values[name] for name in names])
        self._all = np.array(list(values.values()))
        self._columns = [list(values).index(name) for name in names]
        self._variable = variable
        self._codes = OnDemand(self._codes_of)
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
        values = self._table(parameters)
        self._check(values)
        whole = np.tile(self._all, (len(values), 1))
        whole[:, self._columns] = values
        variable = self._variable
        start = np.tile(variable.home[variable.of.dependent], (len(values), 1))
        inputs = np.zeros((len(values), self._kernels.inputs))
        inputs[:, : self._kernels.freedoms] = self._home(whole)
        outputs = self._kernels.positions.of_complete(np.hstack([inputs, whole, start]))
        closed = outputs[:, 0] == 1.0
        homes = outputs[:, 1:]
        for g in np.flatnonzero(~closed):
            row = self._kernels.from_home.of_complete(np.hstack([inputs[g], whole[g], start[g]]))
            closed[g] = row[0] == 1.0 and row[1] == CLOSED
            homes[g] = row[1:][self.mechanism.slices['q']]
        homes = np.where(closed[:, None], homes[:, variable.of.dependent], start)
        return np.hstack([whole, homes]), closed

    def _home(self, whole: FloatArray) -> FloatArray:
        """Independent positions at home (G, n_y): where encoders show it."""
        rows, of = self.mechanism.independent_rows, self._variable.of
        names, structure = of.names, of.structure
        home = np.tile(structure.home[rows], (len(whole), 1))
        for k, joint in enumerate(self.mechanism.independent):
            if f'{joint}.zero' in names:
                home[:, k] -= whole[:, names.index(f'{joint}.zero')]
        return home

    def possible(self, parameters: npt.ArrayLike) -> Bools:
        """Rows (G,) that a mechanism can have: finite, nothing negative that must not be.

        Parameters
        ----------
        parameters : array_like, shape (G, n_p)
        """
        values = self._table(parameters)
        good: Bools = np.asarray(np.isfinite(values).all(axis=1))
        for k, name in enumerate(self.names):
            if not in_bounds(name, -1.0):  # it has bounds
                good = good & in_bounds(name, values[:, k])
        rows = np.flatnonzero(good)
        for usual, columns in self._bodies:
            numbers = np.tile(usual, (len(rows), 1))
            numbers[:, list(columns)] = values[rows][:, list(columns.values())]
            good[rows] &= naming.consistent(numbers)
        return good

    @functools.cached_property
    def _bodies(self) -> list[tuple[FloatArray, dict[int, int]]]:
        """Of bodies of which moments of mass are parameters: the ten, and their columns."""
        of, names = self._variable.of, list(self.names)
        moments, bodies = naming.inertial(of.structure) | dict(self._variable.values), []
        for link in naming.bodies_with_mass(of.structure):
            keys = [f'{link}.{part}' for part in naming.INERTIAL]
            columns = {k: names.index(key) for k, key in enumerate(keys) if key in names}
            if columns:
                bodies.append((np.array([moments[key] for key in keys]), columns))
        return bodies

    def _table(self, parameters: npt.ArrayLike) -> FloatArray:
        values = as_floats(parameters, 'parameters')
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise InputError(
                f'parameters have shape {values.shape}, needed is (G, {len(self.names)})'
            )
        return values

    def _check(self, values: FloatArray) -> None:
        """Refuse rows that no mechanism can have, with the reason of the first."""
        wrong = np.flatnonzero(~self.possible(values))
        if not len(wrong):
            return
        of, g = self._variable.of, int(wrong[0])
        row = dict(zip(self.names, values[g].tolist(), strict=True))
        for name, value in row.items():
            check_value(f'parameters, row {g + 1}: {name}', value)
        try:
            naming.with_inertia(of.description, of.structure, dict(self._variable.values) | row)
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
        places = tuple(self._columns) if derivatives else ()
        code = _Codes(lambda at: of.position_derivatives(places, at))
        table = self._table_of(code, *self.constants(parameters), self._given(Y, None, None, None))
        valid = table[..., 0] != 0.0
        table = np.where(valid[..., None], table[..., 1:], 0.0)
        ends = np.cumsum([of.actuators, of.actuators * of.freedoms])
        position, by_y, by_parameters = np.split(table, ends, axis=-1)
        shape = (*valid.shape, of.actuators)
        return GeometryPositions(
            valid,
            position,
            by_y.reshape(*shape, of.freedoms),
            by_parameters.reshape(*shape, len(self.names)) if derivatives else None,
        )

    # Quantities

    def quantities(
        self,
        names: Sequence[str],
        parameters: npt.ArrayLike,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
        W: npt.ArrayLike | None = None,
        *,
        needed: npt.ArrayLike = False,
    ) -> GeometryQuantities:
        """What designs are judged by, of all geometries in all states.

        Code is compiled once per set of parameters and choice of quantities, and kept on disk.

        Parameters
        ----------
        names : sequence of str
            Any of ``actuated`` (n_u) efforts of least norm, N m or N; ``power`` (n_u) of the
            motors, W; ``contact`` (n_contacts) multipliers, N; ``joint_force`` (n, 3) that each of
            the description's ``force_joints`` transmits to its child, N, base axes;
            ``bearing_force`` (n_u, 3) the same of the actuated joints, in the joint's axes;
            ``loop_force`` (n_closures, 3) on the second frame's body, N, base axes; ``position``
            and ``velocity`` (n_u) of the actuated joints; ``q`` (n_q) tree positions; ``jacobian``
            (n_u, n_y), velocities of actuated joints per independent velocity, and ``condition``,
            its condition number; ``mass`` (n_y, n_y) in independent coordinates;
            ``actuated_inertia`` (n_u, n_u) M_A, its diagonal ``load_inertia`` (n_u), kg m^2 or kg,
            and ``inertia_coupling`` (n_u), the index MCI.
        parameters : array_like, shape (G, n_p)
            In the order of the batch's ``names``.
        Y, Y_dot, Y_ddot, W : array_like, shape (N, ...)
            As for :meth:`Mechanism.feedforward_batch`.
        needed : array_like of bool, shape (N,)
            States without which a geometry is of no use: once one of them has failed, the others,
            each of which takes as long as hundreds that close, are not followed from home.

        Raises
        ------
        InputError
            For an unknown quantity, a wrong shape, and numbers that no mechanism can have.
        ActuationError
            As for :func:`actuated_inertia`, for its quantities.
        """
        of = self._kernels
        sizes = shapes(of)
        self._check_quantities(names, sizes)
        constants, closed = self.constants(parameters)
        inputs = self._given(Y, Y_dot, Y_ddot, W)
        code = self._codes[tuple(names)]
        shape = len(constants), len(inputs)
        quantities = {name: np.zeros((*shape, *sizes[name])) for name in names}
        valid, status = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
        gaps = np.zeros(shape)
        places = consecutive({name: math.prod(sizes[name]) for name in names})
        for part in self._parts(*shape):
            table, status[part] = self._rows(
                code, inputs, constants[part], closed[part], needed=needed
            )
            valid[part], gaps[part] = table[..., 0] != 0.0, table[..., 1]
            self._check_rods(table[..., 2], valid[part], part.start)
            for name in names:
                numbers = table[..., FIRST:][..., places[name]]
                quantities[name][part] = numbers.reshape(quantities[name][part].shape)
        if 'inertia_coupling' in quantities:
            quantities['inertia_coupling'] = np.log1p(quantities['inertia_coupling'])
        return GeometryQuantities(closed, valid, status, gaps, quantities)

    def _codes_of(self, names: tuple[str, ...]) -> _Codes:
        limbs = limbs_of(self.mechanism) if {*names} & {*NEED_LIMBS} else []
        return _Codes(lambda at: quantities_code(self._kernels, names, limbs, at))

    def _check_rods(self, faults: FloatArray, valid: Bools, first: int) -> None:
        wrong = np.argwhere(valid & (faults >= 0.0))
        if len(wrong):
            rods = rods_of(self.mechanism, limbs_of(self.mechanism))
            where = f'parameters, row {first + wrong[0][0] + 1}: '
            check_rods(rods, faults[tuple(wrong[0])], where)

    def _check_quantities(self, names: Sequence[str], existing: Mapping[str, object]) -> None:
        for name in as_names(names, 'quantities'):
            if name not in existing:
                raise InputError(f'no quantity {name!r}; there are: {", ".join(existing)}')
        if len(set(names)) < len(names):
            raise InputError('a quantity is named twice')
        if 'loop_force' in names and not self.mechanism.structure.least_norm:
            raise InputError(
                f'{self.mechanism.name} has closures whose forces are not unique; loop_force of '
                'single calls gives those of least norm'
            )

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
        states = Y, Y_dot, Y_ddot, W
        results = self.quantities(('actuated', 'contact'), parameters, *states)
        slopes = None
        if derivatives:
            of, places = self._kernels, tuple(self._columns)
            code = _Codes(lambda at: of.parameter_derivatives(places, at))
            table = self._table_of(code, *self.constants(parameters), self._given(*states))
            shape = *table.shape[:2], of.actuators, len(places)
            slopes = table[..., 1 + of.actuators :].reshape(shape)
        return GeometryEfforts(
            results.closed, results.valid, results['actuated'], results['contact'], slopes
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
        of, places = self._kernels, tuple(self._columns)
        constants, closed = self.constants(parameters)
        inputs = self._given(*states, *[None] * (4 - len(states)))
        weights = as_floats(weights, 'weights')
        shape = len(constants), len(inputs)
        if weights.shape != (*shape, of.actuators):
            raise InputError(f'weights have shape {weights.shape}, needed {(*shape, of.actuators)}')
        if not np.isfinite(weights).all():
            raise InputError('a weight is not finite')
        code = _Codes(lambda at: of.parameter_gradient(places, at))
        table = self._table_of(code, constants, closed, inputs, weights)
        return table[..., 1:], table[..., 0] == 1.0

    # Rows

    def _given(self, *states: Any) -> FloatArray:
        inputs = pack_state(self._kernels.freedoms, *states, many=True)
        if not np.isfinite(inputs).all():
            raise InputError('a state is not finite')
        return inputs

    @staticmethod
    def _parts(geometries: int, states: int) -> list[slice]:
        count = max(_TOGETHER // max(states, 1), 1)
        return [slice(first, first + count) for first in range(0, geometries, count)]

    def _table_of(
        self,
        code: _Codes,
        constants: FloatArray,
        closed: Bools,
        inputs: FloatArray,
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Outputs (G, N, outputs) for all geometries in all states; else zeros."""
        table = np.zeros((len(constants), len(inputs), code[False].outputs))
        for part in self._parts(len(constants), len(inputs)):
            extra = None if weights is None else weights[part]
            table[part], _ = self._rows(code, inputs, constants[part], closed[part], extra)
        return table

    def _rows(
        self,
        code: _Codes,
        inputs: FloatArray,
        constants: FloatArray,
        closed: Bools,
        weights: FloatArray | None = None,
        needed: npt.ArrayLike = False,
    ) -> tuple[FloatArray, IntArray]:
        """Outputs (G, N, outputs) for some geometries in all states, and status; else zeros."""
        rows = inputs
        if weights is not None:
            of_all = np.broadcast_to(inputs, (*weights.shape[:2], inputs.shape[1]))
            rows = np.concatenate([of_all, weights], axis=-1)
        outputs = code[False].of_tables(rows, constants)
        status = np.zeros(outputs.shape[:2], dtype=np.int64)
        status[~closed], outputs[~closed] = OUT_OF_REACH, 0.0
        refused = np.argwhere((outputs[..., 0] == 0.0) & closed[:, None])
        must = np.broadcast_to(needed, len(inputs))[refused[:, 1]]

        def follow(g: IntArray, n: IntArray) -> None:
            extra = weights[g, n] if weights is not None else np.zeros((len(g), 0))
            outputs[g, n], status[g, n] = self._from_home(code, inputs[n], extra, constants[g])

        follow(*refused[~must].T)
        lost: dict[int, int] = {}
        for g, n in refused[must]:
            if g in lost:
                outputs[g, n], status[g, n] = 0.0, lost[g]
                continue
            follow(*np.array([[g], [n]]))
            if status[g, n]:
                lost[g] = status[g, n]
        return outputs, status

    def _from_home(
        self, code: _Codes, of_rows: FloatArray, extra: FloatArray, constants: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """The same for rows (K, ...) whose loops are closed in as many steps as it takes."""
        outputs = np.zeros((len(of_rows), code[False].outputs))
        if not len(of_rows):
            return outputs, np.zeros(0, dtype=np.int64)
        of_home = self._kernels.from_home
        motions = of_home.complete_one_by_one(np.hstack([of_rows, constants]))
        status = np.where(motions[:, 0] == 1.0, motions[:, 1], OVERFLOW).astype(np.int64)
        rows = np.flatnonzero(status == CLOSED)
        q = motions[rows, 1:][:, self.mechanism.slices['q']]
        inputs = np.hstack([of_rows[rows], q, extra[rows], constants[rows]])
        answers = code[True].complete_one_by_one(inputs)
        wrong = (answers[:, 0] == 0.0) | ~np.isfinite(answers).all(axis=1)
        status[rows[wrong]] = NOT_ACTUATED
        outputs[rows] = np.where(wrong[:, None], 0.0, answers)
        return outputs, status
