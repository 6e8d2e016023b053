# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of node ``servo_drives``: a status per drive, of the bus and of supervision."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.drives.can_bus import bus_title
from masticator_dynamics.drives.configuration import Drives, bus_load
from masticator_dynamics.drives.drive_faults import Phase, Report
from masticator_dynamics.drives.escalation import late_answers
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.state_machine import state_of
from masticator_dynamics.ros.common.diagnostics import (
    ERROR,
    OK,
    STALE,
    WARN,
    KeepingUp,
    Rejections,
    Status,
    microseconds,
)
from masticator_dynamics.ros.common.status_reporter import StatusReporter
from masticator_dynamics.ros.servo_drives.drive_requests import DriveRequests

_LOOK = 0.05  # s; requests look then, too, who commands
_REPORT = 0.5  # s between two statuses without news: making them takes a millisecond
_SKIPPED_PART = 0.001  # fraction of the cycles, above which there is a warning
_WARM = 10.0  # K below the limit
_FROZEN = 0.5  # s without a cycle, after which drives have nothing but their own monitoring


class DriveDiagnostics:
    """Topic ``/diagnostics``.

    Parameters
    ----------
    rejections : Rejections
        Of commands that could not be read.
    report : callable
        Returns the supervisor's report; called twenty times a second, also for other regular
        work.
    requests : DriveRequests
        Know whether the node is active, and who last requested what.
    memory_locked : bool
        Whether this process's memory is locked.
    """

    def __init__(
        self,
        node: LifecycleNode,
        name: str,
        drives: Drives,
        exchange: CyclicExchange,
        rejections: Rejections,
        report: Callable[[], Report],
        requests: DriveRequests,
        *,
        memory_locked: bool,
    ):
        self._node, self._drives, self._exchange = node, drives, exchange
        self._rejections, self._report, self._requests = rejections, report, requests
        self._memory_locked = memory_locked
        self._joints = tuple(drives.drives)
        self._statuses: list[Status] = []
        self._signature: tuple[object, ...] = ()
        self._made = self._logged = -10.0
        self._news: tuple[object, ...] = ()
        self._limited = np.zeros(len(self._joints), dtype=np.int64)
        self._refused = 0
        self._refused_at = -10.0
        self.distance = np.inf  # rad or m from the desired motion, beyond which it warns
        self._off = False
        self._keeping_up = KeepingUp(node.get_logger().warning)
        self.reporter = StatusReporter(node, name, self._collect, _LOOK)

    def _collect(self) -> list[Status]:
        report, now = self._report(), time.monotonic()
        self._log(report, now)
        requests, running = self._requests, self._exchange.running
        signature = (report.phase, report.text, report.refused, self._rejections.rejected,
                     running, requests.active, requests.latest)  # fmt: skip
        if signature != self._signature or now - self._made > _REPORT:
            self._signature, self._made = signature, now
            each = [self._drive(report, k) for k in range(len(self._joints))]
            if not self._drives.sends.positions:
                each.append(self._desired(report))
            self._statuses = [
                self._supervision(report), self._command(report, now), self._bus(report), *each
            ]  # fmt: skip
        return self._statuses

    def _log(self, report: Report, now: float) -> None:
        logger = self._node.get_logger()
        self._look_who_stands_still(report)
        if report.news != self._news:
            self._news = report.news
            if report.news:
                logger.error(f'all drives {report.goal.value}: {report.text}')
            else:
                logger.info('reset: nothing is latched any more')
        if report.refused != self._refused:
            self._refused, self._refused_at = report.refused, now
            logger.error(f'command refused: {report.refusal}', throttle_duration_sec=1.0)
        if now - self._logged > 1.0:
            self._logged = now
            total = report.clamped + report.held_back
            names = [self._joints[k] for k in np.flatnonzero(total > self._limited)]
            self._limited = total
            if names:
                logger.warning(f'effort limited (bound or rate): {", ".join(names)}')

    def _look_who_stands_still(self, report: Report) -> None:
        """Warn while it still helps: drives stop soon after."""
        drives, late = self._drives, self._exchange.late.take()
        held_back = self._exchange.held_back.take()
        self._keeping_up.look(
            'the cycle of the drives stood still', late, *late_answers(drives), held_back
        )
        if report.phase is Phase.FOLLOWING:
            stop = f'drives stop after {1e3 * drives.command_timeout:.0f} ms'
            who = 'whoever commands, the controller manager with ros2_control, has been silent'
            self._keeping_up.look(who, report.silence, 0.5 * drives.command_timeout, stop)

    def _supervision(self, report: Report) -> Status:
        cause = report.causes[0] if report.causes else None
        values: dict[str, object] = {
            'goal': report.goal.value,
            'phase': report.phase.value,
            'cause': cause.kind if cause else 'none',
            'drive': cause.drive if cause else 'none',
            'latched': '; '.join(str(finding) for finding in report.causes) or 'none',
            'last asked': self._requests.latest or 'nothing',
        }
        if not self._requests.active:
            if report.causes:
                message = f'not active; stopped until reset: {report.text}'
                return Status('supervision', WARN, message, values)
            return Status('supervision', OK, 'not active', values)
        if not self._exchange.running:
            reason = self._exchange.failure or 'stopped'
            message = f'the exchange with the drives has ended: {reason}'
            return Status('supervision', ERROR, message, values)
        silence = 0.0 if report.feedback is None else time.monotonic() - report.feedback.time
        if silence > _FROZEN:
            message = f'no cycle for {silence:.2g} s: drives have only their own monitoring'
            return Status('supervision', ERROR, message, values)
        if report.phase is Phase.LATCHED:
            message = f'all drives {report.goal.value} until reset: {report.text}'
            return Status('supervision', ERROR, message, values)
        return Status('supervision', OK, report.phase.value, values)

    def _command(self, report: Report, now: float) -> Status:
        values: dict[str, object] = {
            'followed': report.accepted,
            'refused': report.refused,
            'last refused': report.refusal or 'none',
            'not finite': report.not_finite,
            'while not enabled': report.ignored,
            **{f'unreadable: {key}': value for key, value in self._rejections.values().items()},
        }
        for joint, clamped, held in zip(
            self._joints, report.clamped.tolist(), report.held_back.tolist(), strict=True
        ):
            values[f'effort clamped {joint} (cycles)'] = clamped
            values[f'effort rate limited {joint} (cycles)'] = held
        level, message = OK, 'followed' if report.phase is Phase.FOLLOWING else 'not followed'
        if report.refused and now - self._refused_at < 2.0:
            level, message = ERROR, f'refused: {report.refusal}'
        return self._rejections.status('command', level, message, values, 'refused')

    def _desired(self, report: Report) -> Status:
        """How far the joints are from what their efforts are for: no loop brings them there."""
        off, following = report.off_desired, report.phase is Phase.FOLLOWING
        before, self._off = self._off, False
        values: dict[str, object] = {'warned of beyond (rad or m)': self.distance}
        if off is None:
            message = (
                'nothing comes on feedforward_state: how far the robot is from what efforts are '
                'for is not known, and friction of motors and gears is not compensated unless '
                'commands carry velocities'
            )
            return Status('desired motion', WARN if following else OK, message, values)
        values |= {
            f'distance {name}': x for name, x in zip(self._joints, off.tolist(), strict=True)
        }
        worst = int(np.argmax(np.abs(off)))
        message = f'{self._joints[worst]} is {abs(off[worst]):.2g} from what its efforts are for'
        self._off = following and abs(off[worst]) > self.distance * (0.5 if before else 1.0)
        if self._off and not before:
            self._node.get_logger().warning(f'{message}: mode effort holds no position')
        return Status('desired motion', WARN if self._off else OK, message, values)

    def _bus(self, report: Report) -> Status:
        drives, statistics = self._drives, self._exchange.statistics
        low, high = bus_load(drives)
        values: dict[str, object] = {
            'bus': bus_title(drives.bus),
            'cycle rate (Hz)': drives.cycle_rate,
            'cycles': statistics.cycles,
            'cycles left out': statistics.skipped,
            'processor per cycle (us)': round(statistics.processor * 1e6, 1),
            'real-time scheduling': self._exchange.real_time,
            'memory locked': self._memory_locked,
            'processors stay awake': self._exchange.awake,
            'load estimate (%)': f'{100.0 * low:.0f} to {100.0 * high:.0f}',
            'lost frames': 0 if report.feedback is None else int(report.feedback.lost.sum()),
        }
        if drives.bus.interface == 'udp_multicast':
            values['packets that were no frames'] = self._exchange.network.no_frames
        values |= microseconds('jitter', statistics.lateness.spread())
        values |= microseconds('answer', statistics.answer.spread())
        values |= microseconds('cycle', statistics.duration.spread())
        error = report.feedback.bus_error if report.feedback is not None else ''
        if error:
            return Status('bus', ERROR, error, values)
        if statistics.skipped > _SKIPPED_PART * statistics.cycles + 1:
            return Status('bus', WARN, 'more than 0.1 % of the cycles were left out', values)
        return Status('bus', OK, f'{drives.cycle_rate:g} Hz', values)

    def _drive(self, report: Report, k: int) -> Status:
        joint, feedback = self._joints[k], report.feedback
        settings, name = self._drives.drives[joint], f'drive {joint}'
        values: dict[str, object] = {'node id': settings.node_id}
        if feedback is None:
            return Status(name, STALE, 'not heard of yet', values)
        word, temperature = int(feedback.status_word[k]), float(report.temperature[k])
        values |= {
            'state': state_of(word).words,
            'status word': f'0x{word:04X}',
            'temperature (degC)': temperature,
            'following error (rad)': float(report.following_error[k]),
            'position (rad)': float(feedback.position[k]),
            'effort (N m)': float(feedback.effort[k]),
            'lost frames': int(feedback.lost[k]),
            'missing in a row': int(feedback.missed[k]),
            'heartbeat age (s)': float(feedback.heartbeat_age[k]),
            'emergency': report.emergencies[k] or 'none',
        }
        causes = [finding.text for finding in report.causes if finding.drive == joint]
        if causes:
            return Status(name, ERROR, '; '.join(causes), values)
        if temperature > settings.limits.temperature - _WARM:
            return Status(name, WARN, 'motor is getting too hot', values)
        return Status(name, OK, state_of(word).words, values)
