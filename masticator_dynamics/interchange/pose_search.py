# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaps of the loops of an open tree and their rates, and a pose in which they are closed."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description.closures import coupling_gap
from masticator_dynamics.description.urdf import Array
from masticator_dynamics.engine.descent import joined_joints
from masticator_dynamics.engine.tree import SpanningTree, TreePoses, spanning_tree
from masticator_dynamics.interchange.robot_model import Frame, JointCoupling, Loop, RobotModel

Joints = npt.NDArray[np.bool_]  # which joints (n,)
CLOSED = 1e-10  # m and rad
ROUNDING = 2e-5  # m and rad: what CAD drawings and their export leave open across a planar loop
STARTS = 16
_ITERATIONS = 120
_TRIED = 4  # starts, before a closed pose that is far away or outside a range is accepted
_FAR = 0.5 * np.pi  # rad; a joint that turns by more may have folded its loop over
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
        self.slides = np.array([joint.slides for joint in self.tree.joints])
        self.turns = np.array([joint.turns for joint in self.tree.joints])

    def guess(self) -> Array:
        """Where the search starts: (joints,), rad or m; mid-range for ranges that exclude 0."""
        return self.tree.start(self.model.guess)

    def gaps(self, q: Array) -> Gaps:
        """Gaps of all loops and couplings."""
        poses = self.tree.poses(q)
        parts = [self._loop(poses, loop) for loop in self.model.loops]
        parts += [self._coupling(q, coupling) for coupling in self.model.couplings]
        if not parts:
            return Gaps(np.zeros(0), np.zeros((0, len(q))))
        return Gaps(np.hstack([p.values for p in parts]), np.vstack([p.rates for p in parts]))

    def ties(self) -> list[tuple[Loop | JointCoupling, set[int]]]:
        """All loops and couplings, each with the joints that change its gap."""
        supports = self.tree.supports
        looped = [
            (loop, set.symmetric_difference(*(
                supports(self.tree.frames[end.link].body) for end in (loop.first, loop.second)
            )))
            for loop in self.model.loops
        ]  # fmt: skip
        coupled = [
            (coupling, {self.names.index(name) for name in (coupling.joint, *coupling.of)})
            for coupling in self.model.couplings
        ]
        return [*looped, *coupled]

    def tied(self) -> Joints:
        """Which joints (n,) are part of a loop or coupling; all others change no gap."""
        joints = set[int]().union(*(joints for _, joints in self.ties()))
        return np.isin(np.arange(len(self.names)), list(joints))

    def gap(self, q: Array, tie: Loop | JointCoupling) -> float:
        """Largest gap of a loop or coupling, m or rad."""
        if isinstance(tie, JointCoupling):
            return float(np.abs(self._coupling(q, tie).values).max())
        return float(np.abs(self._loop(self.tree.poses(q), tie).values).max())

    def gap_text(self, q: Array, tie: Loop | JointCoupling) -> str:
        """Largest gap of a loop or coupling, with its unit."""
        if isinstance(tie, JointCoupling):
            return f'{self.gap(q, tie):.3g} {self.tree.joints[self.names.index(tie.joint)].unit}'
        values = np.abs(self._loop(self.tree.poses(q), tie).values)
        return f'{values.max():.3g} {"m" if values.argmax() < tie.kind.joined else "rad"}'

    def twist_rates(self, q: Array, link: str) -> Array:
        """Twist (6, joints) of a link's origin per joint velocity: linear over angular."""
        poses, frame = self.tree.poses(q), self.tree.frames[link]
        point = poses.point(frame.body, frame.position)
        return poses.twists(frame.body, point)

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
        body_a, point_a, axes = self.place(poses, loop.first)
        body_b, point_b, axes_b = self.place(poses, loop.second)
        arm = point_b - point_a
        twists_a = poses.twists(body_a, point_a)
        linear, angular = np.split(poses.twists(body_b, point_b) - twists_a, 2)
        if loop.kind.oriented:  # gaps are measured in the axes of the first frame
            linear += np.cross(arm, twists_a[3:], axisb=0, axisc=0)
        else:
            axes = np.eye(3)
        gaps = loop.kind.gaps(loop, axes.T @ arm, axes.T @ axes_b)
        rates = gaps.by_linear @ axes.T @ linear + gaps.by_angular @ axes.T @ angular
        # What carries both ends turns the gap and does not close it.
        rates[:, list(self.tree.supports(body_a) & self.tree.supports(body_b))] = 0.0
        return Gaps(gaps.values, rates)

    def _coupling(self, q: Array, coupling: JointCoupling) -> Gaps:
        return Gaps(*coupling_gap(coupling, self.names, q))


def close(kinematics: LoopKinematics, start: Array) -> tuple[Array, float]:
    """Closed pose nearest to a start, or the least open one; and its largest gap, m or rad.

    Levenberg-Marquardt; near a solution its steps are Newton steps of least norm.
    """
    q, damping = start.copy(), 1e-2
    gaps = kinematics.gaps(q)
    for _ in range(_ITERATIONS):
        if not gaps.values.size or np.abs(gaps.values).max() < CLOSED:
            break
        rates = gaps.rates
        normal = rates @ rates.T
        weight = damping * max(float(np.trace(normal)) / len(normal), 1e-12)
        step = rates.T @ np.linalg.solve(normal + weight * np.eye(len(normal)), gaps.values)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        tried = kinematics.gaps(q - step)
        before, after = gaps.values @ gaps.values, tried.values @ tried.values
        if after < before:
            q, gaps, damping = q - step, tried, max(damping * 0.1, 1e-14)
            # What rounded data leave open: Newton's steps would be quick where they lead anywhere.
            stuck = np.abs(gaps.values).max() <= ROUNDING and after > 0.9 * before
            if stuck or np.abs(step).max(initial=0.0) < 1e-14:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 10.0
    return q, float(np.abs(gaps.values).max(initial=0.0))


def closed_pose(kinematics: LoopKinematics) -> tuple[Array, float]:
    """A closed pose (joints,) that the guess leads to, or random starts around it; and its gap.

    Poses within the joints' ranges are preferred, and among them near ones. If none closes: the
    least open one. Joints move only where a loop is open, or one of its joints out of its range.
    """
    rng = np.random.default_rng(1)
    start = kinematics.guess()
    searched = _searched(kinematics, start)
    best, least, merit = start, np.inf, (True, len(start) + 1, np.inf)
    for attempt in range(STARTS):
        spread = 0.0 if attempt == 0 else 1.5 * attempt / STARTS + 0.2
        noise = rng.uniform(-spread, spread, len(start)) * searched
        q, gap = close(kinematics, start + np.where(kinematics.slides, 0.1 * noise, noise))
        q, gap, outside = _into_ranges(kinematics, q, gap, searched)
        is_open, far = gap > ROUNDING, float(np.abs(q - start)[~kinematics.slides].max(initial=0.0))
        order = is_open, len(outside), gap if is_open else far
        if order < merit:
            best, least, merit = q, gap, order
        if not merit[0] and (attempt >= _TRIED or (merit[1] == 0 and merit[2] < _FAR)):
            break
    return best, least


def _searched(kinematics: LoopKinematics, q: Array) -> Joints:
    """Joints (n,) of loops that are open or out of range, and of loops that share joints."""
    outside = (q < kinematics.lower) | (q > kinematics.upper)
    return joined_joints(
        len(q),
        (joints for _, joints in kinematics.ties()),
        (
            kinematics.gap(q, tie) > CLOSED or bool(outside[list(joints)].any())
            for tie, joints in kinematics.ties()
        ),
    )


def _into_ranges(
    kinematics: LoopKinematics, q: Array, gap: float, searched: Joints
) -> tuple[Array, float, frozenset[int]]:
    """A closed pose with fewer joints outside of their ranges than one, if that is near enough.

    Returns the pose with its gap, and the joints outside; where that leads nowhere, the pose as it
    was: what comes as near to an end as it can is stretched.
    """
    room = np.nan_to_num(_ROOM * (kinematics.upper - kinematics.lower), posinf=0.0)
    low, high = kinematics.lower + room, kinematics.upper - room
    q = np.where(kinematics.turns & searched, wrapped(q, kinematics), q)
    best = (q, gap, _outside(kinematics, q, searched))
    for _ in range(_RETURNS):
        if not best[2] or gap > ROUNDING:
            break
        q, gap = close(kinematics, np.where(searched, np.clip(q, low, high), q))
        if gap <= ROUNDING and (outside := _outside(kinematics, q, searched)) < best[2]:
            best = (q, gap, outside)
    return best


def _outside(kinematics: LoopKinematics, q: Array, searched: Joints) -> frozenset[int]:
    far = (q < kinematics.lower) | (q > kinematics.upper)
    return frozenset(np.flatnonzero(far & searched).tolist())


def wrapped(q: Array, kinematics: LoopKinematics) -> Array:
    """Angles wrapped to be nearest to 0, or into their ranges where a whole turn does that."""
    near = (q + np.pi) % (2.0 * np.pi) - np.pi
    for turns in (-1.0, 1.0):
        other = near + turns * 2.0 * np.pi
        inside = (kinematics.lower <= other) & (other <= kinematics.upper)
        outside = (near < kinematics.lower) | (near > kinematics.upper)
        near = np.where(outside & inside, other, near)
    return near
