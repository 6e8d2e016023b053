# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The function for Python in LLVM's language; ``python_entry.py`` explains its purpose."""

from __future__ import annotations

from collections.abc import Sequence

from masticator_dynamics.engine.traced.llvm_ir import pointer
from masticator_dynamics.engine.traced.python_entry import (
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
    KEYWORDS,
    MOST_OTHERS,
    OBJECT_TYPE,
    SLOTS,
    TUPLE_ITEMS,
)  # fmt: skip

_CONTIGUOUS_ALIGNED = 0x101


def entry_function(freedoms: int, outputs: int, at: int, constants: int) -> str:
    """``PyObject *entry(self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)``.

    It calls ``row``: from y, y_dot, y_ddot and wrench to ``outputs`` numbers; the first is 1 if
    they are valid, and the efforts begin at ``at``.

    Parameters
    ----------
    constants : int
        How many numbers of the mechanism follow the inputs.
    """
    writer = _Writer()
    plain = writer.equal('%keywords', '0')
    writer.say(f'br i1 {plain}, label %unnamed, label %named')
    writer.label('unnamed')
    writer.require(writer.new('icmp slt i64 %count, 5'), 'other')
    lengths = [freedoms, freedoms, freedoms, 6]
    addresses = [writer.argument(i, length) for i, length in enumerate(lengths)]
    numbers, out = _evaluate(writer, addresses, lengths, outputs, constants)
    efforts = _make_result(writer, numbers, out, at)
    _choose(writer)
    _give_up(writer, numbers, efforts)
    return (
        f'\ndefine i64 @entry(i64 %self, i64 %arguments, i64 %count, i64 %keywords) '
        f'nounwind #0 {{\n{writer.text()}}}\n'
    )


def _evaluate(
    writer: _Writer, addresses: Sequence[str], lengths: Sequence[int], outputs: int, constants: int
) -> tuple[str, str]:
    """Call the function of a row with the arguments; go on if its outputs are valid."""
    double, inputs = pointer('double'), sum(lengths)
    numbers = writer.call('PyBytes_FromStringAndSize', '0', str(8 * (inputs + outputs)))
    writer.require(writer.new(f'icmp ne i64 {numbers}, 0'), 'no_memory')
    into = writer.new(f'add i64 {numbers}, {BYTES_DATA}')
    out = writer.new(f'add i64 {into}, {8 * inputs}')
    read = into
    if constants:
        whole = writer.new(f'alloca double, i64 {inputs + constants}')
        read = writer.new(f'ptrtoint {double} {whole} to i64')
    parts = [*zip(addresses, lengths, strict=True), (writer.known['constants'], constants)]
    start = 0
    for data, length in parts:
        for i in range(length):
            number = writer.load(data, 8 * i, 'double')
            for memory in dict.fromkeys((into, read) if start < inputs else (read,)):
                writer.store(number, memory, 8 * (start + i), 'double')
        start += length
    places = [writer.new(f'inttoptr i64 {address} to {double}') for address in (read, out)]
    writer.say(f'call void @row({", ".join(f"{double} {place}" for place in places)})')
    first = writer.load(out, 0, 'double')
    writer.require(writer.new(f'fcmp oeq double {first}, 1.0'), 'invalid')
    return numbers, out


def _make_result(writer: _Writer, numbers: str, out: str, at: int) -> str:
    """Return a result whose slots are filled in; its efforts are an array in the bytes' memory."""
    context = writer.known
    kinds = 'i64, i32, i64, i32, i64, i64, i32, i32, i64'
    new = writer.new(f'inttoptr i64 {context["new_array"]} to {pointer(f"i64 ({kinds})")}')
    first = writer.new(f'add i64 {out}, {8 * at}')
    efforts = writer.new(
        f'call i64 {new}(i64 {context["array"]}, i32 1, i64 {context["length"]}, i32 {DOUBLE}, '
        f'i64 0, i64 {first}, i32 0, i32 {_CONTIGUOUS_ALIGNED}, i64 0)'
    )
    writer.require(writer.new(f'icmp ne i64 {efforts}, 0'), 'no_array')
    writer.call('Py_IncRef', numbers)
    writer.store(numbers, efforts, ARRAY_BASE)
    answer = writer.call('PyType_GenericAlloc', context['result'], '0')
    writer.require(writer.new(f'icmp ne i64 {answer}, 0'), 'no_answer')
    writer.call('Py_IncRef', context['mechanism'])
    for slot, value in zip(SLOTS, (context['mechanism'], numbers, efforts), strict=True):
        writer.store(value, answer, context[f'slot_{slot}'])
    writer.say(f'ret i64 {answer}')
    return efforts


def _choose(writer: _Writer) -> None:
    """Call another such function, if all keywords are among those that it is registered for.

    Keywords are a tuple of names; their values follow the other arguments. Names are compared by
    address: Python keeps only one of each.
    """
    context = writer.known
    writer.label('named')
    last = writer.new(f'sub i64 {writer.load("%keywords", TUPLE_ITEMS - 8)}, 1')
    writer.require(writer.new(f'icmp ult i64 {last}, {len(KEYWORDS)}'), 'other')
    asked = {word: context['no'] for word in KEYWORDS} | {'goal': context['word_torque']}
    for i in range(len(KEYWORDS)):
        place = writer.either(writer.new(f'icmp ult i64 {i}, {last}'), str(i), last)
        name = writer.load(writer.element('%keywords', place), TUPLE_ITEMS)
        value = writer.load(writer.element(writer.element('%arguments', '%count'), place))
        is_any = '0'
        for word, before in asked.items():
            is_it = writer.equal(name, context[f'word_{word}'])
            is_any = writer.new(f'or i1 {is_any}, {is_it}')
            asked[word] = writer.either(is_it, value, before)
        writer.require(is_any, 'other')
    chosen = '0'
    for i in range(MOST_OTHERS):
        first = (1 + len(KEYWORDS)) * i
        same = '1'
        for k, value in enumerate(asked.values()):
            equal = writer.equal(value, writer.load(context['others'], 8 * (first + k)))
            same = writer.new(f'and i1 {same}, {equal}')
        function = writer.load(context['others'], 8 * (first + len(KEYWORDS)))
        chosen = writer.either(same, function, chosen)
    writer.require(writer.new(f'icmp ne i64 {chosen}, 0'), 'other')
    best = writer.call('PyObject_Vectorcall', chosen, '%arguments', '%count', '0')
    writer.say(f'ret i64 {best}')


def _give_up(writer: _Writer, numbers: str, efforts: str) -> None:
    """What to return for what was not served, and where memory runs out."""
    writer.label('invalid')
    writer.call('Py_DecRef', numbers)
    writer.say('br label %other')
    writer.label('other')
    fallback = writer.known['fallback']
    looked = writer.call('PyObject_Vectorcall', fallback, '%arguments', '%count', '%keywords')
    writer.say(f'ret i64 {looked}')
    writer.label('no_answer')
    writer.call('Py_DecRef', efforts)
    writer.say('br label %no_array')
    writer.label('no_array')
    writer.call('Py_DecRef', numbers)
    writer.say('br label %no_memory')
    writer.label('no_memory')
    writer.say('ret i64 0')


class _Writer:
    """Writes the lines; addresses are 64-bit integers.

    Attributes
    ----------
    known : dict of str
        What the function's ``self`` holds, by name, see `python_entry.py`.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0
        context = self.load('%self', TUPLE_ITEMS)
        self.known = {
            name: self.load(context, BYTES_DATA + 8 * i)
            for i, name in enumerate((*CONTEXT, *(f'slot_{slot}' for slot in SLOTS)))
        }

    def text(self) -> str:
        return '\n'.join(self._lines) + '\n'

    def say(self, line: str) -> None:
        self._lines.append('  ' + line)

    def label(self, name: str) -> None:
        self._lines.append(f'{name}:')

    def new(self, operation: str) -> str:
        """The result of an operation."""
        self._count += 1
        self.say(f'%x{self._count} = {operation}')
        return f'%x{self._count}'

    def require(self, truth: str, otherwise: str) -> None:
        """Go on where a condition holds, else at a label."""
        self._count += 1
        self.say(f'br i1 {truth}, label %x{self._count}, label %{otherwise}')
        self.label(f'x{self._count}')

    def equal(self, a: str, b: str, kind: str = 'i64') -> str:
        return self.new(f'icmp eq {kind} {a}, {b}')

    def either(self, truth: str, a: str, b: str) -> str:
        return self.new(f'select i1 {truth}, i64 {a}, i64 {b}')

    def element(self, base: str, index: str) -> str:
        """Address of a word of an array of them."""
        return self.new(f'add i64 {base}, {self.new(f"mul i64 {index}, 8")}')

    def call(self, function: str, *arguments: str) -> str:
        """Call one of Python's functions."""
        kind = FUNCTIONS[function]
        called = self.new(f'inttoptr i64 {self.known[f"at_{function}"]} to {pointer(kind)}')
        result, _, _ = kind.partition(' ')
        line = f'call {result} {called}({", ".join(f"i64 {x}" for x in arguments)})'
        if result != 'void':
            return self.new(line)
        self.say(line)
        return ''

    def _at(self, base: str, offset: int | str, kind: str) -> str:
        return self.new(f'inttoptr i64 {self.new(f"add i64 {base}, {offset}")} to {pointer(kind)}')

    def load(self, base: str, offset: int | str = 0, kind: str = 'i64') -> str:
        return self.new(f'load {kind}, {pointer(kind)} {self._at(base, offset, kind)}')

    def store(self, value: str, base: str, offset: int | str, kind: str = 'i64') -> None:
        self.say(f'store {kind} {value}, {pointer(kind)} {self._at(base, offset, kind)}')

    def array(self, argument: str, length: int) -> str:
        """Address of the data of an argument, which must be an array of doubles."""
        for value, wanted in (
            (self.load(argument, OBJECT_TYPE), self.known['array']),
            (self.load(argument, ARRAY_TYPE), self.known['double']),
        ):
            self.require(self.equal(value, wanted), 'other')
        count = self.load(argument, ARRAY_DIMENSIONS_COUNT, 'i32')
        self.require(self.equal(count, '1', 'i32'), 'other')
        size = self.load(self.load(argument, ARRAY_DIMENSIONS))
        self.require(self.equal(size, str(length)), 'other')
        flags = self.load(argument, ARRAY_FLAGS, 'i32')
        flags = self.new(f'and i32 {flags}, {_CONTIGUOUS_ALIGNED}')
        self.require(self.equal(flags, str(_CONTIGUOUS_ALIGNED), 'i32'), 'other')
        return self.load(argument, ARRAY_DATA)

    def argument(self, i: int, length: int) -> str:
        """Address of the data of an argument; of zeros where a later one is omitted or None."""
        absent = f'absent_{i}' if i else 'other'
        self.require(self.new(f'icmp sgt i64 %count, {i}'), absent)
        argument = self.load('%arguments', 8 * i)
        if i == 0:
            return self.array(argument, length)
        self.require(self.new(f'icmp ne i64 {argument}, {self.known["none"]}'), absent)
        data = self.array(argument, length)
        self.say(f'br label %present_{i}')
        for label in (f'present_{i}', absent):
            self.label(label)
            self.say(f'br label %taken_{i}')
        self.label(f'taken_{i}')
        zeros = self.known['zeros']
        return self.new(f'phi i64 [{zeros}, %{absent}], [{data}, %present_{i}]')
