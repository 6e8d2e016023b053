# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incoming trajectories: checked in a worker, then followed, or refused with a reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rclpy.lifecycle import LifecycleNode
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.nodes.diagnostics import Rejections
from masticator_dynamics.nodes.executed_motion import ExecutedMotion
from masticator_dynamics.nodes.parameters import Settings
from masticator_dynamics.nodes.publishers import RELIABLE
from masticator_dynamics.nodes.trajectory_cdr import Trajectory, decode, from_message, is_plain
from masticator_dynamics.nodes.trajectory_points import read_points, to_independent
from masticator_dynamics.nodes.trajectory_preparation import (
    PreparedTrajectory,
    TrajectoryPreparation,
    expected_duration,
)

_ATTEMPTS = 5
_MARGIN = 5_000_000  # ns; a cycle that is running must not be overtaken


class TrajectoryInput:
    """Topic ``joint_trajectory``.

    Parameters
    ----------
    node : LifecycleNode
    mechanism : Mechanism
        For the worker alone: it keeps scratch memory.
    motion : ExecutedMotion
        Is told to follow what passes the checks.
    settings : callable
        Present parameters.
    now : callable
        The node's clock, ns.
    accepted : callable
        Gets every trajectory that will be followed.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        motion: ExecutedMotion,
        settings: Callable[[], Settings],
        now: Callable[[], int],
        accepted: Callable[[PreparedTrajectory], None],
    ):
        self.active = False
        self.rejections = Rejections()
        self._node, self._mechanism, self._motion = node, mechanism, motion
        self._settings, self._now, self._accepted = settings, now, accepted
        self._prepare = TrajectoryPreparation(
            mechanism,
            goal=settings().goal,
            friction=settings().friction,
            limits=settings().limits,
        )
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix='trajectories')
        # The serialised message: rclpy would convert it in the executor's thread.
        self._subscription = node.create_subscription(
            JointTrajectory, 'joint_trajectory', self._take, RELIABLE, raw=True
        )

    def destroy(self) -> None:
        """Give the topic back and end the worker."""
        self._node.destroy_subscription(self._subscription)
        self._worker.shutdown(cancel_futures=True)

    def warm_up(self, trajectory: Trajectory) -> None:
        """Do once all that a message causes, but for following it."""
        points = to_independent(read_points(trajectory, self._mechanism), self._mechanism, 1e-4)
        self._prepare(points, self._motion.schedule, 1, 1, 1.0)

    def _take(self, data: bytes) -> None:
        if self.active:
            self._worker.submit(self._follow, data)
        else:
            self._reject('the node is not active')

    def _follow(self, data: bytes) -> None:
        """Prepare a trajectory and follow it, or say why not."""
        try:
            trajectory = decode(data) if is_plain(data) else _convert(data)
            prepared = self._replace_motion(trajectory)
            self._accepted(prepared)
        except MasticatorError as error:
            self._reject(str(error))
            return
        except Exception as error:  # the node survives whatever a message does
            self._reject(f'{type(error).__name__}: {error}')
            return
        self.rejections.accept()
        logger = self._node.get_logger()
        logger.info(
            f'joint_trajectory accepted: {len(trajectory.points)} points, '
            f'{prepared.path.end - prepared.path.start:.6g} s, starts in '
            f'{(prepared.start - self._now()) * 1e-9:.3f} s'
        )
        if prepared.ramp > 0.0:
            logger.warning(
                'joint_trajectory does not end at rest: a rest ramp of '
                f'{prepared.ramp:.3g} s is appended'
            )

    def _replace_motion(self, trajectory: Trajectory) -> PreparedTrajectory:
        """Follow a trajectory from an instant that is still ahead when its checks are done."""
        settings = self._settings()
        points = read_points(trajectory, self._mechanism)
        points = to_independent(points, self._mechanism, settings.closure_tolerance)
        ahead = expected_duration(points)
        for _ in range(_ATTEMPTS):
            begin, schedule = time.perf_counter(), self._motion.schedule
            start = max(trajectory.stamp, self._now() + round(ahead * 1e9) + _MARGIN)
            stamp = trajectory.stamp or start
            prepared = self._prepare(points, schedule, stamp, start, settings.effort_limit_scale)
            now = self._now()
            if not self.active:
                raise InputError('the node is not active any more')
            if now + _MARGIN < start and self._motion.replace(start, prepared.path, schedule, now):
                return prepared
            ahead = 2.0 * (time.perf_counter() - begin) + 0.01
        raise InputError(f'its checks take longer than {ahead:.3g} s: the computer is overloaded')

    def _reject(self, reason: str) -> None:
        self.rejections.reject(reason)
        self._node.get_logger().error(f'joint_trajectory rejected: {reason}')


def _convert(data: bytes) -> Trajectory:
    return from_message(deserialize_message(data, JointTrajectory))
