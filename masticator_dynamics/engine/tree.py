# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spanning tree in engine frames: one body per moving joint, Z along the joint axis.

Written for clarity, in numpy: it is used while a mechanism is built, not while it is evaluated.
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

from masticator_dynamics.description.urdf import Inertia, Joint, Tree
from masticator_dynamics.engine.arrays import FloatArray

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]  # components


@dataclasses.dataclass(frozen=True)
class Placement:
    """A frame fixed to a body (-1: base): origin (3,) in m and rotation (3, 3) to the body."""

    body: int
    position: FloatArray
    rotation: FloatArray


@dataclasses.dataclass(frozen=True)
class SpanningTree:
    """Moving joints, where they and all links are, and the inertia of the bodies they carry."""

    joints: tuple[Joint, ...]
    placements: tuple[Placement, ...]  # of each joint at zero, in its parent body
    frames: dict[str, Placement]  # of each URDF link
    inertias: tuple[Inertia, ...]  # per body, body axes

    def reordered(self, order: list[int]) -> 'SpanningTree':
        """The same tree with its joints in another order (parents still before children)."""
        new = {old: i for i, old in enumerate(order)} | {-1: -1}

        def moved(placement: Placement) -> Placement:
            return dataclasses.replace(placement, body=new[placement.body])

        return SpanningTree(
            tuple(self.joints[i] for i in order),
            tuple(moved(self.placements[i]) for i in order),
            {name: moved(placement) for name, placement in self.frames.items()},
            tuple(self.inertias[i] for i in order),
        )

    def supports(self, body: int) -> set[int]:
        """Joints between the base and a body."""
        joints = set()
        while body >= 0:
            joints.add(body)
            body = self.placements[body].body
        return joints

    def start(self, guess: Mapping[str, float]) -> FloatArray:
        """Positions (n,) of a guess; others are 0, or mid-range if their range excludes 0."""
        positions = np.zeros(len(self.joints))
        for i, joint in enumerate(self.joints):
            lower, upper = joint.lower, joint.upper
            if np.isfinite([lower, upper]).all() and not lower <= 0.0 <= upper:
                positions[i] = 0.5 * (lower + upper)
            positions[i] = guess.get(joint.name, positions[i])
        return positions

    @functools.cached_property
    def subspaces(self) -> FloatArray:
        """Spin and shift (2, n, 1) of the joints."""
        pairs = [(joint.spin, joint.shift) for joint in self.joints]
        return np.reshape(pairs, (-1, 2)).T[..., None]

    def poses(self, q: FloatArray) -> 'TreePoses':
        """Poses of all bodies at positions (..., n)."""
        count, rows = len(self.joints) + 1, q.shape[:-1]
        rotations, origins = np.tile(np.eye(3), (*rows, count, 1, 1)), np.zeros((*rows, count, 3))
        for i, (joint, placement) in enumerate(zip(self.joints, self.placements, strict=True)):
            carrier, turn = rotations[..., placement.body, :, :], rotations[..., i, :, :]
            origin, position = origins[..., i, :], q[..., i, None]
            turn[:] = carrier @ placement.rotation
            origin[:] = origins[..., placement.body, :] + carrier @ placement.position
            if joint.shift:
                origin += joint.shift * position * turn[..., 2]
            if joint.spin:
                c, s = np.cos(position), np.sin(position)
                x, y = turn[..., 0].copy(), turn[..., 1].copy()
                turn[..., 0], turn[..., 1] = c * x + s * y, c * y - s * x
        return TreePoses(self, q, rotations, origins)


@dataclasses.dataclass(frozen=True)
class TreePoses:
    """Rotations (..., n + 1, 3, 3) and origins (..., n + 1, 3) of all bodies in the base; it last.

    Leading axes are those of the positions, so that all methods serve many poses at once.
    """

    tree: SpanningTree
    q: FloatArray  # (..., n) that they belong to
    rotations: FloatArray
    origins: FloatArray

    def point(self, body: int, point: FloatArray) -> FloatArray:
        """Position (..., 3) in the base of a point given in a body's frame, m."""
        return self.origins[..., body, :] + self.rotations[..., body, :, :] @ point

    def turned(self, body: int, rows: FloatArray) -> FloatArray:
        """Vectors (k, 3) fixed to a body, in base axes (..., k, 3)."""
        return rows @ self.rotations[..., body, :, :].swapaxes(-1, -2)

    def axis(self, joint: int) -> FloatArray:
        """Axis (..., 3) of a joint, base axes."""
        return self.rotations[..., joint, :, 2]

    def twists(self, body: int, point: FloatArray) -> FloatArray:
        """Velocity of a body's point (..., 3) in the base over angular velocity (..., 6, n).

        Per joint velocity: the geometric Jacobian (Siciliano, Robotics, 2009, Sec. 3.1), with the
        axis z and origin o of each joint that carries the body, and the point p::

            (s z x (p - o) + h z, s z)    turning by s and shifting by h per unit of position
        """
        joints = sorted(self.tree.supports(body))
        (spin, shift), axes = self.tree.subspaces[:, joints], self.rotations[..., 2][..., joints, :]
        turning = spin * axes
        arms = point[..., None, :] - self.origins[..., joints, :]
        swing = np.where(spin, cross(turning, arms), 0.0)  # far away it may be infinite
        twists = np.zeros((*self.q.shape[:-1], 6, len(self.tree.joints)))
        columns = np.concatenate([shift * axes + swing, turning], axis=-1)
        twists[..., joints] = columns.swapaxes(-1, -2)
        return twists


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The same as `np.cross`, which takes several times as long for a few vectors (..., 3)."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def spanning_tree(tree: Tree) -> SpanningTree:
    """Merge links joined by fixed joints and turn every joint frame so that Z is its axis."""
    joints: list[Joint] = []
    placements: list[Placement] = []
    frames = {tree.root: Placement(-1, np.zeros(3), np.eye(3))}
    for joint in tree.joints:
        parent = frames[joint.parent]
        position = parent.position + parent.rotation @ joint.position
        rotation = parent.rotation @ joint.rotation
        if not joint.moves:
            frames[joint.child] = Placement(parent.body, position, rotation)
            continue
        align = rotation_to(joint.axis)
        placements.append(Placement(parent.body, position, rotation @ align))
        frames[joint.child] = Placement(len(joints), np.zeros(3), align.T)
        joints.append(joint)
    parts: list[list[Inertia]] = [[] for _ in joints]
    for link, inertia in tree.links.items():
        frame = frames[link]
        if frame.body >= 0 and (inertia.mass > 0.0 or inertia.about_center.any()):
            center = frame.position + frame.rotation @ inertia.center_of_mass
            about = frame.rotation @ inertia.about_center @ frame.rotation.T
            parts[frame.body].append(Inertia(inertia.mass, center, about))
    return SpanningTree(
        tuple(joints), tuple(placements), frames, tuple(_combined(part) for part in parts)
    )


def rotation_to(axis: FloatArray) -> FloatArray:
    """A rotation whose third column is the unit vector ``axis``."""
    if axis[2] > 1.0 - 1e-15:
        return np.eye(3)
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    second = np.cross(axis, helper)
    second /= np.linalg.norm(second)
    return np.column_stack([np.cross(second, axis), second, axis])


def _combined(parts: list[Inertia]) -> Inertia:
    """One rigid body from several (parallel-axis theorem)."""
    mass = sum(part.mass for part in parts)
    center = np.zeros(3)
    if mass > 0.0:
        center = sum((part.mass * part.center_of_mass for part in parts), center) / mass
    about = np.zeros((3, 3))
    for part in parts:
        arm = part.center_of_mass - center
        spread = (np.eye(3) * (arm @ arm) - np.outer(arm, arm)) * part.mass
        about = about + part.about_center + spread
    return Inertia(mass, center, about)
