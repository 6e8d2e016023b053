# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints of a URDF that form no tree: a link with two parents, or links in a ring.

URDF has no such robots, but some tools write and read them. As in SDF, the tree grows from the base
across motors and hinges first; joints left over close loops, and those that it meets at their
children are turned round.
"""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Collection
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.joints import KINDS
from masticator_dynamics.description.urdf import Array
from masticator_dynamics.description.urdf_text import angles, numbers
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.robot_model import Frame, Loop, axis_in, numbers_in
from masticator_dynamics.interchange.sdf_joints import spanning
from masticator_dynamics.interchange.unread import Unread

_CLOSURES = {name: kind.closes_as for name, kind in KINDS.items() if kind.closes_as}


class Cuts(NamedTuple):
    """Loops at joints that were cut, links that were added, and sentences on both and on losses."""

    loops: list[Loop]
    added: list[str]
    notes: list[str]
    warnings: list[str]


class _Edge(NamedTuple):
    """A joint between two links."""

    joint: ElementTree.Element
    parent: str
    child: str

    @property
    def name(self) -> str:
        return str(self.joint.get('name'))

    @property
    def type(self) -> str:
        return str(self.joint.get('type'))

    def acts(self) -> bool:
        """Whether it has losses or follows another joint."""
        losses = self.joint.find('dynamics')
        values = () if losses is None else losses.attrib.values()
        return self.joint.find('mimic') is not None or any(v.strip(' 0.') for v in values)

    def place(self, file: pathlib.Path) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of its frame in the parent."""
        origin = self.joint.find('origin')
        texts = ('' if origin is None else origin.get(key, '') for key in ('xyz', 'rpy'))
        xyz, rpy = (numbers_in(t or '0 0 0', 3, file, f'joint {self.name} origin') for t in texts)
        return np.array(xyz), Rotation.from_euler('xyz', rpy).as_matrix()

    def axis(self, file: pathlib.Path) -> Array:
        """Unit vector (3,) along its axis, in its frame."""
        axis = self.joint.find('axis')
        text = '1 0 0' if axis is None else axis.get('xyz', '')
        return axis_in(text, file, f'joint {self.name} axis')


def cut_into_tree(root: ElementTree.Element, wanted: Collection[str], unread: Unread) -> Cuts:
    """Make a tree of the joints of a robot, in its XML.

    Parameters
    ----------
    root : xml.etree.ElementTree.Element
        The robot; changed in place where its joints form no tree.
    wanted : collection of str
        Joints at which loops are not to be cut if they can be cut elsewhere.
    unread : Unread
        Refuses joints that follow others and close loops.

    Raises
    ------
    DescriptionError
        For numbers of a joint to be cut or turned round that cannot be read.
    """
    cuts, links = Cuts([], [], [], []), [str(link.get('name')) for link in root.findall('link')]
    edges = [_edge(joint) for joint in root.findall('joint')]
    parents = collections.Counter(edge.child for edge in edges)
    heads = [link for link in links if not parents[link]]
    is_tree = len(heads) == 1 and max(parents.values(), default=0) < 2
    if is_tree or not _is_connected(links, edges, unread.file):
        return cuts  # the parser says what is wrong, if anything
    base = (heads or links)[0]
    if not heads:
        cuts.warnings.append(f'every link hangs on another: {base}, the first, becomes the base')
        parents[base] += 1
    followed = {str(mimic.get('joint')) for mimic in root.iterfind('joint/mimic')}
    order = list(_CLOSURES)

    def cut_last(edge: _Edge) -> tuple[bool, int, bool, bool]:
        tied = edge.name in followed or edge.name in wanted
        kind = order.index(edge.type) if edge.type in order else 0
        return not tied, kind, not edge.acts(), parents[edge.child] > 1

    tree = spanning(sorted(edges, key=cut_last))
    for edge in edges:
        if edge not in tree:
            _cut(root, edge, cuts, unread)
    _turn_outwards(root, tree, base, cuts, unread.file)
    return cuts


def _is_connected(links: list[str], edges: list[_Edge], file: pathlib.Path) -> bool:
    """Whether joints of different names connect all links, none of them to itself."""
    joined = DisjointSet(links)
    if len({edge.name for edge in edges}) < len(edges) or not all(
        end in joined for edge in edges for end in (edge.parent, edge.child)
    ):
        return False
    for edge in edges:
        if edge.parent == edge.child:
            reason = f'it ties {edge.parent!r} to itself'
            raise DescriptionError(file, f'joint {edge.name}', reason)
        joined.merge(edge.parent, edge.child)
    return bool(joined.n_subsets == 1)


def _edge(joint: ElementTree.Element) -> _Edge:
    ends = (joint.find(tag) for tag in ('parent', 'child'))
    parent, child = ('' if end is None else str(end.get('link')) for end in ends)
    return _Edge(joint, parent, child)


def _cut(root: ElementTree.Element, edge: _Edge, cuts: Cuts, unread: Unread) -> None:
    """Replace a joint by a loop."""
    root.remove(edge.joint)
    mimic = edge.joint.find('mimic')
    if mimic is not None:
        reason = f'joint {edge.name}, which closes a loop, is to follow {mimic.get("joint")}'
        unread.refuse_mimic(edge.name, reason)
    if edge.type not in _CLOSURES:  # what floats closes nothing
        if edge.type != 'floating':
            reason = f'its type is {edge.type!r}, and it closes a loop'
            unread.refuse('joint', edge.name, reason, f'Read are {", ".join(_CLOSURES)}')
        return
    position, rotation = edge.place(unread.file)
    axes = np.eye(3) if edge.type == 'fixed' else rotation_to(edge.axis(unread.file))
    ends = Frame(edge.parent, position, rotation @ axes), Frame(edge.child, np.zeros(3), axes)
    cuts.loops.append(Loop(edge.name, _CLOSURES[edge.type], *ends))
    tags = [tag for tag in ('limit', 'dynamics') if edge.joint.find(tag) is not None]
    left_out = f', without its {" and ".join(f"<{tag}>" for tag in tags)}' if tags else ''
    (cuts.warnings if tags else cuts.notes).append(f'joint {edge.name} closes a loop{left_out}')


def _turn_outwards(
    root: ElementTree.Element, edges: list[_Edge], base: str, cuts: Cuts, file: pathlib.Path
) -> None:
    """Turn round all joints of a tree whose children are nearer to the base than their parents."""
    placed, waiting = {base}, list(edges)
    while waiting:
        edge = next(e for e in waiting if e.parent in placed or e.child in placed)
        waiting.remove(edge)
        if edge.parent not in placed:
            turned = f'{edge.parent} hangs on {edge.child}'
            cuts.notes.append(f'joint {edge.name} is turned round: {turned}')
            _turn_round(root, edge, cuts, file)
        placed |= {edge.parent, edge.child}


def _turn_round(root: ElementTree.Element, edge: _Edge, cuts: Cuts, file: pathlib.Path) -> None:
    """Make the child of a joint its parent; positions keep their sign and meaning."""
    position, rotation = edge.place(file)
    back = {'xyz': numbers(-rotation.T @ position), 'rpy': numbers(angles(rotation.T))}
    axis = None if edge.type == 'fixed' else -edge.axis(file)
    for tag in ('parent', 'child', 'origin', 'axis'):
        for part in edge.joint.findall(tag):
            edge.joint.remove(part)
    if axis is None:
        _complete(edge.joint, edge.child, edge.parent, back)
        return
    inner = f'{edge.name}_link'
    while any(link.get('name') == inner for link in root.findall('link')):
        inner += '_'
    cuts.added.append(inner)
    ElementTree.SubElement(root, 'link', name=inner)
    ElementTree.SubElement(edge.joint, 'axis', xyz=numbers(axis))
    _complete(edge.joint, edge.child, inner, {})
    name = f'{edge.name}_back'
    while any(joint.get('name') == name for joint in root.findall('joint')):
        name += '_'
    _complete(
        ElementTree.SubElement(root, 'joint', name=name, type='fixed'), inner, edge.parent, back
    )


def _complete(joint: ElementTree.Element, parent: str, child: str, origin: dict[str, str]) -> None:
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    if origin:
        ElementTree.SubElement(joint, 'origin', origin)
