# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints of SDF as they stand in the world, those of URDF's ``<gazebo><joint>`` among them."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Protocol, TypeVar
from xml.etree import ElementTree

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from masticator_dynamics.description.closures import POINT, UNIVERSAL, ClosureKind
from masticator_dynamics.description.joints import FIXED, KINDS
from masticator_dynamics.description.urdf import Array
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.robot_model import (
    Frame,
    JointCoupling,
    Loop,
    Poses,
    axis_in,
    is_true,
    number_in,
)
from masticator_dynamics.interchange.sdf_frames import Scope, SdfFrames, SdfPart
from masticator_dynamics.interchange.unread import Unread, tag_of

# In the order in which the tree grows across them; the last are cut first.
TYPES = {name: kind.closes_as for name, kind in KINDS.items()}
TYPES |= {UNIVERSAL.name: UNIVERSAL, 'ball': POINT}
_PARTS = ('parent', 'child', 'pose', 'axis', 'axis2', 'drake:mimic')
_READ = f'Read are joints of the types {", ".join(TYPES)} with <parent>, <child>, <pose>, <axis>'


@dataclasses.dataclass(frozen=True)
class Edge:
    """A joint of the file: its frame and axes in the world, at zero positions."""

    name: str
    type: str
    parent: str
    child: str
    position: Array
    rotation: Array
    axes: Array  # (1 or 2, 3) in the world
    part: SdfPart

    @property
    def kind(self) -> ClosureKind | None:
        """The closure that it is where it closes a loop."""
        return TYPES[self.type]

    def loop(self, poses: Poses, file: pathlib.Path) -> Loop:
        """The joint as one that closes a loop; for poses of links in the world.

        Raises
        ------
        DescriptionError
            If it cannot, naming the file.
        """
        frames = []
        for index, link in enumerate((self.parent, self.child)):
            axes = self.rotation
            if len(self.axes):
                axes = rotation_to(self.axes[min(index, len(self.axes) - 1)])
            frames.append(Frame.placed(link, poses, self.position, axes))
        if self.kind is None:
            reason = f'its type is {self.type!r}, and it closes a loop'
            raise DescriptionError(file, f'joint {self.name}', reason)
        return Loop(self.name, self.kind, *frames)

    def acts(self) -> bool:
        """Whether the joint has losses, a spring, or follows another."""
        keys = ('damping', 'friction', 'spring_stiffness')
        axes = [e for e in self.part.element if e.tag in ('axis', 'axis2')]
        values = [axis.findtext(f'dynamics/{key}') for axis in axes for key in keys]
        return bool(self.mimics()) or any(v and v.strip(' 0.') for v in values)

    def mimics(self) -> list[ElementTree.Element]:
        """Elements that make it follow another joint."""
        return [e for e in self.part.element.iter() if tag_of(e) in ('mimic', 'drake:mimic')]

    def leaders(self) -> Iterator[str]:
        """Joints that it follows."""
        for mimic in self.mimics():
            yield self.part.scope.absolute(str(mimic.get('joint')))


class SdfJoints:
    """Reads the joints of a model; ``frames`` has all names in it."""

    def __init__(self, frames: SdfFrames, unread: Unread):
        self.file, self.frames, self.unread = unread.file, frames, unread
        self.names = {word for name in frames.parts for word in (name, name.rpartition('::')[2])}

    def edges(self) -> list[Edge]:
        """All joints that are read.

        Raises
        ------
        DescriptionError
            For inconsistent ones, and for those not read that are not to be left out.
        """
        edges = [self._edge(name, part) for name, part in self.frames.of('joint')]
        return [edge for edge in edges if edge is not None]

    def _edge(self, name: str, part: SdfPart) -> Edge | None:
        joint, scope = part
        kind, place = str(joint.get('type')), f'joint {name}'
        kind = {'revolute2': UNIVERSAL.name}.get(kind, kind)
        if kind not in TYPES:
            reason = f'its type is {kind!r}'
            self.unread.refuse('joint', name, reason, _READ)
            return None
        ends = [
            self.frames.link_of(scope.absolute((joint.findtext(tag) or '').strip()), place)
            for tag in ('parent', 'child')
        ]
        if ends[0] == ends[1]:
            raise DescriptionError(self.file, place, f'it ties {ends[0]!r} to itself')
        for element in joint:
            if (tag := tag_of(element)) not in _PARTS:
                # Drake's give the joint other frames than its links have.
                ends_named = () if tag.startswith('drake:') else ends
                self.unread.refuse_ties(element, self.names.difference(ends_named), _READ, name)
        position, rotation = self.frames.pose(name)
        directions = [self._axis(a, scope, rotation, place) for a in self._axes(joint, kind, place)]
        axes = np.array(directions).reshape(-1, 3)
        return Edge(name, kind, ends[0], ends[1], position, rotation, axes, part)

    def _axes(self, joint: ElementTree.Element, kind: str, place: str) -> list[ElementTree.Element]:
        count = {FIXED.name: 0, 'ball': 0, UNIVERSAL.name: 2}.get(kind, 1)
        elements = [joint.find(tag) for tag in ('axis', 'axis2')[:count]]
        axes = [axis for axis in elements if axis is not None]
        if len(axes) != count:
            reason = f'its type is {kind!r}, which needs {count} axes; it has {len(axes)}'
            raise DescriptionError(self.file, place, reason)
        return axes

    def _axis(self, axis: ElementTree.Element, scope: Scope, rotation: Array, place: str) -> Array:
        """Direction of an axis in the world."""
        xyz = axis.find('xyz')
        text = '0 0 1' if xyz is None else str(xyz.text)
        direction = axis_in(text, self.file, f'{place} axis')
        expressed = None if xyz is None else xyz.get('expressed_in')
        if expressed:
            rotation = self.frames.pose(scope.absolute(expressed))[1]
        elif is_true(axis.findtext('use_parent_model_frame'), self.file, place):
            rotation = self.frames.pose(scope.model)[1]
        turned: Array = rotation @ direction
        return turned

    def couplings(self, edges: list[Edge], moving: set[str]) -> Iterator[JointCoupling]:
        """What mimics say of joints, of which only some are moving ones of the tree."""
        for edge in edges:
            for mimic, other in zip(edge.mimics(), edge.leaders(), strict=True):
                if {edge.name, other} <= moving:
                    values = (self._number(mimic, key, edge.name) for key in _DEFAULTS)
                    ratio, offset, reference = values
                    yield JointCoupling.mimic(edge.name, other, ratio, offset - ratio * reference)
                else:
                    reason = f'joint {edge.name} is to follow {other}'
                    self.unread.refuse_mimic(edge.name, reason)

    def _number(self, mimic: ElementTree.Element, key: str, joint: str) -> float:
        text = mimic.findtext(key) or mimic.get(key) or _DEFAULTS[key]
        return number_in(text, self.file, f'joint {joint} mimic {key}')


_DEFAULTS = {'multiplier': '1', 'offset': '0', 'reference': '0'}


class _Connects(Protocol):
    @property
    def parent(self) -> str: ...

    @property
    def child(self) -> str: ...


_Connecting = TypeVar('_Connecting', bound=_Connects)


def spanning(edges: list[_Connecting]) -> list[_Connecting]:
    """Edges that connect new links, in the order given (Kruskal)."""
    joined = DisjointSet(end for edge in edges for end in (edge.parent, edge.child))
    return [edge for edge in edges if joined.merge(edge.parent, edge.child)]
