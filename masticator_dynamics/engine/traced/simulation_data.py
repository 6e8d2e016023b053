# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings, inputs and reported numbers of forward dynamics, in the order of their rows."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.traced.stops_and_food import NO_STOPS, Bolus, PackedStops
from masticator_dynamics.engine.traced.vectors import Vector


@dataclasses.dataclass(frozen=True)
class Regularisation:
    """Velocities v_t over which Coulomb friction builds up, so that friction can hold a load.

    It grows as v / sqrt(v^2 + v_t^2). The inverse dynamics does not use this: see docs/twin.md. A
    larger transition velocity in the description takes precedence. What is held creeps at most at
    this velocity; 0 leaves the jump.

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

    @property
    def transitions(self) -> tuple[float, float, float]:
        """Of turning and sliding joints, and contacts."""
        return self.turning, self.sliding, self.contact


@dataclasses.dataclass(frozen=True)
class Setting:
    """Settings of forward dynamics, apart from the mechanism."""

    friction: bool = False  # of contacts and joints
    # Least velocities over which Coulomb friction builds up: of revolute joints, rad/s, prismatic
    # ones, m/s, and contacts, m/s.
    transitions: tuple[float, float, float] = (0.0, 0.0, 0.0)
    stops: PackedStops = NO_STOPS
    food: bool = False


class Given(NamedTuple):
    """The inputs, in this order; empty where there are none."""

    y: Vector
    y_dot: Vector
    bolus: Vector  # the food's state
    efforts: Vector  # of the actuators, motor side
    food: Vector  # the rest of the food's numbers
    wrench: Vector  # on the platform
    settle: Vector  # one number, see stops_and_food.Bolus.crush

    @staticmethod
    def sizes(description: MechanismDescription, setting: Setting) -> list[int]:
        """How many numbers each has."""
        freedoms, state = len(description.independent), Bolus.STATE * setting.food
        rest = Bolus.WIDTH * setting.food - state
        return [freedoms, freedoms, state, len(description.actuated), rest, 6, 1]

    @classmethod
    def of(cls, numbers: Vector, sizes: list[int]) -> Given:
        """From all numbers in a row."""
        places = consecutive(dict(zip(cls._fields, sizes, strict=True)))
        return cls(*(numbers[where] for where in places.values()))


def reported(freedoms: int, actuated: int, contacts: int) -> dict[str, slice]:
    """Slice of each part of :meth:`ForwardDynamics.report`.

    Parameters
    ----------
    freedoms, actuated, contacts : int
        How many there are.
    """
    return consecutive({
        'report': 3,  # kinetic and potential energy (J), largest force left unbalanced (N or N m)
        'y_ddot': freedoms,
        'wrench': 6,  # food on platform, base axes, about the platform's origin
        'food': 1,  # its force along -z of the base, N
        'gap': 1,  # between the teeth, m
        'joint_friction': actuated,  # effort that friction takes
        'contact_friction': 3 * contacts,  # N, base axes, on the contact's body
        'mass': freedoms * freedoms,
    })  # fmt: skip
