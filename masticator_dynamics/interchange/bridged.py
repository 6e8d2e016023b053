# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism for other libraries, as its users see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masticator_dynamics.evaluation.results import Evaluator

# Imported where it is used: few need it.
if TYPE_CHECKING:
    import casadi

    from masticator_dynamics.interchange.casadi_function import Quantity
    from masticator_dynamics.interchange.pinocchio_model import PinocchioModel


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
        from masticator_dynamics.interchange.pinocchio_model import to_pinocchio

        return to_pinocchio(self)

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
