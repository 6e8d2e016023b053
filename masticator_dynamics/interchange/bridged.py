# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism for other libraries: its tree and loops as objects of Pinocchio, and CasADi."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from masticator_dynamics.description.data import Closure
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.tree import Placement
from masticator_dynamics.optional import needed

# Imported where it is used: few need it.
if TYPE_CHECKING:
    import casadi

    from masticator_dynamics.interchange.casadi_function import Quantity


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


class Bridged(Evaluator):
    """The part of :class:`Mechanism` that is about other libraries."""

    def to_pinocchio(self) -> PinocchioModel:
        """The spanning tree as a model of Pinocchio, with the closures that it can have.

        For robots whose joints turn by more than half a turn, too: positions stay one number a
        joint. Needs the extra ``pinocchio``.

        Raises
        ------
        InputError
            Where Pinocchio is not installed.
        """
        pin = needed('pinocchio')
        model, tree = pin.Model(), self.structure.tree
        model.name = self.name
        model.gravity = pin.Motion(np.array(self.description.gravity, dtype=float), np.zeros(3))

        def place(at: Placement) -> Any:
            return pin.SE3(at.rotation.copy(), at.position.copy())

        for joint, at, inertia in zip(tree.joints, tree.placements, tree.inertias, strict=True):
            kind = pin.JointModelPZ() if joint.slides else pin.JointModelRZ()
            if joint.screws:
                kind = pin.JointModelHZ(joint.shift)
            index = model.addJoint(at.body + 1, kind, place(at), joint.name)
            center, about_it = inertia.center_of_mass.copy(), inertia.about_center.copy()
            body = pin.Inertia(inertia.mass, center, about_it)
            model.appendBodyToJoint(index, body, pin.SE3.Identity())
        for link, at in tree.frames.items():
            model.addFrame(pin.Frame(link, at.body + 1, place(at), pin.FrameType.BODY))
        model.armature = np.array([self.description.joint_inertia(j.name) for j in tree.joints])
        limits = self.limits
        model.lowerPositionLimit = limits.lower.copy()
        model.upperPositionLimit = limits.upper.copy()

        def constraint(closure: Closure) -> Any:
            a, b = (tree.frames[link] for link in closure.frames)
            kind = getattr(pin.ContactType, closure.kind.pinocchio)
            return pin.RigidConstraintModel(kind, model, a.body + 1, place(a), b.body + 1, place(b))

        closures = self.description.closures
        return PinocchioModel(
            model,
            {c.name: constraint(c) for c in closures if c.kind.pinocchio},
            (*(c.name for c in closures if not c.kind.pinocchio), *self.contacts),
        )

    def to_casadi(
        self, quantity: Quantity = 'inverse_dynamics', *, frame: str | None = None
    ) -> casadi.Function:
        """The closed mechanism as a ``casadi.Function`` of symbols, to be differentiated there.

        The arithmetic is that of the machine code for nearby poses (10 to 100 times slower in
        CasADi's interpreter). Its last output ``valid`` is 1 where the numbers count, and 0 where
        loops are not closed in the few steps that are recorded, or a singularity or another branch
        could be near. Needs the extra ``casadi``.

        Parameters
        ----------
        quantity : str
            'inverse_dynamics': y, y_dot, y_ddot, wrench to effort (least norm, no friction);
            'forward_dynamics': y, y_dot, effort, wrench to y_ddot; 'equations_of_motion': y, y_dot
            to mass, bias, kinetic, potential; 'frame_pose': y to position and rotation of
            ``frame``. Units and axes as for the methods of these names.
        frame : str, optional
            URDF link, for 'frame_pose'.

        Raises
        ------
        InputError
            For an unknown quantity or frame, and where CasADi is not installed.
        """
        from masticator_dynamics.interchange.casadi_function import to_casadi

        return to_casadi(self, quantity, frame)
