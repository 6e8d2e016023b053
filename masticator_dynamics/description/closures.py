# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What closes loops: one object for each kind of closure, with all that is said of it in words.

Schema, importer, exports and second opinion take kinds from :data:`KINDS`. The equations that the
engine solves are a class in ``engine/closure_equations.py`` and a function in
``engine/traced/closure_equations.py``; most kinds need none of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from masticator_dynamics.description.checks import Finite, Positive, Refusal, require_known

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


class Gaps(NamedTuple):
    """Gaps (k,), m and rad, and their rates (k, 3) per relative velocity, linear and angular."""

    values: Array
    by_linear: Array
    by_angular: Array


class Names(NamedTuple):
    """What a closure may name: rigid bodies by link, as their first links, and moving joints."""

    carriers: Mapping[str, str]
    moving: Iterable[str]


@dataclasses.dataclass(frozen=True)
class ClosureKind:
    """How two frames stand to one another; other kinds of closures are its subclasses."""

    name: str
    meaning: str
    joined: int = 3  # along so many axes of the first frame origins coincide: gaps in m
    turns: tuple[tuple[int, int], ...] = ()  # axes of first and second frame at right angles
    facing: tuple[int, ...] = ()  # axes that are parallel and must not be opposed
    freedoms: int = 3  # that it leaves two bodies
    urdf: tuple[str, ...] = ()  # words for it, in constraints and loops of URDF's dialects
    gepetto: str | None = None
    mjcf: str = ''  # how MuJoCo's equalities say it
    pinocchio: str = ''  # name of a ContactType
    needed: ClassVar[tuple[str, ...]] = ('frames',)  # keys, besides those of every closure
    optional: ClassVar[tuple[str, ...]] = ()
    # Keys that are parameters, and what they measure; empty: as its joint's position.
    dimensions: ClassVar[Mapping[str, str]] = {}

    @property
    def oriented(self) -> bool:
        """Whether axes of the frames matter, and not their origins alone."""
        return bool(self.turns) or 0 < self.joined < 3

    def gaps(self, of: Any, arm: Array, turned: Array) -> Gaps:
        """Gaps by where the second frame is in the first, for relative velocities in its axes.

        Told once more by the engine, as equations of its own.

        Parameters
        ----------
        of : Closure or Loop
            Has its dimensions.
        arm : array, shape (3,)
            Origin of the second frame, m.
        turned : array, shape (3, 3)
            Its axes.
        """
        values, rates = self._turned(turned)
        k = self.joined
        linear = np.vstack([np.eye(3)[:k], np.zeros((len(values), 3))])
        return Gaps(np.hstack([arm[:k], values]), linear, np.vstack([np.zeros((k, 3)), rates]))

    def _turned(self, turned: Array) -> tuple[Array, Array]:
        """Gaps of directions, and their rates per angular velocity."""
        if not self.turns:
            return np.zeros(0), np.zeros((0, 3))
        vector = rotation_vector(turned)  # of all, since it refuses what is no rotation
        if len(self.facing) == 3:
            return vector, np.eye(3)
        if self.facing:
            # Offset of Z of the second frame from Z of the first, and its possible directions.
            sine = float(np.linalg.norm(turned[:2, 2]))
            angle = np.arctan2(sine, turned[2, 2]) / sine if sine > 1e-9 else 1.0
            return turned[:2, 2] * angle, np.cross(turned[:, 2], np.eye(3)[:2])
        rows = [np.cross(turned[:, j], np.eye(3)[i]) for i, j in self.turns]
        return np.array([turned[pair] for pair in self.turns]), np.array(rows)

    def between(self, closure: Closure) -> str:
        """What a closure connects, in a few words."""
        return f'{self.name} {", ".join(closure.frames)}'

    def opened(self, closure: Closure, gap: str) -> str:
        """A sentence on a closure that is open at home."""
        first, second = closure.frames
        return f'the loop does not close at home: gap {gap} between {first!r} and {second!r}'

    def check(self, closure: Closure, place: str, names: Names, refuse: Refusal) -> None:
        """Check that what a closure names exists, and moves relative to one another.

        Parameters
        ----------
        place : str
            Where it stands in its file.
        refuse : callable
            Raises for a key and a reason.
        """
        key = f'{place}.frames'
        if len(closure.frames) != 2:
            refuse(key, f'two links are needed (got {list(closure.frames)})')
        for frame in closure.frames:
            require_known(frame, names.carriers, key, 'link', refuse)
        if names.carriers[closure.frames[0]] == names.carriers[closure.frames[1]]:
            refuse(key, f'{list(closure.frames)} are parts of the same rigid body')


class _Point(ClosureKind):
    """Origins, whatever the axes."""

    def between(self, closure: Closure) -> str:
        return ' = '.join(closure.frames)


class _Distance(ClosureKind):
    """A rod."""

    needed = ('frames', 'length')
    dimensions = {'length': 'length'}  # noqa: RUF012
    oriented = False

    def gaps(self, of: Any, arm: Array, turned: Array) -> Gaps:
        length = float(np.linalg.norm(arm))
        along = arm[None] / max(length, 1e-300)
        return Gaps(np.array([length - (of.length or 0.0)]), along, np.zeros((1, 3)))


class _Coupling(ClosureKind):
    """No frames, but joints."""

    needed = ('joint', 'of')
    optional = ('offset',)
    dimensions = {'offset': ''}  # noqa: RUF012

    def between(self, closure: Closure) -> str:
        return f'{closure.joint} of {", ".join(closure.of)}'

    def opened(self, closure: Closure, gap: str) -> str:
        return f'joint {closure.joint!r} is {gap} off what its coupling says at home'

    def check(self, closure: Closure, place: str, names: Names, refuse: Refusal) -> None:
        joint = closure.joint or ''
        require_known(joint, names.moving, f'{place}.joint', 'moving joint', refuse)
        if not closure.of:
            refuse(f'{place}.of', 'names no joint')
        for other, coefficients in closure.of.items():
            require_known(other, names.moving, f'{place}.of.{other}', 'moving joint', refuse)
            if other == joint:
                refuse(f'{place}.of.{other}', 'a joint cannot be coupled to itself')
            if not any(coefficients):
                refuse(f'{place}.of.{other}', 'a coefficient other than 0 is needed')


class _Rack(ClosureKind):
    """A pinion that rolls on a rack.

    The pitch line is X of the rack's frame; the pinion turns about Z of both frames, and its
    centre is at Y = ``radius``: ``x + radius * angle = offset``, where the angle is that from X of
    the rack to X of the pinion.
    """

    needed = ('frames', 'radius')
    optional = ('offset',)
    dimensions = {'radius': 'length', 'offset': 'length'}  # noqa: RUF012

    def gaps(self, of: Any, arm: Array, turned: Array) -> Gaps:
        """The same but for whole turns, which no pose tells."""
        gap = arm[0] + of.radius * np.arctan2(turned[1, 0], turned[0, 0]) - of.offset
        gap -= 2.0 * np.pi * of.radius * np.round(gap / (2.0 * np.pi * of.radius))
        by_angular = np.array([[0.0, 0.0, of.radius]])
        return Gaps(np.array([gap]), np.array([[1.0, 0.0, 0.0]]), by_angular)

    def check(self, closure: Closure, place: str, names: Names, refuse: Refusal) -> None:
        super().check(closure, place, names, refuse)
        if not closure.radius:
            refuse(f'{place}.radius', 'a radius other than 0 is needed')


_ALL, _Z = ((0, 1), (1, 2), (2, 0)), ((2, 0), (2, 1))  # that keep all axes, or Z, parallel
POINT = _Point(
    'point', 'origins coincide', urdf=('ball', 'spherical', 'point'), gepetto='3d',
    mjcf='connect', pinocchio='CONTACT_3D',
)  # fmt: skip
WELD = ClosureKind(
    'weld', 'origins and axes do', 3, _ALL, (0, 1, 2), 0, ('fixed', 'weld', 'link'), '6d',
    'weld', 'CONTACT_6D',
)  # fmt: skip
HINGE = ClosureKind(
    'hinge', 'origins and Z do', 3, _Z, (2,), 1, ('revolute', 'continuous', 'hinge'),
    mjcf='two points',
)  # fmt: skip
UNIVERSAL = ClosureKind(
    'universal', 'origins coincide, and Z of the two are at right angles', 3, ((2, 2),), (), 2,
    ('universal',),
)  # fmt: skip
CYLINDRICAL = ClosureKind(
    'cylindrical', 'the second origin stays on Z of the first, and Z of the two are parallel',
    2, _Z, (2,), 2, ('cylindrical',),
)  # fmt: skip
SLIDER = ClosureKind(
    'slider', 'the second origin stays on Z of the first, and all axes are parallel',
    2, _ALL, (0, 1, 2), 1, ('prismatic',),
)  # fmt: skip
DISTANCE = _Distance('distance', 'a rod between two balls', 1, freedoms=5, mjcf='tendon')
COUPLING = _Coupling(
    'coupling', "a joint's position is a sum of polynomials of other joints'", 0, mjcf='joints'
)
RACK = _Rack('rack', 'a pinion, the second, rolls along X of the first', 1, freedoms=5)
KINDS = {
    kind.name: kind
    for kind in (POINT, WELD, HINGE, UNIVERSAL, CYLINDRICAL, SLIDER, DISTANCE, COUPLING, RACK)
}
if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[tuple(KINDS)]


@dataclasses.dataclass(frozen=True)
class Closure:
    """What closes a loop: how two links stand to one another, or a coupling of joints."""

    name: str
    type: Annotated[KindName, '; '.join(f'{k.name}: {k.meaning}' for k in KINDS.values())] = (
        POINT.name
    )
    frames: Annotated[tuple[str, ...], 'two URDF links on the two sides; none for a coupling'] = ()
    length: Annotated[Positive | None, 'm, of a distance'] = None
    joint: Annotated[str | None, 'that a coupling moves'] = None
    of: Annotated[
        dict[str, tuple[Finite, ...]],
        'of a coupling: joint: coefficients of its 1st, 2nd, ... power',
    ] = dataclasses.field(default_factory=dict)
    offset: Annotated[
        Finite, 'of a coupling, rad or m; of a rack, x of the pinion where both X are parallel'
    ] = 0.0
    radius: Annotated[
        Finite | None, "m, of a rack's pinion: y of its centre; below 0 on the other side"
    ] = None

    @property
    def kind(self) -> ClosureKind:
        """Its kind, which says what it means."""
        return KINDS[self.type]


def coupling_gap(coupling: Any, joints: list[str], q: Array) -> tuple[Array, Array]:
    """Gap (1,) of a coupling at positions (n,) of joints, and its rates (1, n).

    The coupling is a closure's, or that of a robot to be imported.
    """
    from numpy.polynomial import Polynomial  # few need it

    rates, follower = np.zeros((1, len(q))), joints.index(str(coupling.joint))
    rates[0, follower], gap = 1.0, q[follower] - coupling.offset
    for name, powers in coupling.of.items():
        other, polynomial = joints.index(name), Polynomial((0.0, *powers))
        gap -= polynomial(q[other])
        rates[0, other] -= polynomial.deriv()(q[other])
    return np.array([gap]), rates


def rotation_vector(rotation: Array) -> Array:
    """Axis times angle (3,) of a rotation (3, 3), rad."""
    from scipy.spatial.transform import Rotation  # few need it

    return np.asarray(Rotation.from_matrix(rotation).as_rotvec())
