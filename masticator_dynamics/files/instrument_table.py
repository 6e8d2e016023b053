# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables as instruments and spreadsheets export them.

Cells stand between tabs, semicolons, commas or spaces, decimals behind a point or a comma; lines
may stand before the header, a row of units below it, and remarks after the last row. Which columns
are wanted tells where the header is.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.table_dialects import decoded
from masticator_dynamics.files.tables import FloatArray, read_input

_LATEST = 200  # lines before the header
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
_THOUSANDS = re.compile(r'[+-]?[1-9]\d{0,2}([.,]\d{3})+')
_GROUPED = re.compile(r'(?<=\d)[ \u00a0\u202f](?=\d{3})')  # as in 1 234,5
Line = tuple[int, list[str]]  # number in the file, from 1, and cells
Chooser = Callable[[Sequence[str]], 'Sequence[int] | None']


class NoHeaderError(InputError):
    """No line of a table names all that is wanted."""


@dataclasses.dataclass(frozen=True)
class InstrumentTable:
    """Wanted columns of an exported table."""

    # Of the wanted columns: the header, and the row below it; empty where there is none.
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray  # (N, n)
    lines: tuple[int, ...]  # line of each row in the file, from 1


def read_instrument_table(source: str, choose: Chooser, wanted: str) -> InstrumentTable:
    """Read the wanted columns.

    Parameters
    ----------
    source : str
        Path of the file; ``-`` is standard input.
    choose : callable
        Given the cells of a line, the indices of the wanted columns, or None if the line is no
        header that has them.
    wanted : str
        What is looked for, for messages.

    Raises
    ------
    NoHeaderError
        When no line is such a header.
    InputError
        When the file cannot be read, or a cell is no finite number; the
        message names line and column.
    """
    source, content = read_input(source)
    text, refusal = _text(source, content).replace('\u2212', '-'), ''  # a minus, in print
    first = None
    for separator in '\t;, ':
        try:
            lines = _lines(text, separator)
        except csv.Error as error:
            refusal = refusal or f'{source}: {error}'
            continue
        headers = _headers(source, lines[:_LATEST], choose)
        for k, chosen in headers.items():
            first = first or (lines, k, chosen, separator)
            if any(_are_numbers(line, chosen) for line in lines[k : k + 3]):
                return _read(source, lines, k, chosen, separator)
    if first is not None:  # says what is wrong with it
        return _read(source, *first)
    if refusal:
        raise InputError(refusal)
    raise NoHeaderError(f'{source}: no line names {wanted}; {_beginning(text)}')


def _headers(source: str, lines: list[Line], choose: Chooser) -> dict[int, Sequence[int]]:
    """Lines that can be the header, with the wanted columns."""
    headers: dict[int, Sequence[int]] = {}
    for k, (number, cells) in enumerate(lines):
        try:
            chosen = choose(cells) if len(cells) > 1 else None
        except InputError as error:
            raise InputError(f'{source}: line {number}: {error}') from None
        if chosen is not None:
            if k - 1 in headers and not _are_numbers((number, cells), chosen):
                del headers[k - 1]  # a sentence above the header
            headers[k] = chosen
    return headers


def _text(source: str, content: bytes) -> str:
    try:
        return decoded(source, content)
    except InputError:
        if b'\0' in content:
            raise InputError(f'{source}: is no text; export it as CSV') from None
        return content.decode('cp1252', errors='replace')  # older Windows programs


def _lines(text: str, separator: str) -> list[Line]:
    """Lines with their cells; without blank ones, and without empty cells at the end."""
    if separator == ' ':
        split = [
            (k, re.sub(r'\s+(?=[(\[])', '', line).split())  # a unit belongs to its name
            for k, line in enumerate(text.splitlines(), start=1)
        ]
    else:
        reader = csv.reader(text.splitlines(), delimiter=separator, skipinitialspace=True)
        split = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    for _, cells in split:
        while cells and not cells[-1]:
            cells.pop()
    return [line for line in split if line[1]]


def _read(
    source: str, lines: list[Line], k: int, chosen: Sequence[int], separator: str
) -> InstrumentTable:
    header, lines = lines[k], lines[k + 1 :]
    names = header[1]
    units: list[str] = []
    if _are_numbers(header, chosen):
        lines, names = [header, *lines], [f'column {c + 1}' for c in range(len(names))]
    elif lines and not any(_is_number(cell) for cell in _picked(lines[0], chosen)):
        units = lines.pop(0)[1]
    while lines and not any(_is_number(cell) for cell in _picked(lines[-1], chosen)):
        lines.pop()  # a remark
    if not lines:
        raise InputError(
            f'{source}: line {header[0]} is a header, but no numbers stand below its column '
            f'{names[chosen[0]]!r}'
        )
    for number, cells in lines:
        if len(cells) > len(names):
            hint = '; decimal commas need another separator' if separator == ',' else ''
            raise InputError(
                f'{source}: line {number} has {len(cells)} cells, the header has '
                f'{len(names)} columns{hint}'
            )
    rows = [[_GROUPED.sub('', cell) for cell in _picked(line, chosen)] for line in lines]
    mark = _decimal_mark(source, [cell for row in rows for cell in row], separator)
    values = np.empty((len(rows), len(chosen)))
    for k, row in enumerate(rows):
        for c, cell in enumerate(row):
            value = _number(cell, mark)
            if not np.isfinite(value):
                raise InputError(
                    f'{source}: line {lines[k][0]}, column {names[chosen[c]]!r}: '
                    f'{cell[:40]!r} is not a finite number'
                )
            values[k, c] = value
    return InstrumentTable(
        tuple(names[c] for c in chosen),
        tuple(units[c] if c < len(units) else '' for c in chosen),
        values,
        tuple(number for number, _ in lines),
    )


def _picked(line: Line, chosen: Sequence[int]) -> list[str]:
    cells = line[1]
    return [cells[c] if c < len(cells) else '' for c in chosen]


def _are_numbers(line: Line, chosen: Sequence[int]) -> bool:
    return all(_is_number(cell) for cell in _picked(line, chosen))


def _is_number(cell: str) -> bool:
    cell = _GROUPED.sub('', cell)
    return any(np.isfinite(_number(cell, mark)) for mark in '.,')


def _decimal_mark(source: str, cells: Sequence[str], separator: str) -> str:
    """The mark before decimals; where a cell has both, it is the last, the other one groups."""
    last = {max('.,', key=cell.rfind) for cell in cells if '.' in cell and ',' in cell}
    marks = last or {mark for mark in '.,' if any(mark in cell for cell in cells)}
    unclear = f'{source}: which mark stands before decimals cannot be told: '
    if len(marks) > 1:
        point, comma = (next(cell for cell in cells if mark in cell) for mark in '.,')
        raise InputError(f'{unclear}there are {point!r} and {comma!r}')
    mark = marks.pop() if marks else '.'
    marked = [] if last or (mark, separator) == ('.', ',') else [c for c in cells if mark in c]
    if marked and all(_THOUSANDS.fullmatch(cell) for cell in marked):
        whole = re.sub('[.,]', '', marked[0])
        raise InputError(f'{unclear}{marked[0]!r} could be {whole}, and nothing says it is not')
    return mark


def _number(cell: str, mark: str) -> float:
    """The number in a cell; NaN where there is none."""
    group = ',' if mark == '.' else '.'
    whole, _, decimals = cell.partition(mark)
    if group in whole and re.fullmatch(rf'[+-]?\d{{1,3}}(\{group}\d{{3}})+', whole):
        whole = whole.replace(group, '')
    text = f'{whole}.{decimals}' if mark in cell else whole
    return float(text) if _NUMBER.fullmatch(text) else np.nan


def _beginning(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return 'the file is empty'
    return f'it begins with {lines[0][:60]!r}'
