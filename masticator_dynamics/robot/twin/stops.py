# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the mechanism stops: ends of ranges, dead points of limbs, and teeth on teeth.

Stops are stiff, one-sided springs with dampers. Their stiffness follows from the frequency at which
the mechanism, at home, would oscillate on the stop. It thus suits any mechanism, and a frequency is
what the integration step must resolve.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced.stops_and_food import NO_STOPS, PackedStops
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

TEETH = ('incisor', 'molar_left', 'molar_right')
_SPREAD = 100.0  # of inertias of one kind, largest over least: some joints hardly move at home


@dataclasses.dataclass(frozen=True)
class Stops:
    """Properties of the stops."""

    frequency: float = 300.0  # of the mechanism at home oscillating on one stop, Hz
    damping: float = 0.5  # fraction of the critical damping
    # Sine of the angle between a driven link and the rod on it at which the limb stops, short of
    # its dead point; one that has less at home stops there.
    lever: float = 0.12
    ramp: float = 1e-4  # depth over which damping grows to its full value, m, rad or sine
    # URDF links whose origins do not rise above their height at home (base z); those that the
    # mechanism does not have are left out.
    teeth: tuple[str, ...] = TEETH

    def __post_init__(self) -> None:
        """Refuse numbers that no spring can have (`InputError`)."""
        for name in ('frequency', 'damping', 'lever', 'ramp'):
            value = getattr(self, name)
            if not (
                math.isfinite(value)
                and (value > 0.0 or (name in ('damping', 'lever') and value == 0.0))
            ):
                raise InputError(f'{name} of the stops is {value}; a positive number is needed')


def pack_stops(stops: Stops | None, mechanism: Mechanism, mass: FloatArray) -> PackedStops:
    """Stops of a mechanism, packed; empty if there are none.

    Parameters
    ----------
    stops : Stops, optional
        As described.
    mechanism : Mechanism
        Whose stops they are.
    mass : array, shape (n_y, n_y)
        Mass matrix of the independent coordinates at home.
    """
    if stops is None:
        return NO_STOPS
    home = mechanism.home
    limits, tree = mechanism.limits, mechanism.structure.tree
    points, rows = [], []
    for frame, axis, lower, upper in _ranges_of_points(stops, mechanism):
        placement = tree.frames[frame]
        points.append([placement.body, *placement.position, axis, lower, upper])
        rows.append(mechanism.frame_jacobian(home, frame)[axis])
    ranged = np.flatnonzero(np.isfinite(limits.lower) | np.isfinite(limits.upper))
    joints = np.stack([ranged, limits.lower[ranged], limits.upper[ranged]], axis=1)
    slides = np.array([tree.joints[j].slides for j in ranged], dtype=bool)
    felt = _inertias(home.tangent[ranged], mass)
    for kind in (slides, ~slides):
        if kind.any():
            felt[kind] = np.minimum(felt[kind], _SPREAD * felt[kind].min())
    return PackedStops(
        np.hstack([np.reshape(points, (-1, 7)), _laws(stops, _inertias(np.array(rows), mass))]),
        np.hstack([joints, _laws(stops, felt)]),
        _limbs(stops, mechanism),
    )


def check_start(packed: PackedStops, stops: Stops, mechanism: Mechanism, q: FloatArray) -> None:
    """Refuse tree positions (n_q,) inside a stop: it would eject the mechanism.

    Parameters
    ----------
    packed : PackedStops
        The same stops as rows of numbers.
    stops : Stops
        For the frames that have ranges.
    mechanism : Mechanism
        For names.
    q : (n_q,) array
        Tree positions, m and rad.

    Raises
    ------
    InputError
        Naming joint or frame and the depth.
    """
    poses = mechanism.structure.tree.poses(q)
    names = [mechanism.tree_joints[int(row[0])] for row in packed.joints]
    values = [(q[int(row[0])], row[1], row[2]) for row in packed.joints]
    for (frame, axis, lower, upper), row in zip(
        _ranges_of_points(stops, mechanism), packed.points, strict=True
    ):
        names.append(f'{frame} {"xyz"[axis]}')
        values.append((poses.point(int(row[0]), row[1:4])[axis], lower, upper))
    for row in packed.limbs:
        first, rod = int(row[0]), int(row[1])
        foot = poses.origins[rod]
        along, swing = (
            poses.point(rod, row[2:5]) - foot,
            poses.twists(first, foot)[:3, first],
        )
        lever = row[5] * float(along @ swing) / float(np.linalg.norm(along) * np.linalg.norm(swing))
        names.append(f'lever of {mechanism.tree_joints[first]}')
        values.append((lever, row[6], math.inf))
    for name, (value, lower, upper) in zip(names, values, strict=True):
        depth = max(lower - value, value - upper)
        if depth > stops.ramp:
            raise InputError(f'the start has {name} at {value:.6g}, {depth:.3g} inside its stop')


def _limbs(stops: Stops, mechanism: Mechanism) -> FloatArray:
    """Limbs that are a driven link and a rod pivoting on its end, and where they must not fold.

    At a dead point the link turns while the platform is at rest, so that its own inertia, with the
    rod's mass at the foot, is what the stop holds.
    """
    structure, rows, inertias = mechanism.structure, [], []
    tree, poses = structure.tree, structure.tree.poses(mechanism.home.q)
    for block in structure.blocks:
        first, *pivots = block.joints
        constraint = structure.constraints[block.constraints[0]]
        chain = [tree.placements[j].body for j in pivots] == list(block.joints[:-1])
        turning = all(tree.joints[j].turns for j in pivots)
        if not (pivots and chain and turning and len(block.constraints) == 1):
            continue
        rod, foot = pivots[-1], poses.origins[pivots[-1]]
        at_end = constraint.body_b == rod
        tip = constraint.point_b if at_end else constraint.point_a
        along = poses.point(rod, tip) - foot
        swing = poses.twists(first, foot)[:3, first]
        length, radius = float(np.linalg.norm(along)), float(np.linalg.norm(swing))
        apart = max(float(np.linalg.norm(poses.origins[j] - foot)) for j in pivots)
        if apart > 1e-9 * length or not (at_end or constraint.body_a == rod) or radius == 0.0:
            continue
        lever = float(along @ swing) / (length * radius)
        link, slides = tree.inertias[first], tree.joints[first].slides
        inertia = link.about_center[2, 2] + link.mass * float(
            link.center_of_mass[:2] @ link.center_of_mass[:2]
        )
        inertia = (link.mass if slides else inertia) + tree.inertias[rod].mass * radius**2
        inertias.append(inertia * (length / radius) ** 2)
        rows.append([first, rod, *tip, math.copysign(1.0, lever), min(stops.lever, abs(lever))])
    return np.hstack([np.reshape(rows, (-1, 7)), _laws(stops, np.array(inertias))])


def _ranges_of_points(stops: Stops, mechanism: Mechanism) -> list[tuple[str, int, float, float]]:
    """Frame, axis of the base, and the range (m) of its origin along it."""
    ranges = []
    for contact in mechanism.description.contacts:
        for axis, name in enumerate('xyz'):
            interval = getattr(contact.range, name)
            if interval is not None:
                ranges.append((contact.frame, axis, *interval))
    for frame in stops.teeth:
        if frame in mechanism.frames:
            height = float(mechanism.frame_pose(mechanism.home, frame).position[2])
            ranges.append((frame, 2, -math.inf, height))
    return ranges


def _laws(stops: Stops, inertias: FloatArray) -> FloatArray:
    """Stiffness, damping and ramp (N, 3) for the mechanism's inertias, kg or kg m^2."""
    rate = 2.0 * math.pi * stops.frequency
    stiffness, damping = inertias * rate**2, 2.0 * stops.damping * inertias * rate
    return np.stack([stiffness, damping, np.full(len(inertias), stops.ramp)], axis=1)


def _inertias(jacobians: FloatArray, mass: FloatArray) -> FloatArray:
    """Inertias (N,) against forces along coordinates with these Jacobians (N, n_y).

    Infinite where a coordinate does not move at home.
    """
    if not len(jacobians):
        return np.zeros(0)
    mobility = np.einsum('ni,in->n', jacobians, np.linalg.solve(mass, jacobians.T))
    return np.asarray(1.0 / np.maximum(mobility, 1e-300))


def renumbered(packed: PackedStops, new: dict[int, int]) -> PackedStops:
    """The same stops for a mechanism whose joints and bodies are numbered differently."""
    points, joints, limbs = (table.copy() for table in packed)
    for table, columns in ((points, 1), (joints, 1), (limbs, 2)):
        for row in table:
            row[:columns] = [new[int(joint)] for joint in row[:columns]]
    return PackedStops(points, joints, limbs)
