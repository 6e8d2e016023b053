# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads SDF: links are placed in the model, with joints between any two of them.

A loop is where a link can be reached in two ways. The tree is grown from the base across motors and
hinges first, so that loops are cut at ball joints where there are any.
"""

from __future__ import annotations

import dataclasses
import pathlib
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import Array, Inertia, Joint
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes
from masticator_dynamics.files.xml_file import root_element
from masticator_dynamics.importing.robot_model import (
    NO_MASS,
    Frame,
    JointCoupling,
    Loop,
    RobotModel,
    Spring,
    axis_in,
    numbers_in,
    turning_joints,
)

VERSIONS = ('1.5', '1.6', '1.7', '1.8', '1.9', '1.10', '1.11', '1.12')
# In the order in which the tree grows across them; the last are cut first.
_TYPES = {
    'fixed': 'weld', 'revolute': 'hinge', 'continuous': 'hinge', 'prismatic': 'slider',
    'universal': 'universal', 'ball': 'point',
}  # fmt: skip
_READ = {'link', 'joint', 'pose', 'static', 'self_collide', 'frame', 'gripper', 'enable_wind'}
_EIGHTH = 0.25 * np.pi
_ROUNDED = 1e-5  # rad; 1.5708 is 3.7e-6 off a right angle


@dataclasses.dataclass(frozen=True)
class _Edge:
    """A joint of the file: its frame and axes in the world, at zero positions."""

    name: str
    type: str
    parent: str
    child: str
    position: Array
    rotation: Array
    axes: Array  # (1 or 2, 3) in the world
    element: ElementTree.Element


def read_sdf(file: pathlib.Path) -> RobotModel:
    """Model of the first ``<model>`` of an SDF file.

    Raises
    ------
    DescriptionError
        For another version or format, or inconsistent elements.
    """
    root = _root(file)
    element = root.find('model')
    element = root.find('world/model') if element is None else element
    if element is None:
        raise DescriptionError(file, '', 'SDF: it has no <model>')
    return _SdfReader(element, root, file).model


def _root(file: pathlib.Path) -> ElementTree.Element:
    try:
        root = root_element(read_bytes(file, LARGEST_DESCRIPTION), file, 'SDF')
    except OSError as error:
        raise DescriptionError(file, '', error.strerror or 'cannot be read') from error
    if root.tag != 'sdf':
        raise DescriptionError(file, '', f'SDF: its root element is <{root.tag}>, not <sdf>')
    version = root.get('version')
    if version not in VERSIONS:
        known = f'{VERSIONS[0]} to {VERSIONS[-1]}'
        raise DescriptionError(
            file, '', f'SDF version {version!r} is not one of {known}; convert it with `gz sdf -p`'
        )
    return root


class _SdfReader:
    """Converts a ``<model>``."""

    def __init__(self, element: ElementTree.Element, root: ElementTree.Element, file: pathlib.Path):
        self.element, self.file, self.straightened = element, file, 0.0
        name = str(element.get('name') or file.stem)
        self.model = RobotModel(file, name, '', {}, [])
        gravity = root.findtext('world/gravity')
        if gravity is not None:
            x, y, z = numbers_in(gravity, 3, self.file, 'gravity')
            self.model.gravity = (x, y, z)
        self._named: dict[str, ElementTree.Element] = {}
        for tag in ('link', 'joint', 'frame'):
            for part in element.findall(tag):
                if part.get('name') in self._named:
                    raise DescriptionError(file, f'{tag} {part.get("name")}', 'appears twice')
                self._named[str(part.get('name'))] = part
        self.poses: dict[str, tuple[Array, Array]] = {}
        for link in element.findall('link'):
            self._link(link)
        if not self.poses:
            raise DescriptionError(file, '', 'SDF: its model has no <link>')
        self.model.reserved = frozenset(self._named)
        edges = [self._edge(joint) for joint in element.findall('joint')]
        self._other_elements()
        if self.straightened > 1e-12:
            self.model.notes.append(
                f'angles up to {self.straightened:.2g} rad off a multiple of 45 degrees are taken '
                'for it: planar loops need axes that are parallel'
            )
        self._grow([edge for edge in edges if edge is not None])

    # Numbers and poses

    def _number(self, element: ElementTree.Element, path: str, default: float, place: str) -> float:
        text = element.findtext(path)
        return default if text is None else numbers_in(text, 1, self.file, f'{place} {path}')[0]

    def _local(self, element: ElementTree.Element, place: str) -> tuple[Array, Array]:
        """``<pose>`` of an element as written."""
        pose = element.find('pose')
        if pose is None or not (pose.text or '').strip():
            return np.zeros(3), np.eye(3)
        if pose.get('rotation_format') == 'quat_xyzw':
            numbers = np.array(numbers_in(str(pose.text), 7, self.file, f'{place} pose'))
            if not np.linalg.norm(numbers[3:]) > 0.0:
                raise DescriptionError(self.file, f'{place} pose', 'its quaternion is zero')
            return numbers[:3], Rotation.from_quat(numbers[3:]).as_matrix()
        numbers = np.array(numbers_in(str(pose.text), 6, self.file, f'{place} pose'))
        if pose.get('degrees') == 'true':
            numbers[3:] = np.radians(numbers[3:])
        angles = numbers[3:]
        whole = np.round(angles / _EIGHTH) * _EIGHTH
        near = np.abs(angles - whole) < _ROUNDED
        self.straightened = max(
            self.straightened, float(np.abs(angles - whole)[near].max(initial=0))
        )
        turned = Rotation.from_euler('xyz', np.where(near, whole, angles)).as_matrix()
        return numbers[:3], turned

    def _pose(self, name: str, seen: tuple[str, ...] = ()) -> tuple[Array, Array]:
        """Pose of a link, joint or frame in the world."""
        if name == 'world':
            return np.zeros(3), np.eye(3)
        if name == '__model__':
            return self._local(self.element, 'model')
        place = f'pose of {name}'
        if name in seen:
            raise DescriptionError(self.file, place, 'refers to itself')
        if name not in self._named:
            raise DescriptionError(self.file, place, f'there is no link, joint or frame {name!r}')
        element = self._named[name]
        position, rotation = self._local(element, name)
        pose = element.find('pose')
        relative = None if pose is None else pose.get('relative_to') or pose.get('frame')
        if not relative:
            default = {'joint': (element.findtext('child') or '').strip()}.get(element.tag)
            relative = default or element.get('attached_to') or '__model__'
        at, turned = self._pose(relative, (*seen, name))
        return at + turned @ position, turned @ rotation

    # Parts

    def _link(self, link: ElementTree.Element) -> None:
        name = str(link.get('name'))
        place = f'link {name}'
        self.poses[name] = self._pose(name)
        inertial = link.find('inertial')
        if inertial is None:
            self.model.links[name] = NO_MASS
            return
        if inertial.get('auto') in ('1', 'true'):
            reason = 'its inertial is to be computed from shapes (auto), which are not read'
            raise DescriptionError(self.file, place, f'{reason}: write mass and inertia')
        mass = self._number(inertial, 'mass', 1.0, place)
        position, rotation = self._local(inertial, f'{place} inertial')
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

    def _edge(self, joint: ElementTree.Element) -> _Edge | None:
        name, kind = str(joint.get('name')), str(joint.get('type'))
        place = f'joint {name}'
        if kind in ('gearbox', 'screw', 'revolute2'):
            if kind != 'revolute2':
                raise DescriptionError(
                    self.file, place,
                    f'type {kind!r} is not read; describe it as a coupling after the import',
                )  # fmt: skip
            kind = 'universal'
        if kind not in _TYPES:
            allowed = ', '.join(_TYPES)
            raise DescriptionError(self.file, place, f'type {kind!r} is not one of {allowed}')
        ends = [
            self._link_of((joint.findtext(tag) or '').strip(), place) for tag in ('parent', 'child')
        ]
        position, rotation = self._pose(name)
        axes = [self._axis(axis, rotation, place) for axis in self._axes(joint, kind, place)]
        return _Edge(
            name, kind, ends[0], ends[1], position, rotation, np.array(axes).reshape(-1, 3), joint
        )

    def _link_of(self, name: str, place: str) -> str:
        """The link that a frame, joint or link of a name is part of."""
        for _ in range(len(self._named) + 1):
            if name in (*self.poses, 'world'):
                return name
            if name == '__model__':
                return next(iter(self.poses))
            if name not in self._named:
                break
            element = self._named[name]
            child = (element.findtext('child') or '').strip()
            name = child if element.tag == 'joint' else element.get('attached_to') or '__model__'
        raise DescriptionError(self.file, place, f'link {name!r} does not exist')

    def _axes(self, joint: ElementTree.Element, kind: str, place: str) -> list[ElementTree.Element]:
        count = {'fixed': 0, 'ball': 0, 'universal': 2}.get(kind, 1)
        found = [joint.find(tag) for tag in ('axis', 'axis2')[:count]]
        axes = [axis for axis in found if axis is not None]
        if len(axes) != count:
            raise DescriptionError(self.file, place, f'a {kind} joint needs {count} axes')
        return axes

    def _axis(self, axis: ElementTree.Element, rotation: Array, place: str) -> Array:
        """Direction of an axis in the world."""
        xyz = axis.find('xyz')
        text = '0 0 1' if xyz is None else str(xyz.text)
        direction = axis_in(text, self.file, f'{place} axis')
        expressed = None if xyz is None else xyz.get('expressed_in')
        if expressed:
            rotation = self._pose(expressed)[1]
        elif (axis.findtext('use_parent_model_frame') or '').strip() in ('1', 'true'):
            rotation = self._pose('__model__')[1]
        turned: Array = rotation @ direction
        return turned

    def _other_elements(self) -> None:
        tags = dict.fromkeys(str(part.tag) for part in self.element if part.tag not in _READ)
        if tags:
            self.model.notes.append(f'left out: {", ".join(f"<{tag}>" for tag in tags)}')
        if any(link.find(tag) is not None for link in self.element for tag in ('visual', 'sensor')):
            self.model.notes.append('left out: shapes and sensors of links')

    # The tree

    def _grow(self, edges: list[_Edge]) -> None:
        """Spanning tree from the base; edges left over become loops."""
        fixed = any('world' in (edge.parent, edge.child) for edge in edges)
        if fixed:
            self.model.links = {'world': NO_MASS, **self.model.links}
            self.poses['world'] = (np.zeros(3), np.eye(3))
            self.model.root = 'world'
        else:
            children = {edge.child for edge in edges}
            heads = [name for name in self.poses if name not in children]
            self.model.root = next(iter(heads or self.poses))
            self.model.notes.append(f'{self.model.root} floats: it is fixed and becomes the base')
        # Whose axes those of the description are.
        x, y, z = (self.poses[self.model.root][1].T @ self.model.gravity).tolist()
        self.model.gravity = (x, y, z)
        order = list(_TYPES)
        kept = _spanning(sorted(edges, key=lambda edge: order.index(edge.type)))
        placed, waiting = {self.model.root}, list(kept)
        while ready := [e for e in waiting if e.parent in placed or e.child in placed]:
            edge = ready[0]
            waiting.remove(edge)
            parent, child = edge.parent, edge.child
            if child in placed:
                parent, child = child, parent
            self._tree_joint(edge, parent, child)
            placed.add(child)
        for lost in sorted(set(self.poses) - placed):
            raise DescriptionError(
                self.file, f'link {lost}', f'no joint connects it to {self.model.root!r}'
            )
        for edge in edges:
            if edge not in kept:
                self._loop(edge)

    def _tree_joint(self, edge: _Edge, parent: str, child: str) -> None:
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
        if edge.type == 'ball':
            turning_joints(self.model, edge.name, parent, inner, at, turned, np.eye(3))
        elif edge.type == 'universal':
            axes = axes[::-1] if reversed_ else axes
            turning_joints(self.model, edge.name, parent, inner, at, turned, axes)
        else:
            axis = axes[0] if len(axes) else np.zeros(3)
            self._moving(edge, Joint(edge.name, edge.type, parent, inner, at, turned, axis))
        if inner != child:
            self.model.joints.append(
                Joint(
                    self.model.free_joint_name(f'{child}_fixed'), 'fixed', inner, child, offset,
                    np.eye(3), np.zeros(3),
                )
            )  # fmt: skip

    def _moving(self, edge: _Edge, joint: Joint) -> None:
        """A hinge or slide with its limits, spring and damping."""
        axis, place = edge.element.find('axis'), f'joint {edge.name}'
        if axis is None or joint.type == 'fixed':
            self.model.joints.append(joint)
            return
        lower = self._number(axis, 'limit/lower', -np.inf, place)
        upper = self._number(axis, 'limit/upper', np.inf, place)
        effort = self._number(axis, 'limit/effort', -1.0, place)
        velocity = self._number(axis, 'limit/velocity', -1.0, place)
        self.model.joints.append(
            dataclasses.replace(
                joint,
                lower=lower if lower > -1e15 else -np.inf,
                upper=upper if upper < 1e15 else np.inf,
                effort=effort if effort >= 0.0 else np.inf,
                velocity=velocity if velocity >= 0.0 else np.inf,
            )
        )
        damping = self._number(axis, 'dynamics/damping', 0.0, place)
        if damping:
            self.model.damping[edge.name] = damping
        dry = self._number(axis, 'dynamics/friction', 0.0, place)
        if dry:
            self.model.dry[edge.name] = dry
        stiffness = self._number(axis, 'dynamics/spring_stiffness', 0.0, place)
        if stiffness:
            reference = self._number(axis, 'dynamics/spring_reference', 0.0, place)
            self.model.springs[edge.name] = Spring(stiffness, reference)
        mimic = axis.find('mimic')
        if mimic is not None:
            ratio = self._number(mimic, 'multiplier', 1.0, place)
            offset = self._number(mimic, 'offset', 0.0, place)
            reference = self._number(mimic, 'reference', 0.0, place)
            other = str(mimic.get('joint'))
            self.model.couplings.append(
                JointCoupling(
                    f'{edge.name}_mimic', edge.name, other, (offset - ratio * reference, ratio)
                )
            )

    def _loop(self, edge: _Edge) -> None:
        """A joint that closes a loop, as two frames."""
        frames = []
        for index, link in enumerate((edge.parent, edge.child)):
            position, rotation = self.poses[link]
            axes = edge.rotation
            if len(edge.axes):
                axes = rotation_to(edge.axes[min(index, len(edge.axes) - 1)])
            frames.append(Frame(link, rotation.T @ (edge.position - position), rotation.T @ axes))
        self.model.loops.append(Loop(edge.name, _TYPES[edge.type], *frames))


def _spanning(edges: list[_Edge]) -> list[_Edge]:
    """Edges that connect new links, in the order given (Kruskal)."""
    group: dict[str, str] = {}

    def head(link: str) -> str:
        while group.get(link, link) != link:
            link = group[link]
        return link

    kept = []
    for edge in edges:
        one, other = head(edge.parent), head(edge.child)
        if one != other:
            group[one] = other
            kept.append(edge)
    return kept
