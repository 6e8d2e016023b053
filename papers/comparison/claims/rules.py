# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rules by which the cells that answer a claim reproduce it, as written in the files of claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papers.comparison.comparison_table import Cell

_NAMES = {'__builtins__': {}, 'abs': abs, 'all': all, 'max': max, 'min': min, 'zip': zip}


@dataclasses.dataclass(frozen=True)
class Rule:
    """When a claim counts as reproduced.

    Attributes
    ----------
    text : str
        The rule in words, e.g. 'within 5 %'.
    holds : callable
        Whether the rule holds, from the cells that answer the claim.
    """

    text: str
    holds: Callable[[Sequence[Cell]], bool]


def read_rule(written: Any) -> Rule:
    """A rule from a file.

    One of ``first larger``, ``first of each three least``, or a mapping: ``digits`` (as printed),
    ``within`` (``percent`` ``of`` printed numbers), ``above``, ``below``, ``between``, ``most
    coupled`` (cranks with the largest of six indices in every row), or, for what these do not say,
    ``numbers``, ``pairs`` or ``each`` (the rule in words) with ``holds``: arguments and what is
    true of them, in Python.
    """
    kind, value = (written, '') if isinstance(written, str) else next(iter(written.items()))
    if kind in _ON_NUMBERS:
        return _numbers(value, eval(f'lambda {written["holds"]}', _NAMES), _ON_NUMBERS[kind])
    return _READERS[kind](value)


def number(cell: Cell) -> float:
    """The number in a cell, printed or ours."""
    if cell is None:
        raise ValueError('an empty cell is not a number')
    return float(cell)


def _together(holds: Callable[..., bool], f: Sequence[float]) -> bool:
    return holds(*f)


def _by_pairs(holds: Callable[..., bool], f: Sequence[float]) -> bool:
    half = len(f) // 2
    return all(holds(a, b) for a, b in zip(f[:half], f[half:], strict=True))


def _each(holds: Callable[..., bool], f: Sequence[float]) -> bool:
    return all(map(holds, f))


_ON_NUMBERS = {'numbers': _together, 'pairs': _by_pairs, 'each': _each}


def _numbers(
    text: str,
    holds: Callable[..., bool],
    how: Callable[[Callable[..., bool], Sequence[float]], bool] = _together,
) -> Rule:
    return Rule(text, lambda cells: bool(cells) and bool(how(holds, [*map(number, cells)])))


def _near(text: str, wanted: Sequence[tuple[float, float]]) -> Rule:
    """Cells must have these values, each within a tolerance."""
    return Rule(
        text,
        lambda cells: all(
            abs(number(cell) - value) <= tolerance
            for cell, (value, tolerance) in zip(cells, wanted, strict=True)
        ),
    )


def _within(given: dict[str, Any]) -> Rule:
    percent = given['percent']
    return _near(f'within {percent:g} %', [(p, 0.01 * percent * abs(p)) for p in given['of']])


def _digits(printed: Sequence[str]) -> Rule:
    def half_unit(text: str) -> float:
        return 0.501 * 10.0 ** -len(text.partition('.')[2])

    return _near('all printed digits', [(float(text), half_unit(text)) for text in printed])


def _most_coupled(cranks: Sequence[int]) -> Rule:
    def holds(*f: float) -> bool:
        last = np.argsort(np.reshape(f, (-1, 6)), axis=1)[:, -len(cranks) :]
        return bool((np.sort(last, axis=1) + 1 == cranks).all())

    return _numbers(f'{", ".join(map(str, cranks))} largest', holds)


def _first_least(*f: float) -> bool:
    return all(a < min(b, c) for a, b, c in zip(f[::3], f[1::3], f[2::3], strict=True))


_READERS: dict[str, Callable[[Any], Rule]] = {
    'digits': _digits,
    'within': _within,
    'above': lambda x: _numbers(f'above {x:g}', lambda ours: ours > x, _each),
    'below': lambda x: _numbers(f'below {x:g}', lambda ours: ours < x, _each),
    'between': lambda ends: _numbers(
        f'{ends[0]:g} to {ends[1]:g}', lambda ours: ends[0] <= ours <= ends[1], _each
    ),
    'most coupled': _most_coupled,
    'first larger': lambda _: _numbers(
        'the first larger', lambda a, *rest: all(a > b for b in rest)
    ),
    'first of each three least': lambda _: _numbers('the first of each three least', _first_least),
}
