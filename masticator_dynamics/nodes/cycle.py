# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What one control cycle computes: motion, bite force and efforts at one instant."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.mechanism import Goal
from masticator_dynamics.nodes.bite_force import BiteForce
from masticator_dynamics.nodes.executed_motion import ExecutedMotion
from masticator_dynamics.nodes.frame_poses import FramePoses
from masticator_dynamics.results import Effort


class EffortClamp:
    """Efforts cut to the limits of the URDF, with a record of what was cut.

    Parameters
    ----------
    mechanism : Mechanism

    Attributes
    ----------
    units : tuple of str
        Of the efforts.
    scale : float
        Part of the limits that may be used.
    counts : (n_u,) array
        Cycles in which each actuator was cut.
    largest : (n_u,) array
        Largest wanted magnitude of each since `take_largest`; 0 where none was cut.
    """

    def __init__(self, mechanism: Mechanism):
        self.units = mechanism.effort_units
        self._limits = mechanism.effort_limits
        self.scale = 1.0
        self.counts = np.zeros(len(self._limits), dtype=np.int64)
        self.largest = np.zeros(len(self._limits))

    @property
    def limits(self) -> FloatArray:
        """Magnitudes (n_u,) that are never exceeded, N m or N."""
        return self._limits * self.scale

    def __call__(self, effort: FloatArray) -> FloatArray:
        """Return efforts (n_u,) inside the limits."""
        limits = self._limits * self.scale
        magnitude = np.abs(effort)
        beyond = magnitude > limits
        if not beyond.any():
            return effort
        self.counts += beyond
        np.maximum(self.largest, np.where(beyond, magnitude, 0.0), out=self.largest)
        return np.clip(effort, -limits, limits)

    def take_largest(self) -> FloatArray:
        """Return `largest` and start over."""
        largest, self.largest = self.largest, np.zeros_like(self.largest)
        return largest


@dataclasses.dataclass(frozen=True)
class Answer:
    """Effort as computed, and the effort (n_u,) that may be sent."""

    effort: Effort
    actuated: FloatArray


class FeedforwardCycle:
    """Evaluates the executed motion with the measured bite force.

    Parameters
    ----------
    mechanism : Mechanism
        Used by the calling thread only: it keeps scratch memory.
    goal : str
        How redundant actuators share the load.
    friction : bool
        Whether efforts overcome friction.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        motion: ExecutedMotion,
        bite: BiteForce,
        clamp: EffortClamp,
        *,
        goal: Goal = 'torque',
        friction: bool = False,
    ):
        self._goal, self._friction = goal, friction
        self._mechanism = mechanism
        self._motion = motion
        self._bite = bite
        self._clamp = clamp
        contacts = mechanism.description.contacts
        self._contact_frames = tuple(contact.frame for contact in contacts)
        self._contact_normals = tuple(np.array(contact.normal) for contact in contacts)
        self._contact_poses = FramePoses(mechanism, self._contact_frames)
        self._last_position = mechanism.home.y
        self.failure = ''  # why the last failed cycle failed

    def __call__(self, time: int) -> Answer:
        """Efforts at a time (ns).

        A motion that cannot be evaluated, which its check before the start should have shown,
        stops where it last could.
        """
        state = self._motion.state(time)
        try:
            effort = self._evaluate(state, time)
        except MasticatorError as error:
            self.failure = str(error)
            self._motion.hold(time, self._last_position)
            effort = self._mechanism.feedforward(
                self._last_position, goal=self._goal, friction=self._friction
            )
        self._last_position = effort.y
        return Answer(effort, self._clamp(effort.actuated))

    def contact_forces(self, effort: Effort) -> list[FloatArray]:
        """Force (3,) of each socket on the platform in the axes of its frame, N."""
        poses = self._contact_poses(effort.q)
        return [
            poses[frame][0].T @ normal * multiplier
            for frame, normal, multiplier in zip(
                self._contact_frames, self._contact_normals, effort.contact, strict=True
            )
        ]

    def _evaluate(self, state: tuple[FloatArray, FloatArray, FloatArray], time: int) -> Effort:
        measured = self._bite.fresh(time)
        if measured is None:
            return self._mechanism.feedforward(*state, goal=self._goal, friction=self._friction)
        motion = self._mechanism.solve(*state)
        wrench = self._bite.on_platform(measured, motion.q)
        return self._mechanism.inverse_dynamics(
            motion, wrench, goal=self._goal, friction=self._friction
        )
