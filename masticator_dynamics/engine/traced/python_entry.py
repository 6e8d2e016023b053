# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A function for Python, generated like the arithmetic that it calls, and the same for all of it.

Unpacking arrays and making results in Python would cost several times the arithmetic, and a
compiled extension would need a compiler at every install. So the few lines of C that such an
extension consists of are generated, too, in LLVM's language: a function of the vectorcall protocol
that packs its arguments into a row, lets the function of a row write into a fresh ``bytes`` object,
and returns an array in that memory, or a result object that has one in a slot. Which arguments
there are, and what answers them, is a table (:class:`Entry`). It takes arrays of doubles of the
right length, or None, motions, and values of other parameters that an answer is registered for;
for everything else, and where the row does not count, it calls a function in Python.

The memory layouts that it relies on are numpy's published struct of an array and CPython's of
``bytes`` and tuples; :func:`supported` checks that they hold here.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.traced.entry_layout import (
    ANSWER,
    ARRAY_BASE,
    ARRAY_DATA,
    ARRAY_DIMENSIONS,
    ARRAY_DIMENSIONS_COUNT,
    ARRAY_FLAGS,
    ARRAY_TYPE,
    BYTES_DATA,
    CONTEXT,
    CONTIGUOUS_ALIGNED,
    FUNCTIONS,
    MOST_ANSWERS,
    MOST_PARAMETERS,
    NEW_ARRAY,
    OBJECT_TYPE,
    SLOTS,
    TUPLE_ITEMS,
    WORD,
    WRITEABLE,
)  # fmt: skip
from masticator_dynamics.engine.traced.entry_text import entry_function
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.engine.traced.row_code import NONE, RowCode, library
from masticator_dynamics.files import file_cache

_FASTCALL_KEYWORDS = 0x82


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    ]


@functools.cache
def supported() -> bool:
    """Whether arrays and bytes lie in memory as the generated function assumes."""
    probe = np.zeros(3, dtype=np.float64)
    at, view = id(probe), probe[1:]

    def word(offset: int) -> int:
        return int(ctypes.c_int64.from_address(at + offset).value)

    text = b'masticator'
    held = ctypes.c_int64.from_address(id(pair := (text, probe)) + TUPLE_ITEMS).value
    return (
        ctypes.sizeof(ctypes.c_void_p) == WORD
        and bytes.__basicsize__ == BYTES_DATA + 1
        and ctypes.string_at(id(text) + BYTES_DATA, len(text)) == text
        and held == id(pair[0])
        and word(OBJECT_TYPE) == id(np.ndarray)
        and word(ARRAY_DATA) == probe.__array_interface__['data'][0]
        and ctypes.c_int.from_address(at + ARRAY_DIMENSIONS_COUNT).value == 1
        and ctypes.c_int64.from_address(word(ARRAY_DIMENSIONS)).value == 3
        and word(ARRAY_BASE) == 0
        and ctypes.c_int64.from_address(id(view) + ARRAY_BASE).value == id(probe)
        and word(ARRAY_TYPE) == id(probe.dtype)
        and ctypes.c_int.from_address(at + ARRAY_FLAGS).value == probe.flags.num
    )


def _slot(of: type, name: str) -> int:
    """Where a slot of a class lies in its objects, found by looking."""
    probe: object = object.__new__(of)
    mark = object()
    setattr(probe, name, mark)
    words = (ctypes.c_int64 * (of.__basicsize__ // WORD)).from_address(id(probe))
    return WORD * list(words).index(id(mark))


class Answer(NamedTuple):
    """A function of a row, what its inputs are, and what is returned of its outputs.

    Attributes
    ----------
    code : RowCode
        Its first output is 1 where the row counts.
    first, shape : int, tuple of int
        Of the array of outputs that is returned, or is in the slot ``result.VIEW``.
    parts : mapping of str to sequence of (int, int), optional
        Which numbers of which parameters make a row, in order: where they begin and how many they
        are; by default those of all arrays.
    numbers : array
        Numbers that follow these.
    result : type, optional
        Class of results, with slots 'mechanism', '_numbers' and ``VIEW``. What it has in '_numbers'
        begins with as many inputs as ``kept`` says, and all outputs follow.
    """

    code: RowCode
    first: int
    shape: tuple[int, ...]
    parts: Mapping[str, Sequence[tuple[int, int]]] | None = None
    numbers: FloatArray = NONE
    result: type | None = None
    kept: int = 0


class Entry:
    """The generated function as a Python callable, for one question about one mechanism.

    Parameters
    ----------
    mechanism : object
        What results are of.
    motion : type
        Class of motions, with slots 'mechanism' and '_numbers'.
    kinds, defaults : mapping of str to int, mapping of str to object
        Parameters, in order, and what those that have one are if they are left out.
    absent : mapping of str to array
        Numbers of each parameter that is an array where it is None; it has their shape.
    fallback : callable
        What is called with arguments that are not served here.
    choose : callable
        Gives answers for values of all parameters of kind 0: each is asked where those before it
        have none.
    positional : int
        How many parameters may be given without their names.
    about : str
        What Python shows about it.

    Attributes
    ----------
    call : callable
    """

    def __init__(
        self, mechanism: object, motion: type, kinds: Mapping[str, int],
        defaults: Mapping[str, object], absent: Mapping[str, FloatArray],
        fallback: Callable[..., Any],
        choose: Callable[..., Sequence[Answer]], positional: int, about: str,
    ):  # fmt: skip
        assert len(kinds) <= MOST_PARAMETERS
        self._kinds, self._choose = dict(kinds), choose
        self._table = np.zeros((MOST_ANSWERS, ANSWER.size // WORD), dtype=np.int64)
        self._held: list[Any] = [None] * MOST_ANSWERS
        self._count = 0
        names = [sys.intern(name) for name in kinds]
        arrays = {name: np.array(numbers) for name, numbers in absent.items() if name in kinds}
        shapes = {name: np.array(numbers.shape) for name, numbers in arrays.items()}
        nothing = np.zeros(0, dtype=np.int64)
        parameters = np.array(
            [(id(name), id(defaults[name]) if name in defaults else 0, kinds[name],
              len(shape := shapes.get(name, nothing)), shape.ctypes.data,
              arrays.get(name, nothing).ctypes.data)
             for name in names], dtype=np.int64,
        )  # fmt: skip
        code, choose_here = _code(), self._add
        context = {
            'none': id(None), 'array': id(np.ndarray), 'double': id(np.dtype(np.float64)),
            'new_array': _numpy_functions()[NEW_ARRAY],
            'mechanism': id(mechanism), 'motion': id(motion),
            'motion_mechanism': _slot(motion, 'mechanism'),
            'motion_numbers': _slot(motion, '_numbers'),
            'fallback': id(fallback), 'chooser': id(choose_here), 'positional': positional,
            'parameters': len(kinds),
            'of_parameters': parameters.ctypes.data, 'answers': self._table.ctypes.data,
            **{
                f'at_{name}': ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
                for name in FUNCTIONS
            },
        }  # fmt: skip
        words = np.array([context[name] for name in CONTEXT], dtype=np.int64).tobytes()
        definition = _MethodDefinition(
            about.partition('(')[0].encode(), code.address('entry'), _FASTCALL_KEYWORDS,
            about.encode(),
        )  # fmt: skip
        # The tuple owns everything whose address is passed. A function reads its definition until
        # it is gone itself: when Python exits, a list in this module would be gone before.
        held = (
            words, code, arrays, shapes, parameters, names, dict(defaults), mechanism, motion,
            fallback, choose_here, definition, self._table, self._held,
        )  # fmt: skip
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self.call: Callable[..., Any] = make(ctypes.addressof(definition), held, None)

    def _add(self, *values: object) -> None:
        """Have what is chosen for some values of the parameters answer from now on.

        Values are compared by address. When there is no more room, the oldest make it, but the
        first stay.
        """
        choices = [x for x, kind in zip(values, self._kinds.values(), strict=True) if kind == 0]
        answers = [a for a in self._choose(*choices) if a.code.available]
        if not answers:
            return
        place = self._count
        if place >= MOST_ANSWERS:
            place = 1 + (place - 1) % (MOST_ANSWERS - 1)
        self._count += 1
        following, held = 0, list[Any](choices)
        for answer in reversed(answers):
            record, of_record = self._record(answer, following)
            following = record.ctypes.data
            held += [record, of_record]
        self._table[place] = record
        self._table[place, : len(values)] = [
            id(x) if kind == 0 else 0 for x, kind in zip(values, self._kinds.values(), strict=True)
        ]
        self._held[place] = held

    def _record(self, answer: Answer, following: int) -> tuple[IntArray, Any]:
        """An answer as a record of the table, and what it needs to be kept."""
        names, code, result = list(self._kinds), answer.code, answer.result
        chosen = answer.parts or {
            name: [(0, kind)] for name, kind in self._kinds.items() if kind > 0
        }
        parts = np.array(
            [(names.index(name), WORD * start, count)
             for name, places in chosen.items() for start, count in places], dtype=np.int64,
        )  # fmt: skip
        numbers, shape = code.followed_by(answer.numbers), np.array(answer.shape, dtype=np.int64)
        words = {
            'row': code.row.address('row'), 'part_count': len(parts), 'parts': parts.ctypes.data,
            'number_count': len(numbers), 'numbers': numbers.ctypes.data,
            'inputs': int(parts[:, 2].sum()) + len(numbers), 'outputs': code.outputs,
            'kept': answer.kept, 'first': WORD * answer.first, 'axes': len(shape),
            'shape': shape.ctypes.data, 'next': following,
            'flags': CONTIGUOUS_ALIGNED | (0 if result else WRITEABLE),
            'result': id(result) if result else 0,
        }  # fmt: skip
        assert words['inputs'] == code.inputs + len(code.followed_by(NONE)), code.kind
        if result:
            slots = ('mechanism', '_numbers', result.VIEW)  # type: ignore[attr-defined]
            words |= {f'at_{s}': _slot(result, name) for s, name in zip(SLOTS, slots, strict=True)}
        record = np.zeros(ANSWER.size // WORD, dtype=np.int64)
        for name, word in words.items():
            record[ANSWER[name] // WORD] = word
        return record, (parts, numbers, shape, answer)


@functools.cache
def _code() -> Library:
    """The machine code, with a function ``entry``."""
    return library('entry', entry_function, [file_cache.sources('engine/traced')])


def _numpy_functions() -> Any:
    """Numpy's table of C functions."""
    core = getattr(np, '_core', None) or np.core
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer_of(core.multiarray._ARRAY_API, None)
    return (ctypes.c_void_p * (NEW_ARRAY + 1)).from_address(table)
