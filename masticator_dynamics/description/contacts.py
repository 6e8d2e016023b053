# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of bodies with planes and curved surfaces, and what is checked of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np

from masticator_dynamics.description.checks import (
    Finite,
    Interval,
    NotNegative,
    OpenInterval,
    Refusal,
    Vector3,
    require_known,
)
from masticator_dynamics.description.urdf import Tree

# Keys that a type requires, and only it takes.
NEEDED: dict[str, tuple[str, ...]] = {'plane': ('normal', 'offset'), 'surface': ('height',)}


@dataclasses.dataclass(frozen=True)
class ContactRange:
    """Where on its plane a contact may be: origin of the frame, base axes, m."""

    x: Interval | None = None
    y: Interval | None = None
    z: Interval | None = None


@dataclasses.dataclass(frozen=True)
class ContactFriction:
    """Friction force of the plane on the body: against its slip."""

    coulomb: Annotated[NotNegative, 'per newton of normal force'] = 0.0
    viscous: Annotated[NotNegative, 'N s/m'] = 0.0
    transition_velocity: Annotated[
        NotNegative, 'm/s over which Coulomb friction grows; 0: at once'
    ] = 0.0


@dataclasses.dataclass(frozen=True)
class Height:
    """Height of a curved surface over a plane: a polynomial, or a spline through a grid."""

    polynomial: Annotated[
        tuple[tuple[Finite, ...], ...], 'rows by power of x, in them coefficients by power of y; m'
    ] = ()
    x: Annotated[
        tuple[Finite, ...], 'm, where heights are given; of a polynomial the two ends, if any'
    ] = ()
    y: Annotated[tuple[Finite, ...], 'm, likewise'] = ()
    heights: Annotated[tuple[tuple[Finite, ...], ...], 'm, a row per x, in it one per y'] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contact:
    """The origin of a link stays on a plane or a curved surface, from both sides."""

    name: str
    type: Literal['plane', 'surface'] = 'plane'
    frame: Annotated[str, 'URDF link whose origin touches the plane']
    carrier: Annotated[
        str | None, 'URDF link that plane or surface is fixed to; default: the base'
    ] = None
    normal: Annotated[
        Vector3, 'of a plane, axes of the carrier, as written: force = normal * multiplier'
    ] = (0.0, 0.0, 1.0)
    offset: Annotated[Finite, 'm; a plane is normal . p + offset = 0'] = 0.0
    height: Annotated[Height | None, 'of a surface: z over the XY plane of the carrier'] = None
    range: ContactRange = ContactRange()
    force_range: Annotated[OpenInterval, 'N, range of the multiplier; null: open on that side'] = (
        None,
        None,
    )
    friction: ContactFriction = ContactFriction()

    @property
    def force_per_multiplier(self) -> float:
        """Length of the normal as written: N of normal force per N of the multiplier."""
        return float(np.linalg.norm(self.normal))


def check_contacts(contacts: Iterable[Contact], tree: Tree, refuse: Refusal) -> None:
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


def _check_height(height: Height, key: str, refuse: Refusal) -> None:
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
