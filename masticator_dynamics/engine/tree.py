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
        """Spin and shift (2, n) of the joints."""
        return np.reshape([(joint.spin, joint.shift) for joint in self.joints], (-1, 2)).T

    def poses(self, q: FloatArray) -> 'TreePoses':
        """Poses of all bodies at positions (n,)."""
        rotations = np.tile(np.eye(3), (len(self.joints) + 1, 1, 1))
        origins = np.zeros((len(self.joints) + 1, 3))
        for i, (joint, placement) in enumerate(zip(self.joints, self.placements, strict=True)):
            parent = placement.body
            rotations[i] = rotations[parent] @ placement.rotation
            origins[i] = origins[parent] + rotations[parent] @ placement.position
            if joint.shift:
                origins[i] += joint.shift * q[i] * rotations[i, :, 2]
            if joint.spin:
                c, s = np.cos(q[i]), np.sin(q[i])
                x, y = rotations[i, :, 0].copy(), rotations[i, :, 1].copy()
                rotations[i, :, 0], rotations[i, :, 1] = c * x + s * y, c * y - s * x
        return TreePoses(self, q, rotations, origins)


@dataclasses.dataclass(frozen=True)
class TreePoses:
    """Rotations (n + 1, 3, 3) and origins (n + 1, 3) of the bodies in the base; the base last."""

    tree: SpanningTree
    q: FloatArray  # (n,) that they belong to
    rotations: FloatArray
    origins: FloatArray

    def point(self, body: int, point: FloatArray) -> FloatArray:
        """Position in the base of a point given in a body's frame, m."""
        return self.origins[body] + self.rotations[body] @ point

    def axis(self, joint: int) -> FloatArray:
        """Axis of a joint, base axes."""
        return self.rotations[joint, :, 2]

    def angular_jacobian(self, body: int) -> FloatArray:
        """Angular velocity (3, n) of a body per joint velocity, base axes."""
        jacobian = np.zeros((3, len(self.tree.joints)))
        joints = sorted(self.tree.supports(body))
        spin, _ = self.tree.subspaces[:, joints]
        jacobian[:, joints] = spin * self.rotations[joints, :, 2].T
        return jacobian

    def point_jacobian(self, body: int, point: FloatArray) -> FloatArray:
        """Velocity (3, n) of a point of a body, given in the base, per joint velocity."""
        jacobian = np.zeros((3, len(self.tree.joints)))
        joints = sorted(self.tree.supports(body))
        axes, arms = self.rotations[joints, :, 2], point - self.origins[joints]
        spin, shift = self.tree.subspaces[:, joints]
        turning = np.where(spin, cross(axes, arms).T, 0.0)  # far away it may be infinite
        jacobian[:, joints] = shift * axes.T + turning
        return jacobian


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
