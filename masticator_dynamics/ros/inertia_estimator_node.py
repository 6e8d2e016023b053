# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``inertia_estimator``: load inertia of the actuated joints at any pose.

Service ``~/estimate``: load inertia of one or many configurations.

A malformed request (names, lengths, numbers that are not finite) is refused as a whole. If only
some configurations have no estimate, their numbers are NaN, the others are returned, and the
response has ``success`` false and a message with the reason.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Float64MultiArray

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.estimator import KINDS, MODEL
from masticator_dynamics.analysis.load_inertia.storage import EstimatorSet
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError, in_words
from masticator_dynamics.optional import needed
from masticator_dynamics.ros.common.diagnostics import OK, Status, shortened
from masticator_dynamics.ros.common.direct_subscription import doubles
from masticator_dynamics.ros.common.managed_node import ManagedNode, parameter
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    INDEPENDENT,
    JointReading,
    JointSelection,
    JointStateReader,
    JointStateRuntime,
    JointStateSettings,
    select_joints,
)

LARGEST = 100_000  # configurations in one request
_CHUNK = {INDEPENDENT: 250, 'actuated': 10}  # some ten milliseconds, which block the executor


class EstimateService:
    """The service; between chunks of a long request the node can do other work.

    Parameters
    ----------
    mechanism : Mechanism
        Used only by the executor's thread.
    estimators : EstimatorSet
        Estimators of the same mechanism.
    chosen : callable
        Returns the kind to use if a request names none.
    tolerance : float
        Largest gap of a loop that given actuated joints may leave, m.

    Attributes
    ----------
    reader : JointStateReader
        Reads given actuated joints; its tolerance may change.

    Raises
    ------
    InputError
        If the interfaces are not installed.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        estimators: EstimatorSet,
        chosen: Callable[[], str],
        tolerance: float,
    ):
        self.active = False
        self.answered = self.refused = 0
        self._node, self._mechanism, self._estimators = node, mechanism, estimators
        self._chosen, self.reader = chosen, JointStateReader(mechanism, tolerance)
        # In a callback group of its own, requests wait only for one another.
        self._service = node.create_service(
            # The interfaces must be compiled, which not every machine can do.
            needed('masticator_interfaces.srv').EstimateInertia,
            '~/estimate',
            self._answer,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )

    def destroy(self) -> None:
        """Destroy the ROS service."""
        self._node.destroy_service(self._service)

    async def _answer(self, request: Any, response: Any) -> Any:
        try:
            await self._fill(request, response)
        except Exception as error:  # no request may end the node
            response.message = shortened(in_words(error))
        if response.success:
            self.answered += 1
        else:
            self.refused += 1
            self._node.get_logger().warning(
                f'estimate: {response.message}', throttle_duration_sec=1.0
            )
        return response

    async def _fill(self, request: Any, response: Any) -> None:
        if not self.active:
            raise InputError('the node is not active')
        kind = request.estimator or self._chosen()
        estimator = self._estimators[kind]
        selection, table = _read_request(self._mechanism, request.joint_names, request.positions)
        parts, expected, problems = [], np.empty(0), 0
        for start in range(0, len(table), _CHUNK[selection.kind]):
            if start:
                await self._give_way()
            rows = table[start : start + _CHUNK[selection.kind]]
            y, reasons = self._configurations(selection, rows)
            found = estimator.estimate_batch(y, bool(request.off_diagonals))
            values = found.inertia.reshape(len(y), -1)
            for row in range(len(y)):
                if found.inside[row] and not reasons[row]:
                    continue
                values[row] = np.nan
                problems += 1
                if problems == 1:
                    reason = reasons[row] or str(estimator.refusal(y[row]))
                    response.message = f'configuration {start + row + 1}: {reason}'
            parts.append(values)
            expected = found.expected_error
        if problems:
            first = f'{problems} of {len(table)} configurations have no estimate; first, '
            response.message = first + response.message
        response.success = not problems
        response.estimator = kind
        response.actuated_joints = list(self._mechanism.actuated)
        response.inertia = doubles(np.concatenate(parts).ravel())
        response.expected_error = doubles(expected.ravel())

    def _configurations(
        self, selection: JointSelection, rows: FloatArray
    ) -> tuple[FloatArray, list[str]]:
        """Independent coordinates (N, n_y), and by row why they are missing or do not close."""
        if selection.kind == INDEPENDENT:
            attempts = self._mechanism.attempt(rows)
            return rows, [str(attempts.failure(k) or '') for k in range(len(rows))]
        y = np.zeros((len(rows), len(self._mechanism.independent)))
        reasons = [''] * len(rows)
        for k, row in enumerate(rows):
            try:
                y[k] = self.reader.read(selection.joints, row.tolist()).motion.y
            except MasticatorError as error:
                reasons[k] = str(error)
        return y, reasons

    def _give_way(self) -> Awaitable[None]:
        executor = self._node.executor
        if executor is not None:
            executor.wake()  # otherwise it would not continue here before the next event
        return _once()


def _read_request(
    mechanism: Mechanism, names: Any, positions: Any
) -> tuple[JointSelection, FloatArray]:
    """Joints of a request and their positions (N, joints).

    Raises
    ------
    InputError
        For names that give no configuration, a wrong number of positions, positions that are not
        finite, and too many configurations.
    """
    selection = select_joints(mechanism, list(names))
    values = np.array(positions, dtype=float)
    if not len(values) or len(values) % len(names):
        raise InputError(
            f'there are {len(values)} positions for {len(names)} joints; give one per joint for '
            'each configuration, and at least one configuration'
        )
    table = values.reshape(-1, len(names))[:, selection.columns]
    if len(table) > LARGEST:
        raise InputError(f'there are {len(table)} configurations; at most {LARGEST} are answered')
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InputError(
            f'configuration {row + 1}: position of {selection.joints[column]} is '
            f'{table[row, column]}, not a finite number'
        )
    return selection, table


@types.coroutine
def _once() -> Generator[None, None, None]:
    """Let the executor do something else, then go on."""
    yield


@dataclasses.dataclass(frozen=True)
class InertiaEstimatorSettings(JointStateSettings):
    """Values of the parameters; units are in their descriptions."""

    estimator: str = parameter(
        MODEL,
        'What load inertia is estimated with, on the topic and where a request names nothing.',
        constraints=', '.join(KINDS),
        read_only=False,
    )
    estimator_files: Sequence[str] = parameter(
        ('',), 'Files from masticator build-estimator, used instead of shipped ones of their kind.'
    )


class Estimation(JointStateRuntime):
    """Turns topic ``joint_states`` into topic ``~/load_inertia``; offers service ``~/estimate``.

    Topic and service run in threads of their own, each with its own mechanism.

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
            node, settings, mechanism, 'joint_states', '~/load_inertia', Float64MultiArray(),
            ('data',), '',
        )  # fmt: skip

    def activate(self) -> str:
        """Start answering, requests as well."""
        self._service.active = True
        names, kinds = ', '.join(self._mechanism.actuated), ', '.join(self._estimators.kinds)
        used = self._settings.estimator
        self.does = f'load inertia of {names}; estimators {kinds}, using {used}'
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

    def answer(self, stamp: int, frame: str, reading: JointReading) -> tuple[FloatArray]:
        """The load inertia of every motor."""
        return (self._estimators[self._settings.estimator].load_inertia(reading.motion),)

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
