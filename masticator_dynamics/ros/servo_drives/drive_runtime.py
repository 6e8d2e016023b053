# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that exists while node ``servo_drives`` is configured."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics import Mechanism, interrupt
from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.approach import plan_approach
from masticator_dynamics.drives.configuration import Bus, Drives, changed, find_file, load_drives
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback, Setpoint
from masticator_dynamics.drives.drive_faults import Finding, Report
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.joint_limits import in_order
from masticator_dynamics.drives.loop_closure import CommandedClosure, check_reference
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.drives.watches import LoopCheck, SlowReading
from masticator_dynamics.errors import AbsentError, DescriptionError, DriveError, MasticatorError
from masticator_dynamics.ros.common.managed_node import Runtime
from masticator_dynamics.ros.servo_drives.drive_diagnostics import DriveDiagnostics
from masticator_dynamics.ros.servo_drives.drive_requests import DriveRequests
from masticator_dynamics.ros.servo_drives.drive_topics import AddedEffort, DriveTopics
from masticator_dynamics.ros.servo_drives.zero_calibration import ZeroCalibration

_AGAIN = 0.2  # s between two attempts to find missing drives
_OFF = 0.05  # rad or m, by which joints are off so that loops do not close
_HEARD = 5.0  # s to wait for the first feedback before drives are enabled automatically


class DriveRuntime(Runtime):
    """Drives, their cycle, topics and services.

    The exchange's thread runs the cycle, takes commands and publishes states; the executor's does
    the rest of ROS; requests, the check of the loops and slow reading have threads of their own.

    Raises
    ------
    DescriptionError
        For a mechanism or drives file that cannot be used, or if the two do not match.
    DriveError
        If the bus or drives are missing, or drives are not as the file says.
    """

    def __init__(self, node: LifecycleNode, settings: Any):
        mechanism = Mechanism.load(settings.mechanism)
        drives = in_order(with_bus(load_drives(settings.drives), settings), mechanism)
        if not drives.sends.positions and not settings.forward_effort:
            reason = f'without efforts there is nothing to command in mode {drives.mode}'
            raise DescriptionError('parameters', 'forward_effort', reason)
        self._node, self._settings, self._drives = node, settings, drives
        self._name = mechanism.name
        self._active = False
        self._supervisor = Supervisor(drives, Mechanism(mechanism.description))
        _warm_up(mechanism, drives, settings.approach_velocity)
        self._loops = LoopCheck(
            self._supervisor, mechanism, drives.closure_tolerance, settings.loop_check_rate
        )
        self._network = DriveNetwork(drives, find_file(settings.drives))
        self._connect()
        self._reading = SlowReading(self._network, self._supervisor)
        self._exchange = CyclicExchange(
            self._network, self._cycle, self._supervisor.exchange_failed
        )
        added, timeout = None, settings.added_effort_timeout
        if settings.add_bite_effort and settings.forward_effort:
            added = AddedEffort(len(mechanism.actuated), timeout, drives.lead_of_effort)
        self._topics = DriveTopics(
            node, self._supervisor, drives.mode, forward_effort=settings.forward_effort, added=added
        )
        self._zeros = ZeroCalibration(
            Mechanism(mechanism.description), drives, self._supervisor, settings
        )
        self._requests = DriveRequests(
            node, self._supervisor, self._network, self._exchange, mechanism.home.position,
            settings.approach_velocity, self._zeros,
        )  # fmt: skip
        self._diagnostics = DriveDiagnostics(
            node, mechanism.name, drives, self._exchange, self._topics.rejections,
            self._report, self._requests, memory_locked=real_time.lock_memory(),
        )  # fmt: skip
        self._diagnostics.distance = settings.desired_distance
        self._watched = True  # the drives watch this side's heartbeat

    def _connect(self) -> None:
        """Wait for the bus and drives, which may be switched on after this node has started."""
        limit, logged = self._settings.wait_for_drives, ''
        end = time.monotonic() + limit
        while True:
            try:
                self._network.connect()
                return
            except AbsentError as error:
                if time.monotonic() >= end or interrupt.requested():
                    raise
                if str(error) != logged:
                    logged = str(error)
                    self._node.get_logger().warning(f'waiting up to {limit:g} s: {logged}')
            time.sleep(_AGAIN)

    def activate(self) -> str:
        """Start the cyclic exchange; `DriveError` for drives that have gone in the meantime."""
        self._network.listen()  # checks that nobody else commands these drives
        self._topics.discard()
        self._supervisor.restart()
        # This thread may hold Python's lock when the exchange needs it.
        real_time.request(real_time.SERVICE)
        self._exchange.start()
        self._active = self._requests.active = True
        try:
            if not self._watched:  # not sooner: drives that watch SYNC and heartbeat would fault
                self._network.watch(True)
                self._watched = True
            self._loops.start()
            self._reading.start()
            if self._settings.auto_enable:
                self._requests.start('auto_enable', self._enable)
        except BaseException:
            self.deactivate()
            raise
        names, rate = ', '.join(self._supervisor.joints), self._drives.cycle_rate
        return f'{self._name}: drives of {names} at {rate:g} Hz'

    def deactivate(self) -> None:
        """Slow the drives down, make them torque-free, and end the exchange."""
        if not self._active:
            return
        self._active = False
        try:
            self._requests.end()
            self._loops.stop()
            self._reading.stop()
            self._unwatch()
        finally:  # it makes the drives torque-free, whatever fails before
            self._exchange.stop()
            real_time.release()

    def destroy(self) -> None:
        """Release topics and bus; drives are pre-operational then."""
        self.deactivate()
        self._diagnostics.reporter.destroy()
        self._requests.destroy()
        self._topics.destroy()
        self._network.close()

    def apply(self, settings: Any) -> None:
        """Apply the parameters that may change."""
        self._settings = settings
        self._requests.approach_velocity = settings.approach_velocity
        self._diagnostics.distance = settings.desired_distance
        self._zeros.settings = settings
        if self._topics.added is not None:
            self._topics.added.timeout = settings.added_effort_timeout

    def fail(self, reason: str) -> None:
        """Slow the drives down and make them torque-free."""
        self._supervisor.stop(Finding('node', 'internal error', reason, DriveGoal.STOPPED))

    def _cycle(self, feedback: Feedback) -> Setpoint:
        self._topics.poll()
        setpoint = self._supervisor(feedback)
        self._topics.publish(feedback)
        return setpoint

    def _report(self) -> Report:
        self._requests.look()
        return self._supervisor.report()

    def _enable(self) -> None:
        end = time.monotonic() + _HEARD
        while self._active and not self._heard() and time.monotonic() < end:
            time.sleep(0.01)
        self._requests.log('auto_enable', self._requests.run(self._requests.enable))

    def _heard(self) -> bool:
        feedback = self._supervisor.report().feedback
        return feedback is not None and bool((feedback.position == feedback.position).all())

    def _unwatch(self) -> None:
        """End watching: drives that still watch for heartbeat and SYNC would fault from now on.

        One that may still give torque keeps watching: the fault is what makes it torque-free.
        """
        logger = self._node.get_logger()
        powered, gone = self._network.powered(), self._network.gone()
        powered = tuple(name for name in powered if name not in gone)
        for names, what in (
            (gone, 'did not answer: whether they give torque is not known'),
            (powered, 'may still give torque'),
        ):
            if names:
                consequence = 'left to fault for want of a heartbeat'
                logger.error(f'{", ".join(names)} {what}; {consequence}')
        if powered or gone:
            return
        self._watched = False
        try:
            self._network.watch(False)
        except DriveError as error:
            logger.warning(f'will be in fault when the node is active again: {error}')


def with_bus(drives: Drives, settings: Any) -> Drives:
    """The same drives on the bus named by the parameters.

    Raises
    ------
    DescriptionError
        For a bus that cannot exist.
    """
    bus_settings = {
        'interface': settings.bus_interface,
        'channel': settings.bus_channel,
        'port': settings.bus_port,
    }
    changes = {key: value for key, value in bus_settings.items() if value}
    if not changes:
        return drives
    try:
        bus = Bus(**dict(drives.bus) | changes)
    except ValueError as error:
        reason = ' '.join(str(error).split())
        raise DescriptionError('parameters', 'bus', reason) from None
    return changed(drives, bus=bus)


def _warm_up(mechanism: Mechanism, drives: Drives, velocity: float) -> None:
    """Run the loop checks once, including loops that stay open: drives must not wait for them.

    Whatever has to be compiled is compiled before there is a drive that could be enabled.
    """
    home, period = mechanism.home.position, 1.0 / drives.cycle_rate
    off = home + _OFF * np.eye(len(home))[0]
    for position in (home, off):
        check_reference(mechanism, position, drives.closure_tolerance)
    closure = CommandedClosure(mechanism)
    with contextlib.suppress(MasticatorError):
        closure.begin(home)
        closure.error(off)
        closure.off()
        plan_approach(mechanism, home, off, period, velocity)
