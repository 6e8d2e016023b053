# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What values of a description must be: numbers within bounds, names of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple


class Bound(NamedTuple):
    """Bounds of a finite number; None: unbounded."""

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None


Finite = Annotated[float, Bound()]
NotNegative = Annotated[float, Bound(ge=0.0)]
Positive = Annotated[float, Bound(gt=0.0)]
PartOfOne = Annotated[float, Bound(ge=0.0, lt=1.0)]
Vector3 = tuple[Finite, Finite, Finite]
Interval = tuple[Finite, Finite]
OpenInterval = tuple[Finite | None, Finite | None]
Refusal = Callable[[str, str], None]  # raises for a key and a reason


def require_known(name: str, existing: Iterable[str], key: str, kind: str, refuse: Refusal) -> None:
    """Refuse a name of nothing.

    Parameters
    ----------
    key : str
        Where the name stands in the description.
    kind : str
        What the names are names of, in words.
    """
    if name not in existing:
        refuse(key, f'{kind} {name!r} does not exist; there are: {", ".join(existing)}')
