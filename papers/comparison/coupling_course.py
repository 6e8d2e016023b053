# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia coupling over time: amplitude, smoothness, shape (S0 Fig. 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.coupling import COLUMNS, FORWARD, indices
from papers.comparison.inputs import POSE, Inputs
from papers.comparison.measures import correlation

_NOTES = (
    'Amplitude: largest minus least value. Path: sum of all changes per second; the smoother of '
    'two curves has a shorter path. Likeness: correlation with the displacement of the mandible '
    'that the index follows best.',
    'Chewing on the other side swaps 1 with 2, 3 with 4 and 5 with 6: which crank of a pair '
    'varies more depends on the side to which the mandible opens, and S0 does not publish its '
    'motion.',
)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Indices along the motion, unchanged and moved forward to the printed averages."""
    motion = inputs.motion
    cases = {motion.name: motion.y}
    if motion.built_in:
        cases[f'{motion.name}, moved forward'] = motion.y - motion.y.mean(axis=0) + FORWARD
    return [_courses(inputs, name, poses) for name, poses in cases.items()]


def _courses(inputs: Inputs, name: str, poses: FloatArray) -> ComparisonTable:
    masticator, time = inputs.masticator, inputs.motion.time
    solved = masticator.feedforward_batch(poses)
    displacement = solved.q[:, masticator.tree_indices(POSE)]
    constrained, free = indices(inputs, poses)
    loaded = masticator.feedforward_batch(poses, W=inputs.motion.wrench)
    bite = np.abs(masticator.inertia_coupling(loaded) - constrained).max(axis=0)
    rows: dict[str, Any] = {'masticator, change by the bite': bite}
    for mechanism, course in (('masticator', constrained), ('rss6', free)):
        path = np.abs(np.diff(course, axis=0)).sum(axis=0) / max(time[-1] - time[0], 1e-9)
        likeness = [
            max(abs(correlation(index, coordinate)) for coordinate in displacement.T)
            for index in course.T
        ]
        rows[f'{mechanism}, least'] = course.min(axis=0)
        rows[f'{mechanism}, amplitude'] = np.ptp(course, axis=0)
        rows[f'{mechanism}, path, 1/s'] = path
        rows[f'{mechanism}, likeness to displacement'] = likeness
    profile = [correlation(constrained[:, i], free[:, i]) for i in range(6)]
    rows['correlation of the two mechanisms'] = profile
    pairs = [correlation(free[:, i], free[:, i ^ 1]) for i in range(6)]
    rows['rss6, correlation with the crank of the other side'] = pairs
    return ComparisonTable(
        f'Course of the index MCI along {name}', 'S0 Secs. 7.2, 7.3, Fig. 7',
        COLUMNS, rows_of(rows), _NOTES, digits=3,
    )  # fmt: skip
