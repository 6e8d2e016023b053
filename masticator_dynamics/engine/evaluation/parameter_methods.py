# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a mechanism as its users see them: by name, changed, in arrays, and as a regressor."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

from masticator_dynamics.engine.evaluation.answered import answered, by
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator, Motion

# Imported where it is used: a process that only computes efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.effort_regressor import Regressor
    from masticator_dynamics.engine.evaluation.parameter_batch import ParameterBatch


class ParameterMethods(Evaluator):
    """The part of :class:`Mechanism` that is about its parameters."""

    def parameters(self, *, friction: bool = False, geometry: bool = False) -> dict[str, float]:
        """Numbers of the mechanism by name, see :meth:`with_parameters`.

        Parameters
        ----------
        friction : bool
            Those of friction, too.
        geometry : bool
            Those of geometry, too, in which efforts are not linear.

        Returns
        -------
        dict of str to float
            First, in the order of :meth:`regressor`'s columns, what efforts are linear in. Of each
            body with mass, by the link that its joint carries, links fixed to it included, in that
            link's axes and about its origin: ``LINK.mass`` (kg), first moments ``mx my mz`` (kg m)
            and inertia ``ixx iyy izz ixy ixz iyz`` (kg m^2); ``JOINT.rotor_inertia`` (motor side,
            kg m^2 or kg), ``armature``, ``stiffness``. Of friction, as described: of motors
            ``JOINT.viscous``, ``coulomb`` and, where it is given, ``gear_loss``; of joints
            ``damping``, ``friction`` and, likewise, ``stiction``; of contacts ``CONTACT.viscous``
            and ``coulomb``. Of geometry: ``JOINT.x y z`` (m) and ``roll pitch
            yaw`` (rad), the joint's place in its parent link as in a URDF; ``JOINT.zero`` (rad or
            m), where the joint stands when its encoder shows 0; ``CLOSURE.length``,
            ``radius``, ``offset``; ``CONTACT.nx ny nz``, ``offset``; of a spring
            ``JOINT.reference``.
        """
        from masticator_dynamics.engine.evaluation.with_parameters import values_of

        return values_of(self, friction, geometry)

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The same mechanism with other numbers, without compiling.

        Code with these parameters as inputs is compiled once per set of names, and kept on disk;
        from the fourth call for a set of names on, code closes the loops, too.
        What was changed before stays changed. Loops are closed at home anew: independent joints
        stay, dependent ones follow, on the branch continuous with the present home.

        Parameters
        ----------
        values : mapping of str to float
            By the names of :meth:`parameters`; others stay as they are. Moments of mass of a body
            must go together: a body's mass does not carry its first moments along.

        Raises
        ------
        InputError
            For an unknown name, a mass below zero, moments that no body has, or a parameter on
            which the structure depends.
        ReachError
            When a loop cannot close with these numbers.
        """
        from masticator_dynamics.engine.evaluation.with_parameters import with_parameters

        return with_parameters(self, values)

    def save(self, path: str | pathlib.Path) -> None:
        """Write the description, with its present numbers, as a file that :meth:`load` takes.

        The expanded URDF goes beside it, under the same name.

        Parameters
        ----------
        path : str or path
            Ends with ``.yaml``; files that are there are replaced.

        Raises
        ------
        InputError
            For another ending.
        OSError
            When writing fails.
        """
        from masticator_dynamics.description.written import save

        save(self.description, pathlib.Path(path))

    def parameter_batch(self, names: Sequence[str]) -> ParameterBatch:
        """The mechanism with some parameters as arrays: many geometries in many states at once.

        Parameters
        ----------
        names : sequence of str
            Of :meth:`parameters`, those of friction and geometry included.

        Raises
        ------
        InputError
            As for :meth:`with_parameters`.
        """
        from masticator_dynamics.engine.evaluation.parameter_batch import ParameterBatch

        return ParameterBatch(self, names)

    @answered(by('effort_regressor'))
    def regressor(self, motion: Motion | Effort, *, friction: bool = False) -> Regressor:
        """Efforts as a matrix times :meth:`parameters`, for a motion or a batch of them.

        Parameters
        ----------
        motion : Motion or Effort
            From :meth:`solve`, or a batch from :meth:`feedforward_batch`.
        friction : bool
            Columns of friction, too. Friction that depends on loads is linear only at the loads
            that the present numbers cause (efforts of least norm, friction included).

        Raises
        ------
        SingularityError
            Too near a singularity.
        """
        from masticator_dynamics.engine.evaluation.effort_regressor import regressor

        return regressor(self, motion, friction)
