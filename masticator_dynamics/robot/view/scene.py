# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism in a viser scene: moving links, forces as arrows, paths of points.

Sliders in mm and degrees, with round steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.view.solids import cylinder, rod_pose, solids

if TYPE_CHECKING:
    import viser

    from masticator_dynamics.mechanism import Mechanism


FORCE, TORQUE, PATH = (214, 39, 40), (31, 119, 180), (44, 160, 44)
LENGTH = 0.35  # of the longest arrow, relative to the size of the mechanism


class Scene:
    """A drawn mechanism.

    Parameters
    ----------
    scene : viser.SceneApi
        Scene of a server, or one that is only recorded.
    mechanism : Mechanism
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
        found, rods, self.missing = solids(mechanism)
        for solid in found:
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
        turn = _from_z(vector / length) if length > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])
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


def _from_z(direction: FloatArray) -> FloatArray:
    """Quaternion (w, x, y, z) of the shortest rotation from z to a unit vector (3,)."""
    x, y, z = direction.tolist()
    found = np.array([1.0 + z, -y, x, 0.0]) if z > -1.0 + 1e-9 else np.array([0.0, 1.0, 0.0, 0.0])
    return found / np.linalg.norm(found)


_STEPS = 150  # of a slider over its range, at least


def slider_ranges(mechanism: Mechanism) -> list[tuple[str, float, float, float, float]]:
    """Unit, SI units in one of it, lowest, highest and step of each independent coordinate.

    The last three are in the unit; steps are 1, 2 or 5 times a power of ten, 1 at most, so that
    sliders show whole numbers where the range is wide enough.
    """
    found = []
    for name, home in zip(mechanism.independent, mechanism.home.y.tolist(), strict=True):
        j = mechanism.tree_joints.index(name)
        low, high = mechanism.limits.lower[j], mechanism.limits.upper[j]
        slides = mechanism.structure.tree.joints[j].type == 'prismatic'
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            half = 0.2 * mechanism.structure.extent() if slides else 1.0
            low, high = home - half, home + half
        unit, per = ('mm', 1e-3) if slides else ('°', math.pi / 180.0)
        step = _round_step((high - low) / per / _STEPS)
        slack = 1e-9
        least, most = math.ceil(low / per / step - slack), math.floor(high / per / step + slack)
        found.append((unit, per, least * step, most * step, step))
    return found


def _round_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size, and at most 1."""
    power = math.floor(math.log10(size))
    base = max(b for b in (1, 2, 5) if b * 10.0**power <= size * (1.0 + 1e-12))
    return min(1.0, float(f'{base}e{power}'))
