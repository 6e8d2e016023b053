# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames, and wrenches given in them, for many motions of a mechanism at once.

``Mechanism.frame_pose`` and ``wrench_on_platform`` do the same for one motion; a recording has
thousands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


class FrameChain:
    """The joints between the base and a frame, evaluated for rows of tree positions.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        URDF link.

    Raises
    ------
    InputError
        For an unknown frame, naming the known ones.
    """

    def __init__(self, mechanism: Mechanism, frame: str):
        check_frame(mechanism, frame)
        tree = mechanism.structure.tree
        self._frame = tree.frames[frame]
        joints = sorted(tree.supports(self._frame.body))  # parents stand before children
        self._joints = [(j, tree.placements[j], tree.joints[j].type == 'prismatic') for j in joints]

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Poses of the frame in the base.

        Parameters
        ----------
        q : array, shape (..., n_q)
            Tree positions, rad or m.

        Returns
        -------
        positions : array, shape (..., 3)
            Of the frame's origin, m, base axes.
        rotations : array, shape (..., 3, 3)
            From the frame's axes to the base's.
        """
        position, rotation, _ = self._walk(q)
        return position, rotation

    def jacobians(self, q: FloatArray, tangent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions (N, 3) of the frame's origin and its velocity per independent velocity.

        Parameters
        ----------
        q : array, shape (N, n_q)
            Tree positions, rad or m.
        tangent : array, shape (N, n_q, n_y)
            Tree velocities per independent velocity.

        Returns
        -------
        positions : array, shape (N, 3)
            m, base axes.
        jacobians : array, shape (N, 3, n_y)
            Linear velocity, base axes.
        """
        position, velocities = self.joint_rates(q)
        jacobian = np.zeros((len(q), 3, tangent.shape[2]))
        for j, velocity in velocities.items():
            jacobian += velocity[:, :, None] * tangent[:, j, None, :]
        return position, jacobian

    def joint_rates(self, q: FloatArray) -> tuple[FloatArray, dict[int, FloatArray]]:
        """Positions (N, 3) of the frame's origin and its velocity (N, 3) per joint velocity.

        The velocities are by tree index, for the joints between base and frame, in base axes.
        """
        position, _, passed = self._walk(q)
        return position, {
            j: axis if slides else np.cross(axis, position - start)
            for j, slides, axis, start in passed
        }

    def _walk(
        self, q: FloatArray
    ) -> tuple[FloatArray, FloatArray, list[tuple[int, bool, FloatArray, FloatArray]]]:
        """Pose of the frame; index, kind, axis and origin of every joint on the way."""
        position = np.zeros((*q.shape[:-1], 3))
        rotation = np.broadcast_to(np.eye(3), (*q.shape[:-1], 3, 3))
        passed = []
        for j, placement, slides in self._joints:
            position = position + rotation @ placement.position
            rotation = rotation @ placement.rotation
            axis = rotation[..., 2]
            if slides:
                position = position + q[..., j, None] * axis
            else:
                rotation = rotation @ _turns(q[..., j])
            passed.append((j, slides, axis, position))
        position = position + rotation @ self._frame.position
        return position, rotation @ self._frame.rotation, passed


def frame_poses(mechanism: Mechanism, q: FloatArray, frame: str) -> tuple[FloatArray, FloatArray]:
    """Poses of a URDF link's frame in the base; see :meth:`FrameChain.poses`."""
    return FrameChain(mechanism, frame).poses(q)


def wrenches_on_platform(
    mechanism: Mechanism,
    q: FloatArray,
    wrenches: FloatArray,
    axes: str | None = None,
    point: str | None = None,
) -> FloatArray:
    """Wrenches in base axes about the platform's origin, from wrenches given elsewhere.

    Parameters
    ----------
    q : array, shape (N, n_q)
        Tree positions, rad or m.
    wrenches : array, shape (N, 6)
        Force (N) and torque (N m) of the environment on the platform, components along the axes
        of frame ``axes`` (default: base), the force at the origin of frame ``point`` (default:
        platform) and the torque about it.

    Returns
    -------
    array, shape (N, 6)

    Raises
    ------
    InputError
        For an unknown frame.
    """
    force, torque = wrenches[:, :3], wrenches[:, 3:]
    if axes is not None:
        _, rotations = frame_poses(mechanism, q, axes)
        force, torque = _rotated(rotations, force), _rotated(rotations, torque)
    if point is not None:
        origins, _ = frame_poses(mechanism, q, mechanism.description.platform)
        points, _ = frame_poses(mechanism, q, point)
        torque = torque + np.cross(points - origins, force)
    return np.hstack([force, torque])


def check_frame(mechanism: Mechanism, frame: str) -> None:
    """Refuse a frame that the mechanism does not have, naming those it has."""
    if frame not in mechanism.frames:
        raise InputError(f'no frame {frame!r}; there are: {", ".join(mechanism.frames)}')


def _rotated(rotations: FloatArray, vectors: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum('nij,nj->ni', rotations, vectors)
    return product


def _turns(angles: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) about Z."""
    turns = np.zeros((*angles.shape, 3, 3))
    turns[..., 0, 0] = turns[..., 1, 1] = np.cos(angles)
    turns[..., 1, 0] = np.sin(angles)
    turns[..., 0, 1] = -turns[..., 1, 0]
    turns[..., 2, 2] = 1.0
    return turns
