# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A function for Python, generated beside the arithmetic that it calls.

Taking arrays apart and making results would cost several times the arithmetic in Python, and a
compiled extension would need a compiler at every install. So the few lines of C that such an
extension consists of are generated, too, as LLVM's language: a function of the vectorcall protocol
that reads up to four arrays, lets the row function write into a fresh ``bytes`` object and returns
a result object whose slots it fills in. It only knows arrays of doubles of the right length, or
None; with all else, with keywords, and where the row does not count, it calls a function in Python.

What it knows about objects in memory is numpy's published struct of an array and CPython's of
``bytes`` and tuples; :func:`supported` looks whether they are so here.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from masticator_dynamics.traced.llvm_ir import pointer

SLOTS = ('mechanism', '_numbers', 'actuated')
_BYTES_DATA, _TUPLE_ITEMS = 32, 24  # bytes before the contents of such objects
_ARRAY_DATA, _ARRAY_DIMENSIONS_COUNT, _ARRAY_DIMENSIONS = 16, 24, 32
_ARRAY_TYPE, _ARRAY_FLAGS, _OBJECT_TYPE = 56, 64, 8
_CONTIGUOUS_ALIGNED, _WRITEABLE = 0x101, 0x400
_NEW_ARRAY, _DOUBLE = 93, 12  # PyArray_New in numpy's table of functions; its number of float64
# What the function reads from the bytes that its ``self`` begins with: addresses, in this order.
_CONTEXT = (
    'none', 'array', 'double', 'new_array', 'zeros', 'length', 'result', 'mechanism', 'otherwise',
)  # fmt: skip
_FASTCALL_KEYWORDS = 0x82


def entry_function(name: str, row: str, freedoms: int, actuators: int, told: int, at: int) -> str:
    """``PyObject *name(self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)``.

    Parameters
    ----------
    row : str
        Function of a row: from y, y_dot, y_ddot and wrench to ``told`` numbers; the first is 1
        where they count, and the efforts begin at ``at``.
    """
    asked = 3 * freedoms + 6
    writer = _Writer()
    writer.load('context', '%self', _TUPLE_ITEMS)
    for i, field in enumerate((*_CONTEXT, *(f'slot_{i}' for i in range(len(SLOTS))))):
        writer.load(field, '%context', _BYTES_DATA + 8 * i)
    writer.unless('%keywords', '0', 'other')
    writer.less('%count', '5', 'other')
    lengths = [freedoms, freedoms, freedoms, 6]
    for i, length in enumerate(lengths):
        writer.argument(i, length)
    size = 8 * (asked + told)
    writer.say(f'%numbers = call i64 @PyBytes_FromStringAndSize(i64 0, i64 {size})')
    writer.fail_if_null('%numbers', 'no_memory')
    writer.say(f'%given = add i64 %numbers, {_BYTES_DATA}')
    writer.say(f'%told = add i64 %given, {8 * asked}')
    start = 0
    for i, length in enumerate(lengths):
        writer.copy(f'%data_{i}', '%given', 8 * start, length)
        start += length
    double = pointer('double')
    writer.cast('given_at', '%given', double)
    writer.cast('told_at', '%told', double)
    writer.say(f'call void @{row}({double} %given_at, {double} %told_at)')
    writer.load('counts', '%told', 0, 'double')
    writer.say('%good = fcmp oeq double %counts, 1.0')
    writer.branch('%good', 'valid', 'invalid')
    kinds = 'i64, i32, i64, i32, i64, i64, i32, i32, i64'
    writer.cast('new', '%new_array', pointer(f'i64 ({kinds})'))
    writer.say(
        f'%efforts = call i64 %new(i64 %array, i32 1, i64 %length, i32 {_DOUBLE}, '
        'i64 0, i64 0, i32 0, i32 0, i64 0)'
    )
    writer.fail_if_null('%efforts', 'no_array')
    writer.load('efforts_data', '%efforts', _ARRAY_DATA)
    writer.say(f'%from = add i64 %told, {8 * at}')
    writer.copy('%from', '%efforts_data', 0, actuators)
    writer.load('flags', '%efforts', _ARRAY_FLAGS, 'i32')
    writer.say(f'%fixed = and i32 %flags, {~_WRITEABLE}')
    writer.store('%fixed', '%efforts', str(_ARRAY_FLAGS), 'i32')
    writer.say('%answer = call i64 @PyType_GenericAlloc(i64 %result, i64 0)')
    writer.fail_if_null('%answer', 'no_answer')
    writer.say('call void @Py_IncRef(i64 %mechanism)')
    for i, value in enumerate(('%mechanism', '%numbers', '%efforts')):
        writer.store(value, '%answer', f'%slot_{i}')
    return (
        f'\ndefine i64 @{name}(i64 %self, i64 %arguments, i64 %count, i64 %keywords) '
        'nounwind #0 {\n'
        f'{writer.text()}  ret i64 %answer\n'
        'invalid:\n  call void @Py_DecRef(i64 %numbers)\n  br label %other\n'
        'other:\n'
        '  %looked = call i64 @PyObject_Vectorcall'
        '(i64 %otherwise, i64 %arguments, i64 %count, i64 %keywords)\n'
        '  ret i64 %looked\n'
        'no_answer:\n  call void @Py_DecRef(i64 %efforts)\n  br label %no_array\n'
        'no_array:\n  call void @Py_DecRef(i64 %numbers)\n  br label %no_memory\n'
        'no_memory:\n  ret i64 0\n}\n'
        'declare i64 @PyBytes_FromStringAndSize(i64, i64)\n'
        'declare i64 @PyType_GenericAlloc(i64, i64)\n'
        'declare i64 @PyObject_Vectorcall(i64, i64, i64, i64)\n'
        'declare void @Py_IncRef(i64)\ndeclare void @Py_DecRef(i64)\n'
    )


class _Writer:
    """Writes the lines; addresses are 64-bit integers."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        return '\n'.join(self._lines) + '\n'

    def say(self, line: str) -> None:
        self._lines.append('  ' + line)

    def fresh(self) -> str:
        self._count += 1
        return f'x{self._count}'

    def cast(self, name: str, address: str, kind: str) -> None:
        self.say(f'%{name} = inttoptr i64 {address} to {kind}')

    def _at(self, base: str, offset: str, kind: str) -> str:
        place, cast = self.fresh(), self.fresh()
        self.say(f'%{place} = add i64 {base}, {offset}')
        self.cast(cast, f'%{place}', pointer(kind))
        return cast

    def load(self, name: str, base: str, offset: int, kind: str = 'i64') -> None:
        at = self._at(base, str(offset), kind)
        self.say(f'%{name} = load {kind}, {pointer(kind)} %{at}')

    def store(self, value: str, base: str, offset: str, kind: str = 'i64') -> None:
        at = self._at(base, offset, kind)
        self.say(f'store {kind} {value}, {pointer(kind)} %{at}')

    def branch(self, truth: str, then: str, otherwise: str) -> None:
        self.say(f'br i1 {truth}, label %{then}, label %{otherwise}')
        self._lines.append(f'{then}:')

    def unless(self, a: str, b: str, otherwise: str, kind: str = 'i64') -> None:
        """Go elsewhere where two numbers differ."""
        truth = self.fresh()
        self.say(f'%{truth} = icmp eq {kind} {a}, {b}')
        self.branch(f'%{truth}', self.fresh(), otherwise)

    def less(self, a: str, b: str, otherwise: str) -> None:
        """Go elsewhere unless one number is below another."""
        truth = self.fresh()
        self.say(f'%{truth} = icmp slt i64 {a}, {b}')
        self.branch(f'%{truth}', self.fresh(), otherwise)

    def fail_if_null(self, address: str, otherwise: str) -> None:
        truth = self.fresh()
        self.say(f'%{truth} = icmp ne i64 {address}, 0')
        self.branch(f'%{truth}', self.fresh(), otherwise)

    def copy(self, source: str, target: str, offset: int, count: int) -> None:
        """Copy doubles."""
        for i in range(count):
            name = self.fresh()
            self.load(name, source, 8 * i, 'double')
            self.store(f'%{name}', target, str(offset + 8 * i), 'double')

    def array(self, i: int, length: int, data: str) -> None:
        """Address of the data of an argument, which must be an array of doubles."""
        self.load(f'type_{i}', f'%argument_{i}', _OBJECT_TYPE)
        self.unless(f'%type_{i}', '%array', 'other')
        self.load(f'count_{i}', f'%argument_{i}', _ARRAY_DIMENSIONS_COUNT, 'i32')
        self.unless(f'%count_{i}', '1', 'other', 'i32')
        self.load(f'dimensions_{i}', f'%argument_{i}', _ARRAY_DIMENSIONS)
        self.load(f'length_{i}', f'%dimensions_{i}', 0)
        self.unless(f'%length_{i}', str(length), 'other')
        self.load(f'kind_{i}', f'%argument_{i}', _ARRAY_TYPE)
        self.unless(f'%kind_{i}', '%double', 'other')
        self.load(f'flags_{i}', f'%argument_{i}', _ARRAY_FLAGS, 'i32')
        self.say(f'%set_{i} = and i32 %flags_{i}, {_CONTIGUOUS_ALIGNED}')
        self.unless(f'%set_{i}', str(_CONTIGUOUS_ALIGNED), 'other', 'i32')
        self.load(data, f'%argument_{i}', _ARRAY_DATA)

    def argument(self, i: int, length: int) -> None:
        """Address of the data of an argument; of zeros where a later one is left out or None."""
        absent = f'absent_{i}'
        self.less(str(i), '%count', absent if i else 'other')
        self.load(f'argument_{i}', '%arguments', 8 * i)
        if i == 0:
            self.array(i, length, f'data_{i}')
            return
        self.say(f'%none_{i} = icmp eq i64 %argument_{i}, %none')
        self.say(f'br i1 %none_{i}, label %{absent}, label %present_{i}')
        self._lines.append(f'present_{i}:')
        self.array(i, length, f'there_{i}')
        self.say(f'br label %here_{i}')
        self._lines += [f'here_{i}:', f'  br label %taken_{i}']
        self._lines += [f'{absent}:', f'  br label %taken_{i}', f'taken_{i}:']
        self.say(f'%data_{i} = phi i64 [%zeros, %{absent}], [%there_{i}, %here_{i}]')


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    ]


@functools.cache
def supported() -> bool:
    """Whether arrays and bytes lie in memory as the generated function takes them to."""
    probe = np.zeros(3, dtype=np.float64)
    at = id(probe)

    def word(offset: int) -> int:
        return int(ctypes.c_int64.from_address(at + offset).value)

    text = b'masticator'
    held = ctypes.c_int64.from_address(id(pair := (text, probe)) + _TUPLE_ITEMS).value
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and bytes.__basicsize__ == _BYTES_DATA + 1
        and ctypes.string_at(id(text) + _BYTES_DATA, len(text)) == text
        and held == id(pair[0])
        and word(_OBJECT_TYPE) == id(np.ndarray)
        and word(_ARRAY_DATA) == probe.__array_interface__['data'][0]
        and ctypes.c_int.from_address(at + _ARRAY_DIMENSIONS_COUNT).value == 1
        and ctypes.c_int64.from_address(word(_ARRAY_DIMENSIONS)).value == 3
        and word(_ARRAY_TYPE) == id(probe.dtype)
        and ctypes.c_int.from_address(at + _ARRAY_FLAGS).value == probe.flags.num
    )


def slot_offsets(result: type) -> list[int]:
    """Where the slots of a class lie in its objects, found by looking."""
    probe: object = object.__new__(result)
    found = []
    for slot in SLOTS:
        mark = object()
        setattr(probe, slot, mark)
        words = (ctypes.c_int64 * (result.__basicsize__ // 8)).from_address(id(probe))
        found.append(8 * list(words).index(id(mark)))
    return found


def declare_functions() -> None:
    """Tell LLVM where Python's functions are: not every Python exports them to the linker."""
    for name in (
        'PyBytes_FromStringAndSize', 'PyType_GenericAlloc', 'PyObject_Vectorcall', 'Py_IncRef',
        'Py_DecRef',
    ):  # fmt: skip
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert address is not None
        llvm.add_symbol(name, address)


def callable_entry(
    address: int,
    kept: object,
    result: type,
    mechanism: object,
    otherwise: Callable[..., Any],
    sizes: tuple[int, int],
) -> Callable[..., Any]:
    """The generated function as a Python callable.

    Parameters
    ----------
    address : int
        Of the function.
    kept : object
        The machine code, which is kept as long as the callable.
    result : type
        Class of the results; has ``SLOTS``.
    otherwise : callable
        What is called with arguments that are not served here.
    sizes : (int, int)
        Degrees of freedom and actuators.
    """
    zeros = np.zeros(max(sizes[0], 6))
    length = np.array([sizes[1]], dtype=np.int64)
    known = {
        'none': id(None),
        'array': id(np.ndarray),
        'double': id(np.dtype(np.float64)),
        'new_array': _numpy_functions()[_NEW_ARRAY],
        'zeros': zeros.ctypes.data,
        'length': length.ctypes.data,
        'result': id(result),
        'mechanism': id(mechanism),
        'otherwise': id(otherwise),
    }
    words = [known[name] for name in _CONTEXT] + slot_offsets(result)
    context = np.array(words, dtype=np.int64).tobytes()
    definition = _MethodDefinition(b'feedforward', address, _FASTCALL_KEYWORDS, None)
    # The tuple owns all that addresses are given of. A function reads its definition until it is
    # gone itself: while Python ends, a list in this module would be gone before.
    held = (context, kept, zeros, length, result, mechanism, otherwise, definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(definition), held, None)
    return made


def _numpy_functions() -> Any:
    """Numpy's table of C functions."""
    core = getattr(np, '_core', None) or np.core
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer_of(core.multiarray._ARRAY_API, None)
    return (ctypes.c_void_p * (_NEW_ARRAY + 1)).from_address(table)
