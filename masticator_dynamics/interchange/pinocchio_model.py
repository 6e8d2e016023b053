# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism's tree and loops as objects of Pinocchio."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.description.data import Closure
from masticator_dynamics.engine.tree import Placement
from masticator_dynamics.evaluation.model import Model
from masticator_dynamics.optional import needed


class PinocchioModel(NamedTuple):
    """What Pinocchio needs to know.

    Attributes
    ----------
    model : pinocchio.Model
        The spanning tree: joints in the order of ``mechanism.tree_joints``, so that ``motion.q``,
        ``motion.v`` and ``motion.a`` are its vectors; a frame for each URDF link; gravity; rotors
        and armatures in ``model.armature``. Springs and friction are not in it.
    constraints : dict of str to pinocchio.RigidConstraintModel
        Closures of type point (3D) and weld (6D), by name.
    left_out : tuple of str
        Other closures, and contacts: Pinocchio has no rigid constraints of their kind.
    """

    model: Any
    constraints: dict[str, Any]
    left_out: tuple[str, ...]


def to_pinocchio(mechanism: Model) -> PinocchioModel:
    """See :meth:`Mechanism.to_pinocchio`."""
    pin = needed('pinocchio')
    model, tree = pin.Model(), mechanism.structure.tree
    model.name = mechanism.name
    model.gravity = pin.Motion(np.array(mechanism.description.gravity, dtype=float), np.zeros(3))

    def place(at: Placement) -> Any:
        return pin.SE3(at.rotation.copy(), at.position.copy())

    for joint, at, inertia in zip(tree.joints, tree.placements, tree.inertias, strict=True):
        kind = pin.JointModelPZ() if joint.type == 'prismatic' else pin.JointModelRZ()
        index = model.addJoint(at.body + 1, kind, place(at), joint.name)
        body = pin.Inertia(inertia.mass, inertia.center_of_mass.copy(), inertia.about_center.copy())
        model.appendBodyToJoint(index, body, pin.SE3.Identity())
    for link, at in tree.frames.items():
        model.addFrame(pin.Frame(link, at.body + 1, place(at), pin.FrameType.BODY))
    model.armature = np.array([mechanism.description.joint_inertia(j.name) for j in tree.joints])
    limits = mechanism.limits
    model.lowerPositionLimit, model.upperPositionLimit = limits.lower.copy(), limits.upper.copy()
    kinds = {'point': pin.ContactType.CONTACT_3D, 'weld': pin.ContactType.CONTACT_6D}

    def constraint(closure: Closure) -> Any:
        a, b = (tree.frames[link] for link in closure.frames)
        return pin.RigidConstraintModel(
            kinds[closure.type], model, a.body + 1, place(a), b.body + 1, place(b)
        )

    closures = mechanism.description.closures
    return PinocchioModel(
        model,
        {c.name: constraint(c) for c in closures if c.type in kinds},
        (*(c.name for c in closures if c.type not in kinds), *mechanism.contacts),
    )
