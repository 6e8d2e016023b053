# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""CSV files with one header row: errors name the place; files are written whole or not at all."""

from __future__ import annotations

import abc
import contextlib
import csv
import io
import os
import pathlib
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.table_dialects import (
    FIELDS,
    TIME,
    decoded,
    joint_columns,
    measured_columns,
    seconds,
    time_column,
    unit_of,
    without_comments,
)
from masticator_dynamics.files.text_file import read_bytes

FloatArray = npt.NDArray[np.float64]

STANDARD_STREAM = '-'
_LARGEST = 1_000_000_000  # bytes; some million rows
_LATEST, _SHORTEST_STEP = 1e10, 1e-12  # s; three hundred years hold any clock's time
_NAMED, _LONGEST = 30, 60  # names in a message, and characters of one
_RATES = {'dot': 'vel|velocity|rate|speed', 'ddot': 'acc|accel|acceleration'}


class Columns(abc.ABC):
    """Columns of numbers by name: what is common to tables and recordings of topics.

    Attributes
    ----------
    source : str
        Name in messages.
    columns : tuple of str
        Names of all columns; those that are not used may hold anything.
    doubts : tuple of str
        Sentences on what a person should know of it.
    """

    def __init__(self, source: str, columns: Sequence[str]):
        self.source, self.columns = source, tuple(columns)
        self.doubts: tuple[str, ...] = ()
        self._read = set[str]()  # names of columns that were asked for

    @abc.abstractmethod
    def __len__(self) -> int:
        """Count the rows."""

    @abc.abstractmethod
    def place(self, row: int) -> str:
        """Name a row (counted from 0) for a message."""

    @abc.abstractmethod
    def _column(self, name: str) -> FloatArray:
        """A column (N,) that is there; raises InputError if twice, or where not finite."""

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Columns as finite numbers (N, len(names)).

        Raises
        ------
        InputError
            For a column that is missing or appears twice, or a cell that is not a finite number.
        """
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise InputError(
                f'{self.source}: missing {_listed(missing)}; there are: '
                f'{listed_names(self.columns)}{self._hint(missing)}'
            )
        self._read.update(names)
        return np.column_stack([self._column(name) for name in names])

    def all_or_none(self, names: Sequence[str]) -> FloatArray | None:
        """Columns (N, len(names)) of which all must be present, or None when all are absent.

        A column that resembles a missing one is refused: ``Fx [N]`` is none, and would be ignored.
        """
        wanted = {plain_name(name): name for name in names if name not in self.columns}
        for column in self.columns:
            meant = wanted.get(plain_name(column))
            if meant and column not in {*names, *self._read}:
                raise InputError(
                    f'{self.source}: column {column!r} is not read; is {meant!r} meant?'
                )
        if not any(name in self.columns for name in names):
            return None
        missing = [name for name in names if name not in self.columns]
        if missing:
            present = [name for name in names if name in self.columns]
            raise InputError(
                f'{self.source}: missing {_listed(missing)}, needed with {_listed(present)}'
            )
        return self.numbers(names)

    def increasing(self, name: str) -> FloatArray:
        """Return a column (N,) that must increase from row to row."""
        values = self.numbers([name])[:, 0]
        late = np.flatnonzero(np.diff(values) <= 0.0)
        if len(late) > 1 and len(late) == len(values) - 1:
            raise InputError(
                f'{self.source}: column {name!r} falls from row to row, from {values[0]!s} to '
                f'{values[-1]!s}: the rows are in reverse order; sort them by it'
            )
        if len(late):
            row = int(late[0]) + 1
            raise InputError(
                f'{self.place(row)}, column {name!r}: {values[row]!s} does not increase, '
                f'the row before has {values[row - 1]!s}; leave one of them out'
            )
        return values

    def times(self) -> FloatArray:
        """Column ``time`` (N,), s, increasing by steps from which speeds can be computed."""
        name = 'time'
        values = self.increasing(name)
        steps = np.diff(values)
        if np.abs(values).max() > _LATEST:
            row = int(np.argmax(np.abs(values) > _LATEST))
            fault = (
                f'{values[row]!s} s is beyond {_LATEST:g} s; times are in seconds; a column '
                "'time [ns]' holds others"
            )
        elif len(steps) and steps.min() < _SHORTEST_STEP:
            row = int(np.argmax(steps < _SHORTEST_STEP)) + 1
            fault = (
                f'the row before is {steps[row - 1]:g} s earlier; at least {_SHORTEST_STEP:g} s '
                'are needed'
            )
        else:
            return values
        raise InputError(f'{self.place(row)}, column {name!r}: {fault}')

    def _hint(self, missing: Sequence[str]) -> str:
        """What may be meant instead of missing columns."""
        return ''


class Table(Columns):
    """A header and rows of text, converted to numbers column by column on request.

    Times may have a unit (``time [ms]``, or ``20 ms`` in a cell), lines that begin with # or % are
    comments, ``/topic/joint/position`` is read as ``position_joint``, and ``position_joint [deg]``
    in its unit.

    Parameters
    ----------
    source : str
        Name of the file in messages.
    text : str
        Its content.
    topic : str, optional
        Whose columns ``/topic/joint/position`` are meant.

    Raises
    ------
    InputError
        When there is no header, no row, a row whose length differs from the header's, or another
        separator than the comma.
    """

    def __init__(self, source: str, text: str, topic: str | None = None):
        reader = csv.reader(io.StringIO(text, newline=''), strict=True)
        try:
            rows = without_comments([(cells, reader.line_num) for cells in reader])
        except csv.Error as error:
            raise InputError(f'{source}: line {reader.line_num}: {error}') from None
        while rows and _is_blank(rows[-1][0]):
            rows.pop()
        if not rows:
            raise InputError(f'{source}: the file is empty; a header row is needed')
        columns = [name.strip() for name in rows[0][0]]
        time, self._unit = time_column(columns)
        meant = joint_columns(columns, topic)
        measured = measured_columns(columns)
        self._units = {k: unit for k, (_, unit) in measured.items()}
        names = meant | {k: name for k, (name, _) in measured.items()}
        names |= {} if time is None else {time: TIME}
        super().__init__(source, [names.get(k, name) for k, name in enumerate(columns)])
        self._cells = [cells for cells, _ in rows[1:]]
        self._lines = [line for _, line in rows[1:]]
        _refuse_other_separators(source, self.columns)
        if not self._cells:
            raise InputError(f'{source}: there are no rows below the header')
        for row, cells in enumerate(self._cells):
            if len(cells) != len(self.columns):
                raise InputError(
                    f'{self.place(row)} has {len(cells)} cells, '
                    f'the header has {len(self.columns)} columns'
                )
        self._drop_rows_without(sorted(meant))

    def _drop_rows_without(self, columns: Sequence[int]) -> None:
        """Drop rows with empty cells: exports of several topics have rows of each."""
        full = [all(cells[k].strip() for k in columns) for cells in self._cells]
        if not any(full):
            names = [self.columns[k] for k in columns]
            raise InputError(
                f'{self.source}: no row has all of {listed_names(names)}; export one topic alone'
            )
        self._cells = [cells for cells, is_full in zip(self._cells, full, strict=True) if is_full]
        self._lines = [line for line, is_full in zip(self._lines, full, strict=True) if is_full]

    def __len__(self) -> int:
        """Count the rows below the header."""
        return len(self._cells)

    def place(self, row: int) -> str:
        """Name a row (counted from 0) for a message: counted from 1, with the file's line."""
        return f'{self.source}: row {row + 1} (line {self._lines[row]})'

    def rename_joints(self, names: Mapping[str, str]) -> None:
        """Call columns of joints as these are called here; names by those that the file has.

        Raises
        ------
        InputError
            If the file has no such joint.
        """
        for there in names:
            if not {there, *(f'{field}_{there}' for field in FIELDS)} & set(self.columns):
                raise InputError(
                    f'{self.source}: no column of a joint {there}; there are: '
                    f'{listed_names(self.columns)}'
                )
        # A joint whose name now means another is out of the way.
        hidden = {here: f'{here} (not read)' for here in names.values() if here not in names}
        pairs = {**hidden, **names}
        fields = {f'{f}_{there}': f'{f}_{here}' for there, here in pairs.items() for f in FIELDS}
        columns = {**pairs, **fields}
        self.columns = tuple(columns.get(name, name) for name in self.columns)

    @property
    def states_unit(self) -> bool:
        """Whether the file says in what unit its times are."""
        return self._unit is not None

    def _hint(self, missing: Sequence[str]) -> str:
        topics = {
            name.rsplit('/', 2)[0]
            for name in self.columns
            if f'{name.rpartition("/")[2]}_{name.split("/")[-2:][0]}' in missing
        }
        return f'; --topic chooses one of {listed_names(sorted(topics))}' if topics else ''

    def _column(self, name: str) -> FloatArray:
        if self.columns.count(name) > 1:
            raise InputError(f'{self.source}: column {name!r} is there twice')
        index, is_time = self.columns.index(name), name == TIME
        values = np.empty(len(self))
        for row, cells in enumerate(self._cells):
            cell = seconds(cells[index]) if is_time else cells[index]
            values[row] = self._number(cell, row, name)
        if index in self._units:
            try:
                return values * unit_of(name, self._units[index])
            except InputError as error:
                raise InputError(f'{self.source}: {error}') from None
        return values * (self._unit or 1.0) if is_time else values

    def _number(self, cell: str, row: int, name: str) -> float:
        try:
            value = float(cell) if '_' not in cell else None  # Python reads 1_0 as ten
        except ValueError:
            value = None
        if value is None or not -np.inf < value < np.inf:
            fault = 'is not a number' if value is None else 'is not finite'
            raise InputError(f'{self.place(row)}, column {name!r}: {_shown(cell)} {fault}')
        return value


def read_table(source: str, topic: str | None = None) -> Table:
    """Read a CSV file; ``-`` is standard input, and a topic is as :class:`Table` takes it.

    Raises
    ------
    InputError
        When it cannot be read or is not a table.
    """
    name, content = read_input(source)
    return Table(name, decoded(name, content), topic)


def read_input(source: str) -> tuple[str, bytes]:
    """Name in messages and content of a file; ``-`` is standard input.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    name = '<stdin>' if source == STANDARD_STREAM else source
    try:
        if source != STANDARD_STREAM:
            return name, read_bytes(source, _LARGEST)
        if sys.stdin is None:
            raise InputError('standard input is closed')
        content = sys.stdin.buffer.read(_LARGEST + 1)
    except OSError as error:
        raise InputError(f'{name}: {error.strerror or error}') from error
    if len(content) > _LARGEST:
        raise InputError(f'{name}: larger than {_LARGEST * 1e-6:g} MB')
    return name, content


def read_cut_table(source: str) -> tuple[Table, str]:
    """Read a CSV file whose writer may have been stopped in the middle of its last row.

    Returns
    -------
    table : Table
        Without that row.
    cut : str
        A sentence about it; empty where the file is whole.

    Raises
    ------
    InputError
        As :func:`read_table`.
    """
    try:
        return read_table(source), ''
    except InputError as error:
        if isinstance(error.__cause__, OSError):
            raise
        text = read_bytes(source, _LARGEST).decode('utf-8-sig', errors='replace')
        whole, _, last = text.rpartition('\n')
        if not last.strip() or last.count(',') >= whole.partition('\n')[0].count(','):
            raise
    table = Table(source, whole)
    return table, f'{source}: it ends in the middle of a row: {len(table)} rows are whole'


def check_writable(target: str, *sources: str | pathlib.Path | None) -> None:
    """Refuse early, before long work, a file that cannot be written.

    Parameters
    ----------
    target : str
        Path of the file, or ``-``.
    sources : path or None
        Files that the work reads, which must not be lost.

    Raises
    ------
    InputError
        When its folder is missing or not writable, when it is a folder or one of the sources, or
        when standard output is closed.
    """
    path, final = pathlib.Path(target), os.path.realpath(target)
    if target == STANDARD_STREAM:
        if sys.stdout is None:
            raise InputError('standard output is closed')
        return
    if path.is_dir():
        raise InputError(f'{target}: cannot be written: it is a folder')
    for source in sources:
        if source is not None and _is_plain(path) and os.path.realpath(source) == final:
            raise InputError(f'{target}: is what is read; choose another file')
    folder = pathlib.Path(final).parent
    if not folder.is_dir():
        raise InputError(f'{target}: cannot be written: there is no folder {folder}')
    if _is_plain(path) and not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f'{target}: cannot be written: no permission in {folder}')


def write_table(target: str, columns: Sequence[str], values: npt.NDArray[Any]) -> None:
    """Write numbers or an object array of cells (N, len(columns)) as CSV; ``-``: standard output.

    Every number is written so that reading it gives the same float64. A file appears whole or
    not at all; an existing one is replaced, or stays as it is when writing fails.

    Parameters
    ----------
    target : str
        Path of the file, or ``-``.
    columns : sequence of str
        The header.
    values : (N, len(columns)) array
        The rows.

    Raises
    ------
    OSError
        When writing fails.
    """
    with _opened(target) as stream:
        _write(stream, columns, values)


def write_text(target: str, text: str) -> None:
    """Write text to a file, whole or not at all; ``-`` is standard output.

    Raises
    ------
    OSError
        When writing fails.
    """
    with _opened(target) as stream:
        stream.write(text)


def write_bytes(target: str, content: bytes) -> None:
    """Write bytes to a file, whole or not at all; ``-`` is standard output.

    Raises
    ------
    OSError
        When writing fails.
    """
    with _opened(target, binary=True) as stream:
        stream.write(content)


@contextlib.contextmanager
def _opened(target: str, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a target that :func:`check_writable` accepts; an OSError names it."""
    path = pathlib.Path(target)
    try:
        if target == STANDARD_STREAM:
            check_writable(target)
            yield sys.stdout.buffer if binary else sys.stdout
            sys.stdout.flush()
        elif not _is_plain(path):  # a device or pipe must not be replaced by a file
            with _open(path, 'w', binary) as stream:
                yield stream
        else:
            with replacing(path, binary) as stream:
                yield stream
    except OSError as error:
        error.filename = target
        raise


def _open(file: str | pathlib.Path, mode: str, binary: bool) -> IO[Any]:
    if binary:
        return open(file, f'{mode}b')
    return open(file, mode, encoding='utf-8', newline='')


@contextlib.contextmanager
def replacing(path: pathlib.Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that replaces ``path`` when the block ends without error."""
    final = pathlib.Path(os.path.realpath(path))  # a link stays a link
    # Opened normally, not by tempfile, so that the user's umask decides who may read it.
    draft = final.with_name(f'.masticator-{secrets.token_hex(8)}.part')
    try:
        with _open(draft, 'x', binary) as stream:
            yield stream
        if final.exists():
            shutil.copymode(final, draft)
        os.replace(draft, final)
    except OSError as error:
        error.filename = str(path)  # a full disk names nothing, a draft is not what was asked for
        raise
    finally:
        draft.unlink(missing_ok=True)


def _write(stream: IO[Any], columns: Sequence[str], values: npt.NDArray[Any]) -> None:
    twice = {name for name in columns if list(columns).count(name) > 1}
    if twice:
        raise InputError(f'several columns would be called {listed_names(sorted(twice))}')
    writer = csv.writer(stream, lineterminator='\n')
    writer.writerow(columns)
    writer.writerows(values.tolist())  # csv writes floats by repr


def _is_plain(path: pathlib.Path) -> bool:
    return path.is_file() or not path.exists()


def _refuse_other_separators(source: str, columns: Sequence[str]) -> None:
    for mark in ';\t':
        if len(columns) == 1 and mark in columns[0]:
            raise InputError(f'{source}: cells are separated by {mark!r}; commas are needed')


def plain_name(column: str) -> str:
    """A column's name without capitals, marks, and a unit in brackets or at its end.

    Words for force, torque and rates become the letters that they have here.
    """
    bare = re.sub(r'\[.*?\]|\(.*?\)', '', column).casefold()
    bare = re.sub(
        r'(?<=.)[\W_]+(n|nm|n_m|knm?|m|mm|cm|rad|deg|m_?s2?|rad_?s2?|deg_?s2?)$', '', bare
    )
    bare = re.sub('^(force|torque|moment)', lambda word: {'f': 'f'}.get(word[0][0], 't'), bare)
    for end, words in _RATES.items():
        bare = re.sub(rf'^({words})[\W_]+(.+)|(.+)[\W_]+({words})$', rf'\2\3_{end}', bare)
    return re.sub(r'[^\w@]|_', '', bare)


def _is_blank(cells: Sequence[str]) -> bool:
    return not ''.join(cells).strip() and len(cells) <= 1


def _listed(names: Sequence[str]) -> str:
    return f'column{"s" if len(names) > 1 else ""} {listed_names(names)}'


def listed_names(names: Sequence[str]) -> str:
    """Names from an untrusted file, shortened to fit a line."""
    some = ', '.join(
        name if len(name) < _LONGEST else f'{name[:_LONGEST]}…' for name in names[:_NAMED]
    )
    return some if len(names) <= _NAMED else f'{some} and {len(names) - _NAMED} more'


def _shown(cell: str) -> str:
    return (
        'an empty cell' if not cell.strip() else repr(cell if len(cell) < 40 else cell[:37] + '…')
    )
