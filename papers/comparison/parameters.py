# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Consistency of the masticator's printed parameters (S0 Secs. 2 to 5, S1 Sec. 5)."""

from __future__ import annotations

import numpy as np

from papers.comparison.comparison_table import Cell, ComparisonTable, rows_of
from papers.comparison.inputs import Inputs
from papers.formulations.geometry import Geometry, read_geometry

LIMBS = tuple(f'limb {i}' for i in range(1, 7))
CRANKS_S0 = ('10', '10', '15', '15', '15', '15')  # S0 Sec. 4
CRANKS_S1 = ('10', '10', '10', '10', '15', '15')  # S1 Table 2
COUPLERS = ('33', '33', '33', '33', '52', '52')
INERTIA_S0 = ('3510', '3510', '6630', '6630', '17628', '17628')  # S0 Sec. 5.1
INERTIA_S1 = ('3510', '3510', '3510', '3510', '17628', '17628')
DENSITY_S0, AREA = 7.8e6, 17.3494e-6  # as printed, 7.8 g/mm³: kg/m³; and m²
# Rows of the printed matrices of cranks 1, 3, 5 (S0 Sec. 4); 2, 4, 6 are their mirror images.
FRAMES = {
    'crank_1': ((0.8541, 0.5201, 0.0), (-0.5201, 0.8541, 0.0), (0.0, 0.0, 1.0)),
    'crank_3': ((0.9310, 0.3651, 0.0), (-0.0822, 0.2096, 0.9743), (0.3558, -0.9071, 0.2251)),
    'crank_5': ((-0.8127, 0.5827, 0.0), (-0.1215, -0.1694, 0.9780), (0.5699, 0.7948, 0.2085)),
}


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Lengths, masses and frames, and the number of degrees of freedom."""
    geometry = read_geometry(inputs.masticator.description)
    return [_bodies(geometry), _frames(geometry), _freedoms(inputs)]


def _bodies(geometry: Geometry) -> ComparisonTable:
    disc = 0.5e9 * geometry.m_G * geometry.r**2
    rows = {
        'cranks, S0, mm': CRANKS_S0,
        'cranks, S1, mm': CRANKS_S1,
        'cranks, from the points of S1 Table 1, mm': 1e3 * geometry.r,
        'couplers, printed, mm': COUPLERS,
        'couplers, from the points, mm': 1e3 * geometry.L,
        'inertia of cranks, S0, g mm²': INERTIA_S0,
        'inertia of cranks, S1, g mm²': INERTIA_S1,
        'of discs with S1 masses and these lengths, g mm²': disc,
        'mass of couplers with 7.8 g/mm³, S0 Eq. 30, g': 1e3 * DENSITY_S0 * AREA * geometry.L,
        'mass of couplers, 7.8e-3 g/mm³, g': 1e3 * geometry.m_S,
    }
    notes = (
        'By the points, cranks 3 and 4 are 15 mm long, as in S0. Steel has 7.8e-3 g/mm³: with the '
        'printed density, a coupler would weigh more than ten mandibles.',
        'Discs of the printed masses have the printed inertia for cranks 1, 2, 5 and 6; for 3 and '
        "4, neither paper's value fits.",
    )
    return ComparisonTable(
        'Lengths, masses and inertia', 'S0 Table 1, Secs. 4, 5.1, S1 Tables 1, 2', ('', *LIMBS),
        rows_of(rows), notes,
    )  # fmt: skip


def _frames(geometry: Geometry) -> ComparisonTable:
    rows: list[tuple[Cell, ...]] = []
    for k, (name, printed) in zip((0, 2, 4), FRAMES.items(), strict=True):
        matrix = np.array(printed)
        square = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
        turned = float(np.linalg.norm(np.cross(matrix[:, 0], geometry.X_C[k])))
        rows.append((name, square, 1e3 * turned))
    note = 'Crank frames are printed with four digits; ours are exact, with X along G_i S_i.'
    return ComparisonTable(
        'Printed frames of the cranks at home', 'S0 Sec. 4',
        ('', 'largest of C^T C - 1', 'X axis off G_i S_i, mrad'), tuple(rows), (note,), digits=2,
    )  # fmt: skip


def _freedoms(inputs: Inputs) -> ComparisonTable:
    rows: list[tuple[Cell, ...]] = []
    for mechanism, printed in ((inputs.masticator, '4'), (inputs.rss6, '6')):
        description = mechanism.description
        equations = 3 * len(description.closures) + len(mechanism.contacts)
        coordinates = len(mechanism.tree_joints)
        rows.append(
            (mechanism.name, printed, coordinates, equations, coordinates - equations,
             len(mechanism.actuated), mechanism.actuation_rank(),
             len(mechanism.actuated) - mechanism.actuation_rank())
        )  # fmt: skip
    columns = (
        '', 'freedoms, printed', 'coordinates', 'loop equations', 'freedoms, ours', 'motors',
        'freedoms that they drive', 'torques to choose',
    )  # fmt: skip
    return ComparisonTable('Degrees of freedom', 'S0 Sec. 3, S1 Sec. 3.1', columns, tuple(rows))
