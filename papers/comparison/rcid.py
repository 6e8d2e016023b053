# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""S2's generalized momentum on the RCID: agreement, its assumption on links, operations."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.inputs import Inputs, PlatformMotion
from papers.comparison.momentum_operations import operations
from papers.formulations import (
    PUS_FORMULATIONS,
    GeneralizedMomentum,
    PusFormulation,
)
from papers.formulations.generalized_momentum import inertia_slope
from papers.formulations.momentum_parts import all_parts
from papers.formulations.pus_kinematics import kinematics

SAMPLES, DURATION = 200, 2.0
# Sine waves about home inside S2's workspace, a sphere of 10 mm and rotations of 15 degrees; z
# reaches S2's largest velocity, 220 mm/s (S2 Sec. 2).
AMPLITUDE = np.array([5.7e-3, 5.7e-3, 5.7e-3, 0.14, 0.14, 0.14])
FREQUENCY = np.array([4.1, 4.7, 6.1, 3.7, 4.3, 5.3])  # Hz
PHASE = np.arange(6.0)
# Inertia of a link about its line, kg m²: a solid steel bar of its mass and length has 5e-7; 4e-5
# is the shipped link's transverse inertia, as if it were as thick as long.
SPIN_INERTIAS = (1e-6, 4e-5)
LIMBS = range(1, 7)
LINKS = tuple(f'link_{i}' for i in LIMBS)
FIRST_AXES = tuple(f'universal_{i}_first' for i in LIMBS)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Agreement with the engine, effect of the assumption, and Table 2."""
    mechanism = Mechanism.load('rcid')
    motion = rcid_motion(mechanism.home.y)
    return [_agreement(mechanism, motion), _spin(mechanism, motion), operations()]


def rcid_motion(home: FloatArray) -> PlatformMotion:
    """Sine waves of all six coordinates about a pose (6,)."""
    rate = 2.0 * np.pi * FREQUENCY
    angle = np.arange(SAMPLES)[:, None] * (DURATION / SAMPLES) * rate + PHASE
    wave, slope = AMPLITUDE * np.sin(angle), AMPLITUDE * rate * np.cos(angle)
    return PlatformMotion(home + wave, slope, -(rate**2) * wave)


def with_spin_inertia(
    description: MechanismDescription, inertia: float, upright: bool = False
) -> MechanismDescription:
    """The RCID with additional inertia of its links about their own line.

    With vertical first axes of the universal joints, the links' y axes stay parallel to the base,
    like those of S2's frames {L_i} (Eq. 60).

    Parameters
    ----------
    description : MechanismDescription
        Description of the RCID.
    inertia : float
        kg m^2.
    upright : bool
        Whether the first axes of the universal joints are vertical instead of level.
    """
    spin = np.diag([inertia, 0.0, 0.0])  # the x axis of a link's frame is its line
    links = {
        name: dataclasses.replace(link, about_center=link.about_center + spin)
        if name in LINKS
        else link
        for name, link in description.tree.links.items()
    }
    joints = description.tree.joints
    if upright:
        # The shipped first axis, z of its frame, is level and normal to the link at home.
        axes = {f'universal_{i}_second': np.array([0.0, 0.0, 1.0]) for i in LIMBS}
        axes |= {
            joint.name: joint.rotation.T @ [0.0, 0.0, 1.0]
            for joint in joints
            if joint.name in FIRST_AXES
        }
        joints = tuple(
            dataclasses.replace(joint, axis=axes.get(joint.name, joint.axis)) for joint in joints
        )
    tree = dataclasses.replace(description.tree, links=links, joints=joints)
    return dataclasses.replace(description, tree=tree)


def _forces(mechanism: Mechanism, motion: PlatformMotion) -> FloatArray:
    """Forces (N, 6) by the engine."""
    return mechanism.feedforward_batch(*motion).actuated


def _method_forces(method: PusFormulation, motion: PlatformMotion) -> FloatArray:
    rows = zip(*motion, strict=True)
    return np.array([method.inverse_dynamics(*row).actuated for row in rows])


def _agreement(mechanism: Mechanism, motion: PlatformMotion) -> ComparisonTable:
    expected = _forces(mechanism, motion)
    matrices = {key: _velocity_matrices(key, mechanism, motion) for key in PUS_FORMULATIONS}
    own = matrices['generalized-momentum']
    slopes = _inertia_rates(mechanism, motion)
    rows: list[tuple[Cell, ...]] = []
    for key, kind in PUS_FORMULATIONS.items():
        ours = matrices[key]
        terms, own_terms = (np.einsum('nij,nj->ni', M, motion.y_dot) for M in (ours, own))
        rest = slopes - 2.0 * ours
        rows.append(
            (
                kind.title,
                kind.source,
                _difference(_method_forces(kind(mechanism.description), motion), expected),
                None if ours is own else _difference(terms, own_terms),
                None if ours is own else _difference(ours, own),
                _difference(rest, -np.swapaxes(rest, 1, 2)),
            )
        )
    columns = (
        '', 'source', 'forces, to the engine', 'V x_dot, to the first', 'V, to the first',
        'skewness of I_dot - 2 V',
    )  # fmt: skip
    notes = (
        'Largest difference over the largest value of the sample (for matrices, regardless of '
        'units). Matrices V are not unique; only V x_dot has a meaning. S2 uses V = T^T d/dt(I '
        'T), Koditschek the Christoffel symbols, with which I_dot - 2 V is skew-symmetric (0). '
        'For actuators and links, the two are the same matrix; they differ for the platform, '
        'whose angular velocity is not the time derivative of any coordinates.',
        'Forces need the inverse of J^T, as in Eq. 2; our copy of S2 has J^T in Eqs. 25 and 27, '
        'where a minus may have been lost. Gravity may have any direction.',
    )
    return ComparisonTable(
        f'rcid along sines of 4 to 6 Hz inside its workspace ({SAMPLES} samples)', 'S2 Secs. 3, 4',
        columns, tuple(rows), notes, 3,
    )  # fmt: skip


def _velocity_matrices(key: str, mechanism: Mechanism, motion: PlatformMotion) -> FloatArray:
    method = PUS_FORMULATIONS[key](mechanism.description)
    rows = zip(motion.y, motion.y_dot, strict=True)
    return np.array([method.velocity_matrix(method.geometry, all_parts, *row) for row in rows])


def _inertia_rates(mechanism: Mechanism, motion: PlatformMotion) -> FloatArray:
    """Time derivatives (N, 6, 6) of the inertia matrix."""
    geometry = GeneralizedMomentum(mechanism.description).geometry
    along = (kinematics(geometry, *row) for row in zip(motion.y, motion.y_dot, strict=True))
    return np.array([sum(inertia_slope(p) for p in all_parts(geometry, at)) for at in along])


def _difference(ours: FloatArray, theirs: FloatArray) -> float:
    """Largest difference over the largest value, for the worst sample."""
    axes = tuple(range(1, ours.ndim))
    return float((np.abs(ours - theirs).max(axes) / np.abs(theirs).max(axes)).max())


def _spin(mechanism: Mechanism, motion: PlatformMotion) -> ComparisonTable:
    rows: list[tuple[Cell, ...]] = []
    method = GeneralizedMomentum(mechanism.description)
    ours = _method_forces(method, motion)
    for upright, name in ((False, 'level (shipped)'), (True, 'vertical (y_L level, Eq. 60)')):
        for inertia in (0.0, *SPIN_INERTIAS):
            variant = with_spin_inertia(mechanism.description, inertia, upright)
            change = np.abs(_forces(Mechanism(variant), motion) - ours).max(axis=1)
            rows.append((f'{name}: {inertia:g}', float(np.median(change)), float(change.max())))
    columns = ('first axis of the universal joints: I_Lxx, kg m²', 'median, N', 'largest, N')
    largest = np.abs(ours).max(axis=1)
    notes = (
        'Largest difference of the six forces between the engine, whose universal joints make '
        f'the links spin, and S2; forces are {np.median(largest):.3g} N (median of the '
        f'largest), {largest.max():.3g} N at most. It grows in proportion to I_Lxx and to the '
        'square of the speed.',
        'S2 claims that a link on a universal joint has no angular velocity along itself (Eqs. '
        '63, 64), so that I_Lxx drops out. But such a link does turn about itself: little if the '
        'first axis is level and nearly normal to the link, and much if it is vertical, as '
        "implied by S2's own frames {L_i} (y_L always parallel to the base). For links without "
        'I_Lxx, as shipped, both are the same.',
    )
    return ComparisonTable(
        'Spin of the links, which S2 leaves out',
        'S2 Eqs. 60, 63-66',
        columns,
        tuple(rows),
        notes,
        2,
    )
