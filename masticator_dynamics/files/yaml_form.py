# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a value would have to be written that is a list, a text or a number, and should not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_LONGEST = 80  # characters of an example
_TYPES = {list: 'array', str: 'string', int: 'number', float: 'number'}


def form(schema: dict[str, Any], path: Sequence[str | int], value: object) -> str:
    """``"; write figures: {peak_torque: {}}"`` for a list of names; empty if nothing can be said.

    Parameters
    ----------
    schema : dict
        JSON schema of the file.
    path : sequence of str and int
        Where the value stands.
    value : object
        What stands there.
    """
    node = schema
    for part in path:
        node = _inside(schema, node, part)
    wanted = _resolved(schema, node)
    if wanted.get('type') == 'array':
        text = _written([value]) if wanted.get('minItems', 0) < 2 else ''
    elif 'properties' in wanted:
        text = _model(schema, wanted, value)
    elif wanted.get('type') == 'object':
        text = _named(value)
    else:
        return ''
    key = f'{path[-1]}: ' if isinstance(path[-1], str) else ''  # an element has none
    return f'; write {key}{text}' if text and len(text) <= _LONGEST else ''


def _named(value: object) -> str:
    """A mapping of names to what is said of them, so far nothing."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        return ''
    return '{' + ', '.join(f'{name}: {{}}' for name in names) + '}'


def _model(schema: dict[str, Any], wanted: dict[str, Any], value: object) -> str:
    """A mapping with the first key that takes such a value; an empty one if all keys may lack."""
    if value is None:
        return '{}' if not wanted.get('required') else ''
    kind = _TYPES.get(type(value))
    for key, node in wanted['properties'].items():
        kinds = {_resolved(schema, choice).get('type') for choice in node.get('anyOf', [node])}
        if kind in {'number' if k == 'integer' else k for k in kinds}:
            return f'{{{key}: {_written(value)}}}'
    return ''


def _written(value: object) -> str:
    """A value as YAML in one line; empty for a mapping."""
    if isinstance(value, list):
        return f'[{", ".join(map(_written, value))}]'
    return '' if isinstance(value, dict) or value is None else str(value)


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """What a node refers to; of several choices, the first that is not null."""
    while True:
        choices = node.get('anyOf') or node.get('allOf')
        if '$ref' in node:
            _, definitions, name = node['$ref'].split('/')
            node = schema[definitions][name]
        elif choices:
            node = next((c for c in choices if c.get('type') != 'null'), {})
        else:
            return node


def _inside(schema: dict[str, Any], node: dict[str, Any], part: str | int) -> dict[str, Any]:
    """The node of a key or an element."""
    outer = _resolved(schema, node)
    inner = outer.get('properties', {}).get(part) if isinstance(part, str) else outer.get('items')
    inner = inner or outer.get('additionalProperties')
    return inner if isinstance(inner, dict) else {}
