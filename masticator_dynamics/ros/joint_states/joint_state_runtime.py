# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common part of the nodes that publish a message for each joint state received.

Configuration of a mechanism from an incoming joint state, or why the state gives none.

All nodes read joint states this way. Joints are found by name, in any order; joints that are not
needed are ignored, whatever their values.

- If all independent coordinates are named, they are the configuration.
- Otherwise, if all actuated joints are named, the closed configuration that fits them best is found
  by forward kinematics (velocities: by least squares). It is refused if the given actuated
  positions would open its loops by more than a tolerance.
- A state is refused if neither set of joints is complete, a needed joint is named twice, there are
  not as many positions as names, or a needed position is not finite. The error names the joint.
- Velocities may be missing, or NaN for all needed joints, which joint_state_broadcaster sends for
  drives that measure no velocity: the velocity is then unknown, not zero. A wrong number of
  velocities, or NaN for only some needed joints, is refused. Efforts are for nodes that need them.
- Ranges of joints and sockets are not enforced, because a measured state is a fact.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.real_time import Worker
from masticator_dynamics.engine.arrays import FloatArray, IntArray, as_slice
from masticator_dynamics.engine.evaluation.actuated_fit import FitInPlace
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.errors import InputError, in_words
from masticator_dynamics.ros.common.diagnostics import OK, WARN, Rejections, Status
from masticator_dynamics.ros.common.direct_subscription import (
    JOINT_FIELDS,
    DirectSubscription,
    Outgoing,
)
from masticator_dynamics.ros.common.fixed_layout import Numbers
from masticator_dynamics.ros.common.managed_node import (
    ManagedNode,
    NodeSettings,
    Runtime,
    parameter,
)
from masticator_dynamics.ros.common.node_clock import NodeClock
from masticator_dynamics.ros.common.status_reporter import StatusReporter

INDEPENDENT, ACTUATED = 'independent', 'actuated'


@dataclasses.dataclass(frozen=True)
class JointSelection:
    """The entries of a message to use: ``joints`` of a ``kind``, at ``columns`` of its arrays."""

    kind: str
    joints: tuple[str, ...]
    columns: slice | IntArray


class JointReading(NamedTuple):
    """A configuration of the closed mechanism."""

    motion: Motion  # the configuration at rest
    # (n_y,) or None: independent velocities; None when they were not measured.
    y_dot: FloatArray | None
    kind: str  # which joints were read: `INDEPENDENT` or `ACTUATED`
    # Largest loop gap at the given actuated positions, m; 0 for independent coordinates.
    closure_residual: float
    # (n_u,) or None: positions and efforts as given, of actuated joints; None where there are
    # none.
    measured: FloatArray | None = None
    effort: FloatArray | None = None


class UnmeasuredError(InputError):
    """None of the needed joints has a position: nothing has been measured yet."""


def select_joints(
    mechanism: Mechanism, names: Sequence[str], kinds: Sequence[str] = (INDEPENDENT, ACTUATED)
) -> JointSelection:
    """Find the joints that give the configuration: all independent ones, else all actuated ones.

    Parameters
    ----------
    names : sequence of str
        Of a message.
    kinds : sequence of str
        Those that may be read, the best first.

    Raises
    ------
    InputError
        If both kinds are incomplete or a needed joint is named twice.
    """
    counts = Counter(names)
    lacking = []
    for kind in kinds:
        joints = getattr(mechanism, kind)
        missing = [joint for joint in joints if joint not in counts]
        if missing:
            plural = 'coordinates' if kind == INDEPENDENT else 'joints'
            lacking.append(f'all {kind} {plural} (missing: {", ".join(missing)})')
            continue
        for joint in joints:
            if counts[joint] > 1:
                raise InputError(f'{joint!r} is named {counts[joint]} times')
        columns = as_slice(np.array([names.index(joint) for joint in joints], dtype=np.int64))
        return JointSelection(kind, joints, columns)
    if len(lacking) == 1:
        raise InputError(f'there are not {lacking[0]}')
    raise InputError(f'there are neither {lacking[0]} nor {lacking[1]}')


class JointStateReader:
    """Reads configurations from the names, positions and velocities of messages.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory: only the reading thread may use it.
    tolerance : float
        Largest gap of a loop that measured actuated positions may leave, m.
    kinds : sequence of str
        As for :func:`select_joints`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        tolerance: float,
        kinds: Sequence[str] = (INDEPENDENT, ACTUATED),
    ):
        self._mechanism, self._kinds, self._fit = mechanism, kinds, FitInPlace(mechanism)
        self.tolerance = tolerance
        self._names: list[str] = []
        self._selection: JointSelection | None = None

    def read(
        self,
        names: Sequence[str],
        positions: Sequence[float] | FloatArray,
        velocities: Sequence[float] | FloatArray = (),
        efforts: Sequence[float] | FloatArray = (),
    ) -> JointReading:
        """Read one state.

        Parameters
        ----------
        positions : sequence or array of float
            rad or m, as many as names.
        velocities : sequence or array of float
            rad/s or m/s, as many as names, or none.
        efforts : sequence or array of float
            N m or N; ignored unless they are as many as names, and finite.

        Raises
        ------
        UnmeasuredError
            If all needed positions are NaN, as in ros2_control before the first state.
        InputError
            For values that are missing, given twice, not finite or of the wrong number.
        ReachError, ClosureError, SingularityError
            If the loops cannot close at the independent positions, no closed configuration is
            near the actuated ones, or the loops stay open by more than the tolerance.
        """
        selection = self.select(names)
        if len(positions) != len(names):
            raise InputError(f'there are {len(positions)} positions for {len(names)} joints')
        if len(velocities) not in (0, len(names)):
            raise InputError(f'there are {len(velocities)} velocities for {len(names)} joints')
        position = _measured(selection, positions, 'position')
        if position is None:
            joints = ', '.join(selection.joints)
            raise UnmeasuredError(f'no position of {joints} has been measured: all are NaN')
        velocity = _measured(selection, velocities, 'velocity') if len(velocities) else None
        if selection.kind == INDEPENDENT:
            return JointReading(self._mechanism.solve(position), velocity, INDEPENDENT, 0.0)
        y, residual = self._fit.pose(position, self.tolerance)
        motion = self._mechanism.solve(y)
        if velocity is not None:
            velocity = self._fit.velocity(motion, velocity)
        effort = None
        if len(efforts) == len(names):
            effort = _needed(selection, efforts)
            effort = effort if _finite(effort) else None
        return JointReading(motion, velocity, ACTUATED, residual, position, effort)

    def select(self, names: Sequence[str]) -> JointSelection:
        """:func:`select_joints`, with its result kept: publishers always send the same names."""
        if self._selection is None or (names is not self._names and list(names) != self._names):
            names = list(names)
            self._selection, self._names = select_joints(self._mechanism, names, self._kinds), names
        return self._selection


def _needed(selection: JointSelection, values: Sequence[float] | FloatArray) -> FloatArray:
    """The needed values."""
    return np.asarray(values, dtype=np.float64)[selection.columns]


# Plain Python is several times as fast as numpy for a few numbers.


def _finite(numbers: FloatArray) -> bool:
    return all(map(math.isfinite, numbers.tolist()))


def _measured(
    selection: JointSelection, values: Sequence[float] | FloatArray, what: str
) -> FloatArray | None:
    """The needed values; None if there are none but NaN. `InputError` if some are not finite."""
    numbers = _needed(selection, values)
    if len(numbers) and _finite(numbers):
        return numbers
    if np.isnan(numbers).all():
        return None
    bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
    raise InputError(f'{what} of {selection.joints[bad]} is {numbers[bad]}, not a finite number')


# Messages are queued while the process is not scheduled: one second of them at 1 kHz.
_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
_LARGEST = 65536  # bytes; enough for a thousand joints, ours among them
_LAG = 1_000_000_000  # ns; if a message has waited longer, all but the newest are skipped
_POLL = 0.1  # s; how soon the thread notices that it should end
_SILENCE = 1.0  # s without messages before a warning


@dataclasses.dataclass(frozen=True)
class JointStateSettings(NodeSettings):
    """Values of the parameters of all nodes that read joint states."""

    closure_tolerance: float = parameter(
        1e-3,
        'Largest gap of a loop that measured actuated joints may leave, m.',
        read_only=False,
        interval=(1e-9, 1e-1),
    )


class JointStateRuntime(Runtime):
    """Joint states in, read by a thread of their own; one message out for each.

    Messages that cannot be read are counted and otherwise ignored; the log says why.

    Parameters
    ----------
    mechanism : Mechanism
        From activation to deactivation only the thread uses it.
    source, target : str
        Topics subscribed to and published.
    message : ROS message
        What is published, complete but for the numbers.
    fields : sequence of str
        Of the message, whose numbers are the answers.
    does : str
        What the node does from its activation on, for the log.
    """

    kinds: tuple[str, ...] = (INDEPENDENT, ACTUATED)  # of joints that are read, the best first

    def __init__(
        self,
        node: ManagedNode,
        settings: Any,
        mechanism: Mechanism,
        source: str,
        target: str,
        message: Any,
        fields: Sequence[str],
        does: str,
    ):
        self._node, self._settings, self._mechanism = node, settings, mechanism
        self._source, self._now, self.does = source, NodeClock(node), does
        self._target = Outgoing(node, target, message, *fields)
        self._rejections = Rejections(node.get_logger().error)
        self._skipped = 0  # messages dropped for a newer one
        self._reader = JointStateReader(mechanism, settings.closure_tolerance, self.kinds)
        self._subscription = DirectSubscription(
            node, JointState, source, _QOS, _LARGEST, *JOINT_FIELDS
        )
        self._thread = Worker(source, self._run)
        self._received = self._residual = 0.0
        self._kind, self._unmeasured = 'none', ''
        # Read a valid state once, to fill caches and load code.
        home = mechanism.home
        self._reader.read(mechanism.actuated, home.position.tolist(), home.velocity.tolist())
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def answer(self, stamp: int, frame: str, reading: JointReading) -> Any:
        """What is published for a reading: a row of numbers for each field, or nothing (None).

        May raise `MasticatorError` to refuse it.

        Parameters
        ----------
        stamp : int
            Of the message, ns; the present time if it had none.
        frame : str
            Of its header.
        """
        raise NotImplementedError

    @property
    def silent(self) -> bool:
        """Whether the node is active but has received nothing yet, or nothing for a second."""
        return self._thread.running and time.monotonic() - self._received > _SILENCE

    def collect(self) -> list[Status]:
        """Current diagnostic statuses."""
        level, message = OK, 'active' if self._thread.running else 'not active'
        if self._thread.running and self._unmeasured:
            level, message = WARN, self._unmeasured
        elif self.silent:
            level, message = WARN, f'nothing comes on {self._source}'
        values = {
            'read as': self._kind,
            'closure residual (m)': self._residual,
            'closure tolerance (m)': self._reader.tolerance,
            'skipped': self._skipped,
            **self._rejections.values(),
        }
        return [self._rejections.status(self._source, level, message, values)]

    def activate(self) -> str:
        """Process messages from now on; those queued while inactive are discarded."""
        for _ in self._subscription.take():
            pass
        self._received = 0.0
        self._thread.start()
        return f'{self._mechanism.name}: {self.does}'

    def deactivate(self) -> None:
        """End the thread."""
        self._thread.stop()

    def destroy(self) -> None:
        """Stop the thread and destroy the topics."""
        self.deactivate()
        self._subscription.destroy()
        self._reporter.destroy()
        self._target.destroy()

    def apply(self, settings: Any) -> None:
        """Apply the settings that may change at run time."""
        self._reader.tolerance = settings.closure_tolerance
        self._settings = settings

    def _run(self) -> None:
        while not self._thread.ended.is_set():
            self._subscription.wait(_POLL)
            waiting = list(self._subscription.take_numbers())
            if waiting:
                self._received = time.monotonic()
            self._answer_waiting(waiting)

    def _answer_waiting(self, waiting: list[tuple[Numbers, int]]) -> None:
        for index, (message, received) in enumerate(waiting):
            if self._thread.ended.is_set():
                return
            if time.time_ns() - received > _LAG:
                self._skipped += len(waiting) - 1 - index
                self._take(waiting[-1][0])
                return
            self._take(message)

    def _take(self, numbers: Numbers) -> None:
        message = numbers.message
        try:
            reading = self._reader.read(message.name, *numbers.rows)
            stamp = numbers.stamp or self._now()
            rows = self.answer(stamp, message.header.frame_id, reading)
            if rows is not None:
                self._target.publish(stamp, *rows)
        except Exception as error:  # no message may end the node
            # Nothing measured is normal before the first state; an error later.
            if isinstance(error, UnmeasuredError) and not self._rejections.accepted:
                self._unmeasured = str(error)
            else:
                self._rejections.reject(f'{self._source} rejected: ', in_words(error))
        else:
            self._kind, self._residual = reading.kind, reading.closure_residual
            self._unmeasured = ''
            self._rejections.accept()
