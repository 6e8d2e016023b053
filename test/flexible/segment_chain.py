# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finite segments of a description in Pinocchio, which computes mass, forces and loops."""

import numpy as np
import pinocchio as pin

from papers.comparison.finite_segments import Segments

_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
_JOINTS = {
    'prismatic': pin.JointModelPrismaticUnaligned,
    'revolute': pin.JointModelRevoluteUnaligned,
    'continuous': pin.JointModelRevoluteUnaligned,
}


class SegmentChain:
    """Tree of a segmented description in Pinocchio, loops closed by planar point closures."""

    def __init__(self, segments: Segments):
        description = segments.description
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(description.gravity), np.zeros(3))
        places = {description.base: (0, pin.SE3.Identity())}
        for joint in description.tree.joints:
            parent, placement = places[joint.parent]
            placement = placement * pin.SE3(joint.rotation, joint.position)
            if joint.type == 'fixed':
                places[joint.child] = (parent, placement)
            else:
                kind = _JOINTS[joint.type](joint.axis)
                index = self.model.addJoint(parent, kind, placement, joint.name)
                places[joint.child] = (index, pin.SE3.Identity())
            index, place = places[joint.child]
            self.model.addFrame(pin.Frame(joint.child, index, 0, place, pin.FrameType.OP_FRAME))
            link = description.tree.links[joint.child]
            if link.mass:
                body = pin.Inertia(link.mass, link.center_of_mass, link.about_center)
                self.model.appendBodyToJoint(index, body, place)
        self.data = self.model.createData()
        names = list(self.model.names)[1:]
        self.names = names
        self.stiffness = np.array([segments.springs.get(name, 0.0) for name in names])
        self.free = [names.index(name) for name in description.independent]
        self.dependent = [i for i in range(len(names)) if i not in self.free]
        self.pairs = [
            tuple(self.model.getFrameId(frame) for frame in closure.frames)
            for closure in description.closures
        ]
        home = dict(description.home)
        self.home = np.array([home.get(name, 0.0) for name in names])

    def loops(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps in x and y, their Jacobian, and their acceleration at constant rates."""
        pin.forwardKinematics(self.model, self.data, q, v, np.zeros(len(v)))
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        gaps, rows, drifts = [], [], []
        for a, b in self.pairs:
            gaps.append((self.data.oMf[b].translation - self.data.oMf[a].translation)[:2])
            one, two = (
                pin.getFrameJacobian(self.model, self.data, f, _ALIGNED)[:2] for f in (a, b)
            )
            rows.append(two - one)
            one, two = (
                pin.getFrameClassicalAcceleration(self.model, self.data, f, _ALIGNED).linear[:2]
                for f in (a, b)
            )
            drifts.append(two - one)
        return np.concatenate(gaps), np.vstack(rows), np.concatenate(drifts)

    def null_space(self, jacobian: np.ndarray) -> np.ndarray:
        null = np.zeros((len(self.names), len(self.free)))
        null[self.free] = np.eye(len(self.free))
        null[self.dependent] = -np.linalg.solve(jacobian[:, self.dependent], jacobian[:, self.free])
        return null

    def frequencies(self, held: tuple[str, ...] = ()) -> np.ndarray:
        """Frequencies at home with some joints held, Hz."""
        import scipy.linalg

        q, still = self.home, np.zeros(len(self.names))
        mass = np.triu(pin.crba(self.model, self.data, q))
        mass = mass + np.triu(mass, 1).T
        null = self.null_space(self.loops(q, still)[1])
        if held:
            null = null @ scipy.linalg.null_space(null[[self.names.index(name) for name in held]])
        squares = scipy.linalg.eigvalsh(
            null.T @ (self.stiffness[:, None] * null), null.T @ mass @ null
        )
        return np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)

    def acceleration(self, q: np.ndarray, v: np.ndarray, effort: np.ndarray) -> np.ndarray:
        """Accelerations of all joints; a little feedback keeps the loops closed."""
        mass = np.triu(pin.crba(self.model, self.data, q))
        mass = mass + np.triu(mass, 1).T
        right = effort - self.stiffness * q - pin.nonLinearEffects(self.model, self.data, q, v)
        gap, jacobian, drift = self.loops(q, v)
        settle = 500.0  # 1/s, slower than the vibrations
        target = -drift - 2.0 * settle * (jacobian @ v) - settle**2 * gap
        inverse = np.linalg.solve(mass, np.column_stack([jacobian.T, right]))
        reach, unbound = inverse[:, :-1], inverse[:, -1]
        force = np.linalg.solve(jacobian @ reach, target - jacobian @ unbound)
        return unbound + reach @ force
