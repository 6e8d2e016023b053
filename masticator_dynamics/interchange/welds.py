# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rejoins rods that were cut in the middle and welded, and cuts them at one of their joints.

A loop drawn with a weld in mid-rod has a ball joint or a hinge at each end of the rod. Cutting it
at the ball joint instead states the same in three equations rather than six.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description.urdf import MOVING_TYPES, Joint
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.interchange.robot_model import Frame, Loop, RobotModel

_CONCURRENT = 1e-6  # m between the axes of a ball joint
_LIGHT = 1e-8  # kg; placeholders have at most this mass


def join_rods(model: RobotModel) -> None:
    """Move the cut of every weld to a ball joint at one end of the rod, else to a hinge."""
    for loop in list(model.loops):
        if loop.type != 'weld':
            continue
        sides = [(loop.second, loop.first), (loop.first, loop.second)]
        joints = [_holding(model, loop, near) for near, _ in sides]
        for wanted in ('point', 'hinge'):
            kinds = [_kind(model, chain) for chain in joints]
            if wanted in kinds:
                side = kinds.index(wanted)
                _move_cut(model, loop, *sides[side], joints[side], wanted)
                break


def _holding(model: RobotModel, loop: Loop, near: Frame) -> list[Joint]:
    """Joints that only guide a frame's body, the last first; none if it branches."""
    body = model.body(near.link)
    if any(joint.type in MOVING_TYPES for joint in model.below(body)):
        return []
    if any({end.link for end in (o.first, o.second)} & body for o in model.loops if o is not loop):
        return []
    chain: list[Joint] = []
    while True:
        above = [j for j in model.joints if j.child in body and j.parent not in body]
        if not above or above[0].type not in MOVING_TYPES or model.acts(above[0].name):
            return chain
        chain.append(above[0])
        body = model.body(above[0].parent)
        light = sum(model.links[link].mass for link in body) <= _LIGHT
        if model.root in body or not light or len(_moving_below(model, body)) != 1:
            return chain


def _moving_below(model: RobotModel, body: set[str]) -> list[Joint]:
    return [j for j in model.below(body) if j.child not in body and j.type in MOVING_TYPES]


def _kind(model: RobotModel, chain: list[Joint]) -> str:
    """Closure type that the joints carrying a body form together; empty if none."""
    turning = all(joint.type != 'prismatic' for joint in chain)
    if len(chain) == 1 and turning:
        return 'hinge'
    if len(chain) == 3 and turning:
        # Concurrent axes: the inner joints are at the origin of the link before them.
        if all(np.linalg.norm(joint.position) < _CONCURRENT for joint in chain[:-1]):
            axes = np.array([joint.rotation @ joint.axis for joint in chain])
            if abs(np.linalg.det(axes)) > 0.5 or not model.guess:
                return 'point'
    return ''


def _move_cut(
    model: RobotModel, loop: Loop, near: Frame, far: Frame, chain: list[Joint], kind: str
) -> None:
    """Attach the near body to the far one and cut at the joints that carried it."""
    outer, first = chain[-1], chain[0]
    carrier = next(
        link for link in model.body(near.link) if (above := model.above(link)) is first and above
    )
    for joint in chain:
        model.joints.remove(joint)
        model.guess.pop(joint.name, None)
        if joint is not first:
            del model.links[joint.child]
    position, rotation = model.in_carrier(near, carrier)
    place = far.after(-rotation.T @ position, rotation.T)
    model.joints.append(Joint(f'{loop.name}_weld', 'fixed', far.link, carrier, *place, np.zeros(3)))
    turned = rotation_to(outer.rotation @ outer.axis)
    held = Frame(outer.parent, outer.position, turned)
    inner = Frame(carrier, np.zeros(3), rotation_to(outer.axis))
    at = model.loops.index(loop)
    model.loops[at] = dataclasses.replace(loop, type=kind, first=held, second=inner)
