# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Methods that machine code answers for one row: one way in for every question.

Which parameters are arrays, and of which length, is told by their names (:func:`_kinds`); others
choose among answers. What machine code does not take, the method itself answers.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.engine.evaluation.results import Evaluator, SolvedMotion, as_solved
from masticator_dynamics.engine.traced import python_entry
from masticator_dynamics.engine.traced.entry_layout import MOTION
from masticator_dynamics.engine.traced.python_entry import Answer, Entry

_Method = TypeVar('_Method', bound=Callable[..., Any])


def answered(
    choose: Callable[..., Sequence[Answer]], *, on_branch: bool = False
) -> Callable[[_Method], _Method]:
    """Let machine code answer what a method asks about one row.

    From the first access on, a generated function takes the method's place in its object.

    Parameters
    ----------
    choose : callable
        Gives answers for a mechanism and values of the parameters that are neither arrays nor
        motions.
    on_branch : bool
        Only motions on the branch continuous with home are served.
    """
    return functools.partial(_Answered, choose, on_branch)  # type: ignore[return-value]


def by(module: str, **keywords: Any) -> Callable[..., Sequence[Answer]]:
    """What ``answers`` of a module beside this one gives; it is imported when first asked."""

    def choose(mechanism: Evaluator, *choices: object) -> Sequence[Answer]:
        its = importlib.import_module(f'{__package__}.{module}')
        answers: Sequence[Answer] = its.answers(mechanism, *choices, **keywords)
        return answers

    return choose


class _Answered:
    def __init__(
        self, choose: Callable[..., Sequence[Answer]], on_branch: bool, method: Callable[..., Any]
    ):
        self._choose, self._on_branch, self._method = choose, on_branch, method
        _, *parameters = inspect.signature(method).parameters.values()
        self._defaults = {parameter.name: parameter.default for parameter in parameters}
        self._positional = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
        plain = [p.replace(annotation=p.empty) for p in parameters]
        named = f'{method.__name__}{inspect.Signature(plain)}'.replace('(', '($self, ', 1)
        self._about = f'{named}\n--\n\n{inspect.getdoc(method) or ""}'

    def answers(self, mechanism: Evaluator, arguments: Mapping[str, Any]) -> Sequence[Answer]:
        """Answers for some of the arguments."""
        kinds = _kinds(mechanism, self._defaults)
        choices = [arguments.get(name, self._defaults[name]) for name in kinds if kinds[name] == 0]
        return self._choose(mechanism, *choices)

    def __get__(self, mechanism: Evaluator | None, owner: type) -> Callable[..., Any]:
        """The method of a class; of an object, what answers."""
        if mechanism is None:
            return self._method
        method: Callable[..., Any] = functools.partial(self._method, mechanism)
        if python_entry.supported() and mechanism.kernels.freedoms:
            method = self._entry(mechanism, method).call
        mechanism.__dict__[self._method.__name__] = method
        return method

    def _entry(self, mechanism: Evaluator, method: Callable[..., Any]) -> Entry:
        """The generated function, which is asked again once arguments are as it takes them."""
        absent, kinds = _absent(mechanism), _kinds(mechanism, self._defaults)

        def as_taken(name: str, value: Any) -> Any:
            kind = kinds.get(name, 0)
            if kind == MOTION and not self._on_branch:
                return as_solved(mechanism, value)
            if kind <= 0 or value is None:
                return value
            numbers = as_floats(value, name)  # of a wrong shape, the method tells
            fits = numbers.shape == absent[name].shape
            return np.require(numbers, requirements=['C', 'A']) if fits else value

        def other(*arguments: Any, **keywords: Any) -> Any:
            if len(arguments) <= len(kinds):
                taken = [as_taken(n, x) for n, x in zip(kinds, arguments, strict=False)]
                named = {name: as_taken(name, x) for name, x in keywords.items()}
                before = [*arguments, *keywords.values()]
                if any(a is not b for a, b in zip([*taken, *named.values()], before, strict=True)):
                    return entry.call(*taken, **named)
            return method(*arguments, **keywords)

        usual = {n: x for n, x in self._defaults.items() if x is not inspect.Parameter.empty}
        choose = functools.partial(self._choose, mechanism)
        entry = Entry(
            mechanism,
            SolvedMotion,
            kinds,
            usual,
            absent,
            other,
            choose,
            self._positional,
            self._about,
        )
        return entry


def _absent(mechanism: Evaluator) -> dict[str, FloatArray]:
    """Parameters that are arrays, by their names: what each stands for where it is None."""
    of, nothing = mechanism.kernels, np.full((3, 3), np.nan)
    arrays = {name: np.zeros(of.freedoms) for name in ('y', 'y_dot', 'y_ddot')}
    arrays |= {name: np.zeros(of.actuators) for name in ('u', 'effort')}
    start = mechanism.home_positions[mechanism.independent_rows]
    return arrays | {
        'wrench': np.zeros(6), 'position': nothing[0], 'rotation': nothing, 'start': start,
    }  # fmt: skip


def _kinds(mechanism: Evaluator, names: Iterable[str]) -> dict[str, int]:
    """Length of each parameter that is an array, by its name, and kinds of others."""
    kinds = {name: numbers.size for name, numbers in _absent(mechanism).items()}
    kinds['motion'] = MOTION
    return {name: kinds.get(name, 0) for name in names}
