# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism in a viser scene: its links, forces as arrows, paths of points, and sliders.

A link is a mesh for each shape of its URDF, or sticks and plates.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.description.joints import Joint
from masticator_dynamics.description.visuals import Shape, shapes
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.tree import Placement

if TYPE_CHECKING:
    import trimesh
    import viser

    from masticator_dynamics.mechanism import Mechanism


_STICK, _BALL, _PLATE = (140, 145, 155), (70, 75, 85), (110, 150, 200)
_BASE = (205, 208, 214)  # paler than what moves
_THICK = 0.012  # of a stick, relative to the size of the mechanism
_SIDES = 16  # of a cylinder
_SAME = 1e-6  # m, between points that are one


@dataclasses.dataclass(frozen=True)
class Solid:
    """A mesh fixed to a body of the tree (-1: base), in the body's axes, m."""

    name: str
    body: int
    mesh: trimesh.Trimesh


@dataclasses.dataclass(frozen=True)
class Rod:
    """A straight rod between points of two bodies (-1: base), in their axes, m."""

    bodies: tuple[int, int]
    points: tuple[FloatArray, FloatArray]
    length: float
    radius: float


def solids(mechanism: Mechanism) -> tuple[list[Solid], list[Rod], list[str]]:
    """Solids, rods that no link stands for, and a sentence for each shape that is not shown.

    A body without shapes is drawn by its points (joints, ends of loops, contacts): sticks between
    them or, from three points on, a plate. Of a telescopic leg, tube and rod are drawn.
    """
    description, tree = mechanism.description, mechanism.structure.tree
    drawn, doubts = shapes(description.urdf_xml, description.urdf_file.parent)
    parts = []
    for number, shape in enumerate(drawn):
        placement = tree.frames[shape.link]
        try:
            mesh = _mesh(shape)
        except ValueError as error:
            doubts.append(f'{shape.where}: {error}; it is not shown')
            continue
        mesh.apply_transform(_pose(placement.position, placement.rotation))
        parts.append(Solid(f'{shape.link}_{number}', placement.body, mesh))
    thick = _THICK * mechanism.structure.extent()
    seen = {solid.body for solid in parts}
    for body, points in _points(mechanism).items():
        if body not in seen:
            parts += _sticks(body, points, body == tree.frames[description.platform].body, thick)
    parts += [leg for leg in _telescopes(mechanism, thick) if leg.body not in seen]
    rods = [
        Rod((c.body_a, c.body_b), (c.point_a, c.point_b), c.length, 0.5 * thick)
        for c in mechanism.structure.in_floats.constraints
        if c.seen
    ]
    return parts, rods, doubts


def rod_pose(start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Middle (3,) of a rod, and rotation (3, 3) that turns z along it."""
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-12)
    aside = np.eye(3)[np.abs(along).argmin()]
    x = np.cross(aside, along)
    x /= np.linalg.norm(x)
    return 0.5 * (start + end), np.column_stack([x, np.cross(along, x), along])


def cylinder(radius: float, length: float, colour: tuple[int, int, int] = _STICK) -> Any:
    """A mesh along z, its middle in the origin."""
    from trimesh import creation

    return _coloured(creation.cylinder(radius, length, _SIDES), colour)


def _points(mechanism: Mechanism) -> dict[int, list[FloatArray]]:
    """Points of each body by which it is drawn, in its axes."""
    tree, description = mechanism.structure.tree, mechanism.description
    points: dict[int, list[FloatArray]] = {-1: []}
    for j, (joint, placement) in enumerate(zip(tree.joints, tree.placements, strict=True)):
        points[j] = [np.zeros(3)]
        # A coordinate that carries nothing is no part to see.
        abstract = joint.name not in mechanism.actuated and joint.name in mechanism.independent
        if not (abstract and tree.inertias[j].mass == 0.0) and not _overlap(joint, placement):
            points[placement.body].append(placement.position)
    ends = [frame for closure in description.closures for frame in closure.frames]
    for frame in [*ends, *(contact.frame for contact in description.contacts)]:
        points[tree.frames[frame].body].append(tree.frames[frame].position)
    return points


def _overlap(joint: Joint, placement: Placement) -> float:
    """Length of tube and rod of a telescopic leg that just meet when it is longest, m; else 0.

    A leg's joint slides along a line through the origin of the link before it.
    """
    along, axis = placement.rotation.T @ placement.position, np.array([0.0, 0.0, 1.0])
    length = float(along @ axis)
    if joint.unit != 'm' or placement.body < 0 or np.linalg.norm(along - length * axis) > _SAME:
        return 0.0
    return 0.5 * max(length + min(joint.upper, length), 0.0)


def _telescopes(mechanism: Mechanism, thick: float) -> list[Solid]:
    """Tubes and rods of legs that slide: sticks of fixed length would come apart."""
    tree, solids = mechanism.structure.tree, []
    for j, (joint, placement) in enumerate(zip(tree.joints, tree.placements, strict=True)):
        if length := _overlap(joint, placement):
            tube = cylinder(0.9 * thick, length)
            tube.apply_transform(_pose(0.5 * length * placement.rotation[:, 2], placement.rotation))
            rod = cylinder(0.6 * thick, length)
            rod.apply_translation([0.0, 0.0, -0.5 * length])
            solids += [Solid(f'tube_{j + 1}', placement.body, tube), Solid(f'rod_{j + 1}', j, rod)]
    return solids


def _sticks(body: int, ends: list[FloatArray], platform: bool, thick: float) -> list[Solid]:
    """A ball at every point, and sticks between them; of the platform a plate, too."""
    from trimesh import Trimesh, creation

    points: list[FloatArray] = []
    for point in ends:
        if all(np.linalg.norm(point - other) > _SAME for other in points):
            points.append(point)
    if len(points) < 2:
        return []
    meshes = []
    for point in points:
        ball = _coloured(creation.icosphere(1, 1.2 * thick), _BALL)
        meshes.append(ball.apply_translation(point))
    pairs = [(points[0], point) for point in points[1:]]
    if len(points) > 2 and (platform or body < 0):  # around, not from the joint
        corners = np.array(points)
        centre = corners.mean(axis=0)
        across = np.linalg.svd(corners - centre)[2][:2]
        corners = corners[np.argsort(np.arctan2(*((corners - centre) @ across.T).T))]
        pairs = list(zip(corners, np.roll(corners, -1, axis=0), strict=True))
        if platform:
            fan = [(len(corners), k, (k + 1) % len(corners)) for k in range(len(corners))]
            both = np.array([*fan, *(face[::-1] for face in fan)])
            plate = Trimesh(np.vstack([corners, centre]), both, process=False)
            meshes.append(_coloured(plate, _PLATE))
    for start, end in pairs:
        middle, rotation = rod_pose(start, end)
        length = float(np.linalg.norm(end - start))
        stick = cylinder(0.6 * thick, length, _BASE if body < 0 else _STICK)
        meshes.append(stick.apply_transform(_pose(middle, rotation)))
    return [Solid(f'stick_{body + 1}_{k}', body, mesh) for k, mesh in enumerate(meshes)]


def _mesh(shape: Shape) -> Any:
    """A shape in the frame of its link; raises ValueError naming a file that has no faces."""
    import trimesh
    from trimesh import creation
    from trimesh.transformations import euler_matrix

    size: Any = shape.size
    if shape.kind == 'box':
        mesh = _coloured(creation.box(size), shape.colour)
    elif shape.kind == 'cylinder':
        mesh = cylinder(size[0], size[1], shape.colour)
    elif shape.kind == 'sphere':
        mesh = _coloured(creation.icosphere(2, size[0]), shape.colour)
    else:
        file: Any = shape.file
        try:
            mesh = trimesh.load_mesh(file)
        except Exception as error:  # its readers of damaged files raise all kinds
            reason = str(error).partition('\n')[0][:200] or type(error).__name__
            raise ValueError(f'the mesh {file.name!r} cannot be read: {reason}') from error
        if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
            raise ValueError(f'the mesh {file.name!r} is empty or damaged: no faces were read')
        mesh.apply_scale(size)
        if mesh.visual is None or not mesh.visual.defined:
            _coloured(mesh, shape.colour)
    pose = euler_matrix(*shape.angles)
    pose[:3, 3] = shape.position
    return mesh.apply_transform(pose)


def _coloured(mesh: Any, colour: tuple[int, int, int]) -> Any:
    mesh.visual.face_colors = (*colour, 255)
    return mesh


def _pose(position: FloatArray, rotation: FloatArray) -> FloatArray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


FORCE, TORQUE, PATH = (214, 39, 40), (31, 119, 180), (44, 160, 44)
LENGTH = 0.35  # of the longest arrow, relative to the size of the mechanism


class Scene:
    """A drawn mechanism.

    Parameters
    ----------
    scene : viser.SceneApi
        Scene of a server, or one that is only recorded.
    name : str
        Name of its scene node, if several are side by side.
    shift : tuple of float
        Position of its base in the scene, m, base axes.

    Attributes
    ----------
    missing : list of str
        A sentence for each shape that is not shown as written.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        mechanism: Mechanism,
        name: str = 'robot',
        shift: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ):
        from viser.transforms import SO3

        self.mechanism = mechanism
        self._rotation = SO3
        self._tree = mechanism.structure.tree
        self._scene, self._name = scene, name
        self.extent = mechanism.structure.extent()
        scene.add_frame(f'/{name}', show_axes=False, position=shift)
        self._bodies = [
            scene.add_frame(f'/{name}/{joint.name}', show_axes=False) for joint in self._tree.joints
        ]
        parts, rods, self.missing = solids(mechanism)
        for solid in parts:
            parent = f'/{name}' if solid.body < 0 else self._bodies[solid.body].name
            scene.add_mesh_trimesh(f'{parent}/{solid.name}', solid.mesh)
        self._rods = [
            (rod, scene.add_mesh_trimesh(f'/{name}/rod_{k}', cylinder(rod.radius, rod.length)))
            for k, rod in enumerate(rods)
        ]
        self._arrows: dict[str, Any] = {}
        self.pose(mechanism.home.q)

    def pose(self, q: FloatArray) -> None:
        """Move all links to tree positions (n_q,)."""
        poses = self._tree.poses(q)
        turns = self._rotation.from_matrix(poses.rotations[:-1]).wxyz
        for body, turn, origin in zip(self._bodies, turns, poses.origins[:-1], strict=True):
            body.wxyz, body.position = turn, origin
        for rod, drawn in self._rods:
            ends = [poses.point(b, p) for b, p in zip(rod.bodies, rod.points, strict=True)]
            drawn.position, turned = rod_pose(*ends)
            drawn.wxyz = self._rotation.from_matrix(turned).wxyz

    def arrow(self, name: str, start: FloatArray, vector: FloatArray, colour: Any = FORCE) -> None:
        """Draw a vector (3,), with its length in m, from a point (3,); base axes.

        Parameters
        ----------
        name : str
            Of the arrow; drawing again under the same name moves it.
        start : (3,) array
            m, base axes.
        vector : (3,) array
            As drawn, m, base axes.
        colour
            As viser takes it.
        """
        # Start and direction move at once, as links do; new points appear some frames later.
        length = float(np.linalg.norm(vector))
        ends = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, length]]])
        turned = rod_pose(np.zeros(3), vector)[1] if length > 0.0 else np.eye(3)
        turn = self._rotation.from_matrix(turned).wxyz
        if name in self._arrows:
            arrow = self._arrows[name]
            arrow.position, arrow.wxyz, arrow.points = start, turn, ends
            return
        thick = 0.012 * self.extent
        self._arrows[name] = self._scene.add_arrows(
            f'/{self._name}/arrows/{name}', ends, colour, position=start, wxyz=turn,
            shaft_radius=thick, head_radius=2.2 * thick, head_length=4.0 * thick,
        )  # fmt: skip

    def path(self, name: str, points: FloatArray) -> None:
        """Draw a line through points (N, 3), m, base axes."""
        segments = np.stack([points[:-1], points[1:]], axis=1)
        self._scene.add_line_segments(f'/{self._name}/paths/{name}', segments, PATH)


_STEPS = 150  # of a slider over its range, at least


def slider_ranges(mechanism: Mechanism) -> list[tuple[str, float, float, float, float]]:
    """Unit, SI units in one of it, lowest, highest and step of each independent coordinate.

    The last three are in the unit; steps are 1, 2 or 5 times a power of ten, 1 at most, so that
    sliders show whole numbers where the range is wide enough.
    """
    ranges = []
    for name, home in zip(mechanism.independent, mechanism.home.y.tolist(), strict=True):
        j = mechanism.tree_joints.index(name)
        low, high = mechanism.limits.lower[j], mechanism.limits.upper[j]
        slides = mechanism.structure.tree.joints[j].slides
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            half = 0.2 * mechanism.structure.extent() if slides else 1.0
            low, high = home - half, home + half
        unit, per = ('mm', 1e-3) if slides else ('°', math.pi / 180.0)
        step = _round_step((high - low) / per / _STEPS)
        slack = 1e-9
        least, most = math.ceil(low / per / step - slack), math.floor(high / per / step + slack)
        ranges.append((unit, per, least * step, most * step, step))
    return ranges


def _round_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size, and at most 1."""
    power = math.floor(math.log10(size))
    base = max(b for b in (1, 2, 5) if b * 10.0**power <= size * (1.0 + 1e-12))
    return min(1.0, float(f'{base}e{power}'))
