# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A function of rows of numbers as machine code, made when it is first called."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced.identity import Identity
from masticator_dynamics.engine.traced.llvm_ir import row_function
from masticator_dynamics.engine.traced.machine_code import (
    Library,
    generator_version,
    object_code,
    this_processor,
)
from masticator_dynamics.engine.traced.numbers import Graph, TooLargeError
from masticator_dynamics.engine.traced.rows_ir import LINE, rows_function, table_function
from masticator_dynamics.files import file_cache

NONE: FloatArray = np.empty(0)


def library(kind: str, text: Callable[[], str], depends_on: list[Any]) -> Library:
    """Machine code for a text, compiled if it is not in its file.

    Parameters
    ----------
    kind : str
        What the code computes; part of its key.
    text : callable
        Gives the text in LLVM's language if it must be compiled.
    depends_on : list
        What determines the text; the other part of the key. An :class:`Identity` among it keeps
        what is loaded.
    """
    processor = this_processor()
    key = file_cache.key_of(kind, generator_version(), processor, depends_on)
    name, loaded = f'{key}.o', dict[str, Library]()
    for part in depends_on:
        loaded = part.libraries if isinstance(part, Identity) else loaded
    if name not in loaded:
        code = file_cache.cached('machine_code', name, lambda: object_code(text(), processor))
        loaded[name] = Library(code)
    return loaded[name]


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
    streamed : bool
        Write many rows past the caches: more of them than the caches hold are read later.
    largest : int, optional
        Most operations for which machine code is made.
    impossible : str
        Why there can be no machine code, if so.
    constants : array, optional
        What follows every input row; the function is recorded with these as inputs, too.
    common : int, optional
        How many of the inputs, the last ones, are constants of a table, too.
    """

    def __init__(
        self,
        kind: str,
        inputs: int,
        outputs: int,
        function: Callable[[list[Any], bool], list[Any]],
        depends_on: Callable[[], list[Any]],
        *,
        streamed: bool = False,
        largest: int | None = None,
        impossible: str = '',
        constants: FloatArray = NONE,
        common: int = 0,
    ):
        self.kind, self.inputs, self.outputs = kind, inputs, outputs
        self.function, self._depends_on = function, depends_on
        self._streamed = streamed
        self._largest, self._impossible = largest, impossible
        self._constants, self._common = constants, common

    @functools.cached_property
    def reason(self) -> str:
        """Why there is no machine code; empty if there is."""
        if not self._impossible:
            try:
                _ = self.row
            except TooLargeError as error:
                return str(error)
        return self._impossible

    @property
    def available(self) -> bool:
        """Whether there is machine code."""
        return not self.reason

    @functools.cached_property
    def row(self) -> Library:
        """For one row, with limbs of the same kind in lanes."""
        return library(self.kind, self.text, self._depends_on())

    def text(self) -> str:
        """The code for one row in LLVM's language."""
        return self._text(0)

    @functools.cached_property
    def rows(self) -> Library | None:
        """For many rows, in lanes; None if the code is too large without limbs in lanes."""
        return self._many('many')

    @functools.cached_property
    def table(self) -> Library | None:
        """For many rows in lanes that have constants in common; None if the code is too large."""
        return self._many('table', table=True)

    def _many(self, kind: str, table: bool = False) -> Library | None:
        text = functools.partial(self._text, this_processor().rows, table)
        try:
            return library(f'{self.kind}, {kind}', text, self._depends_on())
        except TooLargeError:
            return None

    def _text(self, width: int, table: bool = False) -> str:
        """The function in LLVM's language, for one row (0) or for several side by side."""
        # Many rows may take more: limbs have no lanes, and parts are compiled by themselves.
        most = self._largest and self._largest * (2 if width and not table else 1)
        graph = Graph(most) if most else Graph()
        outputs = self.function(list(graph.inputs(self._all_inputs)), not width)
        # The code writes as many numbers into memory for ``outputs``.
        assert len(outputs) == self.outputs, (self.kind, len(outputs), self.outputs)
        if not width:
            return row_function(graph, outputs, 'row')
        filled = [*outputs, *[0.0] * (self._length - self.outputs)]
        if table:
            own = self.inputs - self._common
            constants = self._all_inputs - own
            return table_function(graph, filled, 'table', width, own, constants)
        return rows_function(graph, filled, 'rows', width, self._all_inputs, self._streamed)

    @property
    def _all_inputs(self) -> int:
        return self.inputs + len(self._constants)

    def _complete(self, inputs: FloatArray) -> FloatArray:
        """Rows with the constants that follow them."""
        if not len(self._constants):
            return inputs
        constants = np.broadcast_to(self._constants, (*inputs.shape[:-1], len(self._constants)))
        return np.concatenate([inputs, constants], axis=-1)

    def followed_by(self, numbers: FloatArray) -> FloatArray:
        """What follows the inputs that differ from row to row, the last of which are the same."""
        return np.concatenate([numbers, self._constants])

    def _for(self, length: int) -> RowCode:
        """The code for rows of this length."""
        return self

    def covers(self, inputs: FloatArray, common: FloatArray = NONE) -> bool:
        """Whether there is machine code for such rows, with these numbers after them."""
        return self._for(inputs.shape[-1] + len(common)).available

    def where_covered(self, inputs: FloatArray) -> FloatArray:
        """Outputs (N, outputs) of many rows, or of one (inputs,), if there is machine code.

        Zeros where there is none; for functions whose first output is whether the row counts.
        """
        if inputs.size and self.covers(inputs):
            return np.atleast_2d(self(inputs))
        return np.zeros((len(inputs) if inputs.ndim > 1 else 1, self.outputs))

    def on_floats(self, inputs: FloatArray) -> FloatArray:
        """Outputs of one row, computed on floats, limb by limb.

        Raises
        ------
        RefusedError
            If there is no answer.
        """
        code = self._for(inputs.shape[-1])
        return np.array(code.function(code._complete(inputs).tolist(), False), dtype=float)

    @functools.cached_property
    def _recording(self) -> tuple[Graph, list[Any]]:
        """Graph and outputs, limb by limb, however large."""
        graph = Graph()
        return graph, self.function(list(graph.inputs(self._all_inputs)), False)

    def in_numpy(self, inputs: FloatArray) -> FloatArray:
        """Outputs (..., outputs) without machine code; not for recordings with loops or calls."""
        from masticator_dynamics.engine.traced.differentiation import evaluated

        rows = np.atleast_2d(self._complete(inputs))
        outputs: FloatArray = evaluated(*self._recording, rows)
        return outputs.reshape(*inputs.shape[:-1], self.outputs)

    def one_by_one(self, inputs: FloatArray) -> FloatArray:
        """Outputs (N, outputs) for rows (N, inputs), each by itself."""
        code = self._for(inputs.shape[-1])
        return code.complete_one_by_one(code._complete(inputs))

    def complete_one_by_one(self, inputs: FloatArray) -> FloatArray:
        """The same for rows that constants follow already."""
        inputs = np.ascontiguousarray(inputs)
        out = np.empty((len(inputs), self.outputs))
        row, source, target = self.row.row, address(inputs), address(out)
        for i in range(len(inputs)):
            row(source + i * inputs.strides[0], target + i * out.strides[0])
        return out

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """One row by itself; many side by side, the last group padded with its last row."""
        code = self._for(inputs.shape[-1])
        return code.of_complete(code._complete(inputs))

    def of_complete(self, inputs: FloatArray) -> FloatArray:
        """The same for rows that constants follow already, their own for each row."""
        inputs, code = np.ascontiguousarray(inputs), self
        if inputs.ndim == 1:
            out = np.empty(self.outputs)
            code.row.row(address(inputs), address(out))
            return out
        if code.rows is None:
            return code.complete_one_by_one(inputs)
        width = this_processor().rows
        out = _aligned(len(inputs), self._length)
        function, rest = code.rows.rows, len(inputs) % width
        function(len(inputs) - rest, address(inputs), address(out))
        if rest:
            group = np.repeat(inputs[-1:], width, axis=0)
            group[:rest] = inputs[-rest:]
            last = _aligned(width, self._length)
            function(width, address(group), address(last))
            out[-rest:] = last[:rest]
        return out[:, : self.outputs]

    def with_common(self, inputs: FloatArray, common: FloatArray) -> FloatArray:
        """Outputs (N, outputs) for rows (N, ...) that the same numbers follow, so many or none."""
        if not len(common):
            return self(inputs)
        code = self._for(inputs.shape[-1] + len(common))
        return code.of_tables(inputs[None], code.followed_by(common)[None])[0]

    def of_tables(self, inputs: FloatArray, constants: FloatArray) -> FloatArray:
        """Outputs (G, N, outputs) for rows (G, N, inputs) and constants (G, n) of all in a table.

        Rows (N, inputs) are taken for all tables. Inputs in common are constants here.
        """
        count, width = inputs.shape[-2], this_processor().rows
        if 2 * count < width or self.table is None:
            inputs = np.broadcast_to(inputs, (len(constants), *inputs.shape[-2:]))
            repeated = np.broadcast_to(
                constants[:, None], (*inputs.shape[:-1], constants.shape[-1])
            )
            rows = np.concatenate([inputs, repeated], axis=-1)
            outputs = self.of_complete(rows.reshape(-1, rows.shape[-1]))
            return outputs.reshape(*rows.shape[:2], self.outputs)
        missing = -count % width
        if missing:
            inputs = np.concatenate([inputs, np.repeat(inputs[..., -1:, :], missing, -2)], axis=-2)
        inputs, constants = np.ascontiguousarray(inputs), np.ascontiguousarray(constants)
        out = _aligned(len(constants) * (count + missing), self._length)
        apart = inputs[0].size if inputs.ndim > 2 else 0
        self.table.table(
            len(constants),
            count + missing,
            address(inputs),
            apart,
            address(constants),
            address(out),
        )
        return out.reshape(len(constants), -1, self._length)[:, :count, : self.outputs]

    @property
    def _length(self) -> int:
        """Length of an output row of many, padded to whole registers, or cache lines."""
        return self.outputs + -self.outputs % (LINE if self._streamed else this_processor().rows)


class RowInPlace:
    """A code for one row after another, whose inputs stay where they are.

    Parameters
    ----------
    code : RowCode
        Must be available.
    inputs : int
        Numbers of a row, without the constants that follow.

    Attributes
    ----------
    inputs : (inputs,) array
        To be written.
    """

    def __init__(self, code: RowCode, inputs: int):
        whole = code._complete(np.zeros(inputs))
        self._code, self.inputs = code._for(inputs), whole[:inputs]
        self._row, self._at, self._whole = self._code.row.row, address(whole), whole

    def __call__(self) -> FloatArray:
        """Outputs (outputs,) for the present inputs."""
        out = np.empty(self._code.outputs)
        self._row(self._at, address(out))
        return out


def _aligned(count: int, length: int) -> FloatArray:
    """Rows that begin at a cache line: stores across two of them take twice as long."""
    memory = np.empty(count * length + LINE)
    start = -address(memory) // memory.itemsize % LINE
    return memory[start : start + count * length].reshape(count, length)


def address(array: FloatArray) -> int:
    """Address of an array's data; ``array.ctypes.data`` takes longer than a row does."""
    if not array.flags.writeable:
        return int(array.__array_interface__['data'][0])
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # no rows
        return int(array.__array_interface__['data'][0])
