# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contents of a file of simulated drives (YAML, schema 1), as self-validating data types."""

from __future__ import annotations

import pathlib
from typing import Literal

import pydantic

from masticator_dynamics.drives.configuration import Drives, Gains, MotorFriction, find_file
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.yaml_file import Finite, Positive, Strict, checked, read_mapping


class Thermal(Strict):
    """The motor as one body heated by its winding."""

    resistance: Positive = pydantic.Field(description='K/W, to the surroundings')
    time_constant: Positive = pydantic.Field(description='s')


class SimulatedDrive(Strict):
    """A motor and the drive's own settings."""

    torque_constant: Positive = pydantic.Field(description='N m/A, and V s/rad')
    resistance: Positive = pydantic.Field(description='ohm, of the winding')
    supply_voltage: Positive = pydantic.Field(description='V')
    current_bandwidth: Positive = pydantic.Field(description='Hz, of the current loop')
    friction: MotorFriction = MotorFriction()
    thermal: Thermal
    temperature_limit: Finite = pydantic.Field(100.0, description='degrees Celsius')
    velocity_filter: Positive = pydantic.Field(300.0, description='Hz, of the measured velocity')
    gains: Gains = pydantic.Field(description='of the position loop until the master writes others')
    encoder_offset: int = pydantic.Field(0, description="counts at the joint's zero")
    inertia: Positive = pydantic.Field(description='kg m^2 that the joint feels at least')


class SimulationSettings(Strict):
    """All simulated drives."""

    schema_: Literal[1] = pydantic.Field(alias='schema')
    step: Positive = pydantic.Field(0.0005, description='s')
    ambient: Finite = pydantic.Field(25.0, description='degrees Celsius')
    drives: dict[str, SimulatedDrive] = pydantic.Field(description='by actuated joint')


def load_simulation(path: str | pathlib.Path, drives: Drives) -> SimulationSettings:
    """Read and check a file of simulated drives.

    Parameters
    ----------
    path : str or pathlib.Path
        A file, or the name of one shipped in ``config/`` (``simulated_drives.yaml``).
    drives : Drives
        The drives to simulate; each needs data in the file.

    Raises
    ------
    DescriptionError
        Naming file, key and reason.
    """
    simulation = checked(SimulationSettings, read_mapping(find_file(path)), path)
    _check(path, simulation, drives)
    return simulation


def _check(path: str | pathlib.Path, simulation: SimulationSettings, drives: Drives) -> None:
    """Check what no single field can."""
    for name, drive in drives.drives.items():
        simulated = simulation.drives.get(name)
        if simulated is None:
            raise DescriptionError(path, 'drives', f'has no {name}, which the drives file has')
        slowest = 2.0 * simulated.inertia / simulation.step
        drag = simulated.friction.viscous * drive.motor.gear_ratio**2
        if drag > 0.1 * slowest:
            raise DescriptionError(
                path,
                f'drives.{name}.friction.viscous',
                f'{simulated.friction.viscous:g} N m s/rad is too much for an inertia of '
                f'{simulated.inertia:g} kg m^2 and a step of {simulation.step:g} s '
                f'(more than {0.1 * slowest / drive.motor.gear_ratio**2:g})',
            )
        if simulated.temperature_limit <= simulation.ambient:
            raise DescriptionError(
                path,
                f'drives.{name}.temperature_limit',
                f'{simulated.temperature_limit:g} is not above the ambient temperature of '
                f'{simulation.ambient:g} degrees Celsius',
            )
