# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The function for Python in LLVM's language; ``python_entry.py`` explains its purpose."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

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
    DOUBLE,
    FUNCTIONS,
    MOST_ANSWERS,
    MOST_PARAMETERS,
    MOTION,
    OBJECT_TYPE,
    PARAMETER,
    PART,
    SLOTS,
    TUPLE_ITEMS,
    WORD,
    Record,
)  # fmt: skip
from masticator_dynamics.engine.traced.llvm_ir import pointer


def entry_function() -> str:
    """``PyObject *entry(self, PyObject *const *arguments, Py_ssize_t count, PyObject *keywords)``.

    It is the same for all questions: what differs is in the context that ``self`` begins with.
    """
    writer = _Writer()
    values, sources = writer.words(MOST_PARAMETERS), writer.words(MOST_PARAMETERS)
    _take_arguments(writer, values)
    _find_sources(writer, values, sources)
    answer, numbers, out = _evaluate(writer, sources, _choose(writer, values))
    _show(writer, answer, numbers, out)
    writer.label('other')
    fallback = writer.known['fallback']
    looked = writer.call('PyObject_Vectorcall', fallback, '%arguments', '%count', '%keywords')
    writer.leave(f'ret i64 {looked}')
    writer.label('error')
    writer.leave('ret i64 0')
    return (
        f'\ndefine i64 @entry(i64 %self, i64 %arguments, i64 %count, i64 %keywords) '
        f'nounwind #0 {{\n{writer.text()}}}\n'
    )


def _take_arguments(writer: _Writer, values: str) -> None:
    """The value of each parameter: an argument, or its default; 0 where there is none."""
    known = writer.known
    parameters = known['parameters']
    few = writer.new(f'icmp sle i64 %count, {known["positional"]}')
    writer.require(few, 'other')
    with writer.loop(parameters) as i:
        is_given = writer.new(f'icmp slt i64 {i}, %count')
        place = writer.either(is_given, writer.element('%arguments', i), writer.default_of(i))
        writer.store(writer.load(place), writer.element(values, i))
    with writer.where(writer.unequal('%keywords', '0')):
        named = writer.element('%arguments', '%count')
        with writer.loop(writer.load('%keywords', TUPLE_ITEMS - WORD)) as k:
            name = writer.load(writer.element('%keywords', k), TUPLE_ITEMS)
            # Names are compared by address: Python keeps only one of each.
            place = writer.first(
                parameters, lambda i: writer.equal(writer.of_parameter(i, 'name'), name)
            )
            writer.require(writer.new(f'icmp sge i64 {place}, %count'), 'other')
            writer.store(writer.load(writer.element(named, k)), writer.element(values, place))


def _find_sources(writer: _Writer, values: str, sources: str) -> None:
    """Where the numbers of arrays and motions are; of absent ones, those that stand for them."""
    known = writer.known
    with writer.loop(known['parameters']) as i:
        value = writer.load(writer.element(values, i))
        writer.require(writer.unequal(value, '0'), 'other')
        kind, place = writer.of_parameter(i, 'kind'), writer.element(sources, i)
        with writer.where(writer.new(f'icmp sgt i64 {kind}, 0')):
            writer.store(writer.of_parameter(i, 'absent'), place)
            needed = writer.equal(i, '0'), writer.unequal(value, known['none'])
            with writer.where(writer.new(f'or i1 {", ".join(needed)}')):
                writer.store(writer.array(value, i), place)
        with writer.where(writer.equal(kind, str(MOTION))):
            same = writer.equal(writer.load(value, OBJECT_TYPE), known['motion'])
            writer.require(same, 'other')
            of = writer.load(value, known['motion_mechanism'])
            writer.require(writer.equal(of, known['mechanism']), 'other')
            numbers = writer.load(value, known['motion_numbers'])
            writer.require(writer.unequal(numbers, '0'), 'other')
            writer.store(writer.new(f'add i64 {numbers}, {BYTES_DATA}'), place)


def _choose(writer: _Writer, values: str) -> str:
    """The answer for these values of choices; where there is none, Python is asked for it once."""
    known = writer.known
    before = writer.here
    writer.label('look')
    asked = writer.new(f'phi i64 [0, %{before}], [1, %chosen]')

    def differs(record: str, i: str) -> str:
        its = writer.load(writer.element(record, i))
        other = writer.unequal(writer.load(writer.element(values, i)), its)
        chooses = writer.equal(writer.of_parameter(i, 'kind'), '0')
        return writer.new(f'and i1 {chooses}, {other}')

    def fits(a: str) -> str:
        record = writer.answer(a)
        other = writer.first(known['parameters'], lambda i: differs(record, i))
        used = writer.unequal(writer.load(record, ANSWER['row']), '0')
        return writer.new(f'and i1 {used}, {writer.equal(other, "-1")}')

    place = writer.first(str(MOST_ANSWERS), fits)
    with writer.where(writer.equal(place, '-1')):
        writer.require(writer.equal(asked, '0'), 'other')
        count = known['parameters']
        none = writer.call('PyObject_Vectorcall', known['chooser'], values, count, '0')
        writer.require(writer.unequal(none, '0'), 'error')
        writer.call('Py_DecRef', none)
        writer.label('chosen')
        writer.leave('br label %look')
    return writer.answer(place)


def _evaluate(writer: _Writer, sources: str, first: str) -> tuple[str, str, str]:
    """Call the function of a row; where its outputs do not count, that of the next answer.

    Returns the answer, an object of bytes with as many inputs as the result needs and with the
    outputs, and where these are.
    """
    before, filled = writer.here, writer.words(1)
    writer.label('evaluate')
    answer = writer.new(f'phi i64 [{first}, %{before}], [%next, %again]')
    inputs, parts, kept = (writer.field(answer, x) for x in ('inputs', 'part_count', 'kept'))
    stack = writer.new(f'alloca i64, i64 {inputs}')
    given = writer.new(f'ptrtoint {pointer("i64")} {stack} to i64')
    writer.store(given, filled)
    with writer.loop(parts) as p:
        part = writer.record(writer.field(answer, 'parts'), p, PART)
        source = writer.load(writer.element(sources, writer.load(part)))
        source = writer.new(f'add i64 {source}, {writer.load(part, PART["offset"])}')
        into, count = writer.load(filled), writer.load(part, PART['count'])
        writer.copy(source, into, count)
        writer.store(writer.element(into, count), filled)
    numbers = writer.field(answer, 'numbers')
    writer.copy(numbers, writer.load(filled), writer.field(answer, 'number_count'))
    length = writer.new(f'add i64 {kept}, {writer.field(answer, "outputs")}')
    size = writer.new(f'mul i64 {length}, {WORD}')
    whole = writer.call('PyBytes_FromStringAndSize', '0', size)
    writer.require(writer.unequal(whole, '0'), 'error')
    start = writer.new(f'add i64 {whole}, {BYTES_DATA}')
    out = writer.element(start, kept)
    function = pointer('void (i64, i64)')
    row = writer.new(f'inttoptr i64 {writer.field(answer, "row")} to {function}')
    writer.say(f'call void {row}(i64 {given}, i64 {out})')
    first_output = writer.load(out, 0, 'double')
    with writer.where(writer.new(f'fcmp une double {first_output}, 1.0')):
        writer.call('Py_DecRef', whole)
        following = writer.field(answer, 'next')
        writer.require(writer.unequal(following, '0'), 'other')
        writer.label('again')
        writer.say(f'%next = add i64 {following}, 0')
        writer.leave('br label %evaluate')
    writer.copy(given, start, kept)
    return answer, whole, out


def _show(writer: _Writer, answer: str, whole: str, out: str) -> None:
    """Return an array in the memory of the outputs, or a result that has it in a slot."""
    known = writer.known
    kinds = 'i64, i32, i64, i32, i64, i64, i32, i32, i64'
    new = writer.new(f'inttoptr i64 {known["new_array"]} to {pointer(f"i64 ({kinds})")}')
    first = writer.new(f'add i64 {out}, {writer.field(answer, "first")}')
    axes, flags = (
        writer.new(f'trunc i64 {writer.field(answer, x)} to i32') for x in ('axes', 'flags')
    )
    view = writer.new(
        f'call i64 {new}(i64 {known["array"]}, i32 {axes}, i64 {writer.field(answer, "shape")}, '
        f'i32 {DOUBLE}, i64 0, i64 {first}, i32 0, i32 {flags}, i64 0)'
    )
    with writer.where(writer.equal(view, '0')):
        writer.call('Py_DecRef', whole)
        writer.leave('br label %error')
    writer.store(whole, view, ARRAY_BASE)  # which owns the bytes
    kind = writer.field(answer, 'result')
    with writer.where(writer.equal(kind, '0')):
        writer.leave(f'ret i64 {view}')
    result = writer.call('PyType_GenericAlloc', kind, '0')
    with writer.where(writer.equal(result, '0')):
        writer.call('Py_DecRef', view)
        writer.leave('br label %error')
    for slot, value in zip(SLOTS, (known['mechanism'], whole, view), strict=True):
        if value != view:
            writer.call('Py_IncRef', value)
        writer.store(value, result, writer.field(answer, f'at_{slot}'))
    writer.leave(f'ret i64 {result}')


class _Writer:
    """Writes the lines; addresses are 64-bit integers.

    Attributes
    ----------
    known : dict of str
        What the function's ``self`` holds, by name, see `python_entry.py`.
    here : str
        The label that was written last.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._memory: list[str] = []
        self._count, self._left, self.here = 0, False, 'begin'
        context = self.load('%self', TUPLE_ITEMS)
        self.known = {
            name: self.load(context, BYTES_DATA + WORD * i) for i, name in enumerate(CONTEXT)
        }

    def text(self) -> str:
        return '\n'.join(['begin:', *self._memory, *self._lines]) + '\n'

    def say(self, line: str) -> None:
        self._lines.append('  ' + line)

    def new(self, operation: str) -> str:
        """The result of an operation."""
        self._count += 1
        self.say(f'%x{self._count} = {operation}')
        return f'%x{self._count}'

    # Where to go

    def label(self, name: str) -> None:
        """What follows; what was before goes on with it, unless it has left."""
        if not self._left:
            self.say(f'br label %{name}')
        self._lines.append(f'{name}:')
        self._left, self.here = False, name

    def leave(self, line: str) -> None:
        """The last line of a block."""
        self.say(line)
        self._left = True

    def _branch(self, truth: str, then: str, otherwise: str) -> None:
        self.leave(f'br i1 {truth}, label %{then}, label %{otherwise}')

    def _labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f'{name}{self._count}' for name in names]

    def require(self, truth: str, otherwise: str) -> None:
        """Go on where a condition holds, else at a label."""
        (then,) = self._labels('then')
        self._branch(truth, then, otherwise)
        self.label(then)

    @contextlib.contextmanager
    def where(self, truth: str) -> Iterator[None]:
        """Lines for where a condition holds."""
        inside, after = self._labels('if', 'after')
        self._branch(truth, inside, after)
        self.label(inside)
        yield
        self.label(after)

    @contextlib.contextmanager
    def loop(self, count: str) -> Iterator[str]:
        """Lines for each number below ``count``, which is given."""
        before = self.here
        head, body, done, i = self._labels('head', 'body', 'done', '%i')
        self.label(head)
        place = len(self._lines)
        self.say('')
        self._branch(self.new(f'icmp slt i64 {i}, {count}'), body, done)
        self.label(body)
        yield i
        following = self.new(f'add i64 {i}, 1')
        ends = f'[0, %{before}], [{following}, %{self.here}]'
        self._lines[place] = f'  {i} = phi i64 {ends}'
        self.leave(f'br label %{head}')
        self.label(done)

    def first(self, count: str, test: Callable[[str], str]) -> str:
        """The first number below ``count`` that a test holds for, else -1."""
        (end,) = self._labels('end')
        with self.loop(count) as i:
            truth, (on,) = test(i), self._labels('on')
            there = self.here
            self._branch(truth, end, on)
            self.label(on)
        none = self.here
        self.label(end)
        return self.new(f'phi i64 [{i}, %{there}], [-1, %{none}]')

    # Numbers

    def equal(self, a: str, b: str, kind: str = 'i64') -> str:
        return self.new(f'icmp eq {kind} {a}, {b}')

    def unequal(self, a: str, b: str) -> str:
        return self.new(f'icmp ne i64 {a}, {b}')

    def either(self, truth: str, a: str, b: str) -> str:
        return self.new(f'select i1 {truth}, i64 {a}, i64 {b}')

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

    # Memory

    def words(self, count: int) -> str:
        """Address of some words of the function's own."""
        self._count += 2
        stack, place = f'%x{self._count - 1}', f'%x{self._count}'
        self._memory.append(f'  {stack} = alloca i64, i64 {count}')
        self._memory.append(f'  {place} = ptrtoint {pointer("i64")} {stack} to i64')
        return place

    def element(self, base: str, index: str, size: int = WORD) -> str:
        """Address of a word of an array of them, or of a record."""
        return self.new(f'add i64 {base}, {self.new(f"mul i64 {index}, {size}")}')

    def record(self, base: str, index: str, record: Record) -> str:
        return self.element(base, index, record.size)

    def answer(self, index: str) -> str:
        return self.record(self.known['answers'], index, ANSWER)

    def field(self, answer: str, name: str) -> str:
        return self.load(answer, ANSWER[name])

    def of_parameter(self, parameter: str, name: str) -> str:
        of = self.record(self.known['of_parameters'], parameter, PARAMETER)
        return self.load(of, PARAMETER[name])

    def default_of(self, parameter: str) -> str:
        """Its address."""
        of = self.record(self.known['of_parameters'], parameter, PARAMETER)
        return self.new(f'add i64 {of}, {PARAMETER["default"]}')

    def _at(self, base: str, offset: int | str, kind: str) -> str:
        return self.new(f'inttoptr i64 {self.new(f"add i64 {base}, {offset}")} to {pointer(kind)}')

    def load(self, base: str, offset: int | str = 0, kind: str = 'i64') -> str:
        return self.new(f'load {kind}, {pointer(kind)} {self._at(base, offset, kind)}')

    def store(self, value: str, base: str, offset: int | str = 0, kind: str = 'i64') -> None:
        self.say(f'store {kind} {value}, {pointer(kind)} {self._at(base, offset, kind)}')

    def copy(self, source: str, target: str, count: str) -> None:
        """Copy some words."""
        with self.loop(count) as i:
            self.store(self.load(self.element(source, i)), self.element(target, i))

    def array(self, argument: str, parameter: str) -> str:
        """Address of the data of an argument, which must be an array of doubles as a parameter."""
        for value, wanted in (
            (self.load(argument, OBJECT_TYPE), self.known['array']),
            (self.load(argument, ARRAY_TYPE), self.known['double']),
        ):
            self.require(self.equal(value, wanted), 'other')
        count = self.load(argument, ARRAY_DIMENSIONS_COUNT, 'i32')
        axes = self.of_parameter(parameter, 'axes')
        self.require(self.equal(self.new(f'sext i32 {count} to i64'), axes), 'other')
        sizes, shape = self.load(argument, ARRAY_DIMENSIONS), self.of_parameter(parameter, 'shape')
        with self.loop(axes) as k:
            size, needed = (self.load(self.element(base, k)) for base in (sizes, shape))
            self.require(self.equal(size, needed), 'other')
        flags = self.load(argument, ARRAY_FLAGS, 'i32')
        flags = self.new(f'and i32 {flags}, {CONTIGUOUS_ALIGNED}')
        self.require(self.equal(flags, str(CONTIGUOUS_ALIGNED), 'i32'), 'other')
        return self.load(argument, ARRAY_DATA)
