# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia coupling of the masticator next to that of rss6 (S0 Sec. 7.2, 7.3, Figs. 7 and 8)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.inputs import CRANKS, POSE, Inputs

# Approximate pose of the printed averages: x, y (m), alpha, beta (rad).
FORWARD = np.array([0.0068, -0.0019, 0.009, 0.078])
FORWARD_NAME = 'x 6.8 mm, y -1.9 mm, alpha 0.009 rad, beta 0.078 rad'
# From the text of S0 Sec. 7.2, as the bars of Fig. 8 have no numbers.
PRINTED_AVERAGE = ('about 0.23', '< MCI 1', 'about 0.23', 'about 0.25', '< MCI 1-4', '> MCI 5')
# S0 Sec. 7.3, per cent.
PRINTED_RATIO = ('50.67', '40.60', '38.87', '40.66', '24.89', '30.83')
SOURCE = 'S0 Sec. 7.2, 7.3, Figs. 7, 8'
COLUMNS = ('', *CRANKS)
_AT_HOME = (
    'Nothing is printed for home. In S0, the jaw is almost still in the first second, and the '
    'indices vary little there. But MCI 1 and 3 are around 0.23 all the time, half of their '
    "values at home, so S0's trajectory does not seem to begin at the pose from which the "
    'cranks are measured.'
)
_FORWARD_NOTES = (
    'The trajectory of S0 is not published. The printed averages belong to a jaw about 7 mm '
    'forward: at this single pose, found by trial, the ratios are within 5 percentage points '
    'of the printed ones.',
    'Here the right condyle is at x = 6.2 mm, outside the printed range of the socket (-10 to '
    '5 mm); the indices are computed nevertheless.',
)
_MOVED_NOTES = (
    'The same strokes, moved so that their mean is the forward pose: the averages are near '
    'the printed ones. The remaining difference is due to the shape of the trajectory.',
)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Indices at home, at the forward pose and averaged along the motion."""
    home = _averages(inputs, inputs.masticator.home.y[None])
    name, y = inputs.motion.name, inputs.motion.y
    averaged = f'Index MCI averaged along {name}'
    note = (
        'The index depends only on the pose, not on force or speed: the trajectories differ. Which '
        'cranks are coupled most depends on the pose, too.'
    )
    if inputs.motion.built_in:
        note += ' Ours returns home after every stroke; by its averages, that of S0 does not.'
    tables = [
        ComparisonTable('Index MCI at home', 'S0 Eq. 60', COLUMNS, home, (_AT_HOME,)),
        _table(inputs, f'Index MCI with the jaw forward: {FORWARD_NAME}', FORWARD[None],
               *_FORWARD_NOTES),
        _table(inputs, f'{averaged}, {len(y)} samples', y, note),
    ]  # fmt: skip
    if inputs.motion.built_in:
        moved = y - y.mean(axis=0) + FORWARD
        tables.append(_table(inputs, f'{averaged}, moved forward', moved, *_MOVED_NOTES))
    return tables


def indices(inputs: Inputs, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Indices (N, 6) of the masticator and of rss6 at poses (N, 4) of the same mandible."""
    masticator, free = inputs.masticator, inputs.rss6
    motions = masticator.feedforward_batch(poses)
    free_motions = free.feedforward_batch(motions.q[:, masticator.tree_indices(POSE)])
    return masticator.inertia_coupling(motions), free.inertia_coupling(free_motions)


def _averages(inputs: Inputs, poses: FloatArray) -> tuple[tuple[Cell, ...], ...]:
    """Averages of the indices over poses (N, 4), and their ratio as in S0: that of averages."""
    constrained, free = (values.mean(axis=0) for values in indices(inputs, poses))
    return (
        ('masticator, ours', *constrained.tolist()),
        ('rss6, ours', *free.tolist()),
        ('ratio ours, %', *(100.0 * constrained / free).tolist()),
    )


def _table(inputs: Inputs, title: str, poses: FloatArray, *notes: str) -> ComparisonTable:
    """Averages of the indices over poses (N, 4) next to the printed ones."""
    rows = (
        ('masticator, printed', *PRINTED_AVERAGE),
        *_averages(inputs, poses),
        ('ratio printed, %', *PRINTED_RATIO),
    )
    return ComparisonTable(title, SOURCE, COLUMNS, rows, notes)
