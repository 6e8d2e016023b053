# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of one mechanism, made when first asked for, and the rows that go through it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.traced import object_cache, python_entry
from masticator_dynamics.traced.inverse_dynamics import InverseDynamics, covered
from masticator_dynamics.traced.llvm_ir import row_function, rows_function
from masticator_dynamics.traced.machine_code import (
    Library,
    generator_version,
    object_code,
    this_processor,
)
from masticator_dynamics.traced.numbers import Graph, Scalar, TooLargeError

MOST_OPERATIONS = 60_000  # unrolled; compiling grows faster than this
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
        if not (self.freedoms and self.actuators and covered(self._structure)):
            self.reason = 'it has constraints, or lacks freedoms or actuators, that code is made of'
            return False
        try:
            _ = self._row
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
        row, sizes = self._row, (self.freedoms, self.actuators)
        address = row.address('entry')
        return python_entry.callable_entry(address, row, result, mechanism, otherwise, sizes)

    @functools.cached_property
    def loaded(self) -> Kernels:
        """The same with wrenches on all bodies."""
        return Kernels(self._description, self._structure, self._driving, True)

    def evaluate(self, given: FloatArray) -> FloatArray:
        """What is told (..., told) of what is asked, one row or many (..., asked)."""
        if given.shape[-1] > self.asked:
            return self.loaded.evaluate(given)
        return self._run(given, self.told, lambda: self._row, lambda: self._rows)

    def everything(self, given: FloatArray) -> FloatArray:
        """Whether it counts, then a row of the engine (``engine/layout.py``)."""
        if given.shape[-1] > self.asked:
            return self.loaded.everything(given)
        return self._run(
            given, 1 + self._engine_width, lambda: self._whole_row, lambda: self._whole_rows
        )

    @staticmethod
    def _run(
        given: FloatArray, told: int, row: Callable[[], Library], rows: Callable[[], Library]
    ) -> FloatArray:
        """One row by itself; many side by side, a last group filled up with its last row."""
        given = np.ascontiguousarray(given)
        out = np.empty((*given.shape[:-1], told))
        if given.ndim == 1:
            row().row(_address(given), _address(out))
            return out
        width = this_processor().rows
        function, rest = rows().rows, len(given) % width
        function(len(given) - rest, _address(given), _address(out))
        if rest:
            group = np.repeat(given[-1:], width, axis=0)
            group[:rest] = given[-rest:]
            last = np.empty((width, told))
            function(width, _address(group), _address(last))
            out[-rest:] = last[:rest]
        return out

    @functools.cached_property
    def _engine_width(self) -> int:
        return 5 + 3 * self.tree + 4 * self.actuators + self.rows + self.tree * self.freedoms

    # Machine code, made when it is first needed

    @functools.cached_property
    def _row(self) -> Library:
        return self._library('row', self._row_text)

    @functools.cached_property
    def _rows(self) -> Library:
        return self._library('rows', lambda: self._rows_text(told))

    @functools.cached_property
    def _whole_row(self) -> Library:
        return self._library('whole row', lambda: self._record(not self._loads, whole, 'row'))

    @functools.cached_property
    def _whole_rows(self) -> Library:
        return self._library('whole rows', lambda: self._rows_text(whole))

    def _library(self, kind: str, text: Callable[[], str]) -> Library:
        processor = this_processor()
        python_entry.declare_functions()
        key = object_cache.key_of(kind, generator_version(), processor, self._identity)
        return Library(object_cache.cached(key, lambda: object_code(text(), processor)))

    @functools.cached_property
    def _identity(self) -> list[Any]:
        """All that the machine code depends on."""
        d, s = self._description, self._structure
        return [
            object_cache.SOURCES, s.tree, s.constraints, s.blocks, s.stages, s.home,
            d.gravity, d.platform, d.independent, d.actuated, d.actuators, self._driving,
            self._loads,
        ]  # fmt: skip

    def _row_text(self) -> str:
        text = self._record(not self._loads, told, 'row')
        if self._loads:
            return text
        entry = python_entry.entry_function(
            'entry', 'row', self.freedoms, self.actuators, self.told, EFFORT
        )
        return text + entry

    def _record(
        self, share: bool, outputs: Callable[[InverseDynamics], list[Scalar]], name: str
    ) -> str:
        graph, told = self._graph(share, outputs)
        return row_function(graph, told, name)

    def _rows_text(self, outputs: Callable[[InverseDynamics], list[Scalar]]) -> str:
        graph, told = self._graph(False, outputs)
        return rows_function(graph, told, 'rows', this_processor().rows, self.asked)

    def _graph(
        self, share: bool, outputs: Callable[[InverseDynamics], list[Scalar]]
    ) -> tuple[Graph, list[Scalar]]:
        graph = Graph(MOST_OPERATIONS)
        given = graph.inputs(self.asked)
        run = InverseDynamics(self._description, self._structure, given, self._driving, share)
        return graph, outputs(run)


def _address(array: FloatArray) -> int:
    """Of an array's data; ``array.ctypes.data`` takes longer than a row does."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # read-only, or no rows
        return int(array.ctypes.data)


def told(run: InverseDynamics) -> list[Scalar]:
    """What :meth:`Kernels.evaluate` tells of a row."""
    return [
        run.counts(), run.closure_residual(), run.balance_residual(),
        *run.efforts(), *run.multipliers(),
    ]  # fmt: skip


def whole(run: InverseDynamics) -> list[Scalar]:
    """What :meth:`Kernels.everything` tells: whether it counts, then ``engine.layout.Answer``."""
    q, v, a = run.positions(), run.velocities(), run.accelerations()
    report = [0.0, -1.0, 0.0, run.closure_residual(), run.balance_residual()]
    actuated = [[part[j] for j in run.plan.actuated] for part in (q, v, a)]
    return [
        run.counts(), *report, *q, *v, *a, *(x for part in actuated for x in part),
        *run.efforts(), *run.multipliers(), *run.tangent(),
    ]  # fmt: skip
