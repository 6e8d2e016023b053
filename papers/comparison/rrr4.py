# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Planar 4-RRR with rigid links on S3's spiral: torques and powers of the three drive modes."""

from __future__ import annotations

import itertools

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.spiral import Spiral
from papers.comparison.comparison_table import Cell, ComparisonTable, rows_of
from papers.comparison.inputs import Inputs

SAMPLES = 401
THREE = ('motor_1', 'motor_2', 'motor_3')
MODES = {'a': 'a: motors 1 to 3', 'b': 'b: least torque', 'c': 'c: least power'}


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Path, freedoms, torques and powers of the modes side by side."""
    drives = drive_modes(Spiral())
    layout = (
        'S3 draws its torques (Fig. 7) without printing numbers, and does not say where the '
        'motors are. Ours are on a square of 240 mm, with legs bent clockwise.'
    )
    # (modes, N, motors)
    torques = 1e3 * np.array([drive.actuated for drive in drives.values()])
    powers = torques * np.array([drive.velocity for drive in drives.values()])
    torque = {
        **_by_motor('largest', np.abs(torques).max(axis=1)),
        **_by_motor('rms', np.sqrt((torques**2).mean(axis=1))),
        'all, rms of norm': _norm(torques),
    }
    power = {
        **_by_motor('largest', np.abs(powers).max(axis=1)),
        'all, rms of norm': _norm(powers),
        'sum at the end': powers[:, -1].sum(axis=1),
    }
    columns = ('', *MODES.values())
    return [
        _path(Spiral()),
        _freedoms(),
        ComparisonTable('Motor torques, mN m', 'S3 Fig. 7', columns, rows_of(torque), (layout,)),
        ComparisonTable(
            'Motor powers, mW',
            'S3 Sec. 4',
            columns,
            rows_of(power),
            (
                'The sum is the rate of the kinetic energy, whatever the mode.',
                'Mode c is singular where a motor stands still; there its torque is weighted as '
                'if it moved at a thousandth of the fastest speed.',
            ),
        ),
    ]


def drive_modes(path: Spiral, samples: int = SAMPLES) -> dict[str, Effort]:
    """Efforts by S3's modes a, b and c at evenly spaced times along a path."""
    states = path.sample(np.linspace(0.0, path.duration, samples))
    rrr4, three = Mechanism.load('rrr4'), Mechanism.load('rrr4', actuators=THREE)
    return {
        'a': three.feedforward_batch(*states),
        'b': rrr4.feedforward_batch(*states),
        'c': rrr4.feedforward_batch(*states, goal='power'),
    }


def _path(path: Spiral) -> ComparisonTable:
    position, velocity, acceleration = path.sample(np.array([0.0, path.duration]))
    ends = position[:, :2] * 1e3
    along = path.sample(np.linspace(0.0, path.duration, SAMPLES))
    sizes = [np.hypot(*rows[:, :2].T) for rows in along[1:]]
    growth = [float(size.max() / size[-1]) for size in sizes]
    rows: tuple[tuple[Cell, ...], ...] = (
        ('start, x, mm', '0', float(ends[0, 0])),
        ('start, y, mm', '0', float(ends[0, 1])),
        ('end, x, mm', '1.2', float(ends[1, 0])),
        ('end, y, mm', '-17.5', float(ends[1, 1])),
        ('phi, rad', '2 pi / 3', path.phi),
        ('duration, s', '0.4', path.duration),
        ('speed at the end, m/s', None, float(np.hypot(*velocity[1, :2]))),
        ('acceleration at the end, m/s²', None, float(np.hypot(*acceleration[1, :2]))),
        ('largest speed / speed at the end', None, growth[0]),
        ('largest acceleration / acceleration at the end', None, growth[1]),
    )
    note = (
        'S3 prints the ends and says that speed and acceleration grow; radius and angle in '
        'between are our interpretation: r = r_f (t/T)², angle = (273.92° + 360°) t/T.'
    )
    return ComparisonTable(
        'Spiral path of P', 'S3 Sec. 4, Figs. 4-6', ('', 'printed', 'ours'), rows, (note,)
    )


def _freedoms() -> ComparisonTable:
    """Freedoms that any three of the four motors drive."""
    motors = Mechanism.load('rrr4').actuated
    ranks = [
        Mechanism.load('rrr4', actuators=three).actuation_rank()
        for three in itertools.combinations(motors, 3)
    ]
    rows = (
        ('freedoms', '3', len(Mechanism.load('rrr4').independent)),
        ('any three motors, least freedoms driven', '3', min(ranks)),
    )
    return ComparisonTable(
        'Degrees of freedom and motors at home', 'S3 Sec. 4', ('', 'printed', 'ours'), rows
    )


def _by_motor(what: str, values: FloatArray) -> dict[str, FloatArray]:
    """One row per motor from values by mode and motor."""
    return {f'motor {k + 1}, {what}': numbers for k, numbers in enumerate(values.T)}


def _norm(rows: FloatArray) -> FloatArray:
    """Root mean square over time of the norm over the motors, by mode."""
    return np.asarray(np.sqrt((rows**2).sum(axis=2).mean(axis=1)))
