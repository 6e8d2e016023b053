# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The way from the base to one frame: only the joints that carry it are evaluated."""

import math

from masticator_dynamics.engine.jit import entry_point


@entry_point
def walk(joints, slides, offsets, turns, q, position, rotation, origins, axes):
    """Go along a chain of m joints for N rows of tree positions.

    Parameters
    ----------
    joints : array, shape (m,), int
        Tree indices, from the base on.
    slides : array, shape (m,), bool
        Prismatic joints.
    offsets, turns : arrays, shapes (m + 1, 3) and (m + 1, 3, 3)
        Of every joint at zero in the body before it, and of the frame in the last: m, to that
        body's axes.
    q : array, shape (N, n_q)
        rad or m.
    position, rotation : arrays, shapes (N, 3) and (N, 3, 3)
        Are given the pose of the frame in the base.
    origins, axes : arrays, shape (N, m, 3)
        Are given the joints' origins, moved, and their axes, in the base.
    """
    count = len(joints)
    for n in range(len(q)):
        for r in range(3):
            position[n, r] = 0.0
            for c in range(3):
                rotation[n, r, c] = 1.0 if r == c else 0.0
        for k in range(count + 1):
            for r in range(3):
                x, y, z = rotation[n, r, 0], rotation[n, r, 1], rotation[n, r, 2]
                position[n, r] += x * offsets[k, 0] + y * offsets[k, 1] + z * offsets[k, 2]
                for c in range(3):
                    rotation[n, r, c] = x * turns[k, 0, c] + y * turns[k, 1, c] + z * turns[k, 2, c]
            if k == count:
                break
            moved = q[n, joints[k]]
            if slides[k]:
                cosine, sine, slide = 1.0, 0.0, moved
            else:
                cosine, sine, slide = math.cos(moved), math.sin(moved), 0.0
            for r in range(3):
                x, y, z = rotation[n, r, 0], rotation[n, r, 1], rotation[n, r, 2]
                rotation[n, r, 0] = cosine * x + sine * y
                rotation[n, r, 1] = cosine * y - sine * x
                position[n, r] += slide * z
                origins[n, k, r], axes[n, k, r] = position[n, r], z
