# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How mechanisms and results look when Python or a notebook shows them."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

# Mechanisms and results are Any here, since their modules import this one.

_NAMES = 8  # in a list; of longer ones the first and the last


@dataclasses.dataclass(frozen=True)
class Shown:
    """A title and, below it, rows of cells under headings."""

    title: str
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def text(self) -> str:
        """Aligned columns."""
        table = [self.headings, *self.rows] if self.rows else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            '  '.join(
                cell.rjust(width) if k else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return '\n'.join([self.title, *lines])

    def html(self) -> str:
        """A table for a notebook."""

        def line(cells: Sequence[str], tag: str) -> str:
            return '<tr>' + ''.join(f'<{tag}>{html.escape(c)}</{tag}>' for c in cells) + '</tr>'

        body = ''.join(line(row, 'td') for row in self.rows)
        head = line(self.headings, 'th') if self.rows else ''
        return f'<table><caption>{html.escape(self.title)}</caption>{head}{body}</table>'


def arrays_text(of: object, names: Sequence[str]) -> str:
    """Class, and names and shapes of arrays that are attributes."""
    return f'{type(of).__name__}: ' + ', '.join(f'{k} {getattr(of, k).shape}' for k in names)


def of_mechanism(mechanism: Any) -> Shown:
    """Name, freedoms, motors and what closes it."""
    parts = [
        _counted(mechanism.independent, 'degree of freedom', 'degrees of freedom'),
        _counted(mechanism.actuated, 'motor', 'motors'),
        _counted([c.name for c in mechanism.description.closures], 'closure', 'closures'),
        _counted(mechanism.contacts, 'contact', 'contacts'),
    ]
    return Shown(f'{mechanism.name}: ' + '; '.join(part for part in parts if part))


def of_result(answer: Any, kind: str) -> Shown:
    """Coordinates and motors with their units; of a batch the largest amounts."""
    mechanism, many = answer.mechanism, answer.y.ndim > 1
    title = f'{kind} of {mechanism.name}'
    if many:
        title += f', {len(answer.y)} rows; largest amounts'
    efforts = answer.actuated if kind == 'Effort' else None
    headings = [
        '',
        'position',
        'velocity',
        'acceleration',
        *(['effort'] if kind == 'Effort' else []),
    ]
    parts = answer.q, answer.v, answer.a
    rows = list(_joint_rows(mechanism, parts, efforts))
    if efforts is not None:
        contacts = np.atleast_2d(answer.contact)
        for name, values in zip(mechanism.contacts, contacts.T, strict=True):
            rows.append([f'contact {name}', '', '', '', f'{_largest(values):.6g} N'])
    gap = f'{np.max(answer.closure_residual, initial=0.0):.2g} m'
    rows.append(['closure residual', gap, *[''] * (len(headings) - 2)])
    if efforts is not None:
        imbalance = np.max(answer.balance_residual, initial=0.0)
        rows.append(['balance residual', '', '', '', f'{imbalance:.2g} N or N m'])
    return Shown(title, headings, rows)


def _joint_rows(
    mechanism: Any, parts: Sequence[FloatArray], efforts: FloatArray | None
) -> Iterator[list[str]]:
    names = [
        *mechanism.independent,
        *(n for n in mechanism.actuated if n not in mechanism.independent),
    ]
    for name in names:
        index = mechanism.tree_joints.index(name)
        unit = mechanism.structure.tree.joints[index].unit
        numbers = [_largest(np.atleast_2d(part)[:, index]) for part in parts]
        row = [
            name,
            *(f'{x:.6g} {unit}{per}' for x, per in zip(numbers, ('', '/s', '/s²'), strict=True)),
        ]
        if efforts is not None:
            row.append('')
            if name in mechanism.actuated:
                motor = mechanism.actuated.index(name)
                effort = _largest(np.atleast_2d(efforts)[:, motor])
                row[-1] = f'{effort:.6g} {mechanism.effort_units[motor]}'
        yield row


def _largest(values: FloatArray) -> float:
    """The value of largest amount, with its sign; the only one of a single result."""
    return float(values[np.argmax(np.abs(values))]) if len(values) else float('nan')


def _counted(names: Sequence[str], singular: str, many: str) -> str:
    if not names:
        return ''
    shown = names if len(names) <= _NAMES else [names[0], '...', names[-1]]
    return f'{len(names)} {singular if len(names) == 1 else many} ({", ".join(shown)})'
