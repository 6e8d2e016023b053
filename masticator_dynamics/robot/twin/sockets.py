# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts that only push: they are left when they would have to pull, and landed on again.

These are contacts whose ``force_range`` ends at zero on one side. While one is left, the mechanism
has one more freedom: it is the same mechanism without the contact, with an additional coordinate.
Landing is a frictionless impact by Newton's law of restitution, which changes velocities instantly
and dissipates an energy that is reported.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.engine.traced.stops_and_food import PackedStops
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.twin.stops import renumbered
from masticator_dynamics.robot.twin.twin_dynamics import TwinDynamics

if TYPE_CHECKING:
    from masticator_dynamics.description.data import Contact
    from masticator_dynamics.engine.traced.simulation_data import Regularisation


@dataclasses.dataclass(frozen=True)
class SocketEvent:
    """A contact was left, or landed on."""

    time: float  # s
    contact: str
    landed: bool
    speed: float = 0.0  # along the normal, at which it was met, m/s; 0 when it is left
    energy: float = 0.0  # dissipated by the impact, J


class Sockets:
    """The mechanism with some of its contacts left.

    Parameters
    ----------
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

    def change(self, lost: frozenset[str]) -> FloatArray:
        """Leave these contacts and no others; returns the state in the new coordinates."""
        now = self.dynamics
        q, v = now.tree('q').copy(), now.tree('v').copy()
        self.left = lost
        model = self.dynamics.mechanism
        rows = model.tree_indices(model.independent)
        return np.concatenate([q[rows], v[rows]])

    def gap(self, contact: str) -> float:
        """Distance (m) of a contact's point from its plane, on the side to which it can go."""
        socket = self.pushing[contact]
        point, _ = frame_poses(self._whole, self.dynamics.tree('q'), socket.frame)
        normal = np.array(socket.normal)
        height = float(normal @ point + socket.offset) / float(np.linalg.norm(normal))
        return _side(socket) * height

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
        multipliers = np.zeros(len(self._whole.contacts))
        multipliers[[self._whole.contacts.index(c) for c in dynamics.mechanism.contacts]] = forces
        return multipliers

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
        model, socket = self.dynamics.mechanism, self.pushing[contact]
        normal = _side(socket) * np.array(socket.normal) / np.linalg.norm(socket.normal)
        motion = model.solve(state[: len(state) // 2].copy())
        return normal @ model.frame_jacobian(motion, socket.frame)[:3]


def _side(contact: Contact) -> float:
    """Sign of the multipliers that the contact can have; 0 where it can have both."""
    low, high = contact.force_range
    if low == 0.0 and high != 0.0:
        return 1.0
    return -1.0 if high == 0.0 and low != 0.0 else 0.0


def _without(mechanism: Mechanism, lost: frozenset[str]) -> Mechanism:
    """The mechanism without some contacts, with joints carrying them as extra coordinates."""
    description, tree = mechanism.description, mechanism.structure.tree
    remaining = tuple(c for c in description.contacts if c.name not in lost)
    independent = description.independent
    best_model: Mechanism | None = None
    for number in range(1, len(lost) + 1):
        gone = [c for c in description.contacts if c.name in lost][:number]
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
                best, best_model = size, model
        if (
            best_model is None
            or len(best_model.independent) != len(description.independent) + number
        ):
            names = ', '.join(sorted(lost))
            raise InputError(f'{mechanism.name}: no joint describes how {names} is left')
        independent = best_model.independent
    assert best_model is not None and best_model.contacts == tuple(c.name for c in remaining)
    return best_model
