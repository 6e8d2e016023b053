# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of all bodies of a tree for many configurations at once.

What `SpanningTree.poses` and the Jacobians of `TreePoses` say for one configuration, without a
Python loop over bodies: bodies at the same depth are placed together.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.tree import SpanningTree


class TreeTwists:
    """The structure of a tree, sorted for evaluation in whole arrays.

    Parameters
    ----------
    tree : SpanningTree
    """

    def __init__(self, tree: SpanningTree):
        count = len(tree.joints)
        self.slides = np.array([joint.type == 'prismatic' for joint in tree.joints])
        self._placed = np.zeros((count, 4, 4))
        self._placed[:, 3, 3] = 1.0
        supports = np.zeros((count, count))
        for body, placement in enumerate(tree.placements):
            self._placed[body, :3, :3] = placement.rotation
            self._placed[body, :3, 3] = placement.position
            supports[body, list(tree.supports(body))] = 1.0
        self._supports = supports
        depth, parents = supports.sum(axis=1), np.array([p.body for p in tree.placements])
        levels = [np.flatnonzero(depth == d) for d in np.unique(depth)]
        self._levels = [(level, parents[level]) for level in levels]

    def poses(self, q: FloatArray) -> FloatArray:
        """Homogeneous transforms (N, n, 4, 4) from body axes to base axes at positions (N, n)."""
        turns = np.zeros((*q.shape, 4, 4))
        angle, travel = np.where(self.slides, 0.0, q), np.where(self.slides, q, 0.0)
        turns[..., 0, 0] = turns[..., 1, 1] = np.cos(angle)
        turns[..., 1, 0] = np.sin(angle)
        turns[..., 0, 1] = -turns[..., 1, 0]
        turns[..., 2, 2] = turns[..., 3, 3] = 1.0
        turns[..., 2, 3] = travel
        poses = self._placed @ turns
        for bodies, parents in self._levels[1:]:
            poses[:, bodies] = poses[:, parents] @ poses[:, bodies]
        return poses

    def screws(self, poses: FloatArray) -> FloatArray:
        """Twist (N, n, 6) that a unit velocity of each joint adds to the bodies beyond it.

        Linear velocity of the point of a body at the base's origin, then angular velocity, both
        in base axes.
        """
        axes, origins = poses[..., :3, 2], poses[..., :3, 3]
        turning = ~self.slides[:, None]
        linear = np.where(turning, _cross(origins, axes), axes)
        return np.concatenate([linear, axes * turning], axis=-1)

    def twists(self, screws: FloatArray, velocities: FloatArray) -> FloatArray:
        """Twists (N, n, 6, k) of all bodies for k columns of tree velocities (N, n, k)."""
        parts = screws[..., None] * velocities[..., None, :]
        count, bodies, _, columns = parts.shape
        summed = self._supports @ parts.reshape(count, bodies, 6 * columns)
        return summed.reshape(count, bodies, 6, columns)


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross products of vectors (..., 3): `numpy.cross` without its overhead."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def point_velocities(twists: FloatArray, points: FloatArray) -> FloatArray:
    """Velocities (..., 3, k) of points (..., 3), base axes, of bodies with twists (..., 6, k)."""
    angular = twists[..., 3:, :]
    x, y, z = (points[..., i, None] for i in range(3))
    wx, wy, wz = angular[..., 0, :], angular[..., 1, :], angular[..., 2, :]
    return twists[..., :3, :] + np.stack([wy * z - wz * y, wz * x - wx * z, wx * y - wy * x], -2)
