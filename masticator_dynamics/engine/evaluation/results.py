# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an evaluation: motions and efforts, each with its residuals.

Results are read-only views of one row of numbers written by the engine, so every result was
computed by the engine.
"""

from __future__ import annotations

import abc
import functools
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation import shown
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.errors import InputError, MasticatorError

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.loop_forces import LoopForces
    from masticator_dynamics.engine.evaluation.row_solver import RowSolver


def read_only(array: FloatArray) -> FloatArray:
    """The same array, to which nobody can write any more."""
    array.setflags(write=False)
    return array


class Evaluator(Model):
    """Interface of `Mechanism` that results and code built on them use."""

    solver: RowSolver  # computes rows of numbers

    @property
    @abc.abstractmethod
    def home(self) -> Motion:
        """The mechanism at home, at rest."""

    def largest_gap(self, q: npt.ArrayLike) -> Any:
        """Largest gap of a loop or contact, m or rad, at any tree positions (n_q,) or (N, n_q).

        Of a closure, that of its equations, see ``engine/closure_equations.py``: metres between
        points, sines between axes. A number, or (N,).
        """
        return self.solver.largest_gap(q)

    @abc.abstractmethod
    def in_ranges(self, motion: Motion | Effort) -> bool | npt.NDArray[np.bool_]:
        """Whether everything is within its range; see :attr:`Effort.in_ranges`."""

    def jacobian_actuated_from_independent(self, motion: Motion) -> FloatArray:
        """Actuated velocities per independent velocity (..., n_u, n_y)."""
        check_motion(self, motion)
        return motion.tangent[..., self.actuated_rows, :]

    def condition_number_loops(self, motion: Motion) -> float:
        """Condition number of the constraint Jacobian over the dependent joints."""
        check_motion(self, motion)
        if not self.structure.constraints:
            return 1.0
        dependent = [i for i, j in enumerate(self.tree_joints) if j not in self.independent]
        return float(np.linalg.cond(self.structure.jacobian(motion.q)[:, dependent]))


class _Answer:
    """Rows of the engine's output; leading axis (N,) for a batch, none for a single call."""

    __slots__ = ('_given', '_rows', '_slices', '_solved', 'mechanism')

    def __init__(
        self,
        mechanism: Evaluator,
        inputs: FloatArray,
        rows: FloatArray,
        slices: dict[str, slice],
    ):
        # Made read-only once, here; every field is a view of these.
        rows.setflags(write=False)
        inputs.setflags(write=False)
        self.mechanism = mechanism
        self._given = inputs
        self._rows = rows
        self._slices = slices

    def __repr__(self) -> str:
        """Coordinates and motors with their units."""
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    def _shown(self) -> shown.Shown:
        return shown.of_result(self, 'Effort' if isinstance(self, Effort) else 'Motion')

    def given(self) -> FloatArray:
        """A copy of the engine's input: y, y_dot, y_ddot, wrench (..., 3 n_y + 6).

        With ``link_wrenches`` six numbers for each moving body follow: force and torque in base
        axes, torque about the body's origin.
        """
        return self._given.copy()

    def row(self) -> FloatArray:
        """A copy of the engine's output."""
        return self._rows.copy()

    @property
    def rows(self) -> FloatArray:
        """The engine's output itself, read-only."""
        return self._rows

    def _field(self, name: str) -> FloatArray:
        return self._rows[..., self._slices[name]]

    def _of_actuated(self, name: str) -> FloatArray:
        return read_only(self._field(name)[..., self.mechanism.actuated_part])

    def _input(self, first: int, last: int) -> FloatArray:
        """Part of the engine's input, in multiples of n_y."""
        count = len(self.mechanism.independent)
        return self._given[..., first * count : last * count]

    @property
    def y(self) -> FloatArray:
        """Independent positions (..., n_y), rad or m."""
        return self._input(0, 1)

    @property
    def y_dot(self) -> FloatArray:
        """Independent velocities (..., n_y)."""
        return self._input(1, 2)

    @property
    def y_ddot(self) -> FloatArray:
        """Independent accelerations (..., n_y)."""
        return self._input(2, 3)

    @property
    def q(self) -> FloatArray:
        """Tree positions (..., n_q) in the order of ``mechanism.tree_joints``, rad or m."""
        return self._field('q')

    @property
    def v(self) -> FloatArray:
        """Tree velocities (..., n_q)."""
        return self._field('v')

    @property
    def a(self) -> FloatArray:
        """Tree accelerations (..., n_q)."""
        return self._field('a')

    @property
    def position(self) -> FloatArray:
        """Positions (..., n_u) of the actuated joints, rad or m."""
        return self._of_actuated('q')

    @property
    def velocity(self) -> FloatArray:
        """Velocities (..., n_u) of the actuated joints."""
        return self._of_actuated('v')

    @property
    def acceleration(self) -> FloatArray:
        """Accelerations (..., n_u) of the actuated joints."""
        return self._of_actuated('a')

    @property
    def tangent(self) -> FloatArray:
        """Tree velocities per independent velocity (..., n_q, n_y)."""
        joints, independent = self.mechanism.tree_joints, self.mechanism.independent
        shape = (*self._given.shape[:-1], len(joints), len(independent))
        return self._field('tangent').reshape(shape)

    @property
    def closure_residual(self) -> FloatArray:
        """Largest gap of a loop or contact (...), m."""
        return self._field('report')[..., 3]

    @property
    def in_ranges(self) -> bool | npt.NDArray[np.bool_]:
        """Whether positions and velocities of joints, sockets and, of efforts, these are in range.

        Of a batch an array (N,). Nothing is refused outside: ``Mechanism.range_violations`` tells
        which range is left, and by how much.
        """
        return self.mechanism.in_ranges(self)  # type: ignore[arg-type]


class Motion(_Answer):
    """Positions, velocities and accelerations that satisfy every loop and contact."""

    @functools.cached_property
    def condition_number_loops(self) -> float:
        """Condition number of the constraints over the dependent joints (rad and m mixed).

        ``masticator check`` and ``workspace`` scale the columns of each block to unit length first.
        """
        return self.mechanism.condition_number_loops(self)

    @functools.cached_property
    def condition_number_actuation(self) -> float:
        """Condition number of the map from independent to actuated velocities.

        As it stands, in rad and m; ``masticator check`` and ``workspace`` scale lengths first.
        """
        return float(np.linalg.cond(self.mechanism.jacobian_actuated_from_independent(self)))


class SolvedMotion(Motion):
    """A motion on the branch continuous with home, from :meth:`Mechanism.solve`.

    Generated code fills in the slots and reads them, see ``traced/python_entry.py``.
    """

    __slots__ = ('_numbers',)
    VIEW: ClassVar[str] = '_rows'
    _numbers: bytes  # input, 1, and the engine's output

    @classmethod
    def of(cls, mechanism: Evaluator, inputs: FloatArray, row: FloatArray) -> Self:
        """A motion from input and output of the engine."""
        motion = cls.__new__(cls)
        motion.mechanism = mechanism
        motion._numbers = np.concatenate([inputs, [1.0], row]).tobytes()
        motion._rows = np.frombuffer(motion._numbers)[len(inputs) + 1 :]
        return motion

    @property
    def _given(self) -> FloatArray:  # type: ignore[override]
        return np.frombuffer(self._numbers, count=self.mechanism.kernels.inputs)

    @property
    def _slices(self) -> dict[str, slice]:  # type: ignore[override]
        return self.mechanism.slices


def numbers_of(mechanism: Evaluator) -> dict[str, tuple[int, int]]:
    """Where each quantity begins in what a :class:`SolvedMotion` has, and its length."""
    first = mechanism.kernels.inputs + 1
    return {
        name: (first + where.start, where.stop - where.start)
        for name, where in mechanism.slices.items()
    }


def as_solved(mechanism: Evaluator, motion: Any) -> Any:
    """Another motion or effort of a mechanism, of one row, as generated code takes it.

    It is taken for positions and rates only: it need not be on the branch of home.
    """
    other = isinstance(motion, _Answer) and not isinstance(motion, SolvedMotion)
    if not (other and motion.mechanism is mechanism):
        return motion
    try:
        return motion._solved
    except AttributeError:
        inputs = motion._given
    if inputs.ndim > 1:
        return motion
    row = motion.rows[: mechanism.slices['tangent'].stop]
    solved = SolvedMotion.of(mechanism, inputs[: mechanism.kernels.inputs], row)
    motion._solved = solved
    return solved


class Attempts:
    """Poses of which some may have failed: which, why, and the motions of the others.

    Parameters
    ----------
    mechanism : Evaluator
    inputs, rows : array, shape (N, ...)
        Input rows and the engine's answers.

    Attributes
    ----------
    y : array, shape (N, n_y)
        The poses: independent positions.
    status : array of int, shape (N,)
        0 where the loops close, else the engine's reason (``engine/status.py``);
        :meth:`failure` turns it into an exception.
    block : array of int, shape (N,)
        The closures and contacts at fault, for :meth:`Mechanism.block_names`.
    amount : array, shape (N,)
        Size of the fault: the gap in m where a loop stays open, the sine where it is singular.
    """

    def __init__(self, mechanism: Evaluator, inputs: FloatArray, rows: FloatArray):
        self.mechanism = mechanism
        self.y = read_only(inputs[:, : len(mechanism.independent)])
        report = rows[:, mechanism.slices['report']]
        self.status: IntArray = report[:, 0].astype(np.int64)
        self.block: IntArray = report[:, 1].astype(np.int64)
        self.amount = read_only(report[:, 2].copy())
        self._given, self._rows = inputs, rows

    def __repr__(self) -> str:
        """How many close."""
        closed = np.count_nonzero(self.closed)
        return f'{len(self.y)} poses of {self.mechanism.name}, of which {closed} close'

    @property
    def closed(self) -> npt.NDArray[np.bool_]:
        """Rows (N,) whose loops close and that are neither singular nor on another branch."""
        return self.status == 0

    @functools.cached_property
    def motions(self) -> Motion:
        """The closed rows, in order, as one batch (M rows)."""
        inputs, rows = self._given[self.closed], self._rows[self.closed]
        return Motion(self.mechanism, inputs, rows, self.mechanism.slices)

    def all(self) -> Motion:
        """All rows as one batch; raises the exception for the first that failed."""
        from masticator_dynamics.engine.evaluation.failures import failure

        if not self.closed.all():
            raise failure(self.mechanism, self._rows, self._given)
        return self.motions

    def failure(self, row: int) -> MasticatorError | None:
        """The exception that :meth:`Mechanism.solve` raises for a row, or None."""
        from masticator_dynamics.engine.evaluation.failures import failure

        if self.closed[row]:
            return None
        return failure(self.mechanism, self._rows[row : row + 1], self._given[row])


class Effort(_Answer):
    """Efforts of the actuators for a motion, and the forces in contacts and loops."""

    __slots__ = ()

    def _force(self, name: str, length: int) -> FloatArray:
        """A quantity of the effort distribution; zero where there was nothing to distribute."""
        if name not in self._slices:
            return np.zeros((*self._given.shape[:-1], length))
        return self._field(name)

    @property
    def _loops(self) -> LoopForces:
        from masticator_dynamics.engine.evaluation.loop_forces import LoopForces

        return self.mechanism.made(LoopForces)

    @property
    def friction(self) -> FloatArray:
        """Part of the efforts (..., n_u) that overcomes the friction of the actuated joints."""
        return self._force('friction', len(self.mechanism.actuated))

    @property
    def contact_friction(self) -> FloatArray:
        """Friction force (..., n_contacts, 3), N, base axes, on each contact's body."""
        count = len(self.mechanism.contacts)
        flat = self._force('contact_friction', 3 * count)
        return flat.reshape((*flat.shape[:-1], count, 3))

    @property
    def optimality(self) -> FloatArray:
        """Relative slope (...) of the goal at the efforts chosen; zero at an optimum."""
        return self._force('optimality', 1)[..., 0]

    @property
    def bearing_force(self) -> FloatArray | None:
        """Force (..., n_u, 3), N, that each actuated joint transmits from parent to child link.

        In the joint's own axes: the third is the joint axis. None for the frictionless efforts of
        least norm without limits, which are computed without them; use ``joint_reaction``.
        """
        if 'bearing_force' not in self._slices:
            return None
        flat = self._field('bearing_force')
        return flat.reshape((*flat.shape[:-1], len(self.mechanism.actuated), 3))

    @property
    def shortfall(self) -> FloatArray:
        """Acceleration (..., n_y) given up to keep limits; zero where none was.

        The efforts belong to ``y_ddot - shortfall``.
        """
        return self._force('shortfall', len(self.mechanism.independent))

    @property
    def wrench(self) -> FloatArray:
        """Force and torque (..., 6) of the environment on the platform, as given."""
        first = 3 * len(self.mechanism.independent)
        return self._given[..., first : first + 6]

    @property
    def actuated(self) -> FloatArray:
        """Efforts (..., n_u) in actuated order, N m or N."""
        return self._field('effort')

    @property
    def contact(self) -> FloatArray:
        """Multipliers (..., n_contacts), N: the plane pushes the body with normal * multiplier."""
        multipliers, rows = self._field('multipliers'), self.mechanism.contact_rows
        # ``take`` copies a slice of many rows whole; for a single row indexing is slower.
        single = multipliers.ndim == 1
        return read_only(multipliers.take(rows) if single else multipliers[:, rows])

    @property
    def contact_force(self) -> FloatArray:
        """Force (..., n_contacts, 3), N, base axes, of each plane or surface on the body."""
        return read_only(self._loops.contact_forces(self.q, self.contact))

    @property
    def loop_force(self) -> FloatArray:
        """Force (..., n_closures, 3), N, base axes, of the first frame's body on the second's.

        Where :attr:`loop_force_unique` is false, it is the one of least norm.
        """
        return read_only(self._loops.forces(self.q, self._field('multipliers')))

    @property
    def loop_torque(self) -> FloatArray:
        """Torque (..., n_closures, 3), N m, that belongs to :attr:`loop_force`.

        Base axes, about the origin of the second frame.
        """
        actions = self._loops.actions(self.q, self._field('multipliers'))
        return read_only(actions[..., 3:6])

    @property
    def coupling_effort(self) -> FloatArray:
        """Effort (..., n_closures), N m or N, of each coupling on the joint that it moves.

        On the other joints of the coupling it acts with the negative slopes of their polynomials.
        0 for closures that are not couplings. Of least norm where not unique.
        """
        actions = self._loops.actions(self.q, self._field('multipliers'))
        return read_only(actions[..., 6])

    @property
    def loop_force_unique(self) -> npt.NDArray[np.bool_]:
        """Whether the motion determines the force of each closure (n_closures,).

        It does not where some equations follow from others: a planar loop may be loaded sideways,
        and how parallel rods share a load depends on how they were made. The efforts are unique.
        """
        return self._loops.unique

    @property
    def balance_residual(self) -> FloatArray:
        """Largest generalised force left unbalanced (...), N or N m."""
        return self._field('report')[..., 4]

    @property
    def joint_reaction(self) -> FloatArray:
        """Force and torque (n_q, 6) that each joint transmits, single calls only.

        From the parent link on the child link, base axes, torque about the joint's origin; its
        component along the joint axis is the actuator's effort minus the rotor's inertial load.

        Raises
        ------
        InputError
            For a batch.
        """
        from masticator_dynamics.engine.evaluation.loop_forces import joint_reactions

        if self._given.ndim > 1:
            rows = len(self._given)
            raise InputError(f'joint_reaction is of single results, this is a batch of {rows}')
        mechanism, inputs = self.mechanism, self.given()
        freedoms = len(mechanism.independent)
        inputs[2 * freedoms : 3 * freedoms] -= self.shortfall  # the motion that is actually driven
        bodies = mechanism.solver.bodies(inputs, self.q)
        friction = dict(zip(mechanism.contacts, self.contact_friction, strict=True))
        multipliers = self._field('multipliers')
        return joint_reactions(mechanism.structure, self.q, bodies, multipliers, friction)


def check_motion(mechanism: Evaluator, motion: object) -> None:
    """Refuse what is not a result, or one of another mechanism."""
    _check_result(mechanism, motion, _Answer, 'motion', 'solve or feedforward')


def check_effort(mechanism: Evaluator, effort: object) -> None:
    """The same for a result that has efforts."""
    _check_result(mechanism, effort, Effort, 'effort', 'feedforward')


def _check_result(
    mechanism: Evaluator, motion: object, kind: type[_Answer], name: str, methods: str
) -> None:
    if not isinstance(motion, kind):
        type_name = type(motion).__name__
        raise InputError(f'{name} is a {type_name}; needed is what {methods} returns')
    its = motion.mechanism
    if its is not mechanism and its.tree_joints != mechanism.tree_joints:
        raise InputError(f'the motion is of {motion.mechanism.name}, not of {mechanism.name}')
