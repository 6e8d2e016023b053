# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frictionless torques of the masticator and rss6, chewing left and right (S0 Fig. 6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.inputs import CRANKS, Inputs
from papers.comparison.measures import correlation

SOURCE = 'S0 Secs. 7.1, 7.3, Figs. 5, 6'
LEFT, STILL, RIGHT, FREE = (
    'masticator, left molar',
    'masticator, without food',
    'masticator, right molar',
    'rss6, left molar',
)
_NOTES = (
    'Norm: that of all six torques. S0 draws these torques without printing numbers; trajectory, '
    'bite force and bite point are not published.',
    'Right molar: the same force, not its mirror image, at the mirrored point, as in S0.',
    "The torques of rss6 can never be smaller: they are one choice of the masticator's torques, "
    'that without contact forces, and the masticator uses the smallest.',
)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Peaks of the torques, and how their curves resemble the bite force and one another."""
    torques = chewing_torques(inputs)
    bite = np.linalg.norm(inputs.motion.wrench[:, :3], axis=1)
    name = inputs.motion.name
    peaks: list[tuple[Cell, ...]] = [
        (f'{case}, largest', *_with_norm(1e3 * rows, lambda t: np.abs(t).max()))
        for case, rows in torques.items()
    ]
    courses: list[tuple[Cell, ...]] = [
        (f'{case}, with the force of the food', *_with_norm(rows, lambda t: _likeness(t, bite)))
        for case, rows in torques.items()
        if case != STILL
    ]
    left = torques[LEFT]
    courses += [
        (f'{case}, with {LEFT}', *map(_likeness, torques[case].T, left.T), None)
        for case in (RIGHT, FREE)
        if case in torques
    ]
    swapped = left[:, [1, 0, 3, 2, 5, 4]]
    courses.append((f'{LEFT}, with the crank of the other side', *map(_likeness, left.T, swapped.T),
                    None))  # fmt: skip
    columns = ('', *CRANKS, 'norm')
    return [
        ComparisonTable(
            f'Largest torques along {name}, mN m', SOURCE, columns, tuple(peaks), _NOTES
        ),
        ComparisonTable(
            f'Likeness of courses along {name}: correlation of magnitudes over time',
            SOURCE,
            columns,
            tuple(courses),
            ('1: the same curve up to its scale; 0: no likeness.',),
            digits=3,
        ),
    ]


def chewing_torques(inputs: Inputs) -> dict[str, FloatArray]:
    """Torques (N, 6) of least norm, N m, by case; the right molar only for built-in chewing."""
    motion, masticator = inputs.motion, inputs.masticator
    states = motion.states[:3]
    left = masticator.feedforward_batch(*states, motion.wrench)
    found = {LEFT: left.actuated, STILL: masticator.feedforward_batch(*states).actuated}
    if motion.built_in:
        force = np.column_stack([motion.wrench[:, :3], np.zeros((len(motion.time), 3))])
        wrench = wrenches_on_platform(masticator, left.q, force, point='molar_right')
        found[RIGHT] = masticator.feedforward_batch(*states, wrench).actuated
    free = inputs.rss6.feedforward_batch(*inputs.platform_motion, motion.wrench)
    return found | {FREE: free.actuated}


def _with_norm(torques: FloatArray, measure: Callable[[FloatArray], float]) -> list[float]:
    columns = [*torques.T, np.linalg.norm(torques, axis=1)]
    return [float(measure(column)) for column in columns]


def _likeness(course: FloatArray, other: FloatArray) -> float:
    """Correlation of the magnitudes of two curves."""
    return correlation(np.abs(course), np.abs(other))
