# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of links and the energy in them, from the description's files alone.

Nothing here is the engine's: with it the efforts that the engine computed are judged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray


class LinkMotion:
    """Poses and twists of all links, and what is stored in a mechanism, for N joint states.

    Parameters
    ----------
    names : sequence of str
        Joints, the columns of the rows; all moving joints must be there.
    position, velocity : (N, n) array
        rad or m, and their rates.

    Attributes
    ----------
    origin, rotation, velocity, angular : dict of arrays
        By link: origin (N, 3) in m and rotation (N, 3, 3) in the base, linear velocity (N, 3) of
        the origin and angular velocity (N, 3) in base axes.
    """

    def __init__(
        self,
        description: MechanismDescription,
        names: Sequence[str],
        position: FloatArray,
        velocity: FloatArray,
    ):
        self.description = description
        self._position, self._rate = position, velocity
        self._columns = {name: column for column, name in enumerate(names)}
        count, base = len(position), description.base
        self.origin = {base: np.zeros((count, 3))}
        self.rotation = {base: np.tile(np.eye(3), (count, 1, 1))}
        self.velocity = {base: np.zeros((count, 3))}
        self.angular = {base: np.zeros((count, 3))}
        for joint in description.tree.joints:
            parent, child = joint.parent, joint.child
            arm = self.rotation[parent] @ joint.position
            rotation = self.rotation[parent] @ joint.rotation
            angular = self.angular[parent]
            slide = np.zeros((count, 3))
            if joint.moves:
                column = self._columns[joint.name]
                axis = rotation @ joint.axis
                rate = velocity[:, column, None] * axis
                if joint.shift:
                    arm = arm + joint.shift * position[:, column, None] * axis
                    slide = joint.shift * rate
                if joint.spin:
                    turns = Rotation.from_rotvec(position[:, column, None] * joint.axis)
                    rotation = rotation @ turns.as_matrix()
                    angular = angular + rate
            self.origin[child] = self.origin[parent] + arm
            self.rotation[child] = rotation
            self.angular[child] = angular
            self.velocity[child] = (
                self.velocity[parent] + np.cross(self.angular[parent], arm) + slide
            )

    def energy(self) -> FloatArray:
        """Kinetic and potential energy (N,) of links, rotors, armatures and springs, J.

        Of a link (m v^2 + w I w) / 2 - m g r, with v and r of its centre of mass; of a rotor,
        which turns ``ratio`` times as fast as its joint, and an armature J rate^2 / 2; of a spring
        k (q - reference)^2 / 2.
        """
        total = self._of_links()
        for name, actuator in self.description.actuators.items():
            turning = actuator.ratio * self._rate[:, self._columns[name]]
            total += 0.5 * actuator.rotor_inertia * turning**2
        for name, physics in self.description.joints.items():
            column = self._columns[name]
            stretch = self._position[:, column] - physics.reference
            total += 0.5 * physics.armature * self._rate[:, column] ** 2
            total += 0.5 * physics.stiffness * stretch**2
        return total

    def _of_links(self) -> FloatArray:
        total = np.zeros(len(self.origin[self.description.base]))
        gravity = np.array(self.description.gravity)
        for link, body in self.description.tree.links.items():
            rotation, angular = self.rotation[link], self.angular[link]
            arm = rotation @ body.center_of_mass
            speed = self.velocity[link] + np.cross(angular, arm)
            spin = np.einsum('nji,nj->ni', rotation, angular)
            total += 0.5 * body.mass * np.einsum('ni,ni->n', speed, speed)
            total += 0.5 * np.einsum('ni,ij,nj->n', spin, body.about_center, spin)
            total -= body.mass * (self.origin[link] + arm) @ gravity
        return total
