# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``inertia_estimator``: load inertia of the actuated joints at any pose."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import Annotated

from std_msgs.msg import Float64MultiArray, Header

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.estimator import KINDS, MODEL
from masticator_dynamics.analysis.load_inertia.storage import EstimatorSet
from masticator_dynamics.ros.common import process
from masticator_dynamics.ros.common.diagnostics import OK, Status
from masticator_dynamics.ros.common.managed_node import ManagedNode
from masticator_dynamics.ros.common.outgoing import doubles
from masticator_dynamics.ros.common.parameters import (
    Autostart,
    ClosureTolerance,
    Declaration,
    MechanismName,
)
from masticator_dynamics.ros.joint_states.estimate_service import EstimateService
from masticator_dynamics.ros.joint_states.joint_state_input import JointReading
from masticator_dynamics.ros.joint_states.joint_state_runtime import JointStateRuntime


@dataclasses.dataclass(frozen=True)
class InertiaEstimatorSettings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: MechanismName = 'masticator'
    estimator: Annotated[
        str,
        Declaration(
            'What load inertia is estimated with, on the topic and where a request names nothing.',
            read_only=False,
            constraints=', '.join(KINDS),
        ),
    ] = MODEL
    estimator_files: Annotated[
        Sequence[str],
        Declaration(
            'Files from masticator build-estimator, used instead of shipped ones of their kind.'
        ),
    ] = ('',)
    closure_tolerance: ClosureTolerance = 1e-3
    autostart: Autostart = True


class Estimation(JointStateRuntime):
    """Turns topic ``joint_states`` into topic ``~/load_inertia``; offers service ``~/estimate``.

    Topic and service run in threads of their own, each with its own mechanism.

    Parameters
    ----------
    node : ManagedNode
    settings : InertiaEstimatorSettings

    Raises
    ------
    InputError
        For an estimator that does not exist.
    ActuationError
        For a mechanism whose inertia in actuated space is not defined.
    """

    def __init__(self, node: ManagedNode, settings: InertiaEstimatorSettings):
        mechanism = Mechanism.load(settings.mechanism)
        self._estimators = EstimatorSet(mechanism, settings.estimator_files)
        self.check(settings)
        # Warms up what runs later, and gives what diagnostics report.
        self._expected = {
            kind: self._estimators[kind].estimate_batch(mechanism.home.y[None]).expected_error
            for kind in self._estimators.kinds
        }
        another = Mechanism(mechanism.description)
        self._service = EstimateService(
            node,
            another,
            EstimatorSet(another, settings.estimator_files),
            lambda: self._settings.estimator,
            settings.closure_tolerance,
        )
        super().__init__(
            node, settings, mechanism, 'joint_states', '~/load_inertia', Float64MultiArray()
        )

    def describe(self) -> str:
        """Name actuators and estimators."""
        names, kinds = ', '.join(self._mechanism.actuated), ', '.join(self._estimators.kinds)
        return f'load inertia of {names}; estimators {kinds}, using {self._settings.estimator}'

    def activate(self) -> str:
        """Start answering, requests as well."""
        self._service.active = True
        return super().activate()

    def deactivate(self) -> None:
        """Stop answering."""
        self._service.active = False
        super().deactivate()

    def destroy(self) -> None:
        """Destroy topics, service and thread."""
        self._service.destroy()
        super().destroy()

    def check(self, settings: InertiaEstimatorSettings) -> None:
        """Refuse an estimator that does not exist (`InputError`)."""
        _ = self._estimators[settings.estimator]

    def apply(self, settings: InertiaEstimatorSettings) -> None:
        """Apply tolerance and estimator."""
        super().apply(settings)
        self._service.reader.tolerance = settings.closure_tolerance

    def answer(self, header: Header, reading: JointReading) -> bool:
        """The load inertia of every motor."""
        inertia = self._estimators[self._settings.estimator].load_inertia(reading.motion)
        self._message.data = doubles(inertia)
        return True

    def collect(self) -> list[Status]:
        """Which estimator is used and how accurate it is, and how the topic is doing."""
        kind = self._settings.estimator
        pairs = zip(self._mechanism.actuated, self._expected[kind].tolist(), strict=True)
        values: dict[str, object] = {f'expected error {name}': value for name, value in pairs}
        values |= {'answered': self._service.answered, 'refused': self._service.refused}
        status = Status('estimator', OK, f'using {kind}', values)
        return [status, *super().collect()]


make_node = functools.partial(
    ManagedNode, 'inertia_estimator', InertiaEstimatorSettings, Estimation
)

if __name__ == '__main__':
    sys.exit(process.run(make_node))
