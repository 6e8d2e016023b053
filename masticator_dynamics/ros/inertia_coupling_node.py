# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``inertia_coupling``: how much the actuators feel one another's inertia."""

from __future__ import annotations

import dataclasses
import functools

from std_msgs.msg import Float64MultiArray

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.diagnostics import ERROR, OK, STALE, WARN, Status
from masticator_dynamics.ros.common.managed_node import FRAME_PREFIX, ManagedNode, parameter
from masticator_dynamics.ros.joint_states.coupling_markers import CouplingMarkers
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    JointReading,
    JointStateRuntime,
    JointStateSettings,
)


@dataclasses.dataclass(frozen=True)
class InertiaCouplingSettings(JointStateSettings):
    """Values of the parameters; units are in their descriptions."""

    warn_above: float = parameter(
        0.6931,
        'Coupling index above which the status of a joint is WARN; at ln 2 the inertia felt from '
        'each other actuator is on average as large as its own.',
        interval=(0.0, 100.0),
        constraints='not above error_above',
        read_only=False,
    )
    error_above: float = parameter(
        1.0986,
        'Coupling index above which the status of a joint is ERROR; at ln 3 it is twice as large.',
        interval=(0.0, 100.0),
        constraints='not below warn_above',
        read_only=False,
    )
    frame_prefix: str = FRAME_PREFIX

    def __post_init__(self) -> None:
        """Refuse thresholds in the wrong order."""
        if self.warn_above > self.error_above:
            raise InputError(
                f'warn_above {self.warn_above:g} is above error_above {self.error_above:g}'
            )


class Coupling(JointStateRuntime):
    """Turns topic ``joint_states`` into ``~/mci``, drawings and a diagnostic for every joint.

    Raises
    ------
    ActuationError
        For a mechanism whose inertia in actuated space is not defined.
    """

    def __init__(self, node: ManagedNode, settings: InertiaCouplingSettings):
        mechanism = Mechanism.load(settings.mechanism)
        mechanism.inertia_coupling(mechanism.home)
        self._newest: FloatArray | None = None
        message, does = Float64MultiArray(), f'inertia coupling of {", ".join(mechanism.actuated)}'
        self._markers = CouplingMarkers(node, mechanism, settings.frame_prefix)
        super().__init__(
            node, settings, mechanism, 'joint_states', '~/mci', message, ('data',), does
        )

    def destroy(self) -> None:
        """Destroy the topics."""
        super().destroy()
        self._markers.destroy()

    def deactivate(self) -> None:
        """Stop answering and forget the last answer."""
        super().deactivate()
        self._newest = None

    def answer(self, stamp: int, frame: str, reading: JointReading) -> tuple[FloatArray]:
        """The indices."""
        self._newest = self._mechanism.inertia_coupling(reading.motion)
        settings = self._settings
        self._markers.show(stamp, reading.motion, settings.warn_above, settings.error_above)
        return (self._newest,)

    def collect(self) -> list[Status]:
        """One status per joint, and one of the topic."""
        newest, names = self._newest, self._mechanism.actuated
        if newest is None or self.silent:
            joints = [self._status(name, STALE, 'no joint_states', {}) for name in names]
        else:
            pairs = zip(names, newest.tolist(), strict=True)
            joints = [self._joint(name, value) for name, value in pairs]
        return [*joints, *super().collect()]

    def _joint(self, name: str, value: float) -> Status:
        warn, error = self._settings.warn_above, self._settings.error_above
        level, message = OK, 'within thresholds'
        if value > error:
            level, message = ERROR, f'coupling index above {error:g}'
        elif value > warn:
            level, message = WARN, f'coupling index above {warn:g}'
        return self._status(name, level, message, {'mci': value})

    def _status(self, name: str, level: bytes, message: str, values: dict[str, object]) -> Status:
        thresholds = {
            'warn above': self._settings.warn_above,
            'error above': self._settings.error_above,
        }
        return Status(name, level, message, values | thresholds)


make_node = functools.partial(ManagedNode, 'inertia_coupling', InertiaCouplingSettings, Coupling)
