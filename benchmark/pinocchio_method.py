# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same job with Pinocchio from Python: tree algorithms there, loops closed here with numpy.

Written to be fast, unlike the tests' oracle: undamped Newton iteration on the dependent joints,
starting from home as the engine does, so that no result depends on the previous call; all Jacobians
from one pass over the tree; live views of frame positions; one factorisation for tangent and
accelerations. It gives torques only: no branch check, no contact forces, no refusals.
"""

from __future__ import annotations

import pathlib

import numpy as np
import pinocchio as pin
import xacro
import yaml

from benchmark.states import Array

_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
_CLOSED = 1e-12  # m
_ITERATIONS = 20


class PinocchioMethod:
    """A mechanism's minimum-norm torques, from its description file.

    Parameters
    ----------
    path : pathlib.Path
        Description YAML; Pinocchio must store each of its joints as one number.
    """

    def __init__(self, path: pathlib.Path):
        description = yaml.safe_load(path.read_text(encoding='utf-8'))
        arguments = description.get('xacro_arguments') or {}
        urdf = xacro.process_file(str(path.parent / description['urdf']), mappings=arguments)
        self.model = pin.buildModelFromXML(urdf.toxml())
        self.model.gravity = pin.Motion(np.array(description['gravity']), np.zeros(3))
        self.data = self.model.createData()
        names = list(self.model.names)[1:]
        self.independent = [names.index(name) for name in description['independent']]
        self.dependent = [i for i in range(len(names)) if i not in self.independent]
        self.actuated = [names.index(name) for name in description['actuated']]
        home = description.get('home') or {}
        self.home = np.array([home.get(name, 0.0) for name in names])
        self.rotor_inertia = np.zeros(len(names))
        for name, actuator in (description.get('actuators') or {}).items():
            self.rotor_inertia[names.index(name)] = actuator.get('rotor_inertia', 0.0)
        self.platform = self._frame(description['platform'])
        self._constrain(description.get('closures') or [], description.get('contacts') or [])
        self._rest = np.zeros(len(names))

    def _frame(self, link: str) -> int:
        return int(self.model.getFrameId(link, pin.FrameType.BODY))

    def _constrain(self, closures: list[dict], contacts: list[dict]) -> None:
        """Allocate the constraints' gap and Jacobian, and make views of their frames."""
        rows = 3 * len(closures) + len(contacts)
        self.gap, self.drift = np.zeros(rows), np.zeros(rows)
        self.jacobian = np.zeros((rows, self.model.nv))
        self.closures = []
        for i, closure in enumerate(closures):
            a, b = (self._frame(link) for link in closure['frames'])
            points = self.data.oMf[a].translation, self.data.oMf[b].translation
            self.closures.append((slice(3 * i, 3 * i + 3), a, b, *points))
        self.contacts = []
        for row, contact in enumerate(contacts, 3 * len(closures)):
            frame = self._frame(contact['frame'])
            point = self.data.oMf[frame].translation
            normal = np.array(contact['normal'])
            self.contacts.append((row, frame, normal, contact['offset'], point))

    def _linearise(self, q: Array) -> None:
        """Compute gap and Jacobian of all constraints."""
        model, data, gap, jacobian = self.model, self.data, self.gap, self.jacobian
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        for rows, a, b, point_a, point_b in self.closures:
            np.subtract(point_a, point_b, out=gap[rows])
            rate_a = pin.getFrameJacobian(model, data, a, _ALIGNED)
            rate_b = pin.getFrameJacobian(model, data, b, _ALIGNED)
            np.subtract(rate_a[:3], rate_b[:3], out=jacobian[rows])
        for row, frame, normal, offset, point in self.contacts:
            gap[row] = normal @ point + offset
            jacobian[row] = normal @ pin.getFrameJacobian(model, data, frame, _ALIGNED)[:3]

    def _close(self, y: Array) -> Array:
        """Tree positions at ``y``; also leaves the gap and Jacobian there."""
        q = self.home.copy()
        q[self.independent] = y
        for _ in range(_ITERATIONS):
            self._linearise(q)
            if np.abs(self.gap).max() < _CLOSED:
                return q
            q[self.dependent] -= np.linalg.solve(self.jacobian[:, self.dependent], self.gap)
        raise ValueError('the loops do not close')

    def _curvature(self, q: Array, v: Array) -> Array:
        """Second derivative of the constraints at zero joint accelerations."""
        model, data, drift = self.model, self.data, self.drift
        pin.forwardKinematics(model, data, q, v, self._rest)
        for rows, a, b, *_ in self.closures:
            at_a = pin.getFrameClassicalAcceleration(model, data, a, _ALIGNED).linear
            at_b = pin.getFrameClassicalAcceleration(model, data, b, _ALIGNED).linear
            np.subtract(at_a, at_b, out=drift[rows])
        for row, frame, normal, *_ in self.contacts:
            acceleration = pin.getFrameClassicalAcceleration(model, data, frame, _ALIGNED)
            drift[row] = normal @ acceleration.linear
        return drift

    def torques(self, y: Array, y_dot: Array, y_ddot: Array, wrench: Array) -> Array:
        """Minimum-norm efforts (n_u,); arguments like those of ``Mechanism.feedforward``."""
        q = self._close(y)
        inverse = np.linalg.inv(self.jacobian[:, self.dependent])
        tangent = np.zeros((self.model.nv, len(y)))
        tangent[self.independent] = np.eye(len(y))
        tangent[self.dependent] = -inverse @ self.jacobian[:, self.independent]
        platform = pin.getFrameJacobian(self.model, self.data, self.platform, _ALIGNED)
        v = tangent @ y_dot
        a = tangent @ y_ddot
        a[self.dependent] -= inverse @ self._curvature(q, v)
        load = pin.rnea(self.model, self.data, q, v, a) + self.rotor_inertia * a
        load -= platform.T @ wrench
        return np.linalg.lstsq(tangent[self.actuated].T, tangent.T @ load, rcond=None)[0]
