# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia coupling of the masticator next to that of rss6 (S0 Sec. 7.2, 7.3, Figs. 7 and 8)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.comparison.inputs import POSE, Inputs
from masticator_dynamics.comparison.table import ComparisonTable
from masticator_dynamics.engine.arrays import FloatArray

# About the pose that the printed averages belong to: x, y (m), alpha, beta (rad).
FORWARD = np.array([0.0068, -0.0019, 0.009, 0.078])
# Read in the text of S0: Fig. 8's bars carry no figures. MCI_2, 5 and 6 are not given.
PRINTED_AVERAGE = ('about 0.23', '< MCI_1', 'about 0.23', 'about 0.25', '< MCI_1..4', '> MCI_5')
PRINTED_RATIO = ('50.67', '40.60', '38.87', '40.66', '24.89', '30.83')
CRANKS = tuple(f'crank_{i}' for i in range(1, 7))
COLUMNS = ('', *CRANKS)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Indices at home, at the forward pose and averaged along the motion."""
    return [_at_home(inputs), _forward(inputs), _along(inputs)]


def pair(inputs: Inputs, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Indices MCI (6,) of masticator and rss6 with the mandible at the same pose."""
    motion = inputs.masticator.solve(y)
    pose = motion.q[inputs.masticator.tree_indices(POSE)]
    free = inputs.rss6.inertia_coupling(inputs.rss6.solve(pose))
    return inputs.masticator.inertia_coupling(motion), free


def _at_home(inputs: Inputs) -> ComparisonTable:
    return ComparisonTable(
        'Index of inertia coupling MCI at home',
        'S0 Eq. 60, Fig. 7',
        COLUMNS,
        _rows(*pair(inputs, inputs.masticator.home.y)),
        (
            'S0 has the jaw almost still at first and its MCI_1 near 0.23 all the time, so its '
            'trajectory does not begin at our home pose, from which the cranks are measured.',
        ),
    )


def _forward(inputs: Inputs) -> ComparisonTable:
    pose = ', '.join(
        f'{n} {v:g} {u}'
        for n, v, u in zip(
            ('x', 'y', 'alpha', 'beta'),
            FORWARD * (1e3, 1e3, 1.0, 1.0),
            ('mm', 'mm', 'rad', 'rad'),
            strict=True,
        )
    )
    rows = (
        ('masticator, printed average', *PRINTED_AVERAGE),
        *_rows(*pair(inputs, FORWARD)),
        ('ratio printed, %', *PRINTED_RATIO),
    )
    return ComparisonTable(
        f'MCI with the jaw forward: {pose}', 'S0 Sec. 7.2, 7.3, Figs. 7, 8', COLUMNS, rows, ()
    )


def _along(inputs: Inputs) -> ComparisonTable:
    count = len(inputs.motion.time)
    both = np.array(
        [pair(inputs, inputs.motion.y[k]) for k in inputs.progress(range(count), 'coupling')]
    )
    constrained, free = both.mean(axis=0)
    rows = (*_rows(constrained, free), ('ratio printed, %', *PRINTED_RATIO))
    return ComparisonTable(
        f'MCI averaged along {inputs.motion.name} ({count} samples)',
        'S0 Sec. 7.2, 7.3, Figs. 7, 8',
        COLUMNS,
        rows,
        (),
    )


def _rows(constrained: FloatArray, free: FloatArray) -> tuple[tuple[str | float, ...], ...]:
    ratio = 100.0 * constrained / free
    return (
        ('masticator, ours', *constrained.tolist()),
        ('rss6, ours', *free.tolist()),
        ('ratio ours, %', *ratio.tolist()),
    )
