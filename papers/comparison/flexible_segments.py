# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Assumed modes against rods cut into pieces joined by springs (S3 Sec. 5, Figs. 14 to 17)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.flexible import FlexibleModel, FlexibleTrajectory, simulate
from masticator_dynamics.flexible.flexible_run import driven_mechanism, feedforward, straight
from masticator_dynamics.motion.path import MotionPath
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.finite_segments import segmented

PIECES, DRIVEN = 9, 4  # of a rod; rods 1 to 4
RTOL = 3e-4
POINT = ('x', 'y')
MOTORS = tuple(f'motor_{k}' for k in range(1, DRIVEN + 1))


JointMotion = dict[str, FloatArray]


def joint_motion(model: FlexibleModel, made: FlexibleTrajectory) -> JointMotion:
    """Motion of P (N, 2), m and m/s, and rates (N, 4) of rods 1 to 4 at their motors, rad/s."""
    point, motors = ([model.index(name) for name in names] for names in (POINT, MOTORS))
    return {
        'displacement of P': made.q[:, point],
        'velocity of P': made.v[:, point],
        'angular rates of rods 1-4': made.v[:, motors],
    }


def against_pieces(pieces: JointMotion, models: Mapping[str, JointMotion]) -> ComparisonTable:
    """Deviations of models with assumed modes, by name, from rods in pieces."""
    rows: dict[str, Any] = {'S3 Figs. 15 to 17': ('"good"', '"minor"', '15')}
    for name, motion in models.items():
        rows[name] = [100.0 * _off(motion[what], cut) for what, cut in pieces.items()]
    notes = (
        'Largest difference over the largest value of the curve, for the worst curve. Angular '
        'rates: those of the rods at their motors, where both models have their joints.',
        f'Rods 1 to 4 are {PIECES} equal pieces each, joined by springs, as in S3; rods 5 to 8, '
        'which bend fifty times less, are rigid, to save time.',
    )
    return ComparisonTable(
        f'Assumed modes against {PIECES} pieces per rod, largest deviations, %',
        'S3 Sec. 5, Figs. 14 to 17',
        ('', *pieces), rows_of(rows), notes, digits=3,
    )  # fmt: skip


def run_in_pieces(
    description: MechanismDescription, path: MotionPath, mode: str, samples: int
) -> JointMotion:
    """Drive the mechanism with rods 1 to 4 in pieces, by the torques of a drive mode.

    Parameters
    ----------
    description : MechanismDescription
        With flexible rods.
    path : MotionPath
        Of the independent coordinates.
    mode : str
        Drive mode: which motors drive.
    samples : int
        Number of instants to return, evenly spaced over the path's time.
    """
    links = dict(list(description.flexible.items())[:DRIVEN])
    cut = segmented(dataclasses.replace(description, flexible=links), PIECES - 1, half_ends=False)
    model = FlexibleModel(cut.description, cut.springs)
    mechanism, goal = driven_mechanism(description, mode)
    times = np.linspace(path.start, path.end, samples)
    start = straight(model, mechanism, mechanism.feedforward_batch(*path.sample(times[:1])))
    made = simulate(model, start, feedforward(model, mechanism, goal, path), times, rtol=RTOL)
    return joint_motion(model, made)


def _off(values: FloatArray, others: FloatArray) -> float:
    """Largest difference over the largest value, for the worst column; at the others' instants."""
    values = values[:: (len(values) - 1) // (len(others) - 1)]
    return float((np.abs(values - others).max(axis=0) / np.abs(others).max(axis=0)).max())
