# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the rotors of the drives add to a mechanism's inertia."""

from __future__ import annotations

import dataclasses
import pathlib

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.errors import DescriptionError


def with_rotors(
    description: str | pathlib.Path | MechanismDescription, drives: Drives
) -> MechanismDescription:
    """A mechanism whose motors are those of a drives file.

    Parameters
    ----------
    description : MechanismDescription, str or path
        The mechanism without motors, or its name or path.
    drives : Drives

    Returns
    -------
    MechanismDescription
        The same with the rotors' inertia, reflected through the gears to the joints, added to that
        of the actuators that have a drive.

    Raises
    ------
    DescriptionError
        For an actuator with a transmission, whose rotor the description itself must state.
    """
    if not isinstance(description, MechanismDescription):
        description = load_description(description)
    actuators = dict(description.actuators)
    for joint, drive in drives.drives.items():
        if joint in actuators:
            motor, before = drive.motor, actuators[joint]
            if before.transmission is not None and motor.rotor_inertia:
                raise DescriptionError(
                    description.file,
                    f'actuators.{joint}.rotor_inertia',
                    'with a transmission here the rotor belongs here, too, not in the drives file',
                )
            felt = before.rotor_inertia + motor.rotor_inertia * motor.gear_ratio**2
            actuators[joint] = dataclasses.replace(before, rotor_inertia=felt)
    return dataclasses.replace(description, actuators=actuators)
