# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The function for Python in LLVM's language; ``python_entry.py`` explains its purpose."""

from __future__ import annotations

from collections.abc import Sequence

from masticator_dynamics.traced.llvm_ir import pointer
from masticator_dynamics.traced.python_entry import (
    ARRAY_BASE,
    ARRAY_DATA,
    ARRAY_DIMENSIONS,
    ARRAY_DIMENSIONS_COUNT,
    ARRAY_FLAGS,
    ARRAY_TYPE,
    BYTES_DATA,
    CONTEXT,
    DOUBLE,
    FUNCTIONS,
    OBJECT_TYPE,
    SLOTS,
    TUPLE_ITEMS,
)  # fmt: skip

_CONTIGUOUS_ALIGNED = 0x101


def entry_function(name: str, row: str, freedoms: int, outputs: int, at: int) -> str:
    """``PyObject *name(self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)``.

    Parameters
    ----------
    row : str
        Function of a row: from y, y_dot, y_ddot and wrench to ``outputs`` numbers; the first is 1
        if they are valid, and the efforts begin at ``at``.
    """
    lengths = [freedoms, freedoms, freedoms, 6]
    writer = _Writer()
    writer.load('context', '%self', TUPLE_ITEMS)
    for i, field in enumerate((*CONTEXT, *(f'slot_{i}' for i in range(len(SLOTS))))):
        writer.load(field, '%context', BYTES_DATA + 8 * i)
    for function, kind in FUNCTIONS.items():
        writer.cast(function, f'%at_{function}', pointer(kind))
    writer.say('%plain = icmp eq i64 %keywords, 0')
    writer.branch('%plain', 'unnamed', 'named')
    writer.less('%count', '5', 'other')
    for i, length in enumerate(lengths):
        writer.argument(i, length)
    _evaluate(writer, row, lengths, outputs)
    _make_result(writer, at)
    return (
        f'\ndefine i64 @{name}(i64 %self, i64 %arguments, i64 %count, i64 %keywords) '
        'nounwind #0 {\n'
        f'{writer.text()}  ret i64 %answer\n' + _NAMED + _FALLBACK
    )


def _evaluate(writer: _Writer, row: str, lengths: Sequence[int], outputs: int) -> None:
    """Call the function of a row with the arguments; go on if its outputs are valid."""
    inputs, start, double = sum(lengths), 0, pointer('double')
    size = 8 * (inputs + outputs)
    writer.say(f'%numbers = call i64 %PyBytes_FromStringAndSize(i64 0, i64 {size})')
    writer.fail_if_null('%numbers', 'no_memory')
    writer.say(f'%given = add i64 %numbers, {BYTES_DATA}')
    writer.say(f'%out = add i64 %given, {8 * inputs}')
    for i, length in enumerate(lengths):
        writer.copy(f'%data_{i}', '%given', 8 * start, length)
        start += length
    writer.cast('given_at', '%given', double)
    writer.cast('out_at', '%out', double)
    writer.say(f'call void @{row}({double} %given_at, {double} %out_at)')
    writer.load('first_output', '%out', 0, 'double')
    writer.say('%good = fcmp oeq double %first_output, 1.0')
    writer.branch('%good', 'valid', 'invalid')


def _make_result(writer: _Writer, at: int) -> None:
    """The efforts, an array in the memory of the bytes, and a result whose slots are filled in."""
    kinds = 'i64, i32, i64, i32, i64, i64, i32, i32, i64'
    writer.cast('new', '%new_array', pointer(f'i64 ({kinds})'))
    writer.say(f'%effort = add i64 %out, {8 * at}')
    writer.say(
        f'%efforts = call i64 %new(i64 %array, i32 1, i64 %length, i32 {DOUBLE}, '
        f'i64 0, i64 %effort, i32 0, i32 {_CONTIGUOUS_ALIGNED}, i64 0)'
    )
    writer.fail_if_null('%efforts', 'no_array')
    writer.say('call void %Py_IncRef(i64 %numbers)')
    writer.store('%numbers', '%efforts', str(ARRAY_BASE))
    writer.say('%answer = call i64 %PyType_GenericAlloc(i64 %result, i64 0)')
    writer.fail_if_null('%answer', 'no_answer')
    writer.say('call void %Py_IncRef(i64 %mechanism)')
    for i, value in enumerate(('%mechanism', '%numbers', '%efforts')):
        writer.store(value, '%answer', f'%slot_{i}')


# What was not served, and what to give back where memory runs out.
_FALLBACK = """invalid:
  call void %Py_DecRef(i64 %numbers)
  br label %other
other:
  %looked = call i64 %PyObject_Vectorcall(i64 %fallback, i64 %arguments, i64 %count, i64 %keywords)
  ret i64 %looked
no_answer:
  call void %Py_DecRef(i64 %efforts)
  br label %no_array
no_array:
  call void %Py_DecRef(i64 %numbers)
  br label %no_memory
no_memory:
  ret i64 0
}
"""
# Keywords are a tuple of names; their values follow the other arguments. Names are compared by
# address: Python keeps only one of each.
_NAMED = f"""named:
  %names_size_at = add i64 %keywords, {TUPLE_ITEMS - 8}
  %names_size_p = inttoptr i64 %names_size_at to {pointer('i64')}
  %names_size = load i64, {pointer('i64')} %names_size_p
  %names_at = add i64 %keywords, {TUPLE_ITEMS}
  %names = inttoptr i64 %names_at to {pointer('i64')}
  %value_offset = mul i64 %count, 8
  %values_at = add i64 %arguments, %value_offset
  %values = inttoptr i64 %values_at to {pointer('i64')}
  %name_0 = load i64, {pointer('i64')} %names
  %value_0 = load i64, {pointer('i64')} %values
  %goal_first = icmp eq i64 %name_0, %word_goal
  %friction_first = icmp eq i64 %name_0, %word_friction
  %first_known = or i1 %goal_first, %friction_first
  br i1 %first_known, label %named_known, label %other
named_known:
  %single = icmp eq i64 %names_size, 1
  %double_names = icmp eq i64 %names_size, 2
  %goal_alone = select i1 %goal_first, i64 %value_0, i64 %word_torque
  %friction_alone = select i1 %goal_first, i64 %no, i64 %value_0
  br i1 %single, label %named_all, label %named_more
named_more:
  br i1 %double_names, label %named_two, label %other
named_two:
  %names_1 = getelementptr i64, {pointer('i64')} %names, i64 1
  %values_1 = getelementptr i64, {pointer('i64')} %values, i64 1
  %name_1 = load i64, {pointer('i64')} %names_1
  %value_1 = load i64, {pointer('i64')} %values_1
  %wanted = select i1 %goal_first, i64 %word_friction, i64 %word_goal
  %second_known = icmp eq i64 %name_1, %wanted
  %goal_two = select i1 %goal_first, i64 %value_0, i64 %value_1
  %friction_two = select i1 %goal_first, i64 %value_1, i64 %value_0
  br i1 %second_known, label %named_all, label %other
named_all:
  %goal = phi i64 [%goal_alone, %named_known], [%goal_two, %named_two]
  %friction = phi i64 [%friction_alone, %named_known], [%friction_two, %named_two]
  %first = inttoptr i64 %others to {pointer('i64')}
  br label %named_next
named_next:
  %here = phi {pointer('i64')} [%first, %named_all], [%next, %named_differs]
  %next = getelementptr i64, {pointer('i64')} %here, i64 3
  %its_goal = load i64, {pointer('i64')} %here
  %last = icmp eq i64 %its_goal, 0
  br i1 %last, label %other, label %named_look
named_look:
  %its_friction_at = getelementptr i64, {pointer('i64')} %here, i64 1
  %its_friction = load i64, {pointer('i64')} %its_friction_at
  %same_goal = icmp eq i64 %goal, %its_goal
  %same_friction = icmp eq i64 %friction, %its_friction
  %same = and i1 %same_goal, %same_friction
  br i1 %same, label %named_same, label %named_differs
named_differs:
  br label %named_next
named_same:
  %function_at = getelementptr i64, {pointer('i64')} %here, i64 2
  %function = load i64, {pointer('i64')} %function_at
  %best = call i64 %PyObject_Vectorcall(i64 %function, i64 %arguments, i64 %count, i64 0)
  ret i64 %best
"""


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

    def branch(self, truth: str, if_true: str, if_false: str) -> None:
        self.say(f'br i1 {truth}, label %{if_true}, label %{if_false}')
        self._lines.append(f'{if_true}:')

    def unless(self, a: str, b: str, target: str, kind: str = 'i64') -> None:
        """Branch to ``target`` if two numbers differ."""
        truth = self.fresh()
        self.say(f'%{truth} = icmp eq {kind} {a}, {b}')
        self.branch(f'%{truth}', self.fresh(), target)

    def less(self, a: str, b: str, target: str) -> None:
        """Branch to ``target`` unless one number is below another."""
        truth = self.fresh()
        self.say(f'%{truth} = icmp slt i64 {a}, {b}')
        self.branch(f'%{truth}', self.fresh(), target)

    def fail_if_null(self, address: str, target: str) -> None:
        truth = self.fresh()
        self.say(f'%{truth} = icmp ne i64 {address}, 0')
        self.branch(f'%{truth}', self.fresh(), target)

    def copy(self, source: str, target: str, offset: int, count: int) -> None:
        """Copy doubles."""
        for i in range(count):
            name = self.fresh()
            self.load(name, source, 8 * i, 'double')
            self.store(f'%{name}', target, str(offset + 8 * i), 'double')

    def array(self, i: int, length: int, data: str) -> None:
        """Address of the data of an argument, which must be an array of doubles."""
        self.load(f'type_{i}', f'%argument_{i}', OBJECT_TYPE)
        self.unless(f'%type_{i}', '%array', 'other')
        self.load(f'count_{i}', f'%argument_{i}', ARRAY_DIMENSIONS_COUNT, 'i32')
        self.unless(f'%count_{i}', '1', 'other', 'i32')
        self.load(f'dimensions_{i}', f'%argument_{i}', ARRAY_DIMENSIONS)
        self.load(f'length_{i}', f'%dimensions_{i}', 0)
        self.unless(f'%length_{i}', str(length), 'other')
        self.load(f'kind_{i}', f'%argument_{i}', ARRAY_TYPE)
        self.unless(f'%kind_{i}', '%double', 'other')
        self.load(f'flags_{i}', f'%argument_{i}', ARRAY_FLAGS, 'i32')
        self.say(f'%set_{i} = and i32 %flags_{i}, {_CONTIGUOUS_ALIGNED}')
        self.unless(f'%set_{i}', str(_CONTIGUOUS_ALIGNED), 'other', 'i32')
        self.load(data, f'%argument_{i}', ARRAY_DATA)

    def argument(self, i: int, length: int) -> None:
        """Address of the data of an argument; of zeros where a later one is omitted or None."""
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
