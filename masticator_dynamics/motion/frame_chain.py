# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where one frame is and how it moves, for many motions of a mechanism at once."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

FloatArray = npt.NDArray[np.float64]


class FrameChain:
    """The joints between the base and a frame, evaluated for rows of tree positions.

    `Mechanism.frame_pose` and `frame_jacobian` do the same for one motion; a recording has a
    thousand samples, each evaluated several times.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        URDF link.
    """

    def __init__(self, mechanism: 'Mechanism', frame: str):
        home = mechanism.frame_pose(mechanism.home, frame)  # refuses unknown frames
        self.home_position = np.array(home.position)
        tree = mechanism.structure.tree
        self._frame = tree.frames[frame]
        joints = sorted(tree.supports(self._frame.body))  # parents stand before children
        self._joints = [(j, tree.placements[j], tree.joints[j].type) for j in joints]

    def __call__(self, q: FloatArray, tangent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions and Jacobians of the frame's origin, base axes.

        Parameters
        ----------
        q : (N, n_q) array
            Tree positions, rad or m.
        tangent : (N, n_q, n_y) array
            Tree velocities per independent velocity.

        Returns
        -------
        positions : (N, 3) array
            m.
        jacobians : (N, 3, n_y) array
            Linear velocity per independent velocity.
        """
        rotation = np.tile(np.eye(3), (len(q), 1, 1))
        origin = np.zeros((len(q), 3))
        passed = []
        for j, placement, kind in self._joints:
            origin = origin + rotation @ placement.position
            rotation = rotation @ placement.rotation
            axis = rotation[:, :, 2]
            if kind == 'prismatic':
                origin = origin + q[:, j, None] * axis
            else:
                rotation = rotation @ _turn(q[:, j])
            passed.append((j, kind, axis, origin))
        position = origin + rotation @ self._frame.position
        jacobian = np.zeros((len(q), 3, tangent.shape[2]))
        for j, kind, axis, start in passed:
            velocity = axis if kind == 'prismatic' else np.cross(axis, position - start)
            jacobian += velocity[:, :, None] * tangent[:, j, None, :]
        return position, jacobian


def _turn(angles: FloatArray) -> FloatArray:
    """Rotations (N, 3, 3) about Z."""
    result = np.zeros((len(angles), 3, 3))
    result[:, 0, 0] = result[:, 1, 1] = np.cos(angles)
    result[:, 1, 0] = np.sin(angles)
    result[:, 0, 1] = -result[:, 1, 0]
    result[:, 2, 2] = 1.0
    return result
