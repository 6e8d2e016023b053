# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of the mandible and the cranks, and the papers' formulas for Z and gamma (S0, S1)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.comparison.comparison_table import Cell, ComparisonTable, rows_of
from papers.comparison.inputs import POSE, Inputs
from papers.comparison.measures import rms_ratio

P1 = 1.1  # S0 Eq. 1, S1 Eq. 2


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Ranges along the motion, symmetry of the cranks, and printed formulas vs. closed loops."""
    return [_ranges(inputs), _cranks(inputs), _formulas(inputs)]


def _ranges(inputs: Inputs) -> ComparisonTable:
    platform = inputs.platform_motion
    units = np.array([1e3, 1e3, 1e3, 1.0, 1.0, 1.0])
    rows = {
        'range of displacement': np.ptp(platform.y, axis=0) * units,
        'largest velocity': np.abs(platform.y_dot).max(axis=0) * units,
        'largest acceleration': np.abs(platform.y_ddot).max(axis=0) * units,
    }
    return ComparisonTable(
        f'Mandible along {inputs.motion.name}: mm, rad, s', 'S0 Fig. 3, S1 Figs. 6, 7',
        ('', *POSE), rows_of(rows),
        ('The trajectories of S0 and S1 were measured and are not published.',),
    )  # fmt: skip


def _cranks(inputs: Inputs) -> ComparisonTable:
    """Symmetry of cranks: theta_2 = theta_1, theta_4 = -theta_3 and theta_6 = -theta_5 if exact."""
    motion, masticator = inputs.motion, inputs.masticator
    solved = masticator.feedforward_batch(*motion.states[:3])
    columns = masticator.tree_indices(masticator.actuated)
    rows = {}
    for what, values in (('theta', solved.q), ('rate', solved.v), ('acceleration', solved.a)):
        left, right = values[:, columns[0::2]], values[:, columns[1::2]] * (1.0, -1.0, -1.0)
        off = [rms_ratio(a - b, a) for a, b in zip(left.T, right.T, strict=True)]
        rows[f'{what}: rms of the difference / rms'] = off
    return ComparisonTable(
        f'Symmetry of the cranks along {inputs.motion.name}', 'S0 Fig. 4',
        ('', 'crank_1, 2', 'crank_3, 4', 'crank_5, 6'), rows_of(rows), digits=3,
    )  # fmt: skip


def _formulas(inputs: Inputs) -> ComparisonTable:
    """Gamma and theta_3 by the printed equations next to the values from closed loops."""
    from scipy.spatial.transform import Rotation  # only here: it takes long to import

    pose = inputs.platform_motion.y
    alpha, beta, gamma = pose[:, 3:].T
    t1, t2, t3, t0 = Rotation.from_euler('XYZ', pose[:, 3:]).as_quat().T
    sine, cosine = np.sin, np.cos
    s0 = np.arctan(sine(alpha) / (P1 * cosine(beta) + cosine(alpha) * sine(beta)))
    corrected = np.arctan(sine(alpha) / (P1 * cosine(beta) - cosine(alpha) * sine(beta)))
    factor = (P1 * t2 + t0) / (P1 * t0 - t2)
    rows: tuple[tuple[Cell, ...], ...] = (
        ('gamma, largest', _largest(gamma)),
        ('gamma of S0 Eq. 5 off by', _largest(s0 - gamma)),
        ('gamma of S1 Eq. 65 off by', _largest(-s0 - gamma)),
        ('gamma with p1 c(beta) - c(alpha) s(beta) off by', _largest(corrected - gamma)),
        ('theta_3 of S1 Eq. 7 off by', _largest(factor * t1 - t3)),
        ('factor of theta_1 in Eq. 7, least', float(factor.min())),
        ('factor of theta_1 in Eq. 7, greatest', float(factor.max())),
        ('its denominator, least', float((P1 * t0 - t2).min())),
        ('gamma / alpha, rms', rms_ratio(gamma, alpha)),
    )
    notes = (
        'Compared with Z and gamma as found by the engine, with both condyles on their planes.',
        'S0 Eq. 5 has a wrong sign in the denominator; S1 Eq. 65 also has a wrong sign in front. '
        'The theta_3 of S1 Eq. 7 is right.',
    )
    return ComparisonTable(
        f'Parasitic rotation along {inputs.motion.name}, rad',
        'S0 Eq. 5, S1 Eqs. 7, 65, Figs. 6, 7', ('', 'ours'), rows, notes,
    )  # fmt: skip


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max())
