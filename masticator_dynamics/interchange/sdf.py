# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads SDF: links are placed in the model, with joints between any two of them.

A loop is where a link can be reached in two ways. The tree is grown from the base across motors and
hinges first, so that loops are cut at ball joints where there are any. Elements that tie parts of
the robot and are not read are refused.
"""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from masticator_dynamics.description.closures import POINT, UNIVERSAL
from masticator_dynamics.description.joints import KINDS
from masticator_dynamics.description.urdf import Array, Inertia, Joint
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.interchange.added_ties import (
    DRAKE,
    PLUGINS,
    ball_constraint,
    closing_pairs,
    read_plugins,
)
from masticator_dynamics.interchange.robot_model import (
    NO_MASS,
    Frame,
    ImportedMotor,
    Loop,
    RobotModel,
    Spring,
    is_true,
    number_in,
    numbers_in,
    turning_joints,
)
from masticator_dynamics.interchange.sdf_frames import (
    SdfFrames,
    included_file,
    included_model,
    read_root,
    refuse_changes,
)
from masticator_dynamics.interchange.sdf_joints import TYPES, Edge, SdfJoints, spanning
from masticator_dynamics.interchange.transmissions import moves, rotor_inertia
from masticator_dynamics.interchange.unread import Unread, tag_of

READ = {
    'link', 'joint', 'pose', 'static', 'self_collide', 'frame', 'gripper', 'enable_wind', 'model',
    'include', 'plugin', 'drake:ball_constraint',
}  # fmt: skip
_UNLIMITED = {
    'lower': -math.inf, 'upper': math.inf, 'effort': math.inf, 'velocity': math.inf,
}  # fmt: skip
# Elements of elements that say how a robot moves; of links and joints, some of them.
_CHILDREN = {
    'link': ('pose', 'inertial'), 'joint': ('pose', 'axis', 'axis2'),
    'inertial': ('pose', 'mass', 'inertia'),
    'inertia': ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
    'axis': ('xyz', 'use_parent_model_frame', 'initial_position', 'limit', 'dynamics', 'mimic'),
    'limit': ('lower', 'upper', 'effort', 'velocity', 'stiffness', 'dissipation'),
    'dynamics': ('damping', 'friction', 'spring_reference', 'spring_stiffness'),
}  # fmt: skip
_CHILDREN['axis2'] = _CHILDREN['axis']
_INFINITE = {-math.inf: ('-inf', '-infinity'), math.inf: ('inf', 'infinity')}
_WORLD = 'Read are joints within a model: put the models into one'


def refuse_unread(
    frames: SdfFrames, names: set[str], unread: Unread, around: Iterable[ElementTree.Element]
) -> None:
    """Refuse what ties parts and is not read, in a model and in the world around it.

    Parameters
    ----------
    frames : SdfFrames
        All parts of the model.
    names : set of str
        What they are called, with and without the models that they are in.
    unread : Unread
        Refuses, or notes what is to be left out.
    around : iterable of xml.etree.ElementTree.Element
        Elements of the world.

    Raises
    ------
    DescriptionError
        For elements that are not to be left out.
    """
    for _, part in frames.of('model'):
        for element in part.element:
            tag = tag_of(element)
            if tag == 'drake:joint':
                reason = f'its type {element.get("type")!r} is of Drake alone'
                unread.refuse(tag, element.get('name') or '', reason, DRAKE)
            elif tag not in READ:
                unread.refuse_ties(element, names, DRAKE)
    for link, part in frames.of('link'):
        for element in part.element:
            if element.tag not in ('pose', 'inertial'):
                unread.refuse_ties(element, names, DRAKE, link.rpartition('::')[2])
    for element in around:
        if element.tag == 'joint':
            reason = 'it ties models to each other or to the world'
            unread.refuse('world joint', element.get('name') or '', reason, _WORLD)
        elif element.tag not in ('model', 'include', 'frame'):
            unread.refuse_ties(element, names, PLUGINS)


def read_sdf(
    file: pathlib.Path, unread: Unread, wanted: Iterable[str] = (),
    arguments: Mapping[str, str] | None = None,
) -> RobotModel:  # fmt: skip
    """Model of an SDF file, or the first one of its world that is not static.

    Parameters
    ----------
    unread : Unread
        Refuses what ties parts of the robot and is not read; leaves some out on purpose.
    wanted : iterable of str
        Joints at which loops are not to be cut if they can be cut elsewhere.
    arguments : mapping, optional
        Values of the arguments of a file that is xacro, too (``.sdf.xacro``).

    Raises
    ------
    DescriptionError
        For another version or format, or inconsistent elements.
    """
    root = read_root(file, arguments)
    world = root.find('world')
    missing = DescriptionError(file, '', 'SDF: it has no <model>')
    around = [
        part
        for part in (root if world is None else world)
        if part.tag == 'include'
        or (part.tag == 'model' and (world is None or not _is_static(part, file)))
    ]
    # Robots in the file come before included ones, among which are lights and grounds.
    for part in sorted(around, key=lambda part: part.tag == 'include'):
        element = part
        if part.tag == 'include':
            refuse_changes(part, unread)
            try:
                element = included_model(part, included_file(part, file))
            except DescriptionError as error:
                missing = error
                continue
            if world is not None and _is_static(element, file):
                continue
        model = _SdfReader(element, world, unread, frozenset(wanted)).model
        if _is_static(element, file):
            model.warn(f'model {model.name} is static in the file, and can move here')
        if others := [_called(other) for other in around if other is not part]:
            model.warn(f'read is model {model.name}; left out: {", ".join(others)}')
        return model
    raise missing


def _called(part: ElementTree.Element) -> str:
    """Name of a model, or of one that is included."""
    name = part.get('name') or part.findtext('name') or part.findtext('uri') or part.tag
    return name.strip().rpartition('/')[2]


def _is_static(model: ElementTree.Element, file: pathlib.Path) -> bool:
    return is_true(model.findtext('static'), file, f'model {model.get("name")} static')


class _SdfReader:
    """Converts a ``<model>``."""

    def __init__(
        self, element: ElementTree.Element, world: ElementTree.Element | None, unread: Unread,
        wanted: frozenset[str],
    ):  # fmt: skip
        file = self.file = unread.file
        self.frames = SdfFrames(element, unread)
        self.model = RobotModel(file, str(element.get('name') or file.stem), '', {}, [])
        if world is not None:
            gravity = world.findtext('gravity') or world.findtext('physics/gravity') or '0 0 -9.8'
            x, y, z = numbers_in(gravity, 3, self.file, 'gravity')
            self.model.gravity = (x, y, z)
        self.poses: dict[str, tuple[Array, Array]] = {}
        for name, link in self.frames.of('link'):
            self._link(name, link.element)
        if not self.poses:
            raise DescriptionError(file, '', 'SDF: its model has no <link>')
        self.model.reserved = frozenset(self.frames.parts)
        for name, joint in self.frames.of('joint'):
            self._check(joint.element, f'joint {name}')
        joints = SdfJoints(self.frames, unread)
        refuse_unread(self.frames, joints.names, unread, () if world is None else world)
        edges = joints.edges()
        followers = {joint for e in edges if e.mimics() for joint in (e.name, *e.leaders())}
        edges += self._held()
        self._other_elements()
        if self.frames.straightened > 1e-12:
            self.model.notes.append(
                f'angles up to {self.frames.straightened:.2g} rad off a multiple of 45 degrees are '
                'taken for it: planar loops need axes that are parallel'
            )
        driven = dict(self._driven())
        self._grow(edges, wanted.union(driven, followers))
        moving = {joint.name for joint in self.model.joints if joint.moves}
        for coupling in joints.couplings(edges, moving):
            self.model.couple(coupling, f'joint {coupling.joint}')
        others = {
            str(part.get('name')) for part in (() if world is None else world.findall('model'))
        }
        self._ties(joints.names | others - {self.model.name}, unread)
        self._refuse_untied()
        for name, plugin in driven.items():
            if moves(name, ('plugin', plugin), self.model, unread):
                self.model.motors[name] = ImportedMotor()

    def _number(self, element: ElementTree.Element, path: str, default: float, place: str) -> float:
        text = element.findtext(path)
        return default if text is None else number_in(text, self.file, f'{place} {path}')

    def _limit(self, axis: ElementTree.Element, path: str, unlimited: float, place: str) -> float:
        """A limit of an axis, which may be infinite, as newer versions write it."""
        text = (axis.findtext(path) or '').strip().lower().removeprefix('+')
        if text in _INFINITE[unlimited]:
            return unlimited
        return self._number(axis, path, unlimited, place)

    # Parts

    def _link(self, name: str, link: ElementTree.Element) -> None:
        place = f'link {name}'
        self._check(link, place)
        decay = [*link.iterfind('velocity_decay/*')]
        if any(self._number(link, f'velocity_decay/{part.tag}', 0.0, place) for part in decay):
            self.model.warn(f'{place}: its <velocity_decay> is left out')
        self.poses[name] = self.frames.pose(name)
        if old := link.get('renamed_from'):
            self.model.notes.append(f'link {old} is called {name}: a joint has its name')
        weightless = link.findtext('gravity')
        if weightless and not is_true(weightless, self.file, f'{place} gravity'):
            self.model.warn_of_weight(name)
        inertial = link.find('inertial')
        if inertial is None:
            self.model.links[name] = NO_MASS
            return
        if is_true(inertial.get('auto'), self.file, f'{place} inertial auto'):
            reason = 'its inertial is to be computed from shapes (auto), which are not read'
            raise DescriptionError(self.file, place, f'{reason}: write mass and inertia')
        mass = self._number(inertial, 'mass', 1.0, place)
        position, rotation = self.frames.local(inertial, f'{place} inertial')
        value = {
            key: self._number(inertial, f'inertia/{key}', float(key[1] == key[2]), place)
            for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        }
        tensor = np.array([
            [value['ixx'], value['ixy'], value['ixz']],
            [value['ixy'], value['iyy'], value['iyz']],
            [value['ixz'], value['iyz'], value['izz']],
        ])  # fmt: skip
        if mass < 0.0:
            raise DescriptionError(self.file, place, f'mass {mass} kg is negative')
        self.model.links[name] = Inertia(mass, position, rotation @ tensor @ rotation.T)

    def _check(self, element: ElementTree.Element, place: str) -> None:
        """Refuse what is there twice, misspelt or elsewhere; note what else is not read."""
        children = _CHILDREN[element.tag]
        for child in element:
            tag = str(child.tag)
            if tag in children:
                if len(element.findall(tag)) > 1:
                    raise DescriptionError(self.file, place, f'<{tag}> appears twice')
                if tag in _CHILDREN:
                    self._check(child, place)
            elif belongs := [outer for outer, inner in _CHILDREN.items() if tag in inner]:
                reason = f'<{tag}> stands in <{element.tag}>; it belongs into <{belongs[0]}>'
                raise DescriptionError(self.file, place, reason)
            elif element.tag not in ('link', 'joint') and not re.search('[{:]', tag):
                if near := meant(tag, children, 0.7):
                    raise DescriptionError(self.file, place, f'unknown element <{tag}>{near}')
                self.model.warn(f'{place}: its <{tag}> is left out')

    def _other_elements(self) -> None:
        tags_there = (tag_of(e) for _, model in self.frames.of('model') for e in model.element)
        if tags := dict.fromkeys(tag for tag in tags_there if tag not in READ):
            self.model.notes.append(f'left out: {", ".join(f"<{tag}>" for tag in tags)}')
        links = [link.element for _, link in self.frames.of('link')]
        if any(link.find(tag) is not None for link in links for tag in ('visual', 'sensor')):
            self.model.notes.append('left out: shapes and sensors of links')

    def _driven(self) -> Iterator[tuple[str, str]]:
        """Joints that plugins drive, and the plugin: all but those that publish states."""
        for name, model in self.frames.of('model'):
            for plugin in model.element.findall('plugin'):
                called = plugin.get('name') or plugin.get('filename') or ''
                if 'publisher' not in f'{called} {plugin.get("filename")}'.lower():
                    for joint in plugin.findall('joint_name'):
                        absolute = self.frames.scopes[name].absolute((joint.text or '').strip())
                        yield absolute, called

    def _held(self) -> Iterator[Edge]:
        """Links of static models in the model, as joints with the world."""
        for name, model in self.frames.of('model'):
            if name != '__model__' and _is_static(model.element, self.file):
                for link in self.poses:
                    if link.startswith(f'{name}::'):
                        held = f'{link}_static'
                        yield Edge(
                            held, 'fixed', 'world', link, *self.poses[link], np.zeros((0, 3)), model
                        )  # fmt: skip

    # The tree

    def _grow(self, edges: list[Edge], wanted: frozenset[str]) -> None:
        """Spanning tree from the base; edges left over become loops."""
        fixed = any('world' in (edge.parent, edge.child) for edge in edges)
        if fixed:
            self.model.links = {'world': NO_MASS, **self.model.links}
            self.poses['world'] = (np.zeros(3), np.eye(3))
            self.model.root = 'world'
        else:
            children = {edge.child for edge in edges}
            heads = [name for name in self.poses if name not in children]
            joined = DisjointSet(self.poses)
            for edge in edges:
                joined.merge(edge.parent, edge.child)
            self.model.root = max(heads or self.poses, key=joined.subset_size)
            self.model.warn(f'{self.model.root} floats: it is fixed and becomes the base')
        # Whose axes those of the description are.
        x, y, z = (self.poses[self.model.root][1].T @ self.model.gravity).tolist()
        self.model.gravity = (x, y, z)
        order = list(TYPES)

        def cut_last(edge: Edge) -> tuple[bool, bool, int, bool]:
            closes = edge.kind is not None  # what cannot close a loop is in the tree
            return closes, edge.name not in wanted, order.index(edge.type), not edge.acts()

        tree = spanning(sorted(edges, key=cut_last))
        placed, waiting = {self.model.root}, list(tree)
        while len(placed) < len(self.poses):
            while ready := [e for e in waiting if e.parent in placed or e.child in placed]:
                edge = ready[0]
                waiting.remove(edge)
                parent, child = edge.parent, edge.child
                if child in placed:
                    parent, child = child, parent
                self._tree_joint(edge, parent, child)
                placed.add(child)
            lost = [name for name in self.poses if name not in placed]
            below = {edge.child for edge in waiting}
            for head in sorted(lost, key=below.__contains__)[:1]:
                self._floating(head)
                placed.add(head)
        for edge in edges:
            if edge not in tree:
                self.model.loops.append(edge.loop(self.poses, self.file))
                if edge.acts():
                    self.model.warn(
                        f'joint {edge.name} closes a loop: its losses and spring are left out'
                    )

    def _floating(self, link: str) -> None:
        """Hang a link in the tree that no joints connect to the base: loops may tie it."""
        at = Frame.placed(self.model.root, self.poses, *self.poses[link])
        name = self.model.free_joint_name(f'{link}_free')
        joint = Joint(name, 'floating', at.link, link, at.position, at.rotation, np.zeros(3))
        self.model.joints.append(joint)
        self.model.floating[name] = link

    def _refuse_untied(self) -> None:
        """Refuse links that neither joints nor loops connect to the rest."""
        owner = self.model.owners()
        tied = {owner[end.link] for loop in self.model.loops for end in (loop.first, loop.second)
                if owner[loop.first.link] != owner[loop.second.link]}  # fmt: skip
        for name, link in self.model.floating.items():
            if name not in tied:
                reason = f'no joint connects it to {self.model.root!r}'
                raise DescriptionError(self.file, f'link {link}', reason)

    def _tree_joint(self, edge: Edge, parent: str, child: str) -> None:
        """Put a joint into the tree; the child link keeps its frame from the file."""
        (p_a, r_a), (p_b, r_b) = self.poses[parent], self.poses[child]
        reversed_ = parent != edge.parent
        at = r_a.T @ (edge.position - p_a)
        # The joint's link has the axes of the child and its origin at the joint.
        inner = child
        offset = r_b.T @ (p_b - edge.position)
        if np.abs(offset).max() > 1e-12 and edge.type != 'fixed':
            inner = self.model.add_link(f'{edge.name}_link')
        elif edge.type == 'fixed':
            at = r_a.T @ (p_b - p_a)
        turned = r_a.T @ r_b
        axes = edge.axes @ r_b * (-1.0 if reversed_ else 1.0)
        if edge.kind is POINT:
            turning_joints(self.model, edge.name, parent, inner, at, turned, np.eye(3))
        elif edge.kind is UNIVERSAL:
            order = -1 if reversed_ else 1
            names = turning_joints(
                self.model, edge.name, parent, inner, at, turned, axes[::order], 'revolute'
            )
            for name, tag in zip(names, ('axis', 'axis2')[::order], strict=True):
                self._axis(edge, name, tag)
        else:
            axis = axes[0] if len(axes) else np.zeros(3)
            sizes = KINDS[edge.type].of_sdf(edge.part.element)
            made = Joint(edge.name, edge.type, parent, inner, at, turned, axis, **sizes)
            self.model.joints.append(made)
            if edge.type != 'fixed':
                self._axis(edge, edge.name, 'axis')
        if inner != child:
            self.model.joints.append(
                Joint(
                    self.model.free_joint_name(f'{child}_fixed'), 'fixed', inner, child, offset,
                    np.eye(3), np.zeros(3),
                )
            )  # fmt: skip

    def _axis(self, edge: Edge, name: str, tag: str) -> None:
        """Give a hinge or slide the limits, spring and losses of an axis, and a rotor of Drake."""
        element, place = edge.part.element, f'joint {edge.name}'
        axis = element.find(tag)
        if axis is None:
            return
        lower, upper, effort, velocity = (
            self._limit(axis, f'limit/{key}', unlimited, place)
            for key, unlimited in _UNLIMITED.items()
        )
        self.model.change(
            name,
            lower=lower if lower > -1e15 else -np.inf,
            upper=upper if upper < 1e15 else np.inf,
            effort=effort if effort >= 0.0 else np.inf,
            velocity=velocity if velocity >= 0.0 else np.inf,
        )
        values = (self.model.damping, self.model.dry)
        for values_of, key in zip(values, ('damping', 'friction'), strict=True):
            if value := self._number(axis, f'dynamics/{key}', 0.0, place):
                values_of[name] = value
        if stiffness := self._number(axis, 'dynamics/spring_stiffness', 0.0, place):
            reference = self._number(axis, 'dynamics/spring_reference', 0.0, place)
            self.model.springs[name] = Spring(stiffness, reference)
        if inertia := rotor_inertia(element, place, self.file):
            self.model.armature[name] = inertia

    def _ties(self, names: set[str], unread: Unread) -> None:
        """Loops and couplings that plugins, frames and elements of Drake add."""
        for stem, *pair in closing_pairs(self.frames.parts, unread):
            ends = (
                Frame.placed(self.frames.link_of(name, stem), self.poses, *self.frames.pose(name))
                for name in pair
            )
            self.model.loops.append(Loop(stem, POINT, *ends))
        for name, part in self.frames.of('model'):
            absolute = self.frames.scopes[name].absolute
            for element in part.element:
                if tag_of(element) == 'drake:ball_constraint':
                    loop = ball_constraint(element, unread, absolute)
                    ends = (self._in_link(frame, loop.name) for frame in (loop.first, loop.second))
                    self.model.loops.append(Loop(loop.name, loop.kind, *ends))
            plugins = [(plugin, '') for plugin in part.element.findall('plugin')]
            read_plugins(plugins, self.model, unread, names, self.poses, absolute)

    def _in_link(self, frame: Frame, name: str) -> Frame:
        """A frame of a link, where one of a link or of another frame was told."""
        position, rotation = self.frames.pose(frame.link)
        at = position + rotation @ frame.position
        return Frame.placed(self.frames.link_of(frame.link, name), self.poses, at, rotation)
