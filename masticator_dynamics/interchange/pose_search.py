# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaps of the loops of an open tree and their rates, and a pose in which they are closed."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.engine.tree import SpanningTree, TreePoses, spanning_tree
from masticator_dynamics.interchange.robot_model import Frame, JointCoupling, Loop, RobotModel

CLOSED = 1e-10  # m and rad
ROUNDING = 2e-5  # m and rad: what CAD drawings and their export leave open across a planar loop
STARTS = 16
_ITERATIONS = 120
_RANGES_TRIED = 4  # starts, before a pose outside a range is accepted
_RETURNS = 4  # from outside the ranges of the joints, for each start
_ROOM = 0.1  # of a range, that is left at each of its ends on the return


@dataclasses.dataclass(frozen=True)
class Gaps:
    """Gaps (rows,), m and rad, and their rates (rows, joints) per joint velocity."""

    values: Array
    rates: Array


class LoopKinematics:
    """Numerical kinematics of a model's tree."""

    def __init__(self, model: RobotModel):
        self.model = model
        self.tree: SpanningTree = spanning_tree(model.tree())
        self.names = [joint.name for joint in self.tree.joints]
        self.lower = np.array([joint.lower for joint in self.tree.joints])
        self.upper = np.array([joint.upper for joint in self.tree.joints])
        self.slides = np.array([joint.type == 'prismatic' for joint in self.tree.joints])

    def guess(self) -> Array:
        """Where the search starts: (joints,), rad or m; mid-range for ranges that exclude 0."""
        return self.tree.start(self.model.guess)

    def gaps(self, q: Array, loop: Loop | None = None) -> Gaps:
        """Gaps of all loops and couplings, or of one loop."""
        poses = self.tree.poses(q)
        loops = self.model.loops if loop is None else [loop]
        parts = [self._loop(poses, each) for each in loops]
        if loop is None:
            parts += [self._coupling(q, coupling) for coupling in self.model.couplings]
        if not parts:
            return Gaps(np.zeros(0), np.zeros((0, len(q))))
        return Gaps(np.hstack([p.values for p in parts]), np.vstack([p.rates for p in parts]))

    def twist_rates(self, q: Array, link: str) -> Array:
        """Twist (6, joints) of a link's origin per joint velocity: linear over angular."""
        poses, frame = self.tree.poses(q), self.tree.frames[link]
        point = poses.point(frame.body, frame.position)
        linear = poses.point_jacobian(frame.body, point)
        return np.vstack([linear, poses.angular_jacobian(frame.body)])

    def origin(self, q: Array, link: str) -> Array:
        """Origin (3,) of a link in the base, m."""
        frame = self.tree.frames[link]
        return self.tree.poses(q).point(frame.body, frame.position)

    def place(self, poses: TreePoses, frame: Frame) -> tuple[int, Array, Array]:
        """Body, point (3,) and axes (3, 3) of a frame in the base."""
        link = self.tree.frames[frame.link]
        point = poses.point(link.body, link.position + link.rotation @ frame.position)
        return link.body, point, poses.rotations[link.body] @ link.rotation @ frame.rotation

    def _loop(self, poses: TreePoses, loop: Loop) -> Gaps:
        body_a, point_a, axes_a = self.place(poses, loop.first)
        body_b, point_b, axes_b = self.place(poses, loop.second)
        linear = poses.point_jacobian(body_b, point_b) - poses.point_jacobian(body_a, point_a)
        if loop.type == 'point':
            return Gaps(point_b - point_a, linear)
        if loop.type == 'distance':
            length = float(np.linalg.norm(point_b - point_a))
            along = (point_b - point_a) / max(length, 1e-300)
            return Gaps(np.array([length - loop.length]), along[None] @ linear)
        angular = poses.angular_jacobian(body_b) - poses.angular_jacobian(body_a)
        # In the axes of the first frame, in which the gap itself is measured.
        arm = np.cross(point_b - point_a, poses.angular_jacobian(body_a), axisb=0, axisc=0)
        linear = axes_a.T @ (linear + arm)
        position = axes_a.T @ (point_b - point_a)
        turned = axes_a.T @ axes_b
        rotated = axes_a.T @ angular
        angle = Rotation.from_matrix(turned).as_rotvec()
        if loop.type in ('weld', 'slider'):
            keep = slice(3) if loop.type == 'weld' else slice(2)
            values, rates = np.hstack([position[keep], angle]), (linear[keep], rotated)
        elif loop.type == 'universal':
            # Z of the two frames are the axes of the cross.
            values = np.hstack([position, turned[2, 2]])
            rates = (linear, np.cross(turned[:, 2], [0.0, 0.0, 1.0])[None] @ rotated)
        else:
            # Offset of Z of the second frame from Z of the first, and its possible directions.
            keep = slice(3) if loop.type == 'hinge' else slice(2)
            sine = float(np.linalg.norm(turned[:2, 2]))
            tilt = turned[:2, 2] * (np.arctan2(sine, turned[2, 2]) / sine if sine > 1e-9 else 1.0)
            values = np.hstack([position[keep], tilt])
            rates = (linear[keep], np.cross(turned[:, 2], np.eye(3)[:2]) @ rotated)
        return Gaps(values, np.vstack(rates))

    def _coupling(self, q: Array, coupling: JointCoupling) -> Gaps:
        joint = self.names.index(coupling.joint)
        rates = np.zeros((1, len(q)))
        rates[0, joint] = 1.0
        gap = q[joint] - coupling.offset
        for name, powers in coupling.of.items():
            other, polynomial = self.names.index(name), np.polynomial.Polynomial((0.0, *powers))
            gap -= polynomial(q[other])
            rates[0, other] -= polynomial.deriv()(q[other])
        return Gaps(np.array([gap]), rates)


def close(kinematics: LoopKinematics, start: Array) -> tuple[Array, float]:
    """Closed pose nearest to a start, or the least open one; and its largest gap, m or rad.

    Levenberg-Marquardt; near a solution its steps are Newton steps of least norm.
    """
    q, damping = start.copy(), 1e-2
    gaps = kinematics.gaps(q)
    for _ in range(_ITERATIONS):
        if not gaps.values.size or np.abs(gaps.values).max() < CLOSED:
            break
        normal = gaps.rates @ gaps.rates.T
        weight = damping * max(float(np.trace(normal)) / len(normal), 1e-12)
        step = gaps.rates.T @ np.linalg.solve(normal + weight * np.eye(len(normal)), gaps.values)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        tried = kinematics.gaps(q - step)
        before, after = gaps.values @ gaps.values, tried.values @ tried.values
        if after < before:
            q, gaps, damping = q - step, tried, max(damping * 0.1, 1e-14)
            # What rounded data leave open: Newton's steps would be quick where they lead anywhere.
            left = np.abs(gaps.values).max() <= ROUNDING and after > 0.9 * before
            if left or np.abs(step).max(initial=0.0) < 1e-14:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 10.0
    return q, float(np.abs(gaps.values).max(initial=0.0))


def closed_pose(kinematics: LoopKinematics) -> tuple[Array, float]:
    """A closed pose (joints,), the first found from the guess and then from random starts.

    Poses within the joints' ranges are preferred. If none closes: the least open one.
    """
    rng = np.random.default_rng(1)
    start = kinematics.guess()
    best, least, worst = start, np.inf, np.inf
    for attempt in range(STARTS):
        spread = 0.0 if attempt == 0 else 1.5 * attempt / STARTS + 0.2
        noise = rng.uniform(-spread, spread, len(start))
        q, gap = close(kinematics, start + np.where(kinematics.slides, 0.1 * noise, noise))
        q, gap, outside = _into_ranges(kinematics, q, gap)
        if gap <= ROUNDING and (outside == 0.0 or attempt >= _RANGES_TRIED):
            return (q, gap) if outside <= worst else (best, least)
        if (gap > ROUNDING, outside, gap) < (least > ROUNDING, worst, least):
            best, least, worst = q, gap, outside
    return best, least


def _into_ranges(kinematics: LoopKinematics, q: Array, gap: float) -> tuple[Array, float, float]:
    """A closed pose within the joints' ranges from one outside of them, if that is near enough.

    Returns the pose with its gap, and by how much it is outside, m or rad; where that leads
    nowhere, the pose as it was.
    """
    room = np.nan_to_num(_ROOM * (kinematics.upper - kinematics.lower), posinf=0.0)
    low, high = kinematics.lower + room, kinematics.upper - room
    q = np.where(kinematics.slides, q, wrapped(q, kinematics))
    best = (q, gap, _outside(kinematics, q))
    for _ in range(_RETURNS):
        if best[2] == 0.0 or gap > ROUNDING:
            break
        q, gap = close(kinematics, np.clip(q, low, high))
        if gap <= ROUNDING and _outside(kinematics, q) < best[2]:
            best = (q, gap, _outside(kinematics, q))
    return best


def _outside(kinematics: LoopKinematics, q: Array) -> float:
    return float(np.maximum(kinematics.lower - q, q - kinematics.upper).max(initial=0.0))


def wrapped(q: Array, kinematics: LoopKinematics) -> Array:
    """Angles wrapped to be nearest to 0, or into their ranges where a whole turn does that."""
    near = (q + np.pi) % (2.0 * np.pi) - np.pi
    for turns in (-1.0, 1.0):
        other = near + turns * 2.0 * np.pi
        inside = (kinematics.lower <= other) & (other <= kinematics.upper)
        outside = (near < kinematics.lower) | (near > kinematics.upper)
        near = np.where(outside & inside, other, near)
    return near
