# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of any mechanism: efforts to accelerations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.actuation.layout import CONTACT, SLOT
from masticator_dynamics.actuation.packing import pack_distribution
from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.errors import InputError
from masticator_dynamics.failures import failure
from masticator_dynamics.results import Motion
from masticator_dynamics.twin import layout
from masticator_dynamics.twin.integrate import integrate
from masticator_dynamics.twin.stops import NO_STOPS, PackedStops

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

_NO_WRENCH = np.zeros(6)
_NO_FOOD = np.zeros(0)


@dataclasses.dataclass(frozen=True)
class Regularisation:
    """Velocities v_t over which Coulomb friction grows, so that what rests is held by a force.

    It grows as v / sqrt(v^2 + v_t^2). The inverse dynamics has no part in this: see docs/twin.md.
    Where the description has a larger transition velocity, that counts. What is held creeps at
    most at this velocity; 0 leaves the jump.

    Attributes
    ----------
    contact : float
        m/s.
    turning, sliding : float
        Of actuated joints, rad/s and m/s.
    """

    contact: float = 2e-3
    turning: float = 0.1
    sliding: float = 2e-3


@dataclasses.dataclass(frozen=True)
class Acceleration:
    """What efforts do at a state.

    Attributes
    ----------
    y_ddot : array, shape (n_y,)
        Independent accelerations, m/s^2 or rad/s^2.
    motion : Motion
        Of the whole tree with them.
    contact : array, shape (n_c,)
        Multipliers of the contacts, N, as :attr:`Effort.contact`.
    friction : array, shape (n_u,)
        Part of the efforts that the friction of the actuated joints takes.
    contact_friction : array, shape (n_c, 3)
        N, base axes, on each contact's body.
    balance_residual : float
        Largest generalised force left unbalanced, N or N m.
    """

    y_ddot: FloatArray
    motion: Motion
    contact: FloatArray
    friction: FloatArray
    contact_friction: FloatArray
    balance_residual: float


class ForwardDynamics:
    """The equations of motion M(y) y_ddot = J^T effort + T^T wrench - bias of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Its scratch memory is used: one thread for both.
    friction : bool or Regularisation
        Friction of contacts and actuated joints, by the laws of the inverse dynamics.
    """

    def __init__(self, mechanism: Mechanism, *, friction: bool | Regularisation = False):
        self.mechanism = mechanism
        freedoms, actuated = len(mechanism.independent), len(mechanism.actuated)
        contacts = len(mechanism.contacts)
        description, model = mechanism.description, mechanism.packed
        # The tables of the inverse dynamics with other columns in place of the free efforts:
        # one per independent acceleration, one per unit of friction of an actuated joint.
        columns = freedoms + actuated
        tables = pack_distribution(
            description, mechanism.structure, model, freedoms + columns, {'torque': 1.0}, True
        )
        block, table_memory = tables.run.args[2:]  # type: ignore[attr-defined]
        self._rubs = bool(friction)
        if friction:
            chosen = Regularisation() if friction is True else friction
            _regularise(mechanism, block, chosen)
        self._fixed = (
            model.memory, model.scratch, block, table_memory,
            layout.scratch(len(mechanism.tree_joints), freedoms, actuated, contacts),
        )  # fmt: skip
        self._slices = layout.result_slices(freedoms, actuated, contacts)
        self._row = np.zeros(mechanism.slices['tangent'].stop)
        self._told = np.zeros(self._slices['contact_friction'].stop)

    def __call__(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike,
        efforts: npt.ArrayLike,
        wrench: npt.ArrayLike | None = None,
    ) -> Acceleration:
        """Accelerations at a state.

        Parameters
        ----------
        y, y_dot : array_like, shape (n_y,)
            Independent positions and velocities.
        efforts : array_like, shape (n_u,)
            In the order of ``mechanism.actuated``, N m or N, of motors where there is a
            transmission.
        wrench : array_like, shape (6,), optional
            Environment on platform: force and torque, base axes, about the platform's origin.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ReachError, SingularityError
            As :meth:`Mechanism.solve`.
        ActuationError
            When friction of the contacts jams the mechanism.
        """
        count = len(self.mechanism.independent)
        state = np.concatenate([vector(y, 'y', count), vector(y_dot, 'y_dot', count)])
        given = vector(efforts, 'efforts', len(self.mechanism.actuated))
        load = _NO_WRENCH if wrench is None else vector(wrench, 'wrench', 6)
        self.run(state, given[None], load)
        row, told = self._row.copy(), self._told.copy()
        y_ddot = told[self._slices['y_ddot']]
        asked = np.concatenate([state, y_ddot, load])
        motion = Motion(self.mechanism, asked, row, self.mechanism.slices)
        return Acceleration(
            y_ddot,
            motion,
            row[self.mechanism.slices['multipliers']][self.mechanism.contact_rows],
            told[self._slices['joint_friction']],
            told[self._slices['contact_friction']].reshape(-1, 3),
            float(told[2]),
        )

    def mass_matrix(self, y: npt.ArrayLike) -> FloatArray:
        """Mass matrix (n_y, n_y) of the independent coordinates, rotors included."""
        count, actuated = len(self.mechanism.independent), len(self.mechanism.actuated)
        energies = np.zeros((count, count))
        for i in range(count):
            for j in range(count):
                y_dot = np.eye(count)[i] + np.eye(count)[j]
                self.run(np.concatenate([as_floats(y, 'y'), y_dot]), np.zeros((1, actuated)))
                energies[i, j] = self._told[0]
        own = np.diag(energies) / 4.0
        return np.asarray(energies - own[:, None] - own)

    def field(self, name: str) -> FloatArray:
        """A view of what the last run found, see ``layout.Results``; the next one overwrites it."""
        return self._told[self._slices[name]]

    def tree(self, name: str) -> FloatArray:
        """A view of the engine's numbers of the last run; the next one overwrites them."""
        return self._row[self.mechanism.slices[name]]

    def run(
        self,
        state: FloatArray,
        efforts: FloatArray,
        wrench: FloatArray = _NO_WRENCH,
        stops: PackedStops = NO_STOPS,
        food: FloatArray = _NO_FOOD,
        steps: int = 0,
        length: float = 0.0,
    ) -> None:
        """Run the kernel; see :func:`masticator_dynamics.twin.integrate.integrate`.

        Raises
        ------
        ReachError, SingularityError, InputError, ActuationError
            When the state, or one on the way, cannot be evaluated; ``state`` is then the last good
            one.
        """
        integrate(
            *self._fixed, wrench, *stops, food, self._rubs, steps, length, efforts,
            state, self._row, self._told,
        )  # fmt: skip
        if self._row[0]:
            count = len(self.mechanism.independent)
            raise failure(
                self.mechanism, self._row, np.concatenate([state, np.zeros(count), wrench])
            )


def vector(values: npt.ArrayLike, name: str, length: int) -> FloatArray:
    """A copy of finite numbers of the right count (`InputError` otherwise).

    A copy, because numba would compile everything once more for an array that is read-only.
    """
    numbers = np.array(as_floats(values, name), order='C')
    if numbers.shape != (length,):
        raise InputError(f'{name} has shape {numbers.shape}, needed is ({length},)')
    if not np.isfinite(numbers).all():
        raise InputError(f'{name} is {numbers}, not finite numbers')
    return numbers


def _regularise(mechanism: Mechanism, block: np.ndarray, chosen: Regularisation) -> None:
    """Raise the transition velocities in the packed records to the regularising ones."""
    ends = block[:24].view(np.int64)
    contacts = block[ends[0] : ends[1]].view(CONTACT)
    slots = block[ends[1] : ends[2]].view(SLOT)
    contacts['transition'] = np.maximum(contacts['transition'], chosen.contact)
    slides = [
        mechanism.structure.tree.joints[j].type == 'prismatic'
        for j in mechanism.tree_indices(mechanism.actuated)
    ]
    least = np.where(slides, chosen.sliding, chosen.turning)
    slots['transition'] = np.maximum(slots['transition'], least)
