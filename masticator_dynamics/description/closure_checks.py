# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the keys of closures and contacts by type, and whether the names in them exist."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.description import data, urdf
from masticator_dynamics.description.checks import Refusal, require_known
from masticator_dynamics.description.closures import KINDS
from masticator_dynamics.errors import DescriptionError

# Keys that a type requires, and keys that it allows, other than those of all.
CLOSURES = {name: (kind.needed, kind.optional) for name, kind in KINDS.items()}
CONTACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    'plane': (('normal', 'offset'), ()),
    'surface': (('height',), ()),
}


def check_keys(content: Mapping[str, Any], file: pathlib.Path) -> None:
    """Refuse unknown types, and missing or unknown keys of a type.

    Raises
    ------
    DescriptionError
        Naming the key.
    """
    for group, types in (('closures', CLOSURES), ('contacts', CONTACTS)):
        special = {key for needed, more in types.values() for key in (*needed, *more)}
        items = content.get(group)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                continue
            place, kind = f'{group}[{index}]', item.get('type', next(iter(types)))
            if not isinstance(kind, str) or kind not in types:
                raise DescriptionError(
                    file, f'{place}.type',
                    f'constraint type {kind!r} is not supported; supported: {", ".join(types)}',
                )  # fmt: skip
            needed, more = types[kind]
            for key in needed:
                if key not in item:
                    raise DescriptionError(file, f'{place}.{key}', 'is missing')
            for key in special.intersection(item) - {*needed, *more}:
                raise DescriptionError(file, f'{place}.{key}', f'type {kind!r} takes no such key')


def check_contacts(contacts: Iterable[data.Contact], tree: urdf.Tree, refuse: Refusal) -> None:
    """Check that links named in contacts exist and move, and that the numbers make sense.

    Parameters
    ----------
    contacts : iterable of Contact
        As the YAML file says.
    tree : Tree
        As the URDF says.
    refuse : callable
        Raises for a key and a reason.
    """
    carriers = tree.carriers()
    for index, contact in enumerate(contacts):
        key = f'contacts[{index}]'
        require_known(contact.frame, tree.links, f'{key}.frame', 'link', refuse)
        on = tree.root
        if contact.carrier is not None:
            require_known(contact.carrier, tree.links, f'{key}.carrier', 'link', refuse)
            on = carriers[contact.carrier]
        if carriers[contact.frame] == on:
            against = 'the base' if on == tree.root else repr(contact.carrier)
            refuse(f'{key}.frame', f'{contact.frame!r} does not move against {against}')
        if not np.linalg.norm(contact.normal) > 1e-9:
            refuse(f'{key}.normal', f'{list(contact.normal)} has no direction')
        if contact.height is not None:
            _check_height(contact.height, f'{key}.height', refuse)
        for axis in 'xyz':
            interval = getattr(contact.range, axis)
            if interval is not None and interval[0] > interval[1]:
                refuse(f'{key}.range.{axis}', f'{interval[0]} m is above {interval[1]} m')
        low, high = contact.force_range
        if low is not None and high is not None and low > high:
            refuse(f'{key}.force_range', f'{low} N is above {high} N')


def _check_height(height: data.Height, key: str, refuse: Refusal) -> None:
    if bool(height.polynomial) == bool(height.heights):
        refuse(key, "either 'polynomial' or 'heights' is needed")
    for axis in ('x', 'y'):
        values = getattr(height, axis)
        if any(b <= a for a, b in zip(values, values[1:], strict=False)):
            refuse(f'{key}.{axis}', f'{list(values)} does not increase')
    if height.polynomial:
        if len({len(row) for row in height.polynomial}) != 1 or not height.polynomial[0]:
            refuse(f'{key}.polynomial', 'its rows must be of one length, 1 at least')
        for axis in ('x', 'y'):
            if len(getattr(height, axis)) not in (0, 2):
                refuse(f'{key}.{axis}', 'of a polynomial the two ends are needed, or none')
        return
    for axis in ('x', 'y'):
        if len(getattr(height, axis)) < 4:
            refuse(f'{key}.{axis}', 'a spline needs 4 values at least')
    shape = (len(height.x), len(height.y))
    if len(height.heights) != shape[0] or any(len(row) != shape[1] for row in height.heights):
        refuse(
            f'{key}.heights', f'{shape[0]} rows of {shape[1]} values are needed, as x and y have'
        )


def ends(values: tuple[float, ...]) -> tuple[float, float]:
    """The ends of a polynomial's range along an axis, infinite where none are given."""
    return (values[0], values[-1]) if values else (-math.inf, math.inf)
