# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which link of an imported robot is its platform: what the limbs carry, and a user would name."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.pose_search import LoopKinematics
from masticator_dynamics.interchange.robot_model import RobotModel

_STILL = 1e-6  # m/s or rad/s, for unit velocities of joints
_LIGHT = 1e-6  # kg; placeholders and frames have at most this mass
_TOOL = re.compile(
    r'(?:^|[^a-z])(?:foot|end_?effector|effector|eff|ee|tool\d?|tcp|platform|hand|pad|bucket|jaw)'
    r'(?:_part|_assembly|_link|[-_](?:left|right|l|r|\d))*$',
    re.IGNORECASE,
)


def likeliest_platform(kinematics: LoopKinematics, q: Array, motions: Array) -> str:
    """The link that looks most like a tool: by name, else what the most freedoms lead to.

    Freedoms are counted along the shortest way from the base: a hexapod's plate has six, its
    cylinders two. Rods between two balls and pairs of cylinder and piston, which have more, come
    last. Of links with as many, that which most joints and loops meet at; then one without a motor;
    then with a mass of its own; then the farthest from the base's joints.

    Parameters
    ----------
    kinematics : LoopKinematics
        Of the robot.
    q : (n_q,) array
        A closed pose, m and rad.
    motions : (n_q, f) array
        Basis of the joint velocities that keep the loops closed.

    Raises
    ------
    DescriptionError
        If nothing with mass moves.
    """
    model = kinematics.model
    graph = _Graph(model)
    base, carriers, depth = graph.base, graph.carriers, graph.freedoms_from_base()
    first = [body for body, edges in graph.edges.items() if any(e.other == base for e in edges)]
    middle = np.mean([kinematics.origin(q, link) for link in first or [base]], axis=0)
    motors = {model.joint(name).child for name in model.motors}

    def rank(link: str) -> tuple[bool, bool, int, int, bool, bool, float]:
        body = carriers[link]
        distance = float(np.linalg.norm(kinematics.origin(q, link) - middle))
        named = bool(_TOOL.search(link))
        return (
            named, not graph.is_strut(body), depth.get(body, 0), len(graph.edges[body]),
            body not in motors, named or model.links[link].mass > _LIGHT, distance,
        )  # fmt: skip

    heavy = [
        link
        for link in model.links
        if carriers[link] in graph.heavy - {base} and link not in model.added
    ]
    if not heavy:
        raise DescriptionError(model.file, 'joints', 'nothing with mass moves in it')
    moving = [
        k for k in heavy if np.abs(kinematics.twist_rates(q, k) @ motions).max(initial=0) > _STILL
    ]
    tip = max(moving or heavy, key=rank)
    model.notes.append(f'platform: {tip!r}, the likeliest tool; --platform names another')
    return tip


class _Edge(NamedTuple):
    """A joint or loop as one body sees it: the other body, and how it may move against that."""

    other: str
    freedoms: int
    slides: bool


class _Graph:
    """Rigid bodies of a model, by their first links, and what connects them."""

    def __init__(self, model: RobotModel):
        self.carriers = model.tree().carriers()
        self.base = self.carriers[model.root]
        masses = dict.fromkeys(self.carriers.values(), 0.0)
        for link, inertia in model.links.items():
            masses[self.carriers[link]] += inertia.mass
        self.heavy = {body for body, mass in masses.items() if mass > _LIGHT}
        self.edges: dict[str, list[_Edge]] = {body: [] for body in masses}
        for joint in model.joints:
            self._connect(joint.parent, joint.child, 1, joint.slides)
        for loop in model.loops:
            slides = loop.kind.oriented and loop.kind.joined < 3
            self._connect(loop.first.link, loop.second.link, loop.kind.freedoms, slides)

    def _connect(self, first: str, second: str, freedoms: int, slides: bool) -> None:
        """Add a connection; two points between the same bodies leave them one freedom."""
        carrier, other = self.carriers[first], self.carriers[second]
        if carrier == other:
            return
        for same in [edge for edge in self.edges[carrier] if edge.other == other]:
            freedoms, slides = max(1, freedoms + same.freedoms - 6), slides and same.slides
            self.edges[carrier].remove(same)
            self.edges[other].remove(same._replace(other=carrier))
        self.edges[carrier].append(_Edge(other, freedoms, slides))
        self.edges[other].append(_Edge(carrier, freedoms, slides))

    def freedoms_from_base(self) -> dict[str, int]:
        """Freedoms along the shortest way from the base, by body."""
        depth, reached = {self.base: 0}, [self.base]
        for body in reached:
            for edge in self.edges[body]:
                if depth[body] + edge.freedoms < depth.get(edge.other, len(self.carriers) * 6):
                    depth[edge.other] = depth[body] + edge.freedoms
                    reached.append(edge.other)
        return depth

    def is_strut(self, body: str) -> bool:
        """Whether a body is a rod between two balls or crosses, or one of cylinder and piston."""
        limbs = [self._limb(body, edge) for edge in self.edges[body]]
        if len(limbs) != 2:
            return False
        paired = any(limb.slides and len(self.edges[limb.other]) == 2 for limb in limbs
                     if limb.other != self.base)  # fmt: skip
        return paired or all(limb.freedoms > 1 for limb in limbs)

    def _limb(self, body: str, edge: _Edge) -> _Edge:
        """An edge on to the next body with mass, as one."""
        while edge.other not in {self.base, *self.heavy} and len(self.edges[edge.other]) == 2:
            middle = self.edges[edge.other]
            onwards = middle[1] if middle[0].other == body else middle[0]
            body, edge = edge.other, _Edge(
                onwards.other, edge.freedoms + onwards.freedoms, edge.slides and onwards.slides
            )  # fmt: skip
        return edge
