# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Typical motions of the drives: built-in strokes, both foods, a recorded stroke."""

import numpy as np
from crushing import crush

from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform
from masticator_dynamics.motion import chewing_stroke, track_incisor
from masticator_dynamics.motion.chewing import bite_force
from masticator_dynamics.robot.twin.food import HEIGHT, load_food, pack_food

NAMES = ('left', 'right', 'soft', 'nut', 'recorded')


def motion(mechanism, name, rate):
    """Positions, velocities and efforts (N, 6), one row per period of a rate (Hz)."""
    side = 'right' if name == 'right' else 'left'
    path, end = chewing_stroke(side=side, strokes=1), 1.0
    if name == 'recorded':
        path = _recorded(mechanism, path)
    rows = path.sample(np.arange(0.0, end, 1.0 / rate))
    force = np.zeros((len(rows[0]), 6))
    point = f'molar_{side}'
    if name in ('soft', 'nut'):
        force[:, 2] = -_eaten(mechanism, name, rows[0], rate)
    else:
        food = bite_force(side=side, strokes=1)
        force[:, :3] = food.sample(np.arange(len(force)) / rate)
    q = mechanism.feedforward_batch(rows[0]).q
    wrenches = wrenches_on_platform(mechanism, q, force, point=point)
    answer = mechanism.feedforward_batch(*rows, wrenches)
    return answer.position, answer.velocity, answer.actuated


def _recorded(mechanism, path):
    """A stroke as a jaw tracker records it: the incisor at 250 Hz, rounded to 0.01 mm."""
    times = np.linspace(0.0, 1.0, 251)
    home = mechanism.frame_pose(mechanism.home, 'incisor').position
    solved = [mechanism.solve(y) for y in path.sample(times)[0]]
    points = [mechanism.frame_pose(one, 'incisor').position for one in solved]
    return track_incisor(mechanism, times, np.round((np.array(points) - home) * 1e5) * 1e-5).path


def _eaten(mechanism, name, poses, rate):
    """Force of a shipped food between the teeth, N, along a motion."""
    food = pack_food(load_food(name), mechanism)
    heights = [
        mechanism.frame_pose(mechanism.solve(y), f'molar_{load_food(name).side}').position[2]
        for y in poses
    ]
    gaps = food[HEIGHT] - np.array(heights)
    closing = -np.gradient(gaps) * rate
    return np.array(
        [crush(food, gap, speed, True) for gap, speed in zip(gaps, closing, strict=True)]
    )
