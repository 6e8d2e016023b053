# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a recording to the numbers of the robot: what the data determine, and how well."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description.data import JointPhysics, MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.identification.consistency import consistent, possible
from masticator_dynamics.identification.equations import (
    Equations,
    Progress,
    equations,
    usual_sizes,
)
from masticator_dynamics.identification.learning import Learnt, learn
from masticator_dynamics.identification.log_checks import checked
from masticator_dynamics.identification.measured_motion import MeasuredMotion, measured_motion
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.identification.unknowns import Beliefs, Unknowns, unknowns_of
from masticator_dynamics.mechanism import Mechanism

_DETERMINED = 0.5  # of what was believed: a parameter that is surer than this is determined


@dataclasses.dataclass(frozen=True)
class Identified:
    """Result of an identification.

    Attributes
    ----------
    mechanism : Mechanism
        With the file's numbers, and friction of each motor.
    measured : MeasuredMotion
        Of the part that was learnt from.
    unknowns : Unknowns
    learnt : Learnt
    x : array, shape (n_x,)
        The unknowns: those of bodies that exist.
    training, held_out : Equations
    """

    mechanism: Mechanism
    measured: MeasuredMotion
    unknowns: Unknowns
    learnt: Learnt
    x: FloatArray
    training: Equations
    held_out: Equations

    @property
    def values(self) -> dict[str, float]:
        """Parameters that differ from the file's, by name."""
        change = self.unknowns.spread @ self.x
        changed = np.abs(change) > 1e-12 * self.unknowns.deviation
        values = possible(self.unknowns, self.x)
        return {
            name: float(x)
            for name, x, new in zip(self.unknowns.names, values, changed, strict=True)
            if new
        }

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of all parameters that may err, after the data."""
        before, after = self.unknowns.deviation, self.learnt.unsure(self.unknowns.spread)
        pairs = zip(self.unknowns.names, before, after, strict=True)
        return {name: float(new) for name, old, new in pairs if old > 0.0}

    @property
    def determined(self) -> tuple[str, ...]:
        """Parameters that the data determine by themselves; others only in combinations."""
        before = dict(zip(self.unknowns.names, self.unknowns.deviation, strict=True))
        return tuple(n for n, x in self.deviations.items() if x < _DETERMINED * before[n])

    @property
    def kept(self) -> tuple[str, ...]:
        """Parameters of which the data say nothing: they keep their values."""
        changed = self.values
        return tuple(name for name in self.deviations if name not in changed)

    @property
    def errors(self) -> tuple[float, float]:
        """RMS errors of efforts in the held-out part, relative to their RMS: before and after."""
        return self.held_out.error(np.zeros_like(self.x)), self.held_out.error(self.x)


def with_motor_friction(description: MechanismDescription) -> MechanismDescription:
    """A description in which every motor has constant and viscous friction, which may be zero."""
    none = JointPhysics(damping=0.0, friction=0.0)
    joints = {joint: description.joints.get(joint, none) for joint in description.actuated}
    return dataclasses.replace(description, joints=description.joints | joints)


def identify(
    description: MechanismDescription,
    log: RobotLog,
    held_out: RobotLog,
    beliefs: Beliefs | None = None,
    cutoff: float = 15.0,
    progress: Progress = lambda rows: None,
) -> Identified:
    """Numbers of the robot that made a recording.

    Parameters
    ----------
    description : MechanismDescription
        What is known of it.
    log : RobotLog
        To learn from: motion that excites what is to be found.
    held_out : RobotLog
        To judge by: not learnt from.
    beliefs : Beliefs, optional
        How far the description may err.
    cutoff : float
        Of the filter, Hz: above what moves, below what only shakes.
    progress : callable
        Called with numbers of rows that have been evaluated.

    Raises
    ------
    InputError
        For a recording from which nothing can be learnt; says what was seen.
    """
    mechanism = Mechanism(with_motor_friction(description))
    measured, judged = (
        measured_motion(mechanism, checked(mechanism, part), cutoff) for part in (log, held_out)
    )
    usual = usual_sizes(mechanism, measured)
    unknowns = unknowns_of(mechanism, beliefs or Beliefs(), usual)
    training, other = (
        equations(mechanism, part, unknowns, usual, progress) for part in (measured, judged)
    )
    learnt = learn(training)
    x = learnt.directions @ consistent(unknowns, learnt)
    return Identified(mechanism, measured, unknowns, learnt, x, training, other)
