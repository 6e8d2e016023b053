# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Floating bodies that loops tie: hung in the tree by the joint that a loop is, or by six joints.

A weld makes one body of two; two points that two bodies share are a hinge; a point is a ball, which
is enough for a rod. What three or more bodies hold, like the plate of a hexapod, gets three slides
and three turning joints of its own. Only what nothing ties is fixed.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.closures import HINGE, POINT, WELD, ClosureKind
from masticator_dynamics.description.joints import PRISMATIC
from masticator_dynamics.description.urdf import Array, Joint
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.interchange.pose_search import LoopKinematics
from masticator_dynamics.interchange.robot_model import Frame, Loop, RobotModel, turning_joints

_SAME = 1e-5  # m between points that coincide, or by which distances differ
_MOST_OF_A_ROD = 2  # bodies that hold a rod; more hold a platform


class _Tie(NamedTuple):
    """A loop between a floating body and something else."""

    loop: Loop
    near: Frame  # on the floating body, or on what it carries
    far: Frame


@dataclasses.dataclass(frozen=True)
class _Hanging:
    """How a floating body is to hang in the tree, instead of some loops."""

    floating: str
    kind: ClosureKind | None  # the joint that holds it; None: six that leave it free
    near: Frame
    far: Frame
    replaced: tuple[Loop, ...] = ()
    other: Frame | None = None  # the other end of a rod


def hang_free_bodies(model: RobotModel) -> None:
    """Replace all floating joints of a model, and the loops that become joints."""
    while model.floating:
        bodies = _FreeBodies(model)
        hanging = bodies.next()
        if hanging is None:
            bodies.fix(bodies.largest())
        else:
            bodies.hang(hanging)


def put_home_at_zero(model: RobotModel, positions: dict[str, float]) -> None:
    """Turn the zero of balls and six joints into the closed pose: far from where they lock."""
    for names in model.balls:
        if all(map(model.has_moving, names)):
            turned = np.eye(3)
            for name in names:
                along = positions[name] * model.joint(name).axis
                turned = turned @ Rotation.from_rotvec(along).as_matrix()
                positions[name] = 0.0
            model.change(names[0], rotation=model.joint(names[0]).rotation @ turned)


class _FreeBodies:
    """The floating bodies of a model as it is now, and what ties them."""

    def __init__(self, model: RobotModel):
        self.model, self.carriers = model, model.tree().carriers()
        self.kinematics = LoopKinematics(model)
        self.poses = self.kinematics.tree.poses(self.kinematics.guess())
        self.heads = {name: model.joint(name).child for name in model.floating}
        self.owner = model.owners()

    def place(self, frame: Frame) -> tuple[Array, Array]:
        """Point (3,) and axes (3, 3) of a frame in the base where the search starts."""
        return self.kinematics.place(self.poses, frame)[1:]

    def largest(self) -> str:
        """The floating body that carries most joints, or is heaviest: the base of a robot."""

        def size(name: str) -> tuple[int, float]:
            links = [link for link, owner in self.owner.items() if owner == name]
            return len(self.model.below(links)), sum(self.model.links[k].mass for k in links)

        return max(self.model.floating, key=size)

    # How a body hangs

    def next(self) -> _Hanging | None:
        """The body to be hung next, and how; None if no loop ties one to what does not float."""
        candidates = [hanging for name in self.model.floating if (hanging := self._hanging(name))]
        return min(candidates, key=self._order, default=None)

    def _order(self, hanging: _Hanging) -> tuple[int, int]:
        """What comes first: the firmer joint, and then the one closer to the base."""
        body = self.kinematics.tree.frames[hanging.far.link].body
        depth = len(self.kinematics.tree.supports(body)) if body >= 0 else 0
        return hanging.kind.freedoms if hanging.kind else 6, depth

    def _hanging(self, name: str) -> _Hanging | None:
        ties = self._ties(name)
        if all(self.owner[tie.far.link] for tie in ties):
            return None
        root, head = Frame.of(self.model.root), Frame.of(self.heads[name])
        six = _Hanging(name, None, head, root)
        by_body: dict[str, list[_Tie]] = {}
        for tie in ties:
            if self.carriers[tie.near.link] == head.link:
                by_body.setdefault(self.carriers[tie.far.link], []).append(tie)
        joints = [
            joint
            for tied in by_body.values()
            if not self.owner[tied[0].far.link] and (joint := self._joint(name, tied))
        ]
        best = min(joints, key=self._order, default=six)
        if best.kind is not POINT:
            return best
        taken = self.carriers[best.far.link]
        ends = [tied[0].near for body, tied in by_body.items() if body != taken]
        if len(ends) >= _MOST_OF_A_ROD:
            return six
        return dataclasses.replace(best, other=ends[0]) if ends else best

    def _ties(self, name: str) -> list[_Tie]:
        """Loops between a floating body, with all that it carries, and others."""
        ties = []
        for loop in self.model.loops:
            for near, far in ((loop.first, loop.second), (loop.second, loop.first)):
                if self.owner[near.link] == name != self.owner[far.link]:
                    ties.append(_Tie(loop, near, far))
        return ties

    def _joint(self, name: str, ties: list[_Tie]) -> _Hanging | None:
        """The joint that loops between the same two bodies form; None if it is no simple one."""
        for loop, near, far in ties:
            if loop.kind in (WELD, HINGE):
                return _Hanging(name, loop.kind, near, far, (loop,))
        points = [tie for tie in ties if tie.loop.kind is POINT]
        if not points:
            return None
        spans = [self._spans([getattr(tie, side) for tie in points]) for side in ('near', 'far')]
        rank = min(int((np.linalg.svd(span, compute_uv=False) > _SAME).sum()) for span in spans)
        axes = [np.eye(3), np.eye(3)]
        if rank == 1:
            last = int(np.argmax(np.linalg.norm(spans[0], axis=1)))
            axes = [rotation_to(s[last] / max(np.linalg.norm(s[last]), _SAME)) for s in spans]
        elif rank > 1:
            axes[0] = Rotation.align_vectors(*spans)[0].as_matrix()
        if np.abs(spans[0] @ axes[0] - spans[1] @ axes[1]).max() > _SAME:
            return _Hanging(name, POINT, points[0].near, points[0].far, (points[0].loop,))
        near, far = self._turned(points[0].near, axes[0]), self._turned(points[0].far, axes[1])
        kind = (POINT, HINGE, WELD)[min(rank, 2)]
        return _Hanging(name, kind, near, far, tuple(tie.loop for tie in points))

    def _spans(self, ends: list[Frame]) -> Array:
        """Positions (n, 3) of some points from the first, m."""
        points = np.array([self.place(end)[0] for end in ends])
        return np.asarray(points - points[0])

    def _turned(self, frame: Frame, axes: Array) -> Frame:
        """A frame with the given axes (3, 3) in the base."""
        of_link = self.place(Frame.of(frame.link))[1]
        return dataclasses.replace(frame, rotation=of_link.T @ axes)

    # Changes of the model

    def fix(self, name: str) -> None:
        """Fix a body that nothing ties."""
        position, rotation = self.place(Frame.of(self.heads[name]))
        self.model.change(
            name, type='fixed', parent=self.model.root, position=position, rotation=rotation
        )
        floats = self.model.floating.pop(name)
        self.model.warn(f'{floats} floats: it is fixed where the file puts it')

    def hang(self, hanging: _Hanging) -> None:
        """Hang a body in the tree."""
        model, name = self.model, hanging.floating
        floats = model.floating.pop(name)
        model.joints.remove(model.joint(name))
        model.loops = [
            loop for loop in model.loops if not any(loop is gone for gone in hanging.replaced)
        ]
        ways = {WELD: self._fixed, HINGE: self._hinge, POINT: self._ball, None: self._six}
        how = ways[hanging.kind](hanging, self.heads[name])
        loops = ', '.join(loop.name for loop in hanging.replaced)
        model.notes.append(f'{floats} floats: {how}{f" instead of {loops}" if loops else ""}')

    def _fixed(self, hanging: _Hanging, head: str) -> str:
        arm, turned = self.model.in_carrier(hanging.near, head)
        place = hanging.far.after(-turned.T @ arm, turned.T)
        self._fix_in(hanging.far.link, head, *place)
        return f'it is one body with {hanging.far.link}'

    def _hinge(self, hanging: _Hanging, head: str) -> str:
        near, far = hanging.near, hanging.far
        off = self.place(far)[1].T @ self.place(near)[1]
        angle = np.arctan2(off[1, 0] - off[0, 1], off[0, 0] + off[1, 1])
        rotation = far.rotation @ Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix()
        inner = self.model.add_link(f'{head}_link')
        name, axis = self.model.free_joint_name(f'{head}_turn'), np.array([0.0, 0.0, 1.0])
        self.model.joints.append(
            Joint(name, 'continuous', far.link, inner, far.position, rotation, axis)
        )
        arm, turned = self.model.in_carrier(near, head)
        self._fix_in(inner, head, -turned.T @ arm, turned.T)
        return f'it turns on {far.link}'

    def _ball(self, hanging: _Hanging, head: str) -> str:
        """Last comes the turn about the line to the other end of a rod, which may spin idly."""
        model, far = self.model, hanging.far
        arm, _ = model.in_carrier(hanging.near, head)
        axes = np.eye(3)
        if hanging.other is not None:
            line = model.in_carrier(hanging.other, head)[0] - arm
            if np.linalg.norm(line) > _SAME:
                axes = rotation_to(line / np.linalg.norm(line)).T
        inner = model.add_link(f'{head}_link')
        rotation = self.place(Frame.of(far.link))[1].T @ self.place(Frame.of(head))[1]
        names = turning_joints(model, f'{head}_turn', far.link, inner, far.position, rotation, axes)
        model.balls.append(names)
        self._fix_in(inner, head, -arm, np.eye(3))
        return f'it turns in a ball on {far.link}'

    def _six(self, hanging: _Hanging, head: str) -> str:
        """Slides and turns along axes of the base; turns count from where the body is."""
        model, (position, rotation) = self.model, self.place(hanging.near)
        inner = model.add_link(f'{head}_link')
        slides = turning_joints(
            model, head, model.root, inner, np.zeros(3), np.eye(3), np.eye(3), PRISMATIC.name
        )
        model.guess |= dict(zip(slides, position.tolist(), strict=True))
        turns = turning_joints(model, f'{head}_turn', inner, head, np.zeros(3), rotation, rotation)
        model.balls.append(turns)
        return f'it moves by six joints, {", ".join((*slides, *turns))}'

    def _fix_in(self, parent: str, child: str, position: Array, rotation: Array) -> None:
        name = self.model.free_joint_name(f'{child}_fixed')
        self.model.joints.append(
            Joint(name, 'fixed', parent, child, position, rotation, np.zeros(3))
        )
