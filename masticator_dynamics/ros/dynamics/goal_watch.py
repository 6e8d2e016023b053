# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measured joints compared with the motion of a goal, and how far off they may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.dynamics.trajectory_points import JointsError

# Tolerances of actuated joints, if a goal gives none: as in config/controllers.yaml.
ON_THE_WAY = {'rad': 0.15, 'm': 0.015}
AT_THE_END = {'rad': 0.02, 'm': 0.002}


@dataclasses.dataclass(frozen=True)
class Tolerances:
    """Largest errors (n_q,) of position and velocity, in tree order; inf: unlimited."""

    joints: tuple[str, ...]
    units: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray

    @classmethod
    def of(cls, given: Iterable[Any], mechanism: Mechanism, usual: dict[str, float]) -> Tolerances:
        """Tolerances of a goal; 0 leaves the default, a negative number removes it.

        Parameters
        ----------
        given : iterable of control_msgs/JointTolerance
            Joint, and its tolerances of position, velocity and acceleration (m or rad, and s).
        mechanism : Mechanism
            Whose joints may be named.
        usual : dict
            Default tolerance of the actuated joints' positions by their unit, 'm' or 'rad'.

        Raises
        ------
        JointsError
            For a joint that the mechanism does not have.
        InputError
            For tolerances that cannot be watched.
        """
        joints = mechanism.tree_joints
        units = tuple(joint.unit for joint in mechanism.structure.tree.joints)
        position, velocity = np.full((2, len(joints)), np.inf)
        for name in mechanism.actuated:
            k = joints.index(name)
            position[k] = usual[units[k]]
        for one in given:
            name, allowed = one.name, (one.position, one.velocity, one.acceleration)
            if name not in joints:
                raise JointsError(f'tolerance of unknown joint {name!r}')
            if np.isnan(allowed).any():
                raise InputError(f'tolerance of {name} is not a number')
            if allowed[2] > 0.0:
                raise InputError(f'tolerance of {name}: accelerations are not measured')
            for values, value in zip((position, velocity), allowed, strict=False):
                if value:
                    values[joints.index(name)] = value if value > 0.0 else np.inf
        return cls(joints, units, position, velocity)

    def violation(self, position: FloatArray, velocity: FloatArray) -> str:
        """What is farthest beyond its tolerance, or ''; errors are (n_q,) each, NaN: unknown."""
        for errors, allowed, per in (
            (position, self.position, ''),
            (velocity, self.velocity, '/s'),
        ):
            beyond = np.where(np.isfinite(allowed), np.abs(errors) / allowed, 0.0)
            if np.isnan(beyond).any():
                k = int(np.flatnonzero(np.isnan(beyond))[0])
                return f'{"velocity" if per else "position"} of {self.joints[k]} is not measured'
            k = int(np.argmax(beyond))
            if beyond[k] > 1.0:
                unit = self.units[k] + per
                off = f'{self.joints[k]} is {abs(errors[k]):.3g} {unit} off'
                return f'{off} (tolerance {allowed[k]:.3g} {unit})'
        return ''
