# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia coupling of the masticator next to that of rss6 (S0 Sec. 7.2, 7.3, Figs. 7 and 8)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.papers.comparison.inputs import CRANKS, POSE, Inputs
from masticator_dynamics.papers.comparison.table import Cell, ComparisonTable

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


@dataclasses.dataclass(frozen=True)
class Pair:
    """Indices MCI (6,) of the masticator and of rss6 for the same motion of the mandible."""

    constrained: FloatArray
    free: FloatArray

    @property
    def ratio(self) -> FloatArray:
        """Per cent of rss6's indices, as in S0: the ratio of averages, not the average ratio."""
        return np.asarray(100.0 * self.constrained / self.free)

    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """Rows of a comparison table."""
        return (
            ('masticator, ours', *self.constrained.tolist()),
            ('rss6, ours', *self.free.tolist()),
            ('ratio ours, %', *self.ratio.tolist()),
        )


# S0's conclusions on the indices of cranks 1 to 6.
CLAIMS: dict[str, Callable[[Pair], bool]] = {
    'contacts lower the coupling of every crank': lambda p: bool(np.all(p.ratio < 100.0)),
    'masticator: cranks 5 and 6 are coupled least': lambda p: _least(p.constrained, (4, 5)),
    'masticator: cranks 1, 3 and 4 are coupled most': lambda p: _least(-p.constrained, (0, 2, 3)),
    'rss6: cranks 3 and 4 are coupled most': lambda p: _least(-p.free, (2, 3)),
    'rss6: cranks 5 and 6 are coupled least': lambda p: _least(p.free, (4, 5)),
    'crank 1 is coupled more than crank 2': lambda p: bool(p.constrained[0] > p.constrained[1]),
    'crank 6 is coupled more than crank 5': lambda p: bool(p.constrained[5] > p.constrained[4]),
}


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Indices at home, at the forward pose and averaged along the motion; S0's claims."""
    home = average(inputs, inputs.masticator.home.y[None])
    forward = average(inputs, FORWARD[None])
    along = average(inputs, inputs.motion.y)
    pairs = {'home': home, 'jaw forward': forward, 'average': along}
    name, samples = inputs.motion.name, len(inputs.motion.time)
    averaged = f'Index MCI averaged along {name}'
    tables = [
        ComparisonTable('Index MCI at home', 'S0 Eq. 60', COLUMNS, home.rows(), (_AT_HOME,)),
        _table(f'Index MCI with the jaw forward: {FORWARD_NAME}', forward, *_FORWARD_NOTES),
    ]
    note = 'The index depends only on the pose, not on force or speed: the trajectories differ.'
    if inputs.motion.built_in:
        note += ' Ours returns home after every stroke; by its averages, that of S0 does not.'
    tables.append(_table(f'{averaged}, {samples} samples', along, note))
    if inputs.motion.built_in:
        moved = average(inputs, inputs.motion.y - inputs.motion.y.mean(axis=0) + FORWARD)
        pairs['average, forward'] = moved
        tables.append(_table(f'{averaged}, moved forward', moved, *_MOVED_NOTES))
    return [*tables, _claims_table(pairs)]


def average(inputs: Inputs, poses: FloatArray) -> Pair:
    """Averages of the indices over poses (N, 4) of the same mandible."""
    constrained, free = indices(inputs, poses)
    return Pair(constrained.mean(axis=0), free.mean(axis=0))


def indices(inputs: Inputs, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Indices (N, 6) of the masticator and of rss6 at poses (N, 4) of the same mandible."""
    masticator, free = inputs.masticator, inputs.rss6
    motions = masticator.feedforward_batch(poses)
    free_motions = free.feedforward_batch(motions.q[:, masticator.tree_indices(POSE)])
    return masticator.inertia_coupling(motions), free.inertia_coupling(free_motions)


def _table(title: str, pair: Pair, *notes: str) -> ComparisonTable:
    """Indices next to the printed averages."""
    rows = (
        ('masticator, printed', *PRINTED_AVERAGE),
        *pair.rows(),
        ('ratio printed, %', *PRINTED_RATIO),
    )
    return ComparisonTable(title, SOURCE, COLUMNS, rows, notes)


def _claims_table(pairs: dict[str, Pair]) -> ComparisonTable:
    rows = tuple(
        (claim, *('holds' if holds(pair) else 'does not hold' for pair in pairs.values()))
        for claim, holds in CLAIMS.items()
    )
    note = 'Which cranks are coupled most depends on the pose; S0 reports one trajectory.'
    return ComparisonTable(
        'What S0 concludes about inertia coupling', SOURCE, ('', *pairs), rows, (note,)
    )


def _least(values: FloatArray, cranks: tuple[int, ...]) -> bool:
    """Whether these cranks, by index, have the smallest values."""
    return set(np.argsort(values)[: len(cranks)].tolist()) == set(cranks)
