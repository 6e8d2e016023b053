# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What other programs do to tables of a robot's motion, undone.

UTF-16 of Windows, comment lines of numpy and plotting programs, units beside times as MATLAB writes
them and in names of columns, and columns called ``/topic/joint/position`` as PlotJuggler exports
them.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Sequence

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.units import in_si

TIME = 'time'
_UNITS = {
    's': 1.0, 'sec': 1.0, 'secs': 1.0, 'second': 1.0, 'seconds': 1.0,
    'ms': 1e-3, 'msec': 1e-3, 'millisecond': 1e-3, 'milliseconds': 1e-3,
    'us': 1e-6, 'µs': 1e-6, 'usec': 1e-6, 'microsecond': 1e-6, 'microseconds': 1e-6,
    'ns': 1e-9, 'nsec': 1e-9, 'nanosecond': 1e-9, 'nanoseconds': 1e-9,
    'min': 60.0,
}  # fmt: skip
_UNIT = '|'.join(_UNITS)
_TIME = re.compile(rf'_*time(?:_?stamp)?(?:[\s_]*[\[(]({_UNIT})[\])]|_({_UNIT}))?', re.IGNORECASE)
_WITH_UNIT = re.compile(rf'\s*([-+.\deE]+)\s*({_UNIT})\s*', re.IGNORECASE)
_COMMENT = re.compile(r'\s*[#%]')
_TOPIC = re.compile(r'/?(?P<topic>.+)/(?P<joint>[^/]+)/(?P<field>position|velocity|effort)')
FIELDS = 'position', 'velocity', 'effort'
_MEASURED = re.compile(rf'((?:{"|".join(FIELDS)})_.*?)\s*[\[(]([^\])]*)[\])]')
_QUANTITIES = {
    'position': ('angle', 'length'),
    'velocity': ('angular speed', 'speed'),
    'effort': ('torque', 'force'),
}
_SPELT = {'radians': 1.0, 'degree': math.pi / 180.0, 'degrees': math.pi / 180.0}

Row = tuple[list[str], int]  # cells and the line in the file, from 1


def decoded(name: str, content: bytes) -> str:
    """Text of a file in UTF-8, or in UTF-16 that says so; raises InputError for others."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode('utf-16', errors='replace')
    if b'\0' in content[:2]:  # without its mark: every other byte of plain text is zero
        return content.decode('utf-16-be' if content[:1] == b'\0' else 'utf-16-le', 'replace')
    try:
        return content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = content.count(b'\n', 0, error.start) + 1
        raise InputError(f'{name}: line {line}: not UTF-8 text') from error


def without_comments(rows: Sequence[Row]) -> list[Row]:
    """Rows without lines that begin with # or %; such a line is the header if none follows."""
    comments = [row for row in rows if row[0] and _COMMENT.match(row[0][0])]
    plain = [row for row in rows if not (row[0] and _COMMENT.match(row[0][0]))]
    if comments and plain and all(map(_is_number, plain[0][0])):
        above = [
            row for row in comments if row[1] < plain[0][1] and len(row[0]) == len(plain[0][0])
        ]
        if above:
            (first, *others), line = above[-1]
            plain.insert(0, ([_COMMENT.sub('', first), *others], line))
    return plain


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return bool(_WITH_UNIT.fullmatch(cell))
    return True


def time_column(columns: Sequence[str]) -> tuple[int | None, float | None]:
    """Which column holds times, and its unit in s, None where none is said.

    A column ``time`` is one; otherwise the only one that is called like that.
    """
    if TIME in columns:
        return columns.index(TIME), None
    matches = [(k, match) for k, name in enumerate(columns) if (match := _TIME.fullmatch(name))]
    if len(matches) != 1:
        return None, None
    ((column, match),) = matches
    unit = match[1] or match[2]
    return column, _UNITS[unit.lower()] if unit else None


def seconds(cell: str) -> str:
    """A time with its unit beside it, such as ``20 ms``, as a number of seconds."""
    match = _WITH_UNIT.fullmatch(cell)
    if not match or not _is_number(match[1]):
        return cell
    return repr(float(match[1]) * _UNITS[match[2].lower()])


def joint_columns(columns: Sequence[str], topic: str | None = None) -> dict[int, str]:
    """Columns called ``/topic/joint/position``, and what they are called here.

    Without a topic, those whose joints only one topic has.
    """
    matches = {k: match for k, name in enumerate(columns) if (match := _TOPIC.fullmatch(name))}
    if topic is not None:
        wanted = topic.strip('/')
        matches = {k: match for k, match in matches.items() if match['topic'] == wanted}
    names = {k: f'{match["field"]}_{match["joint"]}' for k, match in matches.items()}
    counts = Counter([*names.values(), *columns])
    return {k: name for k, name in names.items() if counts[name] == 1}


def measured_columns(columns: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Columns of joints called ``position_J [deg]``: what they are called here, and their units.

    Not those of which a column without a unit is there, too.
    """
    matches = {k: match for k, name in enumerate(columns) if (match := _MEASURED.fullmatch(name))}
    counts = Counter([*(match[1] for match in matches.values()), *columns])
    return {k: (match[1], match[2]) for k, match in matches.items() if counts[match[1]] == 1}


def unit_of(column: str, unit: str) -> float:
    """What one of a joint's unit is in SI units; raises InputError for one that is none of these.

    As ``effort_J [A]``: how much a current gives is the motor's.
    """
    field, name = column.partition('_')[0], f'column {column!r} in {unit!r}'
    return in_si(f'1 {unit}', name, _QUANTITIES[field], _SPELT.get)
