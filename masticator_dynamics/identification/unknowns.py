# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is unknown about a robot: parameters, the file's values for them, and how far these may err.

A body's ten moments are not free numbers: what may be wrong about it is how much of it there is,
where its centre is, and how it is spread. Each unknown is one such cause, counted in standard
deviations of what is believed before there are data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.parameters import BRAKES, INERTIAL, Moments, bodies_with_mass
from masticator_dynamics.errors import ActuationError
from masticator_dynamics.mechanism import Mechanism

OFFSET = 'effort_offset'  # of what a motor's effort shows, N m or N
LAG = 'efforts.lag'  # s, by which all efforts were recorded late
SENSOR = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')
_THIN = 1e-3  # part of a body's largest extent
_LEAST_FRICTION = 0.03  # of the motor's usual effort, where the file has friction
_NEW_FRICTION = 0.5  # likewise, where it has none: that is unknown, not small
_NEW_LOSS = 0.1  # of what a gear passes on, where it loses something
_LEAST_ROTOR, _NEW_ROTOR = 0.02, 0.5  # of what the motor moves, likewise
# Of usual efforts per usual acceleration: a rotor behind a gear may be a thousand wrists.
_GEARED_ROTOR = 0.1
_OFFSET = 0.05  # of the motor's usual effort: what it shows when it gives none
_LAG = 0.005  # s


@dataclasses.dataclass(frozen=True)
class Beliefs:
    """How far values of the file may err: standard deviations."""

    inertia: float = 0.12  # of masses, moments of inertia, rotors and springs, relative
    centre: float = 0.01  # of centres of mass, part of the mechanism's size
    friction: float = 0.4  # relative
    # Of torque constants and gear efficiencies, relative; 0: measured efforts are taken as true.
    effort: float = 0.0
    # Of the scale of a force sensor, and of its offset relative to the usual wrench; 0: the sensor
    # is taken as true.
    sensor: float = 0.0


@dataclasses.dataclass(frozen=True)
class Usual:
    """Sizes that occur in the data: of efforts and motion (n_u,) of motors, of wrenches (6,).

    of_kind: efforts of all motors of a kind together. wrench is None without a force sensor.
    """

    effort: FloatArray
    of_kind: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    wrench: FloatArray | None


@dataclasses.dataclass(frozen=True)
class Unknowns:
    """Parameters are ``values + spread @ x``, where each number in x is about 1 in size."""

    # Of the mechanism's parameters, then of scales of efforts and numbers of the force sensor.
    names: tuple[str, ...]
    values: FloatArray  # (n_p,), of the file
    causes: tuple[str, ...]  # what each unknown is
    # (n_x,), unknowns of a kind have one number: how far the file errs in them is one question.
    groups: npt.NDArray[np.int_]
    spread: FloatArray  # (n_p, n_x)

    @property
    def deviation(self) -> FloatArray:
        """Standard deviations (n_p,) of the parameters before there are data."""
        return np.asarray(np.linalg.norm(self.spread, axis=1))

    def scaled(self, sizes: FloatArray) -> Unknowns:
        """The same, counted in other units: sizes (n_x,) in the present ones."""
        return dataclasses.replace(self, spread=self.spread * sizes)


def unknowns_of(mechanism: Mechanism, beliefs: Beliefs, usual: Usual) -> Unknowns:
    """What is unknown about a mechanism with friction.

    Bodies err in three ways (mass, centre, spread), each by as much for all of them; friction,
    rotor and scale of a motor by as much as that motor's data say.
    """
    parameters = mechanism.parameters(friction=True)
    parameters |= {f'{joint}.{OFFSET}': 0.0 for joint in mechanism.actuated} | {LAG: 0.0}
    if beliefs.effort:
        parameters |= {f'{joint}.effort_scale': 1.0 for joint in mechanism.actuated}
    if usual.wrench is not None and beliefs.sensor:
        parameters |= {'sensor.scale': 1.0} | {f'sensor.{part}': 0.0 for part in SENSOR}
    rows = {name: k for k, name in enumerate(parameters)}
    causes: dict[str, tuple[str, FloatArray]] = {}
    for link in bodies_with_mass(mechanism.structure):
        names = [f'{link}.{part}' for part in INERTIAL]
        numbers = [parameters[name] for name in names]
        for group, cause, change in _of_body(numbers, mechanism, beliefs):
            column = np.zeros(len(parameters))
            column[[rows[name] for name in names]] = change
            causes[f'{link} {cause}'] = group, column
    for name, size in _singles(mechanism, parameters, beliefs, usual).items():
        group = OFFSET if name.endswith(OFFSET) else name
        causes[name] = group, size * np.eye(len(parameters))[rows[name]]
    causes = {cause: change for cause, change in causes.items() if change[1].any()}
    groups, spread = (np.array(part) for part in zip(*causes.values(), strict=True))
    _, of_group = np.unique(groups, return_inverse=True)
    return Unknowns(
        tuple(parameters), np.array([*parameters.values()]), tuple(causes), of_group, spread.T
    )


def _of_body(
    numbers: list[float], mechanism: Mechanism, beliefs: Beliefs
) -> Iterator[tuple[str, str, list[float]]]:
    """Group, cause, and changes (10,) of a body's moments: mass, centre, how its mass is spread."""
    moments = Moments.from_numbers(numbers)
    yield 'mass', 'mass', (beliefs.inertia * np.array(numbers)).tolist()
    inertia = moments.inertia()
    sizes, axes = np.linalg.eigh(
        0.5 * np.trace(inertia.about_center) * np.eye(3) - inertia.about_center
    )
    sizes = np.sqrt(np.maximum(sizes, 0.0))
    # The centre of a line is on it.
    shifts = beliefs.centre * mechanism.structure.extent() * (sizes > _THIN * sizes.max())
    for k, axis in enumerate(axes.T):
        if shifts[k]:
            c, delta = inertia.center_of_mass, shifts[k] * axis
            second = 2.0 * (c @ delta) * np.eye(3) - np.outer(c, delta) - np.outer(delta, c)
            moved = Moments(0.0, inertia.mass * delta, inertia.mass * second)
            yield 'centre', f'centre {k + 1}', moved.numbers()
    for i in range(3):
        for j in range(i, 3):
            # A centre that is elsewhere spreads the mass, too, by the square of its shift.
            here, elsewhere = (
                beliefs.inertia * sizes[i] * sizes[j], inertia.mass * shifts[i] * shifts[j],
            )  # fmt: skip
            spread = np.outer(axes[:, i], axes[:, j]) * np.hypot(here, elsewhere)
            spread = 0.5 * (spread + spread.T)
            second = np.trace(spread) * np.eye(3) - spread
            numbers_of_it = Moments(0.0, np.zeros(3), second).numbers()
            yield (
                'spread' if here > elsewhere else 'centre',
                f'spread {i + 1}{j + 1}',
                numbers_of_it,
            )


def _singles(
    mechanism: Mechanism, parameters: dict[str, float], beliefs: Beliefs, usual: Usual
) -> dict[str, float]:
    """Standard deviations of parameters that are unknowns themselves."""
    sizes: dict[str, float] = {}
    moved = _inertia_felt(mechanism)
    motors = {joint: k for k, joint in enumerate(mechanism.actuated)}
    wrench = np.zeros(6) if usual.wrench is None else usual.wrench
    for name, value in parameters.items():
        owner, _, kind = name.rpartition('.')
        k = motors.get(owner, -1)
        ratio = abs(float(mechanism.transmission_ratios[k]))
        effort, velocity = float(usual.effort[k]), max(float(usual.velocity[k]), 1e-12)
        if kind in ('friction', 'damping', 'stiction') and k >= 0:
            size = effort * ratio / (velocity if kind == 'damping' else 1.0)
            least = (_LEAST_FRICTION if value else _NEW_FRICTION) * size
            sizes[name] = max(beliefs.friction * value, least)
        elif kind == 'gear_loss':
            sizes[name] = max(beliefs.friction * value, _NEW_LOSS)
        elif kind in BRAKES:
            sizes[name] = beliefs.friction * value
        elif kind == 'rotor_inertia':
            felt = (_LEAST_ROTOR if value else _NEW_ROTOR) * float(moved[k])
            acceleration = max(float(usual.acceleration[k]), 1e-12)
            geared = _GEARED_ROTOR * effort * ratio / acceleration
            if not value and geared > float(moved[k]):  # efforts that no body asks for
                felt = geared
            sizes[name] = max(beliefs.inertia * value, felt / ratio**2)
        elif kind in ('armature', 'stiffness'):
            sizes[name] = beliefs.inertia * value
        elif kind == OFFSET:
            sizes[name] = _OFFSET * effort
        elif name == LAG:
            sizes[name] = _LAG
        elif kind == 'effort_scale':
            sizes[name] = beliefs.effort
        elif name == 'sensor.scale':
            sizes[name] = beliefs.sensor
        elif owner == 'sensor':
            sizes[name] = beliefs.sensor * float(wrench[SENSOR.index(kind)])
        elif kind not in INERTIAL:  # those of bodies are causes of their own
            raise KeyError(f'nothing is known of how far {name} may err')
    return sizes


def _inertia_felt(mechanism: Mechanism) -> FloatArray:
    """Inertia (n_u,) that each motor feels at home, kg m^2 or kg.

    Where others' share is not defined, as of cables, with the others giving way: of a motor with
    the Jacobian row j, ``1 / (j M^-1 j^T)``.
    """
    try:
        return np.diag(mechanism.actuated_inertia(mechanism.home))
    except ActuationError:
        rows = mechanism.jacobian_actuated_from_independent(mechanism.home)
        rows = mechanism.transmission_ratios[:, None] * rows
        mass = mechanism.mass_matrix(mechanism.home)
        return np.asarray(1.0 / np.einsum('kj,jk->k', rows, np.linalg.solve(mass, rows.T)))
