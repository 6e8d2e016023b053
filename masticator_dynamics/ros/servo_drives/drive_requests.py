# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services of node ``servo_drives``: each answers when its request has succeeded or failed."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode
from rclpy.task import Future
from std_srvs.srv import Trigger

from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.phases import MOVING, Phase
from masticator_dynamics.drives.state_machine import powered
from masticator_dynamics.drives.supervisor import Outcome, Supervisor
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import DriveError
from masticator_dynamics.ros.common.connections import who_asks, who_publishes
from masticator_dynamics.ros.common.diagnostics import LogLimit
from masticator_dynamics.ros.common.guard import guard_of
from masticator_dynamics.ros.servo_drives.zero_calibration import ZeroCalibration

_POLL = 0.005  # s
_BURST = 10  # lines in the log at once
_PATIENCE = 10.0  # s; the supervisor gives up earlier by itself
_MOST_WAITING = 10  # requests, each with a thread
_STILL = 10.0  # s to come to rest after zeros are known
_MOVED = 1e-3  # rad or m
_INACTIVE = Outcome(False, 'the node is not active')
_WITHDRAWN = Outcome(False, 'not carried out: the drives were disabled or stopped meanwhile')
_TOO_MANY = Outcome(False, f'not carried out: {_MOST_WAITING} requests are waiting')
# Disabling has been begun by then; True would say that drives are torque-free.
_DISABLING = Outcome(False, 'drives are being disabled, but too many requests wait to tell the end')

Request = Callable[[], Outcome]


class Ends(NamedTuple):
    """How often drives have been disabled on request, stopped until reset, and by an operator."""

    disabled: int
    stops: int
    emergency_stops: int


class DriveRequests:
    """Services to enable, approach, disable, reset, home and stop, below the node's name.

    Requests wait for one another in threads of their own. An emergency stop waits for nothing.
    Neither does disabling, only its answer. Both withdraw all requests that came before them, and
    so does whatever else stops the drives.

    Parameters
    ----------
    home : float array (n,)
        Joint positions, rad, at the mechanism's home.
    approach_velocity : float
        Largest velocity of any joint on the way to a command, rad/s.
    zeros : ZeroCalibration, optional
        Finds zeros without a fixture.
    """

    def __init__(
        self,
        node: LifecycleNode,
        supervisor: Supervisor,
        network: DriveNetwork,
        exchange: CyclicExchange,
        home: FloatArray,
        approach_velocity: float,
        zeros: ZeroCalibration | None = None,
    ):
        self.active, self.approach_velocity = False, approach_velocity
        self._node, self._supervisor = node, supervisor
        self._network, self._exchange, self._home = network, exchange, home
        self._zeros, self._commands = zeros, node.resolve_topic_name('~/command')
        self._one_at_a_time = threading.Lock()
        self._log_limit = LogLimit(_BURST)
        self.latest = ''  # what was last requested, when and by whom
        self._threads: list[threading.Thread] = []
        self._disabled = 0
        self._served = self._ends  # when the request came that is carried out
        requests: dict[str, Request] = {
            'enable': self.enable,
            'approach': self.approach,
            'disable': self.disable,
            'reset': self.reset,
            'home': self.home,
        }
        if zeros is not None:
            requests['calibrate_zeros'] = self.calibrate_zeros
        # Taken as they come: one that waited for another could not be told from a later one.
        group = ReentrantCallbackGroup()
        self._services = [
            node.create_service(
                Trigger, f'~/{name}', self._callback(name, request), callback_group=group
            )
            for name, request in requests.items()
        ]
        self._services.append(
            node.create_service(Trigger, '~/emergency_stop', self._emergency_stop)
        )

    def destroy(self) -> None:
        """Destroy the services."""
        for service in self._services:
            self._node.destroy_service(service)

    def end(self) -> None:
        """Accept no more requests and slow all drives down; blocks until the current one ends."""
        self.active = False
        self.disable()
        with self._one_at_a_time:  # it may have enabled the drives in the meantime
            self.disable()
        for thread in self._threads:
            thread.join()  # a thread that still calls ROS while Python ends would abort the process

    def start(self, name: str, work: Callable[[], None]) -> None:
        """Do work in a thread of its own, which :meth:`end` waits for."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads = [*(t for t in self._threads if t.is_alive()), thread]
        thread.start()

    def look(self) -> None:
        """Stop drives that are enabled while more than one node commands them, to and fro."""
        conflict = self._conflict()
        if conflict and self._supervisor.report().phase in MOVING:
            finding = Finding('commands', 'commanders', conflict, DriveGoal.STOPPED)
            self._supervisor.stop(finding)

    def _conflict(self) -> str:
        """Who command at the same time, or ''."""
        count = self._node.count_publishers(self._commands)
        if count < 2:
            return ''
        who = who_publishes(self._node, self._commands)
        return f'{self._commands} has {count} publishers ({who})'

    def enable(self) -> Outcome:
        """Enable all drives, which must still be as set up; blocks until done or failed."""
        if conflict := self._conflict():
            return Outcome(False, f'one node may command: {conflict}')
        try:
            if self._supervisor.report().phase is Phase.OFF:
                self._network.verify()
        except DriveError as error:
            return Outcome(False, str(error))
        return self._power(self._supervisor.enable)

    def approach(self) -> Outcome:
        """Move slowly to the commanded position; blocks until there."""
        begin = functools.partial(self._supervisor.approach, self.approach_velocity)
        return self._power(begin, lambda: self._supervisor.approach_duration)

    def disable(self) -> Outcome:
        """Slow all drives down until they are torque-free; blocks."""
        outcome = self._begin(self._supervisor.disable)
        feedback = self._supervisor.report().feedback
        if outcome.success or feedback is None or powered(feedback).any():
            return outcome
        return Outcome(True, f'drives are torque-free; stopped until reset: {outcome.message}')

    def reset(self) -> Outcome:
        """Acknowledge faults and clear latched errors; blocks.

        Drives that lost power or the bus, or are no longer as they were set up, are first set up
        again; they must then be homed.
        """
        if self._supervisor.report().phase in (Phase.LATCHED, Phase.OFF):
            allowed = self._supervisor.may_reset()
            if not allowed.success:
                return allowed
            lost, altered = self._network.lost(), self._network.altered()
            self._supervisor.forget_home(lost)
            self._supervisor.forget_home(altered, altered=True)
            try:
                self._network.restore(tuple(dict.fromkeys((*lost, *altered))))
            except DriveError as error:
                return Outcome(False, str(error))
        # Drives that are set up again are missed meanwhile, which must not withdraw this request.
        return self._begin(functools.partial(self._supervisor.reset, self._served.emergency_stops))

    def home(self) -> Outcome:
        """Make the current positions the mechanism's home; blocks."""
        return self._make_positions(self._home, 'homed')

    def calibrate_zeros(self) -> Outcome:
        """Find zeros while the torque-free mechanism is moved by hand, and set them; blocks."""
        assert self._zeros is not None
        self._node.get_logger().info('calibrate_zeros: move the mechanism through its range')
        result = self._zeros.find(lambda: self.active and not self._withdrawn)
        if isinstance(result, Outcome):
            return result
        zeros, text = result
        self._node.get_logger().info(f'calibrate_zeros: {text}; now hold it still')
        end = time.monotonic() + _STILL
        while not (rest := self._supervisor.may_home()).success and time.monotonic() < end:
            time.sleep(_POLL)
        feedback = self._supervisor.report().feedback
        if self._withdrawn or not self.active:
            return _WITHDRAWN
        if not rest.success or feedback is None:
            return rest
        return self._make_positions(feedback.position + zeros, text, feedback.position)

    def _make_positions(
        self, target: FloatArray, text: str, still_at: FloatArray | None = None
    ) -> Outcome:
        """Make the current positions these, if drives are still where they were measured."""
        allowed = self._supervisor.may_home()
        if not allowed.success:
            return allowed
        try:
            self._network.check_unaltered()
            # From here on zeros are altered: by this node, or by whoever interferes.
            self._supervisor.forget_home(self._network.names, altered=True)
            self._network.begin_homing(target)
            try:
                outcome = self._moved(still_at)
                if outcome.success:
                    outcome = self._begin(functools.partial(self._supervisor.home, target))
            finally:
                self._network.end_homing()
            self._network.verify()
        except DriveError as error:
            return Outcome(False, str(error))
        if not outcome.success:
            return outcome
        reference = self._supervisor.check_reference()
        return Outcome(reference.success, f'{text}; {reference.message}')

    def _moved(self, still_at: FloatArray | None) -> Outcome:
        """Whether drives are where they were, none by more than homing allows."""
        feedback = self._supervisor.report().feedback
        if still_at is None or feedback is None:
            return Outcome(True, '')
        off = np.abs(feedback.position - still_at)
        joint = self._supervisor.joints[int(np.argmax(off))]
        text = f'{joint} moved by {off.max():.2g} while zeros were set: hold it still, ask again'
        return Outcome(bool(off.max() <= _MOVED), text)

    def run(self, request: Request, ends: Ends | None = None) -> Outcome:
        """Run a request once those before it have ended.

        Parameters
        ----------
        request : callable
        ends : Ends, optional
            When it came; by default as now.
        """
        with self._one_at_a_time:
            self._served = self._ends if ends is None else ends
            if not self.active:
                return _INACTIVE
            return _WITHDRAWN if self._withdrawn else request()

    @property
    def _ends(self) -> Ends:
        supervisor = self._supervisor
        return Ends(self._disabled, supervisor.stops, supervisor.emergency_stops)

    @property
    def _withdrawn(self) -> bool:
        """Whether drives were disabled or stopped after the request came that is carried out."""
        return self._served != self._ends

    def _begin(self, request: Request, lasts: Callable[[], float] = lambda: 0.0) -> Outcome:
        """Make a request and wait for its end; once begun it ``lasts`` some seconds by itself."""
        begun = request()
        if not begun.success:
            return begun
        patience = lasts() + _PATIENCE
        end = time.monotonic() + patience
        while self._exchange.running and time.monotonic() < end:
            met = self._supervisor.met()
            if met is not None:
                texts = dict.fromkeys((begun.message, met.message))
                return Outcome(met.success, '; '.join(texts))
            time.sleep(_POLL)
        if self._exchange.running:
            phase = self._supervisor.report().phase.value
            return Outcome(False, f'drives are {phase} after {patience:.1f} s')
        failure = self._exchange.failure
        return Outcome(False, f'the exchange with the drives has ended: {failure or "stopped"}')

    def _power(self, request: Request, lasts: Callable[[], float] = lambda: 0.0) -> Outcome:
        """As `_begin`, for what gives drives torque; no success if they are disabled meanwhile."""
        if self._withdrawn:
            return _WITHDRAWN
        outcome = self._begin(request, lasts)
        return _WITHDRAWN if outcome.success and self._withdrawn else outcome

    def _callback(self, name: str, request: Request) -> Callable[..., Any]:
        async def answer(_: Any, response: Any) -> Any:
            ends = self._at_once(name)
            self._note(name)
            waiting = sum(thread.is_alive() for thread in self._threads)
            # Whoever disables is told how that ended, although others wait.
            if waiting >= _MOST_WAITING * (2 if name == 'disable' else 1):
                refusal = _DISABLING if name == 'disable' else _TOO_MANY
                return self._fill(name, response, refusal)
            done = Future()
            self.start(name, functools.partial(self._work, request, ends, done))
            outcome = await done
            return self._fill(name, response, outcome)

        return answer

    def _at_once(self, name: str) -> Ends | None:
        """Disable at once where asked; return what withdraws a request, None: nothing does."""
        if name != 'disable':
            return self._ends
        self._disabled += 1
        self._supervisor.disable()
        return None

    def _work(self, request: Request, ends: Ends | None, done: Future) -> None:
        try:
            outcome = self.run(request, ends)
        except Exception as error:  # the node survives whatever a request does
            guard_of(self._node).take('request', error, message=False)
            outcome = Outcome(False, f'{type(error).__name__}: {error}')
        done.set_result(outcome)
        executor = self._node.executor
        if executor is not None:
            executor.wake()  # or it would wait for something to happen before going on

    def _note(self, name: str) -> None:
        clock = time.strftime('%H:%M:%S')
        self.latest = f'{name} at {clock} by {who_asks(self._node, f"~/{name}")}'

    def _emergency_stop(self, _: Any, response: Any) -> Any:
        outcome = self._supervisor.emergency_stop() if self.active else _INACTIVE
        self._note('emergency_stop')  # not before: looking up who asked may take time, or fail
        return self._fill('emergency_stop', response, outcome)

    def log(self, name: str, outcome: Outcome) -> None:
        """Log the outcome of a request, unless there are many."""
        if not self._log_limit.allows():
            return
        logger, line = self._node.get_logger(), f'{name}: {outcome.message}{self._log_limit.note()}'
        # Each severity has its own line of code: rclpy raises if one line logs at two severities.
        if outcome.success:
            logger.info(line)
        else:
            logger.error(line)

    def _fill(self, name: str, response: Any, outcome: Outcome) -> Any:
        self.log(name, outcome)
        response.success, response.message = outcome
        return response
