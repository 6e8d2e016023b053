# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements that other tools add to URDF to tie two links: loops and couplings.

Loops are ``<constraint>`` (urdfdom pull request 264), ``<loop_joint>`` (Isaac) and ``<loop>`` of
URDF+ (Chignoli, Slotine, Wensing and Kim, 2024, arXiv 2411.19753); ``<coupling>`` of URDF+ gears
the joints of one chain to those of another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.closures import (
    KINDS,
    POINT,
    SLIDER,
    UNIVERSAL,
    WELD,
    ClosureKind,
)
from masticator_dynamics.description.urdf import Array, Joint
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.interchange.pose_search import LoopKinematics
from masticator_dynamics.interchange.robot_model import (
    Frame,
    JointCoupling,
    Loop,
    RobotModel,
    axis_in,
    number_in,
    numbers_in,
)
from masticator_dynamics.interchange.unread import Unread

_ENDS = ('link1', 'link2', 'parent', 'child', 'predecessor', 'successor')
_OF_URDF_PLUS = ('predecessor', 'successor')  # they hold their <origin>
LOOPS, COUPLINGS = ('constraint', 'loop_joint', 'loop'), 'coupling'
# By the name of the type, which the library of pull request 264 writes with _joint behind it.
_TYPES = {word: kind for kind in KINDS.values() for word in kind.urdf}
_LEFT_OUT = ('limit', 'dynamics', 'safety_controller', 'calibration')
_OPPOSITE = 1e-6  # of a cosine; axes that a planar loop cannot turn over
_COUPLINGS = 'Read are couplings of the type rolling, with a <ratio value="...">'


def take_loops(root: ElementTree.Element, unread: Unread) -> tuple[list[Loop], list[str]]:
    """Remove loops from a robot; return them, and sentences on what of them is left out.

    Raises
    ------
    DescriptionError
        For ends, axes or types that are missing or not read.
    """
    loops, left_out = list[Loop](), list[str]()
    for element in [part for part in root if part.tag in LOOPS]:
        root.remove(element)
        kind = _TYPES.get(str(element.get('type')).removesuffix('_joint'))
        if kind is None:
            read = f'Read are the types {", ".join(_TYPES)}'
            reason = f'its type is {element.get("type")!r}'
            unread.refuse(str(element.tag), element.get('name') or '', reason, read)
            continue
        reader = _TwoEnded(element, unread)
        loops.append(reader.loop(kind))
        left_out += reader.left_out()
    return loops, left_out


class _TwoEnded:
    """An element with two links, each with an origin and perhaps an axis."""

    def __init__(self, element: ElementTree.Element, unread: Unread):
        self.element, self.unread, self.file = element, unread, unread.file
        self.place = f'{element.tag} {element.get("name")}'
        self.ends = [end for end in element if end.tag in _ENDS]
        if len(self.ends) != 2 or not all(end.get('link') for end in self.ends):
            raise DescriptionError(self.file, self.place, 'does not name two links')

    def loop(self, kind: ClosureKind) -> Loop:
        """The loop of a closure type, between frames whose Z are its axes."""
        self._check_parts()
        turned = (np.eye(3),) * 2 if kind in (POINT, WELD) else self._turned(kind)
        frames = [
            Frame(str(end.get('link')), position, rotation @ axes)
            for end, axes in zip(self.ends, turned, strict=True)
            for position, rotation in [self._placement(self._origin(end))]
        ]
        return Loop(str(self.element.get('name') or self.element.tag), kind, *frames)

    def left_out(self) -> Iterator[str]:
        """What a loop does not have here: limits, losses."""
        tags = [part.tag for part in self.element if part.tag not in self._read()]
        if tags:
            listed = ' and '.join(f'<{tag}>' for tag in dict.fromkeys(tags))
            yield f'{self.place} closes a loop, without its {listed}'

    def _read(self) -> set[str]:
        tags = {str(end.tag) for end in self.ends}
        return {*tags, *(f'{tag}_{part}' for tag in tags for part in ('origin', 'axis')), 'axis'}

    def _check_parts(self) -> None:
        """Refuse elements and attributes that would place or turn the ends and are not read."""
        read = self._read()
        for end in self.ends:
            for inner in end:
                if inner.tag != 'origin' or end.tag not in _OF_URDF_PLUS:
                    self._refuse_place(inner, read)
        for part in self.element:
            if part.tag == 'mimic':
                reason = f'joint {self.element.get("name")} closes a loop'
                self.unread.refuse_mimic(part.get('joint') or '', reason)
            elif part.tag not in (*read, *_LEFT_OUT):
                self._refuse_place(part, read)
                if near := meant(str(part.tag), (*read, *_LEFT_OUT)):
                    reason = f'unknown element <{part.tag}>{near}'
                    raise DescriptionError(self.file, self.place, reason)
            attributes = {'xyz'} if str(part.tag).endswith('axis') else {'xyz', 'rpy', 'link'}
            for name in part.attrib.keys() - attributes if part.tag in read else ():
                reason = f'{name} of <{part.tag}> is not one of {", ".join(sorted(attributes))}'
                raise DescriptionError(self.file, self.place, reason)

    def _refuse_place(self, part: ElementTree.Element, read: Collection[str]) -> None:
        if part.tag in ('origin', 'pose') or str(part.tag).endswith(('_origin', '_axis')):
            places = sorted(tag for tag in read if '_' in tag)
            reason = f'<{part.tag}> is not read: say {" and ".join(places)}'
            raise DescriptionError(self.file, self.place, reason)

    def _origin(self, end: ElementTree.Element) -> ElementTree.Element:
        """Where an end says its origin; Isaac's ends say it themselves."""
        origins = self.element.find(f'{end.tag}_origin'), end.find('origin')
        return next((origin for origin in origins if origin is not None), end)

    def _placement(self, origin: ElementTree.Element) -> tuple[Array, Array]:
        position, angles = (
            numbers_in(origin.get(key, '0 0 0'), 3, self.file, f'{self.place} {key}')
            for key in ('xyz', 'rpy')
        )
        return np.array(position), Rotation.from_euler('xyz', angles).as_matrix()

    def _turned(self, kind: ClosureKind) -> tuple[Array, Array]:
        """Rotations that turn Z of the two origins into the axes.

        Where one axis is told it is that of both, since the origins are those of one joint. What a
        slider holds about its axis is told by the origins: the axes differ by the least turn.
        """
        first, second = (self._axis(end, kind) for end in self.ends)
        if first is None or (second is None and kind is UNIVERSAL):
            tag = self.ends[0 if first is None else 1].tag
            axis = 'axis' if tag in _OF_URDF_PLUS else f'{tag}_axis'
            reason = f'its type is {self.element.get("type")}, and it has no <{axis} xyz="...">'
            raise DescriptionError(self.file, self.place, reason)
        turned = rotation_to(first)
        if second is None:
            return turned, turned
        if kind is not SLIDER:
            return turned, rotation_to(second)
        return turned, least_turn(first, second if first @ second >= 0.0 else -second) @ turned

    def _axis(self, end: ElementTree.Element, kind: ClosureKind) -> Array | None:
        axis = self.element.find(f'{end.tag}_axis')
        if axis is None and kind is not UNIVERSAL:  # whose two axes are perpendicular
            axis = self.element.find('axis')
        if axis is None:
            return None
        if axis.get('xyz') is None:
            raise DescriptionError(self.file, self.place, f'<{axis.tag}> has no xyz="..."')
        return axis_in(str(axis.get('xyz')), self.file, f'{self.place} {axis.tag}')


def least_turn(first: Array, second: Array) -> Array:
    """The rotation (3, 3) by the least angle from one unit vector (3,) to another."""
    normal = np.cross(first, second)
    sine = float(np.linalg.norm(normal))
    angle = np.arctan2(sine, first @ second)
    along = normal / sine if sine > 0.0 else np.zeros(3)
    return np.asarray(Rotation.from_rotvec(angle * along).as_matrix())


def turn_opposite_axes(model: RobotModel, names: Collection[str]) -> None:
    """Turn round the second axis of hinges whose axes are opposite where the search starts.

    A hinge is a line in either body, with no direction; no motion in a plane turns a body over.
    """
    kinematics = LoopKinematics(model)
    poses = kinematics.tree.poses(kinematics.guess())
    for index, loop in enumerate(model.loops):
        if loop.name in names and len(loop.kind.facing) == 1:
            axes = [kinematics.place(poses, end)[2][:, 2] for end in (loop.first, loop.second)]
            if axes[0] @ axes[1] < -1.0 + _OPPOSITE:
                rotation = loop.second.rotation @ np.diag([1.0, -1.0, -1.0])
                end = dataclasses.replace(loop.second, rotation=rotation)
                model.loops[index] = dataclasses.replace(loop, second=end)
                model.notes.append(f'{loop.name}: its axes are opposite and count as one line')


def read_couplings(root: ElementTree.Element, model: RobotModel, unread: Unread) -> None:
    """Add the ``<coupling>`` of URDF+ to a model whose joints are read.

    From the nearest link that both ends hang on, the positions of all joints up to the successor
    add up to the ratio times those up to the predecessor.

    Raises
    ------
    DescriptionError
        For links or a ratio that are not there, or chains without joints.
    """
    for element in root.findall(COUPLINGS):
        name, place = str(element.get('name') or COUPLINGS), f'coupling {element.get("name")}'
        if element.get('type', 'rolling') != 'rolling':
            reason = f'its type is {element.get("type")!r}'
            unread.refuse(COUPLINGS, name, reason, _COUPLINGS)
            continue
        links = [str(end.get('link')) for tag in _OF_URDF_PLUS for end in element.findall(tag)]
        if len(links) != 2:
            raise DescriptionError(model.file, place, 'does not name a predecessor and a successor')
        leading, led = _chains(model, links, place)
        value = element.find('ratio')
        text = '' if value is None else value.get('value', '')
        ratio = number_in(text, model.file, f'{place} ratio')
        if not ratio:
            raise DescriptionError(model.file, place, 'its ratio is 0')
        coupling = JointCoupling.tied(
            name, dict.fromkeys(led, 1.0), dict.fromkeys(leading, 1.0), (0.0, ratio)
        )
        assert coupling is not None, 'a line of several joints'
        model.couple(coupling, place)


def _chains(model: RobotModel, links: list[str], place: str) -> list[list[str]]:
    """Moving joints that carry each of two links from the nearest link that carries both."""
    above: list[dict[str, Joint]] = []
    for link in links:
        if link not in model.links:
            reason = f'link {link!r} does not exist in the URDF{meant(link, model.links)}'
            raise DescriptionError(model.file, place, reason)
        joints: dict[str, Joint] = {}
        while (joint := model.above(link)) is not None:
            joints, link = {joint.name: joint, **joints}, joint.parent
        above.append(joints)
    shared = above[0].keys() & above[1].keys()
    chains = [
        {name: j.unit for name, j in joints.items() if j.moves and name not in shared}
        for joints in above
    ]
    for link, chain in zip(links, chains, strict=True):
        if not chain:
            reason = f'no joint moves {link!r} against the other link'
            raise DescriptionError(model.file, place, reason)
        if len(set(chain.values())) > 1:
            raise DescriptionError(
                model.file, place, f'it adds up angles and lengths of {[*chain]}'
            )
    return [list(chain) for chain in chains]
