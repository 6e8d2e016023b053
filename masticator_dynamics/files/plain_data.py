# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plain data as JSON and back, exact to the bit; unlike a pickle it runs no code.

Containers are lists that start with their kind: ``["tuple", 1, 2]``.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np


def dump(data: Any) -> bytes:
    """Serialise dataclasses, containers, arrays of numbers, paths, texts and numbers."""
    return json.dumps(_listed(data), separators=(',', ':')).encode()


def load(text: bytes, classes: Iterable[type]) -> Any:
    """Restore what was dumped; only the given dataclasses are created."""
    return _restored(json.loads(text), {kind.__name__: kind for kind in classes})


def _listed(data: Any) -> Any:
    if dataclasses.is_dataclass(data):
        values = [getattr(data, field.name) for field in dataclasses.fields(data)]
        return [type(data).__name__, *map(_listed, values)]
    if isinstance(data, np.ndarray):
        return ['array', data.dtype.str, list(data.shape), *data.ravel().tolist()]
    if isinstance(data, np.generic):
        return data.item()
    if isinstance(data, frozenset):
        data = sorted(data)  # its own order differs between processes
        return ['frozenset', *map(_listed, data)]
    if isinstance(data, tuple | list):
        return [type(data).__name__, *map(_listed, data)]
    if isinstance(data, dict):
        return ['dict', *(_listed(part) for item in data.items() for part in item)]
    return ['path', str(data)] if isinstance(data, pathlib.PurePath) else data


_CONTAINERS = {'tuple': tuple, 'list': list, 'frozenset': frozenset}


def _restored(data: Any, classes: dict[str, type]) -> Any:
    if not isinstance(data, list):
        return data
    kind, *parts = data
    if kind == 'array':
        dtype, shape, *numbers = parts
        return np.array(numbers, dtype).reshape(shape)
    items = [_restored(part, classes) for part in parts]
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](items)
    if kind == 'dict':
        return dict(zip(items[::2], items[1::2], strict=True))
    if kind == 'path':
        return pathlib.Path(*items)
    made: Any = classes[kind]
    names = (field.name for field in dataclasses.fields(made))
    return made(**dict(zip(names, items, strict=True)))
