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

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.parameters import INERTIAL, Moments, bodies_with_mass
from masticator_dynamics.mechanism import Mechanism

SENSOR = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')
_THIN = 1e-3  # part of a body's largest extent
_LEAST_FRICTION = 0.03  # of the usual effort: may be there where the file has none
_LEAST_ROTOR = 0.02  # of what the motor moves, likewise


@dataclasses.dataclass(frozen=True)
class Beliefs:
    """How far values of the file may err: standard deviations.

    Attributes
    ----------
    inertia : float
        Of masses, moments of inertia, rotors and springs, relative.
    centre : float
        Of centres of mass, part of the mechanism's size.
    friction : float
        Relative.
    effort : float
        Of torque constants and gear efficiencies, relative; 0: measured efforts are taken as true.
    sensor : float
        Of the scale of a force sensor, and of its offset relative to the usual wrench; 0: the
        sensor is taken as true.
    """

    inertia: float = 0.12
    centre: float = 0.01
    friction: float = 0.4
    effort: float = 0.0
    sensor: float = 0.0


@dataclasses.dataclass(frozen=True)
class Usual:
    """Sizes that occur in the data: of efforts and velocities (n_u,) of motors, of wrenches (6,).

    wrench is None without a force sensor.
    """

    effort: FloatArray
    velocity: FloatArray
    wrench: FloatArray | None


@dataclasses.dataclass(frozen=True)
class Unknowns:
    """Parameters are ``values + spread @ x``, where each number in x is about 1 in size.

    Attributes
    ----------
    names : tuple of str, length n_p
        Of the mechanism's parameters, then of scales of efforts and numbers of the force sensor.
    values : array, shape (n_p,)
        Of the file.
    causes : tuple of str, length n_x
        What each unknown is.
    spread : array, shape (n_p, n_x)
    """

    names: tuple[str, ...]
    values: FloatArray
    causes: tuple[str, ...]
    spread: FloatArray

    @property
    def deviation(self) -> FloatArray:
        """Standard deviations (n_p,) of the parameters before there are data."""
        return np.asarray(np.linalg.norm(self.spread, axis=1))


def unknowns_of(mechanism: Mechanism, beliefs: Beliefs, usual: Usual) -> Unknowns:
    """What is unknown about a mechanism with friction."""
    known = mechanism.parameters(friction=True)
    if beliefs.effort:
        known |= {f'{joint}.effort_scale': 1.0 for joint in mechanism.actuated}
    if usual.wrench is not None and beliefs.sensor:
        known |= {'sensor.scale': 1.0} | {f'sensor.{part}': 0.0 for part in SENSOR}
    rows = {name: k for k, name in enumerate(known)}
    causes: dict[str, FloatArray] = {}
    for link in bodies_with_mass(mechanism.structure):
        names = [f'{link}.{part}' for part in INERTIAL]
        for cause, change in _of_body([known[name] for name in names], mechanism, beliefs):
            column = np.zeros(len(known))
            column[[rows[name] for name in names]] = change
            causes[f'{link} {cause}'] = column
    for name, size in _singles(mechanism, known, beliefs, usual).items():
        causes[name] = size * np.eye(len(known))[rows[name]]
    causes = {cause: column for cause, column in causes.items() if column.any()}
    spread = np.array([*causes.values()]).T
    return Unknowns(tuple(known), np.array([*known.values()]), tuple(causes), spread)


def _of_body(
    numbers: list[float], mechanism: Mechanism, beliefs: Beliefs
) -> Iterator[tuple[str, list[float]]]:
    """Changes (10,) of a body's moments by cause: mass, centre, and how its mass is spread."""
    moments = Moments.from_numbers(numbers)
    yield 'mass', (beliefs.inertia * np.array(numbers)).tolist()
    inertia = moments.inertia()
    sizes, axes = np.linalg.eigh(
        0.5 * np.trace(inertia.about_center) * np.eye(3) - inertia.about_center
    )
    sizes = np.sqrt(np.maximum(sizes, 0.0))
    shift = beliefs.centre * mechanism.structure.extent()
    for k, axis in enumerate(axes.T):
        if sizes[k] > _THIN * sizes.max():  # the centre of a line is on it
            c, delta = inertia.center_of_mass, shift * axis
            second = 2.0 * (c @ delta) * np.eye(3) - np.outer(c, delta) - np.outer(delta, c)
            moved = Moments(0.0, inertia.mass * delta, inertia.mass * second)
            yield f'centre {k + 1}', moved.numbers()
    for i in range(3):
        for j in range(i, 3):
            spread = np.outer(axes[:, i], axes[:, j]) * sizes[i] * sizes[j]
            spread = beliefs.inertia * 0.5 * (spread + spread.T)
            second = np.trace(spread) * np.eye(3) - spread
            yield f'spread {i + 1}{j + 1}', Moments(0.0, np.zeros(3), second).numbers()


def _singles(
    mechanism: Mechanism, known: dict[str, float], beliefs: Beliefs, usual: Usual
) -> dict[str, float]:
    """Standard deviations of parameters that are unknowns themselves."""
    found: dict[str, float] = {}
    moved = np.diag(mechanism.actuated_inertia(mechanism.home))
    motors = {joint: k for k, joint in enumerate(mechanism.actuated)}
    wrench = np.zeros(6) if usual.wrench is None else usual.wrench
    for name, value in known.items():
        owner, _, kind = name.rpartition('.')
        k = motors.get(owner, -1)
        ratio = abs(float(mechanism.transmission_ratios[k]))
        if kind in ('friction', 'damping', 'viscous', 'coulomb'):
            least = _LEAST_FRICTION * float(usual.effort[k]) * ratio if k >= 0 else 0.0
            if kind == 'damping':
                least /= max(float(usual.velocity[k]), 1e-12)
            floor = least if kind in ('friction', 'damping') else 0.0
            found[name] = max(beliefs.friction * value, floor)
        elif kind == 'rotor_inertia':
            found[name] = max(beliefs.inertia * value, _LEAST_ROTOR * float(moved[k]) / ratio**2)
        elif kind in ('armature', 'stiffness'):
            found[name] = beliefs.inertia * value
        elif kind == 'effort_scale':
            found[name] = beliefs.effort
        elif name == 'sensor.scale':
            found[name] = beliefs.sensor
        elif owner == 'sensor':
            found[name] = beliefs.sensor * float(wrench[SENSOR.index(kind)])
    return found
