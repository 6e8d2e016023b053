# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas in study files: arithmetic with names, on arrays, and nothing else of Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.errors import InputError

_LONGEST = 1000  # characters
_OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    'sqrt': np.sqrt, 'abs': np.abs, 'sin': np.sin, 'cos': np.cos, 'tan': np.tan,
    'asin': np.arcsin, 'acos': np.arccos, 'atan2': np.arctan2, 'hypot': np.hypot,
    'min': np.minimum, 'max': np.maximum,
}  # fmt: skip


class Formula:
    """An expression such as ``7800*1.7e-5*hypot(a, b)`` or ``-crank_1.y``.

    Attributes
    ----------
    text : str
    names : tuple of str
        That stand in it; a name can have one dot, as a mechanism's parameters do.

    Raises
    ------
    InputError
        If the text is not such an expression.
    """

    def __init__(self, text: str | float):
        self.text = str(text)
        try:
            if len(self.text) > _LONGEST:
                raise ValueError(f'longer than {_LONGEST} characters')
            self._tree = ast.parse(self.text.strip(), mode='eval').body
            self.names = tuple(dict.fromkeys(_names(self._tree)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = 'not arithmetic' if isinstance(error, SyntaxError) else str(error)
            raise InputError(f'the formula {self.text[:80]!r} cannot be read: {reason}') from None

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Its value for values of its names, numbers or arrays; NaN where there is none."""
        with np.errstate(all='ignore'):
            return _value(self._tree, values)


def _names(node: ast.AST) -> list[str]:
    """Names in an expression; raises ValueError for anything but arithmetic."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return []
        case ast.Name(id='pi'):
            return []
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=ast.Name(id=name), attr=part):
            return [f'{name}.{part}']
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _names(left) + _names(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATIONS:
            return _names(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            needed = getattr(_FUNCTIONS[name], 'nin', 1)
            if len(args) != needed:
                raise ValueError(f'{name} takes {needed} numbers')
            return [part for argument in args for part in _names(argument)]
        case ast.Call(func=ast.Name(id=name)):
            raise ValueError(f'no function {name!r}; there are: {", ".join(_FUNCTIONS)}')
    raise ValueError(f'{ast.unparse(node)[:40]!r} is not arithmetic')


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=number):
            return float(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return np.pi if name == 'pi' else values[name]
        case ast.Attribute(value=ast.Name(id=name), attr=part):
            return values[f'{name}.{part}']
        case ast.BinOp(left=left, op=op, right=right):
            operands = np.asarray(_value(left, values)), np.asarray(_value(right, values))
            return _OPERATIONS[type(op)](*operands)
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATIONS[type(op)](_value(operand, values))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(argument, values) for argument in args))
    raise AssertionError(ast.dump(node))
