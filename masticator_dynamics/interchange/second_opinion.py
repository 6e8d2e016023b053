# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism judged by Pinocchio: its own reading of the URDF, and its algorithms for trees.

Positions are the engine's; Pinocchio's frames say whether they close the loops, its Jacobians what
the tangent is, and its inverse dynamics what efforts are needed. Closures are stated once more, as
relative twists of two frames (``description/closures.py``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.closures import coupling_gap
from masticator_dynamics.description.data import Closure, Contact
from masticator_dynamics.description.urdf_text import plain_urdf, urdf_parts
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import contact_surface
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.optional import needed

_STEP = 1e-5  # s, of the difference that gives accelerations of constraints
_RANK = 1e-10


class Disagreement(NamedTuple):
    """What Pinocchio finds at one state; all zero where both agree."""

    gap: float  # largest of closures and contacts, m or rad
    velocity: float  # largest with which they open, relative to the largest of a joint
    acceleration: float  # largest with which they open, relative to the largest of a joint
    effort: float  # largest difference of efforts of least norm, relative to the largest effort


class SecondOpinion:
    """Pinocchio's model of a description, read from its URDF.

    Parameters
    ----------
    tree_joints : sequence of str
        Order of tree vectors.
    """

    def __init__(self, description: MechanismDescription, tree_joints: tuple[str, ...]):
        self._pin = pin = needed('pinocchio')
        self._description = description
        self._model = pin.buildModelFromXML(plain_urdf(description.urdf_xml, description.tree))
        self._model.gravity = pin.Motion(np.array(description.gravity, dtype=float), np.zeros(3))
        self._data = self._model.createData()
        joints = {joint.name: joint for joint in description.tree.joints}
        self._parts = [
            (k, self._model.joints[self._model.getJointId(part)], factor)
            for k, name in enumerate(tree_joints)
            for part, factor in urdf_parts(joints[name]).items()
        ]
        self._rates = np.zeros((self._model.nv, len(tree_joints)))  # Pinocchio's per ours
        for k, part, factor in self._parts:
            self._rates[part.idx_v, k] = factor
        self._independent = [tree_joints.index(name) for name in description.independent]
        self._inertia = np.array([description.joint_inertia(name) for name in tree_joints])
        physics = [description.joints.get(name) for name in tree_joints]
        self._stiffness = np.array([p.stiffness if p else 0.0 for p in physics])
        self._slack = np.array([p.reference if p else 0.0 for p in physics])
        self._names = tree_joints

    def of(self, effort: Effort, driving: tuple[str, ...]) -> Disagreement:
        """Judge efforts of least norm without friction."""
        q, v, a = effort.q, effort.v, effort.a
        gaps, rows = self._constraints(q)
        later, earlier = (
            self._constraints(q + s * v + 0.5 * s * s * a)[1] @ (v + s * a) for s in (_STEP, -_STEP)
        )
        opening = (later - earlier) / (2.0 * _STEP)
        expected = self._efforts(effort, self._tangent(rows), driving)
        ours = effort.actuated
        scale = max(np.abs(expected).max(initial=0.0), 1e-9)
        return Disagreement(
            float(np.abs(gaps).max(initial=0.0)),
            float(np.abs(rows @ v).max(initial=0.0) / max(np.abs(v).max(), 1e-9)),
            float(np.abs(opening).max(initial=0.0) / max(np.abs(a).max(), 1e-9)),
            float(np.abs(expected - ours).max(initial=0.0) / scale),
        )

    def _tangent(self, rows: FloatArray) -> FloatArray:
        """Tree velocities per independent velocity (n_q, n_y), from the constraints' rows."""
        chosen = np.eye(len(self._names))[self._independent]
        right = np.vstack([np.zeros((len(rows), len(chosen))), np.eye(len(chosen))])
        return np.asarray(np.linalg.lstsq(np.vstack([rows, chosen]), right, rcond=_RANK)[0])

    def _efforts(self, effort: Effort, tangent: FloatArray, driving: tuple[str, ...]) -> FloatArray:
        pin, q = self._pin, effort.q
        v, a = self._rates @ effort.v, self._rates @ effort.a
        needed_by_tree = pin.rnea(self._model, self._data, self._configuration(q), v, a)
        load = self._rates.T @ needed_by_tree + self._inertia * effort.a
        load = load + self._stiffness * (q - self._slack)
        self._place(q)
        load = load - self._jacobian(self._description.platform).T @ effort.wrench
        actuators = self._description.actuators
        ratios = [actuators[n].ratio * (n in driving) for n in self._description.actuated]
        motors = [self._names.index(name) for name in self._description.actuated]
        rates = np.array(ratios)[:, None] * tangent[motors]
        return np.asarray(np.linalg.pinv(rates.T, rcond=_RANK) @ (tangent.T @ load))

    # Constraints

    def _constraints(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gaps of closures and contacts, m or rad, and their rates per tree velocity."""
        self._place(q)
        constraints = [self._closure(closure, q) for closure in self._description.closures]
        constraints += [self._contact(contact) for contact in self._description.contacts]
        gaps, rows = zip(*constraints, strict=True) if constraints else ((), ())
        none = np.zeros(0), np.zeros((0, len(q)))
        return np.concatenate([none[0], *gaps]), np.vstack([none[1], *rows])

    def _closure(self, closure: Closure, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not closure.frames:
            return coupling_gap(closure, list(self._names), q)
        arm, turned, moving, turning = self._between(*closure.frames)
        values, by_linear, by_angular = closure.kind.gaps(closure, arm, turned)
        return values, by_linear @ moving + by_angular @ turning

    def _contact(self, contact: Contact) -> tuple[FloatArray, FloatArray]:
        carrier = contact.carrier or self._description.base
        arm, _, moving, _ = self._between(carrier, contact.frame)
        if contact.height is None:
            normal = np.array(contact.normal, dtype=float)
            return np.array([normal @ arm + contact.offset]), (normal @ moving)[None]
        height, x, y, *_ = contact_surface(contact.height).height(arm[0], arm[1])
        return np.array([arm[2] - height]), (np.array([-x, -y, 1.0]) @ moving)[None]

    def _between(self, a: str, b: str) -> tuple[FloatArray, ...]:
        """Origin and axes of frame b in a, and its relative twist (3, n_q) each, axes of a."""
        first, second = (self._data.oMf[self._frame(link)] for link in (a, b))
        axes = first.rotation.T
        arm = second.translation - first.translation
        on_a, on_b = self._jacobian(a), self._jacobian(b)
        moving = on_b[:3] - on_a[:3] + self._pin.skew(arm) @ on_a[3:]
        turning = on_b[3:] - on_a[3:]
        return axes @ arm, axes @ second.rotation, axes @ moving, axes @ turning

    # Pinocchio's tree

    def _place(self, q: FloatArray) -> None:
        self._pin.computeJointJacobians(self._model, self._data, self._configuration(q))
        self._pin.updateFramePlacements(self._model, self._data)

    def _configuration(self, q: FloatArray) -> FloatArray:
        """Pinocchio's positions: of joints without ends they are cosine and sine."""
        configuration = np.zeros(self._model.nq)
        for k, joint, factor in self._parts:
            x = factor * q[k]
            numbers = (x,) if joint.nq == 1 else (np.cos(x), np.sin(x))
            configuration[joint.idx_q : joint.idx_q + joint.nq] = numbers
        return configuration

    def _frame(self, link: str) -> Any:
        return self._model.getFrameId(link, self._pin.FrameType.BODY)

    def _jacobian(self, link: str) -> FloatArray:
        axes = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        jacobian = self._pin.getFrameJacobian(self._model, self._data, self._frame(link), axes)
        # Of one joint, Pinocchio's is a vector.
        return np.asarray(np.reshape(jacobian, (6, -1)) @ self._rates)
