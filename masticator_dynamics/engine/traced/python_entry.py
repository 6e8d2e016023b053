# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A function for Python, generated along with the arithmetic that it calls.

Unpacking arrays and making results in Python would cost several times the arithmetic, and a
compiled extension would need a compiler at every install. So the few lines of C that such an
extension consists of are generated, too, in LLVM's language: a function of the vectorcall protocol
that reads up to four arrays, lets the row function write into a fresh ``bytes`` object and returns
a result object whose slots it fills in. It only handles arrays of doubles of the right length, or
None, and values of keywords registered by :meth:`Entry.add`, for which it calls other such
functions; for everything else, and where the row is not valid, it calls a function in Python.

The memory layouts that it relies on are numpy's published struct of an array and CPython's of
``bytes`` and tuples; :func:`supported` checks that they hold here.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced.machine_code import Library

SLOTS = ('mechanism', '_numbers', 'actuated')
BYTES_DATA, TUPLE_ITEMS = 32, 24  # bytes before the contents of such objects
ARRAY_DATA, ARRAY_DIMENSIONS_COUNT, ARRAY_DIMENSIONS = 16, 24, 32
ARRAY_BASE, ARRAY_TYPE, ARRAY_FLAGS, OBJECT_TYPE = 48, 56, 64, 8
_NEW_ARRAY, DOUBLE = 93, 12  # PyArray_New in numpy's table of functions; its number of float64
# What the function reads from the bytes that its ``self`` begins with: addresses, in this order.
KEYWORDS = ('goal', 'friction', 'limits', 'nearest')
WORDS = (*KEYWORDS, 'torque')
# Python's functions that it calls, and their types; by address, since not every Python exports
# them to a linker.
FUNCTIONS = {
    'PyBytes_FromStringAndSize': 'i64 (i64, i64)',
    'PyType_GenericAlloc': 'i64 (i64, i64)',
    'PyObject_Vectorcall': 'i64 (i64, i64, i64, i64)',
    'Py_IncRef': 'void (i64)',
    'Py_DecRef': 'void (i64)',
}
CONTEXT = (
    'none', 'array', 'double', 'new_array', 'zeros', 'length', 'result', 'mechanism', 'fallback',
    'constants',
    *(f'word_{word}' for word in WORDS), 'no', 'others',
    *(f'at_{name}' for name in FUNCTIONS),
)  # fmt: skip
_FASTCALL_KEYWORDS = 0x82
MOST_OTHERS = 14  # goals with a name, with friction or without, and within limits


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
        ctypes.sizeof(ctypes.c_void_p) == 8
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


def slot_offsets(result: type) -> list[int]:
    """Where the slots of a class lie in its objects, found by looking."""
    probe: object = object.__new__(result)
    offsets = []
    for slot in SLOTS:
        mark = object()
        setattr(probe, slot, mark)
        words = (ctypes.c_int64 * (result.__basicsize__ // 8)).from_address(id(probe))
        offsets.append(8 * list(words).index(id(mark)))
    return offsets


class Entry:
    """The generated function as a Python callable.

    Parameters
    ----------
    code : Library
        The machine code, with a function ``entry``; kept as long as the callable.
    result : type
        Class of the results; has ``SLOTS``.
    fallback : callable
        What is called with arguments that are not served here.
    sizes : (int, int)
        Degrees of freedom and actuators.
    constants : array
        Numbers of the mechanism that its code takes as inputs.

    Attributes
    ----------
    call : callable
    """

    def __init__(
        self,
        code: Library,
        result: type,
        mechanism: object,
        fallback: Callable[..., Any],
        sizes: tuple[int, int],
        constants: FloatArray,
    ):
        zeros = np.zeros(max(sizes[0], 6))
        length = np.array([sizes[1]], dtype=np.int64)
        # Values of the keywords and the function of each, addresses.
        self._others = np.zeros((MOST_OTHERS, 1 + len(KEYWORDS)), dtype=np.int64)
        context = {
            'none': id(None),
            'array': id(np.ndarray),
            'double': id(np.dtype(np.float64)),
            'new_array': _numpy_functions()[_NEW_ARRAY],
            'zeros': zeros.ctypes.data,
            'length': length.ctypes.data,
            'result': id(result),
            'mechanism': id(mechanism),
            'fallback': id(fallback),
            'constants': constants.ctypes.data,
            **{f'word_{word}': id(sys.intern(word)) for word in WORDS},
            'no': id(False),
            'others': self._others.ctypes.data,
            **{
                f'at_{name}': ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
                for name in FUNCTIONS
            },
        }
        words = [context[name] for name in CONTEXT] + slot_offsets(result)
        self._context = np.array(words, dtype=np.int64).tobytes()
        definition = _MethodDefinition(
            b'feedforward', code.address('entry'), _FASTCALL_KEYWORDS, None
        )
        # The tuple owns everything whose address is passed. A function reads its definition until
        # it is gone itself: when Python exits, a list in this module would be gone before.
        self._held: dict[int, tuple[Any, ...]] = {}
        held = (
            self._context, code, zeros, length, result, mechanism, fallback, definition,
            self._others, self._held, constants,
        )  # fmt: skip
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self.call: Callable[..., Any] = make(ctypes.addressof(definition), held, None)

    def add(self, keywords: tuple[str, bool, object, bool], function: Callable[..., Any]) -> None:
        """Have another function called for exactly these values of the keywords.

        Of those with limits, the last few are kept.

        Parameters
        ----------
        keywords : tuple
            Values of ``KEYWORDS``: objects, which are compared by address.
        function : callable
            What is called with them, always the same, and with the other arguments.
        """
        goal, *rest = keywords
        held = sys.intern(goal), *rest, function
        place = len(self._held)
        if place == MOST_OTHERS:
            place = next(i for i, other in self._held.items() if other[2] is not False)
            self._others[place] = 0
            del self._held[place]
        self._held[place] = held
        self._others[place] = [id(x) for x in held]


def _numpy_functions() -> Any:
    """Numpy's table of C functions."""
    core = getattr(np, '_core', None) or np.core
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer_of(core.multiarray._ARRAY_API, None)
    return (ctypes.c_void_p * (_NEW_ARRAY + 1)).from_address(table)
