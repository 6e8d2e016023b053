# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Seven performance indices for three goals of torque distribution (S1 Table 3)."""

from __future__ import annotations

import math

from masticator_dynamics.engine.arrays import FloatArray
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.goal_indices import (
    F_G,
    F_T,
    F_Z,
    GOALS,
    RSS6,
    TAU_F,
    all_indices,
    fitted_bite,
)
from papers.comparison.goal_variants import variants
from papers.comparison.inputs import Inputs

SOURCE = 'S1 Table 3, Eqs. 73, 74'
HEADINGS = ('|tau| Nm', '|F_S| N', '|F_Z| N', '|M^C| Nm', '|tau_f| Nm', '|F_G| N', '|f_T| N')
# First with Euler parameters, then with Euler angles where the figures differ: the motion is not
# the same, since S1 optimises velocities and accelerations separately for each.
PRINTED: dict[str, tuple[tuple[str | None, ...], ...]] = {
    'G1': (
        ('0.1912', '18.5039', '4.2544', '0.0219', '0.0059', '20.0250', '0.1265'),
        ('0.1907', '18.4899', '4.2236', '0.0218', '0.0059', '20.0041', '0.1256'),
    ),
    'G2': (
        ('0.1958', '17.8948', '3.4370', '0.0184', '0.0058', '19.5470', '0.1022'),
        ('0.1951', '17.9127', '3.4374', '0.0184', '0.0058', '19.5585', '0.1022'),
    ),
    'G3': (
        ('0.2653', '27.3216', '5.28e-6', '0.0482', '0.0084', '28.4067', '1.64e-6'),
        ('0.2638', '27.2420', '1.75e-5', '0.0481', '0.0084', '28.3257', '3.19e-6'),
    ),
    RSS6: (('0.2652', '27.3214', None, '0.0482', '0.0084', '28.4066', None),),
}
FITTED = 27.3214  # N, |F_S| of rss6
# S1 Sec. 5: friction of condyles; friction of cranks and its arm (m); slope of the sockets.
MU_C, MU_CI, ARM, P1 = 0.02, 0.02, 0.015, 1.1
Indices = dict[str, FloatArray]

_NOT_PUBLISHED = (
    "S1's trajectory, bite force, bite point and condyle points are not published; the numbers "
    'depend mainly on the bite force.'
)
_WHY = (
    'The remaining differences are due to the trajectory, the time course and direction of the '
    "bite force, and the bite and condyle points, all unpublished. That S1's velocities and "
    'accelerations do not belong to its positions (section incisor) matters little, as the bite '
    'force is far larger than inertial forces.',
    'S1 solves by a general SQP started from the previous sample; ours are global optima. Under '
    'G3, the minimum is exactly zero, and S1 prints the remainder of its SQP; |f_T| is then only '
    'viscous.',
    'The printed values of rss6 equal those of G3, as they must: without contact forces, the '
    'sockets have no effect.',
)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """S1 Table 3 with the bite force as it is and scaled; its columns; effect of unknown inputs."""
    name, as_it_is = inputs.motion.name, all_indices(inputs)
    tables = [columns_table(), _table(f'{name}, bite force as it is', as_it_is, (_NOT_PUBLISHED,))]
    fit = fitted_bite(inputs, FITTED)
    if fit is not None:
        scale, fitted = fit
        note = (
            f'The bite force is scaled by {scale:.4g}, one number for the whole table, chosen so '
            f'that |F_S| of rss6, where no choice of torques enters, is the printed {FITTED} N. '
            'All other figures follow.'
        )
        scaled = all_indices(fitted)
        tables.append(_table(f'{name}, bite force scaled', scaled, (note, *_WHY)))
        if inputs.motion.built_in:
            tables.append(_variants_table(inputs, scaled['G1']))
    return tables


def columns_table() -> ComparisonTable:
    """Identify the printed columns: two of them follow from two others."""
    coulomb, arm = MU_C * math.hypot(P1, 1.0), ARM * MU_CI
    rows = [
        (goal, arm * _number(goal, F_G), PRINTED[goal][0][TAU_F],
         coulomb * _number(goal, F_Z), PRINTED[goal][0][F_T])
        for goal in ('G1', 'G2')
    ]  # fmt: skip
    notes = (
        'Eq. 74 defines F4 to F7 as |tau_f|, |M^C|, |f_T|, |F_G|, but the columns contain |M^C|, '
        '|tau_f|, |F_G|, |f_T|: F5 is just below arm times friction coefficient times F6 (the '
        "part of F_G along the shaft causes no friction), and F7 is the sockets' friction due to "
        'F3 to the last digit.',
        "F7 is therefore the norm of both condyles' friction forces together, not the norm of "
        'their sum as in Eq. 74; ours is the same.',
        'F2 is a force in N, not a power in W, and the text after Eq. 73 swaps F2 and F3.',
    )  # fmt: skip
    columns = (
        '', 'R mu_Ci F6, Nm', 'F5 printed', 'mu_C sqrt(p1^2 + 1) F3, N', 'F7 printed'
    )  # fmt: skip
    return ComparisonTable(
        'Columns of the printed table, from its own figures', SOURCE, columns, tuple(rows), notes
    )


def _table(conditions: str, indices: Indices, notes: tuple[str, ...]) -> ComparisonTable:
    rows: list[tuple[Cell, ...]] = []
    for name, found in indices.items():
        what = 'rss6' if name == RSS6 else f'{name} {GOALS[name]}'
        printed = PRINTED[name]
        kinds = ('Euler parameters', 'Euler angles') if len(printed) > 1 else ('both',)
        rows += [
            (f'{what}, printed, {kind}', *cells) for kind, cells in zip(kinds, printed, strict=True)
        ]
        ours: list[Cell] = found.tolist()
        if name == RSS6:
            ours[F_Z] = ours[F_T] = None  # rss6 has no contacts
        rows.append((f'{what}, ours', *ours))
    title = f'Means of seven norms for three goals: {conditions}'
    return ComparisonTable(title, SOURCE, ('', *HEADINGS), tuple(rows), notes)


def _variants_table(inputs: Inputs, as_it_is: FloatArray) -> ComparisonTable:
    rows: list[tuple[Cell, ...]] = [
        ('printed, Euler parameters', *PRINTED['G1'][0]),
        ('as it is', *as_it_is.tolist()),
    ]
    rows += [(name, *found.tolist()) for name, found in variants(inputs, FITTED)]
    notes = (
        'In every row, the bite force is scaled again so that |F_S| of rss6 is the printed one. '
        'Speed (strokes half as long) and condyle points have little effect, the bite point some.',
        'The pose of the jaw has the largest effect. Table 3 agrees with strokes that begin at '
        'home; the averages of S0 (section coupling) agree with a jaw further forward.',
    )
    title = 'What the unpublished inputs do: goal G1, one input changed at a time'
    return ComparisonTable(title, SOURCE, ('', *HEADINGS), tuple(rows), notes)


def _number(goal: str, index: int) -> float:
    return float(str(PRINTED[goal][0][index]))
