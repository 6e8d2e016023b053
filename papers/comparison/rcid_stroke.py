# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Stroke of the RCID's actuators over its workspace (S2 Sec. 2, Table 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.inputs import Inputs
from papers.formulations.pus_geometry import PusGeometry, read_pus_geometry
from papers.formulations.rotations import rotation_zyx

REACH, TURN = 0.010, np.radians(15.0)  # S2 Sec. 2: m and rad
SAMPLES, STARTS, SEED = 20000, 6, 0
Rotations = Callable[[FloatArray], FloatArray]


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Stroke computed in two ways, for two readings of the workspace."""
    rcid = Mechanism.load('rcid')
    geometry = read_pus_geometry(rcid.description)
    rows: list[tuple[Cell, ...]] = [
        ('sphere of 10 mm, 15 degrees about any axis', '70', *strokes(geometry, about_axis, True)),
        ('  by the engine at random poses', None, *sampled_strokes(rcid)),
        ('cube of 20 mm, 15 degrees in each Euler angle', None,
         *strokes(geometry, rotation_zyx, False)),
    ]  # fmt: skip
    notes = (
        'Stroke of an actuator: its highest minus its lowest position over the workspace, found '
        'by optimisation. The height of the platform at home, which S2 does not print, cancels.',
        f'The engine closes the loops at {SAMPLES} random poses on the rim of the workspace, whose '
        'stroke must be somewhat less than the optimum.',
        "The cube is a larger workspace than S2 states. 70 mm is the actuators' stroke in Table 1.",
    )
    table = ComparisonTable(
        'Stroke of the actuators that the workspace takes, mm', 'S2 Sec. 2, Table 1',
        ('', 'printed', 'ours, least of six', 'ours, greatest of six'), tuple(rows), notes,
    )  # fmt: skip
    return [table, _angles()]


def _angles() -> ComparisonTable:
    """Distance of the Euler angles from their singularity."""
    theta = _rim()[:, 4]
    return ComparisonTable(
        'Euler angles over the workspace', 'S2 Sec. 2, Eqs. 4, 9', ('', 'ours'),
        (
            ('largest |theta|, degrees', float(np.degrees(np.abs(theta).max()))),
            ('least |det J_A| over the workspace', float(np.cos(theta).min())),
        ),
        ('The determinant of J_A (Eq. 9) is cos(theta) up to its sign.',),
    )  # fmt: skip


def about_axis(turn: FloatArray) -> FloatArray:
    """R (3, 3) of a rotation vector (3,), rad."""
    from scipy.spatial.transform import Rotation  # only here: it takes long to import

    return np.asarray(Rotation.from_rotvec(turn).as_matrix())


def strokes(geometry: PusGeometry, rotation: Rotations, round_rim: bool) -> tuple[float, float]:
    """Least and greatest stroke of the six actuators, mm, by optimisation.

    Parameters
    ----------
    rotation : callable
        Returns R from three angles (rad).
    round_rim : bool
        Whether the norms of displacement and angles are bounded, rather than each component.
    """
    from scipy.optimize import minimize

    rng = np.random.default_rng(SEED)
    rims = [
        {'type': 'ineq', 'fun': lambda s, part=part: 1.0 - s[part] @ s[part]}
        for part in (slice(0, 3), slice(3, 6))
    ]
    found = []
    for limb in range(6):
        ends = []
        for sign in (1.0, -1.0):
            answers = [
                minimize(
                    lambda s, sign=sign, limb=limb: sign * _position(geometry, limb, rotation, s),
                    start, bounds=[(-1.0, 1.0)] * 6, constraints=rims if round_rim else (),
                    method='SLSQP', options={'ftol': 1e-10},
                )
                for start in rng.uniform(-0.5, 0.5, (STARTS, 6))
            ]  # fmt: skip
            ends.append(sign * min(float(answer.fun) for answer in answers))
        found.append(ends[1] - ends[0])
    return min(found), max(found)


def _position(geometry: PusGeometry, limb: int, rotation: Rotations, scaled: FloatArray) -> float:
    """l_i up to a constant, mm, at a pose (6,) in units of the workspace."""
    foot = REACH * scaled[:3] + rotation(TURN * scaled[3:]) @ geometry.p[limb] - geometry.b[limb]
    rise = np.sqrt(geometry.L[limb] ** 2 - foot[0] ** 2 - foot[1] ** 2)
    return float(1e3 * (foot[2] - geometry.branch[limb] * rise))


def sampled_strokes(rcid: Mechanism) -> tuple[float, float]:
    """Least and greatest stroke of the six actuators, mm, over random poses with closed loops."""
    solved = rcid.feedforward_batch(rcid.home.y + _rim())
    columns = rcid.tree_indices(rcid.actuated)
    found = 1e3 * np.ptp(solved.q[:, columns], axis=0)
    return float(found.min()), float(found.max())


def _rim() -> FloatArray:
    """Random displacements and angles psi, theta, phi (N, 6) on the rim of the workspace."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(SEED)
    along, about = (rng.normal(size=(SAMPLES, 3)) for _ in range(2))
    along, about = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (along, about))
    angles = Rotation.from_rotvec(TURN * about).as_euler('ZYX')
    return np.hstack([REACH * along, angles])
