# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a mechanism as its users see them: matrices and accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.engine.evaluation.answered import answered, by
from masticator_dynamics.engine.evaluation.packing import pack_state
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator, Motion

# Imported where it is used: a process that only computes efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.acceleration_derivatives import (
        AccelerationDerivatives,
    )
    from masticator_dynamics.engine.evaluation.mass_and_bias import Space
    from masticator_dynamics.engine.traced.simulation_data import Regularisation


class Energy(NamedTuple):
    """Energies of a mechanism, J: numbers, or arrays (N,) for a batch.

    Attributes
    ----------
    kinetic
        Of links and rotors.
    potential
        Of gravity, zero where all masses are at the base's origin, and of the joints' springs.
    """

    kinetic: FloatArray
    potential: FloatArray


class Dynamics(Evaluator):
    """The part of :class:`Mechanism` that is about its equations of motion."""

    @answered(by('mass_and_bias', part='mass'))
    def mass_matrix(self, motion: Motion | Effort, space: Space = 'independent') -> FloatArray:
        """Mass matrix M (..., n_y, n_y) in ``M y_ddot + bias = J^T effort + T^T wrench``.

        With rotors; J is the rates of the motors per independent velocity, and T the Jacobian of
        the platform. Of virtual work along the tangent (Siciliano, Robotics, 2009, Sec. 7.1).

        Parameters
        ----------
        motion : Motion or Effort
            A batch gives one matrix per row. Accelerations do not matter.
        space : str
            'actuated': in positions of the powered motors, in their order, where these are as many
            as the degrees of freedom and control them. Where there are more, see
            :meth:`actuated_inertia`.

        Raises
        ------
        InputError
            For a motion of another mechanism, or an unknown space.
        ActuationError, SingularityError
            For 'actuated', when the motors do not control all freedoms, or not at this pose.
        """
        from masticator_dynamics.engine.evaluation import mass_and_bias

        return mass_and_bias.mass_matrix(self, motion, space)

    @answered(by('mass_and_bias', part='bias'))
    def bias(self, motion: Motion | Effort, space: Space = 'independent') -> FloatArray:
        """Generalised forces (..., n_y), N or N m, that it takes not to accelerate.

        Coriolis, centrifugal, gravity and springs of joints, without friction and wrenches; see
        :meth:`mass_matrix`, also for parameters and errors.
        """
        from masticator_dynamics.engine.evaluation import mass_and_bias

        return mass_and_bias.bias(self, motion, space, 'bias')

    @answered(by('mass_and_bias', part='gravity'))
    def gravity(self, motion: Motion | Effort, space: Space = 'independent') -> FloatArray:
        """The part (..., n_y) of :meth:`bias` for gravity and springs of joints.

        It is the slope of the potential energy; velocities do not matter.
        """
        from masticator_dynamics.engine.evaluation import mass_and_bias

        return mass_and_bias.bias(self, motion, space, 'gravity')

    def energy(self, motion: Motion | Effort) -> Energy:
        """Kinetic and potential energy, J, of links, rotors, gravity and springs of joints.

        Numbers, or (N,) for a batch. Gravity's is zero where masses are at the base's origin.
        """
        return Energy(*self._energies(motion).T)

    @answered(by('mass_and_bias', part='energy'))
    def _energies(self, motion: Motion | Effort) -> FloatArray:
        from masticator_dynamics.engine.evaluation.mass_and_bias import EquationsOfMotion

        return self.made(EquationsOfMotion).part(motion, 'energy')

    @answered(by('accelerations'))
    def forward_dynamics(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None,
        effort: npt.ArrayLike | None,
        wrench: npt.ArrayLike | None = None,
        *,
        friction: bool | Regularisation = False,
    ) -> FloatArray:
        """Independent accelerations (n_y,) that efforts and a wrench cause.

        Parameters
        ----------
        y, y_dot : array_like, shape (n_y,)
            Independent positions and velocities; None is at rest.
        effort : array_like, shape (n_u,)
            In actuated order, N m or N, of motors where there is a transmission; None is zero.
        wrench : array_like, shape (6,), optional
            As for :meth:`inverse_dynamics`.
        friction : bool or Regularisation
            True: by the laws of :meth:`inverse_dynamics`, which this undoes; Coulomb friction
            jumps where a velocity changes sign. For simulations, ``Regularisation()`` lets it grow
            over a small velocity instead, as the twin does.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ReachError
            As :meth:`solve`.
        SingularityError
            As :meth:`solve`, and where the mass matrix is singular.
        ActuationError
            If friction of the contacts jams the mechanism.
        """
        from masticator_dynamics.engine.evaluation.accelerations import forward_dynamics

        return forward_dynamics(self, (y, y_dot, effort, wrench), friction, many=False)[0]

    def forward_dynamics_batch(
        self,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None,
        efforts: npt.ArrayLike | None,
        W: npt.ArrayLike | None = None,
        *,
        friction: bool | Regularisation = False,
    ) -> FloatArray:
        """:meth:`forward_dynamics` for rows (N, ...): (N, n_y); errors name the row."""
        from masticator_dynamics.engine.evaluation.accelerations import forward_dynamics

        return forward_dynamics(self, (Y, Y_dot, efforts, W), friction, many=True)[0]

    @answered(by('acceleration_derivatives'))
    def forward_dynamics_derivatives(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None,
        effort: npt.ArrayLike | None,
        wrench: npt.ArrayLike | None = None,
        *,
        friction: bool = False,
    ) -> AccelerationDerivatives:
        """Accelerations with their exact derivatives by positions, velocities, efforts and wrench.

        Arguments and errors are those of :meth:`forward_dynamics`, and rows (N, ...) give
        derivatives with that axis.

        Raises
        ------
        SingularityError
            As :meth:`forward_dynamics`, too near a singularity, and with friction where a joint or
            contact with Coulomb friction is at rest or nothing presses there.
        """
        from masticator_dynamics.engine.evaluation.acceleration_derivatives import (
            acceleration_derivatives,
        )
        from masticator_dynamics.engine.evaluation.accelerations import forward_dynamics

        many = as_floats(y, 'y').ndim > 1
        y_ddot, amounts = forward_dynamics(self, (y, y_dot, effort, wrench), friction, many)
        rows = pack_state(y_ddot.shape[-1], y, y_dot, y_ddot, wrench, many=many)
        none = np.zeros((*y_ddot.shape[:-1], len(self.actuated)))
        efforts = none if effort is None else np.asarray(effort, dtype=float)
        return acceleration_derivatives(self, rows, efforts, amounts)

    @answered(by('inertia_coupling', part='matrix'))
    def actuated_inertia(self, motion: Motion | Effort) -> FloatArray:
        """Inertia matrix (..., n_u, n_u) in actuated space; its diagonal is the load inertia.

        kg m^2 or kg, at the motors, rotors included (S0 Eq. 59): how it extends to velocities that
        the loops forbid is in ``inertia_coupling.py``.

        Raises
        ------
        ActuationError
            Where motors outnumber the freedoms and a limb is not a driven link and a rod.
        SingularityError
            Where the motors lose control.
        """
        from masticator_dynamics.engine.evaluation.inertia_coupling import actuated_inertia

        return actuated_inertia(self, motion)

    def inertia_coupling(self, motion: Motion | Effort) -> FloatArray:
        """Inertia-coupling index MCI (..., n_u) of each actuator, no unit (S0 Eq. 60).

        Raises as :meth:`actuated_inertia`.
        """
        return np.asarray(np.log1p(self._coupling(motion)))

    @answered(by('inertia_coupling', part='coupling'))
    def _coupling(self, motion: Motion | Effort) -> FloatArray:
        from masticator_dynamics.engine.evaluation.inertia_coupling import coupling

        return coupling(self.actuated_inertia(motion))
