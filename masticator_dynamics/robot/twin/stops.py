# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the mechanism stops: ends of ranges, dead points of limbs, and teeth on teeth.

Stops are stiff, one-sided springs with dampers. Their stiffness follows from the frequency at which
the mechanism, at home, would oscillate on the stop. It thus suits any mechanism, and a frequency is
what the integration step must resolve.

Contacts that only push: they are left when they would have to pull, and landed on again.

These are contacts whose ``force_range`` ends at zero on one side. While one is left, the mechanism
has one more freedom: it is the same mechanism without the contact, with an additional coordinate.
Landing is a frictionless impact by Newton's law of restitution, which changes velocities instantly
and dissipates an energy that is reported.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.engine.traced.surroundings import NO_STOPS, PackedStops
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.twin.twin_dynamics import TwinDynamics

if TYPE_CHECKING:
    from masticator_dynamics.description.data import Contact
    from masticator_dynamics.engine.traced.simulation_data import Regularisation


TEETH = ('incisor', 'molar_left', 'molar_right')
_SPREAD = 100.0  # of inertias of one kind, largest over least: some joints hardly move at home


@dataclasses.dataclass(frozen=True)
class Stops:
    """Properties of the stops.

    Attributes
    ----------
    frequency : float
        Of the mechanism at home oscillating on one stop, Hz.
    damping : float
        Fraction of the critical damping.
    lever : float
        Sine of the angle between a driven link and the rod on it at which the limb stops, short of
        its dead point; one that has less at home stops there.
    ramp : float
        Depth over which damping grows to its full value, m, rad or sine.
    teeth : tuple of str
        URDF links whose origins do not rise above their height at home (base z); those that the
        mechanism does not have are left out.
    """

    frequency: float = 300.0
    damping: float = 0.5
    lever: float = 0.12
    ramp: float = 1e-4
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
    slides = np.array([tree.joints[j].type == 'prismatic' for j in ranged], dtype=bool)
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
            poses.point_jacobian(first, foot)[:, first],
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
        turning = all(tree.joints[j].type != 'prismatic' for j in pivots)
        if not (pivots and chain and turning and len(block.constraints) == 1):
            continue
        rod, foot = pivots[-1], poses.origins[pivots[-1]]
        at_end = constraint.body_b == rod
        tip = constraint.point_b if at_end else constraint.point_a
        along = poses.point(rod, tip) - foot
        swing = poses.point_jacobian(first, foot)[:, first]
        length, radius = float(np.linalg.norm(along)), float(np.linalg.norm(swing))
        apart = max(float(np.linalg.norm(poses.origins[j] - foot)) for j in pivots)
        if apart > 1e-9 * length or not (at_end or constraint.body_a == rod) or radius == 0.0:
            continue
        lever = float(along @ swing) / (length * radius)
        link, slides = tree.inertias[first], tree.joints[first].type == 'prismatic'
        own = link.about_center[2, 2] + link.mass * float(
            link.center_of_mass[:2] @ link.center_of_mass[:2]
        )
        own = (link.mass if slides else own) + tree.inertias[rod].mass * radius**2
        inertias.append(own * (length / radius) ** 2)
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


@dataclasses.dataclass(frozen=True)
class SocketEvent:
    """A contact was left, or landed on.

    Attributes
    ----------
    time : float
        s.
    contact : str
    landed : bool
    speed : float
        Along the normal, at which it was met, m/s; 0 when it is left.
    energy : float
        Dissipated by the impact, J.
    """

    time: float
    contact: str
    landed: bool
    speed: float = 0.0
    energy: float = 0.0


class Sockets:
    """The mechanism with some of its contacts left.

    Parameters
    ----------
    mechanism : Mechanism
    friction, stops, food
        As for :class:`ForwardDynamics`; stops are numbered as the whole mechanism's joints.

    Attributes
    ----------
    pushing : dict of Contact
        Contacts that can be left, by name: planes of the base.
    left : frozenset of str
        Contacts currently left.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        friction: bool | Regularisation,
        stops: PackedStops,
        food: bool,
    ):
        self._whole, self._friction = mechanism, friction
        self._stops, self._food = stops, food
        self.pushing: dict[str, Contact] = {
            contact.name: contact
            for contact in mechanism.description.contacts
            if contact.type == 'plane' and contact.carrier is None and _side(contact)
        }
        self.left: frozenset[str] = frozenset()
        self._modes: dict[frozenset[str], TwinDynamics] = {}

    @property
    def dynamics(self) -> TwinDynamics:
        """Dynamics of the mechanism as it is now."""
        if self.left not in self._modes:
            model = _without(self._whole, self.left) if self.left else self._whole
            joints = enumerate(self._whole.tree_joints)
            stops = renumbered(self._stops, {j: model.tree_joints.index(n) for j, n in joints})
            self._modes[self.left] = TwinDynamics(
                model, friction=self._friction, stops=stops, food=self._food
            )
        return self._modes[self.left]

    def change(self, left: frozenset[str]) -> FloatArray:
        """Leave these contacts and no others; returns the state in the new coordinates."""
        now = self.dynamics
        q, v = now.tree('q').copy(), now.tree('v').copy()
        self.left = left
        model = self.dynamics.mechanism
        rows = model.tree_indices(model.independent)
        return np.concatenate([q[rows], v[rows]])

    def gap(self, contact: str) -> float:
        """Distance (m) of a contact's point from its plane, on the side to which it can go."""
        given = self.pushing[contact]
        point, _ = frame_poses(self._whole, self.dynamics.tree('q'), given.frame)
        normal = np.array(given.normal)
        height = float(normal @ point + given.offset) / float(np.linalg.norm(normal))
        return _side(given) * height

    def pulled(self) -> frozenset[str]:
        """Contacts that are closed but would have to pull, in the last run."""
        dynamics = self.dynamics
        forces = dynamics.tree('multipliers')[dynamics.mechanism.contact_rows]
        of_contact = dict(zip(dynamics.mechanism.contacts, forces.tolist(), strict=True))
        return frozenset(
            name
            for name, contact in self.pushing.items()
            if name in of_contact and _side(contact) * of_contact[name] < 0.0
        )

    def multipliers(self) -> FloatArray:
        """Of all contacts (n_c,), N; 0 where one is left."""
        dynamics = self.dynamics
        forces = dynamics.tree('multipliers')[dynamics.mechanism.contact_rows]
        found = np.zeros(len(self._whole.contacts))
        found[[self._whole.contacts.index(c) for c in dynamics.mechanism.contacts]] = forces
        return found

    def speed(self, contact: str, state: FloatArray) -> float:
        """Speed (m/s) at which a state (y, y_dot) moves towards a contact."""
        return max(0.0, -float(self._row(contact, state) @ state[len(state) // 2 :]))

    def impact(self, contact: str, state: FloatArray, restitution: float) -> tuple[float, float]:
        """Change the velocities of ``state`` (that of the last run) as an impact does.

        Parameters
        ----------
        contact : str
            What is met.
        state : (2 n_y,) array
            Independent positions and velocities; the latter are changed.
        restitution : float
            Speed after over speed before, 0 to 1.

        Returns
        -------
        speed, energy : float
            Speed at which it was met, m/s, and energy lost, J.
        """
        speed, row = self.speed(contact, state), self._row(contact, state)
        moved = np.linalg.solve(self.dynamics.field('mass').reshape(len(row), -1), row)
        mobility = float(row @ moved)
        state[len(row) :] += moved * (1.0 + restitution) * speed / mobility
        return speed, 0.5 * (1.0 - restitution**2) * speed**2 / mobility

    def _row(self, contact: str, state: FloatArray) -> FloatArray:
        """Rate of a contact's gap per independent velocity (n_y,)."""
        model, given = self.dynamics.mechanism, self.pushing[contact]
        normal = _side(given) * np.array(given.normal) / np.linalg.norm(given.normal)
        motion = model.solve(state[: len(state) // 2].copy())
        return normal @ model.frame_jacobian(motion, given.frame)[:3]


def _side(contact: Contact) -> float:
    """Sign of the multipliers that the contact can have; 0 where it can have both."""
    low, high = contact.force_range
    if low == 0.0 and high != 0.0:
        return 1.0
    return -1.0 if high == 0.0 and low != 0.0 else 0.0


def _without(mechanism: Mechanism, left: frozenset[str]) -> Mechanism:
    """The mechanism without some contacts, with joints carrying them as extra coordinates."""
    description, tree = mechanism.description, mechanism.structure.tree
    kept = tuple(c for c in description.contacts if c.name not in left)
    independent = description.independent
    found: Mechanism | None = None
    for number in range(1, len(left) + 1):
        gone = [c for c in description.contacts if c.name in left][:number]
        rest = tuple(c for c in description.contacts if c not in gone)
        carriers = sorted(tree.supports(tree.frames[gone[-1].frame].body))
        chain = [mechanism.tree_joints[j] for j in carriers]
        best = np.inf
        for joint in (j for j in chain if j not in independent):
            changed = dataclasses.replace(
                description, contacts=rest, independent=(*independent, joint)
            )
            try:
                model = Mechanism(changed, mechanism.driving)
                size = float(np.abs(model.home.tangent).max())
            except MasticatorError:
                continue
            if size < best:
                best, found = size, model
        if found is None or len(found.independent) != len(description.independent) + number:
            names = ', '.join(sorted(left))
            raise InputError(f'{mechanism.name}: no joint describes how {names} is left')
        independent = found.independent
    assert found is not None and found.contacts == tuple(c.name for c in kept)
    return found
