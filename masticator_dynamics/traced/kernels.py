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
from masticator_dynamics.traced.llvm_ir import row_function
from masticator_dynamics.traced.machine_code import (
    Library,
    generator_version,
    object_code,
    this_processor,
)
from masticator_dynamics.traced.numbers import Graph, TooLargeError
from masticator_dynamics.traced.rows_ir import rows_function

Function = Callable[[Any], list[Any]]  # output numbers of an evaluation, see `outputs.py`
VALID, CLOSURE, BALANCE, EFFORT = 0, 1, 2, 3  # first columns of the outputs
MOST_OPERATIONS = 60_000  # unrolled; compiling grows faster than this


class Kernels:
    """What is computed for a mechanism by machine code of its own.

    Inputs are y, y_dot, y_ddot and wrench, and with ``loads`` wrenches on all bodies, base axes,
    about their origins; rows longer than ``inputs`` go to code of that kind. Outputs are 1 where
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
        self.movable = bool(self.freedoms and self.actuators)
        self.rows = sum(c.size for c in structure.constraints)
        self.outputs = EFFORT + self.actuators + self.rows
        self.tree = len(structure.tree.joints)
        self.width = 5 + self.tree * (3 + self.freedoms) + self.actuators + self.rows
        self._loads, self._at_positions = loads, at_positions
        self.inputs = 3 * self.freedoms + 6 + self.tree * (6 * loads + at_positions)

    reason = ''  # why there is no machine code

    @functools.cached_property
    def available(self) -> bool:
        """Whether there is machine code for this mechanism; else only the reference serves it."""
        if not self.movable:
            self.reason = 'it has no freedoms, or no actuators'
            return False
        try:
            _ = self.evaluate.row
        except TooLargeError as error:
            self.reason = str(error)
            return False
        return True

    def entry(
        self, code: Code, result: type, mechanism: object, fallback: Callable[..., Any]
    ) -> python_entry.Entry | None:
        """The generated function for Python; see :mod:`masticator_dynamics.traced.python_entry`.

        None where there is no machine code, or no entry on this platform.

        Parameters
        ----------
        result : type
            Class of the results.
        mechanism : object
            The mechanism that they are results of.
        fallback : callable
            Called with arguments that machine code does not serve.
        """
        if not self.available or not python_entry.supported():
            return None
        sizes = self.freedoms, self.actuators
        return python_entry.Entry(code.row, result, mechanism, fallback, sizes)

    @functools.cached_property
    def with_loads(self) -> Kernels:
        """The same with wrenches on all bodies."""
        return Kernels(self._description, self._structure, self._driving, True, self._at_positions)

    @functools.cached_property
    def at_positions(self) -> Kernels:
        """The same for loops that are already closed."""
        return Kernels(self._description, self._structure, self._driving, self._loads, True)

    @functools.cached_property
    def evaluate(self) -> Code:
        """Outputs (..., outputs) for inputs (..., inputs), one row or many."""
        return Code(
            self, 'row', lambda run: _outputs().efforts(run), self.outputs, self._entry_text
        )

    @functools.cached_property
    def from_home(self) -> Code:
        """A whole row without forces, loops closed in as many steps as it takes."""
        return KernelsFromHome(self._description, self._structure).closed

    @functools.cached_property
    def everything(self) -> Code:
        """Whether it is valid, then a whole row (``Model.slices``)."""
        return Code(self, 'whole row', lambda run: _outputs().whole_row(run), 1 + self.width)

    @functools.cached_property
    def motion(self) -> Code:
        """Motions of rows known to be valid: whole rows without report and forces."""
        outputs = self.tree * (3 + self.freedoms)
        return Code(self, 'motion', lambda run: _outputs().motion(run), outputs, streamed=True)

    def best(self, goals: Mapping[str, float], friction: bool) -> Code:
        """Outputs of :attr:`evaluate`, with the best efforts for a goal."""
        kind = f'row, {sorted(goals.items())}, friction {friction}'
        return Code(
            self, kind, lambda run: _outputs().best_efforts(goals, friction, run), self.outputs,
            self._entry_text,
        )  # fmt: skip

    @functools.cached_property
    def gap(self) -> Code:
        """The largest gap, m, for inputs followed by positions of all joints."""
        return Code(self.at_positions, 'gap', lambda run: [run.closure_residual()], 1)

    def distribution(
        self, goals: Mapping[str, float], friction: bool, exhaustive: bool = False
    ) -> Code:
        """As :attr:`everything`, with the best efforts for a goal and what ``Effort`` adds.

        Parameters
        ----------
        goals : mapping of str to float
            Weights of goals.
        friction : bool
            Of contacts and actuated joints.
        exhaustive : bool, optional
            Search every sign pattern to the end.
        """
        kind = f'{sorted(goals.items())}, friction {friction}, exhaustive {exhaustive}'
        width = 1 + 4 * self.actuators + 3 * len(self._description.contacts) + self.freedoms
        return Code(
            self, kind, lambda run: _outputs().distributed(goals, friction, exhaustive, run),
            self.everything.outputs + width,
        )  # fmt: skip

    # Machine code

    def _entry_text(self) -> str:
        if self._loads:
            return ''
        from masticator_dynamics.traced.entry_text import entry_function

        return entry_function('entry', 'row', self.freedoms, self.outputs, EFFORT)

    @functools.cached_property
    def identity(self) -> list[Any]:
        """Everything that the machine code depends on."""
        of_mechanism = identity(self._description, self._structure)
        return [*of_mechanism, self._driving, self._loads, self._at_positions]

    def on_floats(self, given: FloatArray, function: Function) -> FloatArray:
        """Outputs of one row, computed on floats, limb by limb.

        Raises
        ------
        RefusedError
            If there is no answer.
        """
        return np.array(function(self.run(given.tolist(), False)), dtype=float)

    def run(self, given: Sequence[Any], share: bool) -> Any:
        """An evaluation of inputs; ``share``: limbs of the same kind in lanes, where possible."""
        from masticator_dynamics.traced.inverse_dynamics import InverseDynamics

        share = share and not (self._loads or self._at_positions)
        end = self.inputs - self.tree * self._at_positions
        positions = given[end:] if self._at_positions else None
        return InverseDynamics(
            self._description, self._structure, given[:end], self._driving, share, positions
        )


class KernelsFromHome(Kernels):
    """Machine code that closes the loops from home, see `from_home.py`.

    Inputs are those of `Kernels`, without loads; the wrench does not matter.
    """

    def __init__(self, description: MechanismDescription, structure: Structure):
        super().__init__(description, structure, ())
        self.movable = bool(self.freedoms)

    @functools.cached_property
    def closed(self) -> Code:
        """Whether floats are not needed, then a whole row, efforts and multipliers zero."""
        return Code(self, 'closed from home', lambda run: _outputs().closed(run), 1 + self.width)

    def run(self, given: Sequence[Any], share: bool) -> Any:
        """An evaluation of inputs; limbs never share lanes."""
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


class RowCode:
    """One function of a row, as machine code for one row and for many, made when first called.

    Parameters
    ----------
    kind : str
        Distinguishes it from others.
    inputs, outputs : int
        Numbers in an input row and in an output row.
    function : callable
        Gives the output numbers for a list of input numbers, and for whether limbs of the same
        kind may go into lanes.
    depends_on : callable
        Gives what determines the code, besides the kind.
    further : callable, optional
        Further functions to go with that of one row, in LLVM's language.
    streamed : bool
        Write many rows past the caches: more of them than the caches hold are read later.
    """

    def __init__(
        self,
        kind: str,
        inputs: int,
        outputs: int,
        function: Callable[[list[Any], bool], list[Any]],
        depends_on: Callable[[], list[Any]],
        further: Callable[[], str] = str,
        streamed: bool = False,
    ):
        self.kind, self.inputs, self.outputs = kind, inputs, outputs
        self._recorded, self._depends_on = function, depends_on
        self._further, self._streamed = further, streamed

    @functools.cached_property
    def row(self) -> Library:
        """For one row, with limbs of the same kind in lanes."""
        return library(self.kind, lambda: self._text(0) + self._further(), self._depends_on())

    @functools.cached_property
    def rows(self) -> Library | None:
        """For many rows, in lanes; None if the code is too large without limbs in lanes."""
        width = this_processor().rows
        try:
            return library(f'{self.kind}, many', lambda: self._text(width), self._depends_on())
        except TooLargeError:
            return None

    def _text(self, width: int) -> str:
        """The function in LLVM's language, for one row (0) or for several side by side."""
        graph = self._graph()
        found = self._recorded(list(graph.inputs(self.inputs)), not width)
        # The code writes as many numbers into memory for ``outputs``.
        assert len(found) == self.outputs, (self.kind, len(found), self.outputs)
        if not width:
            return row_function(graph, found, 'row')
        filled = [*found, *[0.0] * (padded(self.outputs, width) - self.outputs)]
        return rows_function(graph, filled, 'rows', width, self.inputs, self._streamed)

    def _graph(self) -> Graph:
        """What the function is recorded in."""
        return Graph()

    def one_by_one(self, given: FloatArray) -> FloatArray:
        """Outputs (N, outputs) for rows (N, inputs), each by itself."""
        given, out = np.ascontiguousarray(given), np.empty((len(given), self.outputs))
        row, source, target = self.row.row, address(given), address(out)
        for i in range(len(given)):
            row(source + i * given.strides[0], target + i * out.strides[0])
        return out

    def __call__(self, given: FloatArray) -> FloatArray:
        """One row by itself; many side by side, the last group padded with its last row."""
        given = np.ascontiguousarray(given)
        if given.ndim == 1:
            out = np.empty(self.outputs)
            self.row.row(address(given), address(out))
            return out
        if self.rows is None:
            return self.one_by_one(given)
        width = this_processor().rows
        out = _aligned(len(given), padded(self.outputs, width), width)
        function, rest = self.rows.rows, len(given) % width
        function(len(given) - rest, address(given), address(out))
        if rest:
            group = np.repeat(given[-1:], width, axis=0)
            group[:rest] = given[-rest:]
            last = _aligned(width, padded(self.outputs, width), width)
            function(width, address(group), address(last))
            out[-rest:] = last[:rest]
        return out[:, : self.outputs]


class Code(RowCode):
    """A function of an evaluation of a mechanism; rows with wrenches on all bodies may come, too.

    Parameters
    ----------
    kernels : Kernels
        Of the mechanism.
    kind : str
        Distinguishes it from others of the mechanism.
    function : callable
        Gives the output numbers of an evaluation.
    outputs : int
        How many they are.
    further, streamed
        As for :class:`RowCode`.
    """

    def __init__(
        self,
        kernels: Kernels,
        kind: str,
        function: Function,
        outputs: int,
        further: Callable[[], str] = str,
        streamed: bool = False,
    ):
        self._kernels, self.function = kernels, function
        super().__init__(
            kind, kernels.inputs, outputs, lambda given, share: function(kernels.run(given, share)),
            lambda: kernels.identity, further, streamed,
        )  # fmt: skip

    @functools.cached_property
    def available(self) -> bool:
        """Whether there is machine code."""
        try:
            return bool(self._kernels.movable and self.row)
        except TooLargeError:
            return False

    def _graph(self) -> Graph:
        return Graph(MOST_OPERATIONS)

    def covers(self, given: FloatArray) -> bool:
        """Whether there is machine code for such rows."""
        return self._for(given).available

    def on_floats(self, given: FloatArray) -> FloatArray:
        """Outputs of one row, computed on floats; raises RefusedError."""
        return self._for(given)._kernels.on_floats(given, self.function)

    def one_by_one(self, given: FloatArray) -> FloatArray:
        """Outputs for rows of either kind, each by itself."""
        return RowCode.one_by_one(self._for(given), given)

    def __call__(self, given: FloatArray) -> FloatArray:
        """Outputs for one row of either kind, or for many."""
        return RowCode.__call__(self._for(given), given)

    def _for(self, given: FloatArray) -> Code:
        """The code for a row: the same with wrenches on all bodies if it has them."""
        return self if given.shape[-1] <= self.inputs else self._with_loads

    @functools.cached_property
    def _with_loads(self) -> Code:
        return Code(self._kernels.with_loads, self.kind, self.function, self.outputs)


def padded(outputs: int, width: int) -> int:
    """Length of an output row, padded to whole registers of this width."""
    return outputs + -outputs % width


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
