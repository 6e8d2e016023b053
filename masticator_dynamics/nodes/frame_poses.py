# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of a few frames at one instant, fast enough for every control cycle.

`Mechanism.frame_pose` places all bodies of the mechanism; a bite force or a contact needs the
joints below one frame only.
"""

import math
from collections.abc import Sequence

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

Pose = tuple[FloatArray, FloatArray]


class FramePoses:
    """Poses of frames in the base.

    Parameters
    ----------
    mechanism : Mechanism
    frames : sequence of str
        URDF links.

    Raises
    ------
    InputError
        For an unknown frame.
    """

    def __init__(self, mechanism: Mechanism, frames: Sequence[str]):
        tree = mechanism.structure.tree
        for frame in frames:
            if frame not in tree.frames:
                known = ', '.join(tree.frames)
                raise InputError(f'no frame {frame!r}; there are: {known}')
        self._frames = {frame: tree.frames[frame] for frame in frames}
        needed = sorted({j for p in self._frames.values() for j in tree.supports(p.body)})
        self._joints = [
            (j, tree.placements[j], tree.joints[j].type == 'prismatic') for j in needed
        ]  # parents stand before children

    def __call__(self, q: FloatArray) -> dict[str, Pose]:
        """Return for each frame its rotation (3, 3) to base axes and its origin (3,), m.

        Parameters
        ----------
        q : (n_q,) array
            Tree positions, rad or m.
        """
        bodies = {-1: (np.eye(3), np.zeros(3))}
        for j, placement, slides in self._joints:
            rotation, origin = bodies[placement.body]
            origin = origin + rotation @ placement.position
            rotation = rotation @ placement.rotation
            if slides:
                origin = origin + q[j] * rotation[:, 2]
            else:
                rotation = rotation @ _turn(q[j])
            bodies[j] = rotation, origin
        poses = {}
        for name, frame in self._frames.items():
            rotation, origin = bodies[frame.body]
            poses[name] = rotation @ frame.rotation, origin + rotation @ frame.position
        return poses


def _turn(angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
