# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of one mechanism, made when first needed, and the rows that go through it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.files import kept
from masticator_dynamics.traced import python_entry
from masticator_dynamics.traced.machine_code import (
    Library,
    generator_version,
    object_code,
    this_processor,
)
from masticator_dynamics.traced.numbers import TooLargeError

Outputs = Callable[[Any], list[Any]]  # of an evaluation, see `outputs.py`
COUNTS, CLOSURE, BALANCE, EFFORT = 0, 1, 2, 3  # first columns of the outputs


class Kernels:
    """What is computed for a mechanism by machine code of its own.

    Inputs are y, y_dot, y_ddot and wrench, and with ``loads`` wrenches on all bodies, base axes,
    about their origins; rows longer than ``asked`` go to code of that kind. Outputs are 1 where
    they are valid and 0 where the reference must be used, then closure residual, balance residual,
    efforts and multipliers.

    Parameters
    ----------
    driving : sequence of str
        Powered actuators.
    loads : bool
        Wrenches on all bodies.
    at_positions : bool
        Positions of all joints follow the inputs: loops are already closed.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        driving: Sequence[str],
        loads: bool = False,
        at_positions: bool = False,
    ):
        self._description, self._structure = description, structure
        self._driving = tuple(driving)
        self.freedoms, self.actuators = len(description.independent), len(description.actuated)
        self.moved = bool(self.freedoms and self.actuators)
        self.rows = sum(c.size for c in structure.constraints)
        self.told = EFFORT + self.actuators + self.rows
        self.tree = len(structure.tree.joints)
        self.width = 5 + self.tree * (3 + self.freedoms) + 4 * self.actuators + self.rows
        self._loads, self._at_positions = loads, at_positions
        self.asked = 3 * self.freedoms + 6 + self.tree * (6 * loads + at_positions)

    reason = ''  # why there is no machine code

    @functools.cached_property
    def available(self) -> bool:
        """Whether there is machine code for this mechanism; else only the reference serves it."""
        if not self.moved:
            self.reason = 'it has no freedoms, or no actuators'
            return False
        try:
            _ = self.evaluate.row
        except TooLargeError as error:
            self.reason = str(error)
            return False
        return True

    def entry(
        self, code: Code, result: type, mechanism: object, otherwise: Callable[..., Any]
    ) -> python_entry.Entry | None:
        """The generated function for Python; see :mod:`masticator_dynamics.traced.python_entry`.

        None where there is no machine code, or no entry on this platform.

        Parameters
        ----------
        result : type
            Class of the results.
        mechanism : object
            The mechanism that they are results of.
        otherwise : callable
            Called with arguments that machine code does not serve.
        """
        if not self.available or not python_entry.supported():
            return None
        sizes = self.freedoms, self.actuators
        return python_entry.Entry(code.row, result, mechanism, otherwise, sizes)

    @functools.cached_property
    def loaded(self) -> Kernels:
        """The same with wrenches on all bodies."""
        return Kernels(self._description, self._structure, self._driving, True, self._at_positions)

    @functools.cached_property
    def at_positions(self) -> Kernels:
        """The same for loops that are already closed."""
        return Kernels(self._description, self._structure, self._driving, self._loads, True)

    @functools.cached_property
    def evaluate(self) -> Code:
        """Outputs (..., told) for inputs (..., asked), one row or many."""
        return Code(self, 'row', lambda run: _outputs().told(run), self.told, self._entry_text)

    @functools.cached_property
    def from_home(self) -> Code:
        """A row of the engine without forces, loops closed in as many steps as it takes."""
        return FromHome(self._description, self._structure, ()).closed

    @functools.cached_property
    def everything(self) -> Code:
        """Whether it is valid, then a row of the engine (``Model.slices``)."""
        return Code(self, 'whole row', lambda run: _outputs().whole(run), 1 + self.width)

    @functools.cached_property
    def motion(self) -> Code:
        """Motions of rows known to be valid: rows of the engine without report and forces."""
        told = self.tree * (3 + self.freedoms) + 3 * self.actuators
        return Code(self, 'motion', lambda run: _outputs().motion(run), told, streamed=True)

    def best(self, goals: Mapping[str, float], friction: bool) -> Code:
        """Outputs of :attr:`evaluate`, with the best efforts for a goal."""
        kind = f'row, {sorted(goals.items())}, friction {friction}'
        return Code(
            self, kind, lambda run: _outputs().told_best(goals, friction, run), self.told,
            self._entry_text,
        )  # fmt: skip

    @functools.cached_property
    def gap(self) -> Code:
        """The largest gap, m, for inputs followed by positions of all joints."""
        return Code(self.at_positions, 'gap', lambda run: [run.closure_residual()], 1)

    def distribution(
        self, goals: Mapping[str, float], friction: bool, to_the_end: bool = False
    ) -> Code:
        """As :attr:`everything`, with the best efforts for a goal and what ``Effort`` adds."""
        kind = f'{sorted(goals.items())}, friction {friction}, to the end {to_the_end}'
        width = 1 + 4 * self.actuators + 3 * len(self._description.contacts) + self.freedoms
        return Code(
            self, kind, lambda run: _outputs().distributed(goals, friction, to_the_end, run),
            self.everything.told + width,
        )  # fmt: skip

    # Machine code

    def _entry_text(self) -> str:
        if self._loads:
            return ''
        from masticator_dynamics.traced.entry_text import entry_function

        return entry_function('entry', 'row', self.freedoms, self.actuators, self.told, EFFORT)

    def library(self, kind: str, text: Callable[[], str]) -> Library:
        """Machine code for a text, compiled if it is not in its file."""
        return library(kind, text, self._identity)

    @functools.cached_property
    def _identity(self) -> list[Any]:
        """Everything that the machine code depends on."""
        of_mechanism = identity(self._description, self._structure)
        return [*of_mechanism, self._driving, self._loads, self._at_positions]

    def text(self, outputs: Outputs, told: int, rows: int = 0, streamed: bool = False) -> str:
        """Functions in LLVM's language, for one row or for several side by side.

        Parameters
        ----------
        outputs : callable
            Gives the numbers wanted of an evaluation.
        told : int
            How many they are.
        rows : int
            Rows side by side; 0: one row at a time.
        streamed : bool
            As in :class:`Code`.
        """
        # Imported only here: it takes a tenth of a second, and usually everything is compiled.
        from masticator_dynamics.traced.llvm_ir import row_function
        from masticator_dynamics.traced.outputs import record
        from masticator_dynamics.traced.rows_ir import rows_function

        share = not (rows or self._loads or self._at_positions)
        graph, found = record(self.asked, lambda given: outputs(self._run(given, share)))
        # The code writes as many numbers as these into memory for ``told``.
        assert len(found) == told, (outputs, len(found), told)
        if rows:
            filled = [*found, *[0.0] * (padded(told, rows) - told)]
            return rows_function(graph, filled, 'rows', rows, self.asked, streamed)
        return row_function(graph, found, 'row')

    def on_floats(self, given: FloatArray, outputs: Outputs) -> FloatArray:
        """Outputs of one row, computed on floats, limb by limb.

        Raises
        ------
        RefusedError
            If there is no answer.
        """
        return np.array(outputs(self._run(given.tolist(), False)), dtype=float)

    def _run(self, given: Sequence[Any], share: bool) -> Any:
        from masticator_dynamics.traced.inverse_dynamics import InverseDynamics

        end = self.asked - self.tree * self._at_positions
        positions = given[end:] if self._at_positions else None
        return InverseDynamics(
            self._description, self._structure, given[:end], self._driving, share, positions
        )


class FromHome(Kernels):
    """Machine code that closes the loops from home, see `from_home.py`.

    Inputs are those of `Kernels`, without loads; the wrench does not matter.
    """

    def __init__(
        self, description: MechanismDescription, structure: Structure, driving: Sequence[str]
    ):
        super().__init__(description, structure, driving)
        self.moved = bool(self.freedoms)

    @functools.cached_property
    def closed(self) -> Code:
        """Whether floats are not needed, then an engine row, efforts and multipliers zero."""
        return Code(self, 'closed from home', lambda run: _outputs().closed(run), 1 + self.width)

    def _run(self, given: Sequence[Any], share: bool) -> Any:
        from masticator_dynamics.traced.from_home import ClosedFromHome

        return ClosedFromHome(self._description, self._structure, given)


def _outputs() -> Any:
    from masticator_dynamics.traced import outputs

    return outputs


def identity(description: MechanismDescription, structure: Structure) -> list[Any]:
    """Everything in a mechanism that machine code depends on."""
    d, s = description, structure
    return [
        kept.sources('traced', 'engine'), s.tree, s.constraints, s.blocks, s.stages, s.home,
        d.gravity, d.platform, d.independent, d.actuated, d.actuators, d.contacts,
        d.force_joints, d.joints,
    ]  # fmt: skip


def library(kind: str, text: Callable[[], str], depends_on: list[Any]) -> Library:
    """Machine code for a text, compiled if it is not in its file.

    Parameters
    ----------
    kind : str
        What the code computes; part of its key.
    text : callable
        Gives the text in LLVM's language if it must be compiled.
    depends_on : list
        What determines the text; the other part of the key.
    """
    processor = this_processor()
    key = kept.key_of(kind, generator_version(), processor, depends_on)
    return Library(kept.kept('machine_code', f'{key}.o', lambda: object_code(text(), processor)))


class Code:
    """One function of a row, as machine code for one row and for many, made when first called.

    Parameters
    ----------
    kind : str
        Distinguishes it from others of the mechanism.
    outputs : callable
        Gives the ``told`` outputs of an evaluation.
    further : callable, optional
        Further functions to go with that of one row, in LLVM's language.
    streamed : bool
        Write many rows past the caches: more of them than the caches hold are read later.
    """

    def __init__(
        self,
        kernels: Kernels,
        kind: str,
        outputs: Outputs,
        told: int,
        further: Callable[[], str] = str,
        streamed: bool = False,
    ):
        self._kernels, self.kind, self.outputs = kernels, kind, outputs
        self.told, self._further, self._streamed = told, further, streamed

    @functools.cached_property
    def row(self) -> Library:
        """For one row, with limbs of the same kind in lanes."""

        def text() -> str:
            return self._kernels.text(self.outputs, self.told) + self._further()

        return self._kernels.library(self.kind, text)

    @functools.cached_property
    def rows(self) -> Library | None:
        """For many rows, in lanes; None if the code is too large without limbs in lanes."""

        def text() -> str:
            rows = this_processor().rows
            return self._kernels.text(self.outputs, self.told, rows, self._streamed)

        try:
            return self._kernels.library(f'{self.kind}, many', text)
        except TooLargeError:
            return None

    def covers(self, given: FloatArray) -> bool:
        """Whether there is machine code for such rows."""
        longer = given.shape[-1] > self._kernels.asked
        return self.loaded.covers(given) if longer else self.available

    def on_floats(self, given: FloatArray) -> FloatArray:
        """Outputs of one row, computed on floats; raises RefusedError."""
        longer = given.shape[-1] > self._kernels.asked
        kernels = self._kernels.loaded if longer else self._kernels
        return kernels.on_floats(given, self.outputs)

    @functools.cached_property
    def available(self) -> bool:
        """Whether there is machine code."""
        try:
            return bool(self._kernels.moved and self.row)
        except TooLargeError:
            return False

    @functools.cached_property
    def loaded(self) -> Code:
        """The same with wrenches on all bodies."""
        return Code(self._kernels.loaded, self.kind, self.outputs, self.told)

    def one_by_one(self, given: FloatArray) -> FloatArray:
        """Outputs (N, told) for rows (N, asked), each by itself."""
        if given.shape[-1] > self._kernels.asked:
            return self.loaded.one_by_one(given)
        given, out = np.ascontiguousarray(given), np.empty((len(given), self.told))
        row, asked, told = self.row.row, address(given), address(out)
        for i in range(len(given)):
            row(asked + i * given.strides[0], told + i * out.strides[0])
        return out

    def __call__(self, given: FloatArray) -> FloatArray:
        """One row by itself; many side by side, the last group padded with its last row."""
        if given.shape[-1] > self._kernels.asked:
            return self.loaded(given)
        given = np.ascontiguousarray(given)
        if given.ndim == 1:
            out = np.empty(self.told)
            self.row.row(address(given), address(out))
            return out
        if self.rows is None:
            return self.one_by_one(given)
        width = this_processor().rows
        out = _aligned(len(given), padded(self.told, width), width)
        function, rest = self.rows.rows, len(given) % width
        function(len(given) - rest, address(given), address(out))
        if rest:
            group = np.repeat(given[-1:], width, axis=0)
            group[:rest] = given[-rest:]
            last = _aligned(width, padded(self.told, width), width)
            function(width, address(group), address(last))
            out[-rest:] = last[:rest]
        return out[:, : self.told]


def padded(told: int, width: int) -> int:
    """Length of an output row, padded to whole registers of this width."""
    return told + -told % width


def _aligned(count: int, length: int, width: int) -> FloatArray:
    """Rows aligned to registers: stores across cache lines take twice as long.

    Parameters
    ----------
    count, length : int
        Of the rows, a multiple of ``width`` long.
    width : int
        Numbers in a register.
    """
    memory = np.empty(count * length + width)
    start = -address(memory) // memory.itemsize % width
    return memory[start : start + count * length].reshape(count, length)


def address(array: FloatArray) -> int:
    """Address of an array's data; ``array.ctypes.data`` takes longer than a row does."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # read-only, or no rows
        return int(array.ctypes.data)
