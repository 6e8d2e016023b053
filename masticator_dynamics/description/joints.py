# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints of the tree: one object for each kind, which says how a unit of its position moves.

A kind whose joints have a dimension of their own, as a screw's lead, needs it in ``data.py`` and
``reading.py``, too.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from masticator_dynamics.description.closures import HINGE, SLIDER, WELD, ClosureKind

if TYPE_CHECKING:
    from xml.etree import ElementTree

    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class JointKind:
    """Motion of the child link per unit of position, along and about one axis.

    The motion subspace is ``(shift * axis, spin * axis)``, velocity of the joint's origin over
    angular velocity (Featherstone, Rigid Body Dynamics Algorithms, table 4.1).
    """

    name: str
    closes_as: ClosureKind | None  # where it closes a loop
    spin: float = 0.0  # rad
    shift: float = 0.0  # m
    ranged: bool = False  # has ends in URDF
    urdf: str = ''  # its type in URDF, where it is not its name
    dimensions: ClassVar[tuple[str, ...]] = ()  # fields of a joint that only the kind has

    def shift_of(self, joint: Joint) -> float:
        """Shift per unit of position, m, of one joint."""
        return self.shift

    def of_sdf(self, joint: ElementTree.Element) -> dict[str, float]:
        """Its dimensions, from a joint of SDF."""
        return {}


class _Screw(JointKind):
    """A nut on a thread; ``lead`` (m) is what it advances per turn."""

    dimensions = ('lead',)

    def shift_of(self, joint: Joint) -> float:
        """By the joint's own lead."""
        return joint.lead / math.tau

    def of_sdf(self, joint: ElementTree.Element) -> dict[str, float]:
        """Of ``screw_thread_pitch``, m per turn, or of the old ``thread_pitch``, -rad/m.

        1 m where there is neither, as SDF says.
        """
        lead, old = (
            float(joint.findtext(tag) or 0.0) for tag in ('screw_thread_pitch', 'thread_pitch')
        )
        return {'lead': lead if lead else -math.tau / old if old else 1.0}


FIXED = JointKind('fixed', WELD)
REVOLUTE = JointKind('revolute', HINGE, spin=1.0, ranged=True)
CONTINUOUS = JointKind('continuous', HINGE, spin=1.0)
PRISMATIC = JointKind('prismatic', SLIDER, shift=1.0, ranged=True)
SCREW = _Screw('screw', None, spin=1.0, ranged=True, urdf=REVOLUTE.name)
FLOATING = JointKind('floating', None)  # of robots to be imported: no joint of a tree
# In the order in which a tree grows across them, where there is a choice: the last close loops.
KINDS = {kind.name: kind for kind in (FIXED, REVOLUTE, CONTINUOUS, PRISMATIC, SCREW)}
MOVING_TYPES = tuple(kind.name for kind in KINDS.values() if kind.spin or kind.shift)


@dataclasses.dataclass(frozen=True)
class Joint:
    """A joint; ``position`` and ``rotation`` place its frame in the parent link."""

    name: str
    type: str
    parent: str
    child: str
    position: Array
    rotation: Array
    axis: Array
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0  # N m s/rad or N s/m
    friction: float = 0.0  # dry, N m or N
    lead: float = 0.0  # of a screw, m per turn

    @property
    def kind(self) -> JointKind:
        """Its kind, which says how it moves."""
        return KINDS.get(self.type, FLOATING)

    @property
    def urdf_type(self) -> str:
        """What it is in URDF."""
        return self.kind.urdf or self.type

    @property
    def spin(self) -> float:
        """Turn of the child link about the axis per unit of position, rad."""
        return self.kind.spin

    @property
    def shift(self) -> float:
        """Shift of the child link along the axis per unit of position, m."""
        return self.kind.shift_of(self)

    @property
    def moves(self) -> bool:
        """Whether it has a position."""
        return bool(self.spin or self.shift)

    @property
    def turns(self) -> bool:
        """Whether it turns its child link about its axis, and no more."""
        return bool(self.spin) and not self.shift

    @property
    def slides(self) -> bool:
        """Whether it shifts its child link along its axis, and no more: positions are in m."""
        return bool(self.shift) and not self.spin

    @property
    def screws(self) -> bool:
        """Whether it turns its child link about its axis and shifts it along it, at once."""
        return bool(self.spin and self.shift)

    @property
    def unit(self) -> str:
        """Unit of its position."""
        return 'm' if self.slides else 'rad'
