# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of one mechanism, made when first asked for, and the rows that go through it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.traced import object_cache, python_entry
from masticator_dynamics.traced.distribution import Distribution
from masticator_dynamics.traced.evaluation import Evaluation
from masticator_dynamics.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.traced.llvm_ir import row_function, rows_function
from masticator_dynamics.traced.machine_code import (
    Library,
    generator_version,
    object_code,
    this_processor,
)
from masticator_dynamics.traced.numbers import Graph, Scalar, TooLargeError

MOST_OPERATIONS = 60_000  # unrolled; compiling grows faster than this
Outputs = Callable[[InverseDynamics], list[Scalar]]
COUNTS, CLOSURE, BALANCE, EFFORT = 0, 1, 2, 3  # first columns of what is told


class Kernels:
    """What is computed for a mechanism by machine code of its own.

    Asked are y, y_dot, y_ddot and wrench, and with ``loads`` wrenches on all bodies (see
    ``engine.dynamics.tree_load``); rows that are longer than asked go to code of that kind. Told
    is 1 where it counts and 0 where the engine has to look, then closure residual, balance
    residual, efforts and multipliers.

    Parameters
    ----------
    driving : sequence of str
        Powered actuators.
    loads : bool
        Wrenches on all bodies.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        driving: Sequence[str],
        loads: bool = False,
    ):
        self._description, self._structure = description, structure
        self._driving = tuple(driving)
        self.freedoms, self.actuators = len(description.independent), len(description.actuated)
        self.rows = sum(c.size for c in structure.constraints)
        self.told = EFFORT + self.actuators + self.rows
        self.tree = len(structure.tree.joints)
        self._loads = loads
        self.asked = 3 * self.freedoms + 6 + (6 * self.tree if loads else 0)

    reason = ''  # why there is no machine code

    @functools.cached_property
    def available(self) -> bool:
        """Whether there is machine code for this mechanism; else the engine serves it alone."""
        if not (self.freedoms and self.actuators):
            self.reason = 'it has no freedoms, or no actuators'
            return False
        try:
            _ = self.evaluate.row
        except TooLargeError as error:
            self.reason = str(error)
            return False
        return True

    def entry(
        self, result: type, mechanism: object, otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """The generated function for Python; see :mod:`masticator_dynamics.traced.python_entry`.

        None where there is no machine code, or no entry on this platform.
        """
        if not self.available or not python_entry.supported():
            return None
        row, sizes = self.evaluate.row, (self.freedoms, self.actuators)
        address = row.address('entry')
        return python_entry.callable_entry(address, row, result, mechanism, otherwise, sizes)

    @functools.cached_property
    def loaded(self) -> Kernels:
        """The same with wrenches on all bodies."""
        return Kernels(self._description, self._structure, self._driving, True)

    @functools.cached_property
    def evaluate(self) -> Code:
        """What is told (..., told) of what is asked, one row or many (..., asked)."""
        return Code(self, 'row', told, self.told, self._entry_text)

    @functools.cached_property
    def everything(self) -> Code:
        """Whether it counts, then a row of the engine (``engine/layout.py``)."""
        tree, freedoms = self.tree, self.freedoms
        width = 5 + 3 * tree + 4 * self.actuators + self.rows + tree * freedoms
        return Code(self, 'whole row', whole, 1 + width)

    def distribution(self, goals: Mapping[str, float], friction: bool) -> Code:
        """Likewise with the best efforts for a goal, and the numbers that ``Effort`` has of it."""
        kind = f'{sorted(goals.items())}, friction {friction}'
        width = 1 + 4 * self.actuators + 3 * len(self._description.contacts) + self.freedoms
        outputs = functools.partial(distributed, goals, friction)
        return Code(self, kind, outputs, self.everything.told + width)

    # Machine code

    def _entry_text(self) -> str:
        if self._loads:
            return ''
        return python_entry.entry_function(
            'entry', 'row', self.freedoms, self.actuators, self.told, EFFORT
        )

    def library(self, kind: str, text: Callable[[], str]) -> Library:
        """Machine code for a text, made where it is not in its file."""
        python_entry.declare_functions()
        return library(kind, text, self._identity)

    @functools.cached_property
    def _identity(self) -> list[Any]:
        """All that the machine code depends on."""
        of_mechanism = identity(self._description, self._structure)
        return [*of_mechanism, self._driving, self._loads]

    def graph(self, share: bool, outputs: Outputs) -> tuple[Graph, list[Scalar]]:
        """A recording and what is wanted of it; ``share`` puts limbs alike into lanes."""
        graph = Graph(MOST_OPERATIONS)
        given = graph.inputs(self.asked)
        run = InverseDynamics(
            self._description, self._structure, given, self._driving, share and not self._loads
        )
        return graph, outputs(run)


def identity(description: MechanismDescription, structure: Structure) -> list[Any]:
    """All of a mechanism that machine code depends on."""
    d, s = description, structure
    return [
        object_cache.SOURCES, s.tree, s.constraints, s.blocks, s.stages, s.home,
        d.gravity, d.platform, d.independent, d.actuated, d.actuators, d.contacts,
        d.force_joints, d.joints,
    ]  # fmt: skip


def library(kind: str, text: Callable[[], str], depends_on: list[Any]) -> Library:
    """Machine code for a text, made where it is not in its file."""
    processor = this_processor()
    key = object_cache.key_of(kind, generator_version(), processor, depends_on)
    return Library(object_cache.cached(key, lambda: object_code(text(), processor)))


class Code:
    """One function of a row, as machine code for one row and for many, made when first called.

    Parameters
    ----------
    kind : str
        Tells it apart from others of the mechanism.
    outputs : callable
        What is wanted of an evaluation: ``told`` numbers.
    further : callable, optional
        Functions that go with that of one row, in LLVM's language.
    """

    def __init__(
        self,
        kernels: Kernels,
        kind: str,
        outputs: Outputs,
        told: int,
        further: Callable[[], str] = str,
    ):
        self._kernels, self._kind, self._outputs = kernels, kind, outputs
        self.told, self._further = told, further

    @functools.cached_property
    def row(self) -> Library:
        """For one row, limbs alike in lanes."""

        def text() -> str:
            graph, outputs = self._recorded(True)
            return row_function(graph, outputs, 'row') + self._further()

        return self._kernels.library(self._kind, text)

    @functools.cached_property
    def rows(self) -> Library | None:
        """For many, rows in lanes; None where they are too large without limbs in lanes."""

        def text() -> str:
            graph, outputs = self._recorded(False)
            width = this_processor().rows
            return rows_function(graph, outputs, 'rows', width, self._kernels.asked)

        try:
            return self._kernels.library(f'{self._kind}, many', text)
        except TooLargeError:
            return None

    def covers(self, given: FloatArray) -> bool:
        """Whether there is machine code for such rows."""
        longer = given.shape[-1] > self._kernels.asked
        return self.loaded.covers(given) if longer else self._available

    @functools.cached_property
    def _available(self) -> bool:
        try:
            return self._kernels.available and bool(self.row)
        except TooLargeError:
            return False

    @functools.cached_property
    def loaded(self) -> Code:
        """The same with wrenches on all bodies."""
        return Code(self._kernels.loaded, self._kind, self._outputs, self.told)

    def _recorded(self, share: bool) -> tuple[Graph, list[Scalar]]:
        graph, outputs = self._kernels.graph(share, self._outputs)
        # The code writes as many numbers as these into memory for ``told``.
        assert len(outputs) == self.told, (self._kind, len(outputs), self.told)
        return graph, outputs

    def __call__(self, given: FloatArray) -> FloatArray:
        """One row by itself; many side by side, a last group filled up with its last row."""
        if given.shape[-1] > self._kernels.asked:
            return self.loaded(given)
        given = np.ascontiguousarray(given)
        out = np.empty((*given.shape[:-1], self.told))
        if given.ndim == 1:
            self.row.row(address(given), address(out))
            return out
        if self.rows is None:
            for one, answer in zip(given, out, strict=True):
                self.row.row(address(one), address(answer))
            return out
        width = this_processor().rows
        function, rest = self.rows.rows, len(given) % width
        function(len(given) - rest, address(given), address(out))
        if rest:
            group = np.repeat(given[-1:], width, axis=0)
            group[:rest] = given[-rest:]
            last = np.empty((width, self.told))
            function(width, address(group), address(last))
            out[-rest:] = last[:rest]
        return out


def address(array: FloatArray) -> int:
    """Of an array's data; ``array.ctypes.data`` takes longer than a row does."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # read-only, or no rows
        return int(array.ctypes.data)


def told(run: InverseDynamics) -> list[Scalar]:
    """What :attr:`Kernels.evaluate` tells of a row."""
    return [
        run.counts(), run.closure_residual(), run.balance_residual(),
        *run.efforts(), *run.multipliers(),
    ]  # fmt: skip


def whole(run: Evaluation, forces: Any = None) -> list[Scalar]:
    """What :attr:`Kernels.everything` tells: whether it counts, then ``engine.layout.Answer``."""
    q, v, a = run.positions(), run.velocities(), run.accelerations()
    forces = forces or run
    report = [0.0, -1.0, 0.0, run.closure_residual(), forces.balance_residual()]
    actuated = [[part[j] for j in run.plan.actuated] for part in (q, v, a)]
    return [
        run.counts(), *report, *q, *v, *a, *(x for part in actuated for x in part),
        *forces.efforts(), *forces.multipliers(), *run.tangent(),
    ]  # fmt: skip


def distributed(goals: Mapping[str, float], friction: bool, run: InverseDynamics) -> list[Scalar]:
    """What :meth:`Kernels.distribution` tells: as ``actuation/distribute.py`` has it."""
    best = Distribution(run, goals, friction)
    return [
        *whole(run, best), best.optimality, *best.joint_friction(), *best.contact_friction(),
        *best.bearing_force(), *[0.0] * len(run.plan.independent),
    ]  # fmt: skip
