# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mouthfuls on the robot, via the running nodes dynamics and servo_drives.

The nodes are the robot's own; nothing is started or configured here. Every mouthful begins at
home, with the drives following. The measurements become the same :class:`Series` as on the twin, at
the cycles of the drives: the food's force is from ``bite_force``, the gap of the teeth from the
measured angles by forward kinematics, and the sockets' forces are those computed by the node
dynamics.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.drives.drive_faults import Phase
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.joint_series import force_series, joint_series
from masticator_dynamics.interrupt import held_back
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.chewing import opened_pose
from masticator_dynamics.motion.motion_rows import MotionRows, rows_at
from masticator_dynamics.robot.laboratory.mouthful import Series, motion_path
from masticator_dynamics.robot.laboratory.pressed_mouthful import open_gap
from masticator_dynamics.robot.laboratory.protocol import Mouthful, Stop
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Health
from masticator_dynamics.robot.recording.play import (
    LEAD,
    LEAD_PART,
    Recorder,
    message_class,
    trajectory_message,
)
from masticator_dynamics.ros import middleware

DISABLE, APPROACH = '/servo_drives/disable', '/servo_drives/approach'
_SERVICES = (topics.ENABLE, topics.RESET, APPROACH, DISABLE)
_RECEIVED = topics.typed(
    topics.DRIVES, topics.STATE, topics.CONTACTS, topics.BITE_FORCE, topics.DIAGNOSTICS
)
_WATCHED = (topics.DIAGNOSTICS, topics.BITE_FORCE)
_POINT_STEP = 0.01  # s, between points of a trajectory
_TO_HOME = 1.5  # s, from wherever the motion is
_PATIENCE = 30.0  # s, for nodes to appear and for services to answer
_ATTEMPTS = 3  # to get the drives to follow, after a fault
_DIAGNOSTICS = 1.2  # s, until diagnostics report a change
_TAIL = 0.3  # s, recorded after the motion, which the drives follow with a delay
_SPIN = 0.02  # s
_THERE = 1e-6  # rad
_LATE_START = 5.0  # s, by which a slow computer begins a motion later, at most


class Robot(Recorder):
    """Chews mouthfuls with the robot; leaves its drives torque-free.

    Use as a context manager: however the block ends, the drives are slowed down and disabled.

    Parameters
    ----------
    mechanism : Mechanism
    stop : Stop
        When a mouthful ends early; only the twin knows when food has broken.
    tell : callable
        Called with sentences for the operator, such as which food comes next.

    Raises
    ------
    InputError
        If nodes are missing or belong to another mechanism.
    """

    def __init__(self, mechanism: Mechanism, stop: Stop, tell: Callable[[str], None]):
        if stop.broken:
            raise InputError(
                'stop.broken: a robot does not see that food has broken; use stop.force'
            )
        self._mechanism, self._stop, self._tell = mechanism, stop, tell
        self._health, self._force = Health(), 0.0
        middleware.prepare()
        # Python handles Ctrl-C: ROS must live until the drives are disabled.
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        super().__init__('experiment', _RECEIVED)
        self._trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, self.qos)
        self._requests = {name: self.create_client(Trigger, name) for name in _SERVICES}

    def on_message(self, topic: str, content: bytes) -> None:
        """Check diagnostics and the food's force."""
        message = _read(topic, content) if topic in _WATCHED else None
        if isinstance(message, DiagnosticArray):
            self._health.take(message.status)
        elif isinstance(message, WrenchStamped):
            force = message.wrench.force
            self._force = math.sqrt(force.x**2 + force.y**2 + force.z**2)

    def __enter__(self) -> Robot:
        """Wait for the nodes."""
        try:
            # Compile and load everything before the drives are enabled.
            q = self._mechanism.feedforward_batch(self._mechanism.home.y[None]).q
            frame_poses(self._mechanism, q, 'molar_left')
            self._mechanism.forward_kinematics_batch(self._mechanism.home.position[None], np.inf)
            self._until(lambda: not self._lacking(), lambda: f'not there: {self._lacking()}')
            names = self._events(topics.DRIVES)[-1].content.name
            if set(names) != set(self._mechanism.actuated):
                raise InputError(
                    f'the drives move {", ".join(names)}; {self._mechanism.name} has '
                    f'{", ".join(self._mechanism.actuated)}'
                )
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Slow all drives down until they give no torque."""
        try:
            success, message = self._call(DISABLE)
            if not success:
                self._tell(f'the drives may still give torque: {message}')
        except InputError as failure:
            self._tell(f'the drives may still give torque: {failure}')
        finally:
            self._close()

    def chew(self, mouthful: Mouthful, pause: float = 0.0) -> Series:
        """Chew a mouthful and return what was measured.

        Parameters
        ----------
        pause : float
            Time for which the jaw first rests at home, for the food to be served, s.

        Raises
        ------
        InputError
            If the drives cannot be made to follow.
        """
        if mouthful.motion.force is not None:
            return self._bite(mouthful, pause)
        path = motion_path(self._mechanism, mouthful.motion, mouthful.strokes, mouthful.rest)
        self._serve(mouthful, pause)
        times = np.linspace(path.start, path.end, max(2, round(path.end / _POINT_STEP) + 1))
        refused, lead = self._health.refused[0], LEAD + LEAD_PART * path.end
        sent = time.time_ns()
        self._send(times, path.sample(times), sent + round(1e9 * lead))
        end, last = 'done', sent + 1e9 * (lead + path.end + _TAIL)
        while end == 'done' and time.time_ns() < last:
            self.spin(_SPIN)
            end = self._stopped() or end
            if end == 'done' and self._health.refused[0] != refused:
                end = f'node dynamics refused the motion: {self._health.refused[1]}'
        if end not in ('done', 'force'):
            self.spin(_TAIL)
        series = self._series(sent, mouthful, end)
        if end in ('done', 'force'):  # the mouth is open
            self._go_home()
        return series

    def _bite(self, mouthful: Mouthful, pause: float) -> Series:
        """Bite at a force, as often as the motion says."""
        try:
            from masticator_dynamics.robot.laboratory.pressing_robot import BitingClient
        except ModuleNotFoundError as error:
            raise InputError(f'bites at a force need {error.name}: make setup builds it') from error

        gap = open_gap(mouthful.food)
        start = opened_pose(self._mechanism, mouthful.food.frame, gap)
        self._serve(mouthful, pause)
        self._go_to(start)
        client, end = BitingClient(self), 'done'
        sent, before = time.time_ns(), self._health.counts
        try:
            for _ in range(mouthful.strokes):
                end = client.bite(mouthful, gap, self._stopped)
                if end != 'done':
                    break
        finally:
            client.destroy()
        self.spin(_TAIL)
        series = self._series(sent, mouthful, end)
        if not self._health.stopped:
            self._go_home()
        if behind := self._health.counts.since(before).in_words():
            self._tell(f'{mouthful.name}: this computer was too slow: {behind}')
        return series

    def _stopped(self) -> str:
        """Why a mouthful ends early; empty: it does not."""
        if self._health.stopped:
            return f'the drives stopped: {self._health.stopped}'
        return 'force' if self._stop.force is not None and self._force > self._stop.force else ''

    def _serve(self, mouthful: Mouthful, pause: float) -> None:
        """Stand ready at home while the operator serves the food."""
        self._stand_ready()
        self._tell(f'{mouthful.name}: {mouthful.food.name} on the {mouthful.motion.side}')
        self._pause(pause)

    def _stand_ready(self) -> None:
        """Get the drives to follow and the jaw to home, from any state."""
        reason = ''
        for _ in range(_ATTEMPTS):
            if self._health.stopped:
                _, reason = self._call(topics.RESET)
                self._pause(_DIAGNOSTICS)
            self._go_home()
            if self._health.phase == Phase.OFF.value:
                _, reason = self._call(topics.ENABLE)
                self._pause(_DIAGNOSTICS)
            if self._health.phase == Phase.HOLDING.value:  # too far from home to be followed
                _, reason = self._call(APPROACH)
                self._pause(_DIAGNOSTICS)
            if self._health.phase == Phase.FOLLOWING.value:
                return
        phase = self._health.stopped or self._health.phase
        raise InputError(f'the drives do not follow {topics.STATE}: {phase}; {reason}')

    def _go_home(self) -> None:
        """Make the node dynamics go home from wherever its motion is, and wait for it."""
        self._go_to(self._mechanism.home.y)

    def _go_to(self, y: FloatArray) -> None:
        """Make the node dynamics go to independent positions (n_y,), and wait for it.

        Not from everywhere within a stroke is there a way: what is refused is asked for again.
        """
        row, place = y[None], self._mechanism.solve(y).position
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            refused = functools.partial(self._refuses_more_than, self._health.refused[0])
            self._send(np.array([_TO_HOME]), (row, 0.0 * row, 0.0 * row), 0)
            if self.spin(_TO_HOME, refused):
                continue
            if self.spin(_LATE_START, functools.partial(self._rests_at, place)) or not refused():
                return

    def _refuses_more_than(self, count: int) -> bool:
        """Whether node dynamics has refused more motions than so many."""
        return self._health.refused[0] > count

    def _rests_at(self, position: FloatArray) -> bool:
        """Whether the node dynamics commands rest at positions (n_u,), in its newest message."""
        states = [event for event in self.events if event.topic == topics.STATE]
        self.events.clear()
        newest = _read(topics.STATE, states[-1].content) if states else None
        if newest is None or any(newest.velocity):
            return False
        commanded = dict(zip(newest.name, newest.position, strict=False))
        far = [abs(commanded.get(name, math.inf) - place)
               for name, place in zip(self._mechanism.actuated, position, strict=True)]  # fmt: skip
        return bool(max(far) < _THERE)

    def _send(
        self, times: FloatArray, rows: tuple[FloatArray, FloatArray, FloatArray], stamp: int
    ) -> None:
        """Send a motion that begins at ``stamp``, ns since 1970, or now if that is 0."""
        motion = MotionRows(times, *rows)
        self._trajectory.publish(trajectory_message(self._mechanism.independent, motion, stamp))
        self.events.clear()

    def _series(self, start: int, mouthful: Mouthful, end: str) -> Series:
        """Data received since a time (ns since 1970), at the cycles of the drives."""
        cycles = self._events(topics.DRIVES)
        if not cycles:
            raise InputError(f'{mouthful.name}: nothing came on {topics.DRIVES}; {end}')
        drives = joint_series(cycles, start)
        stamps, rows = np.unique(drives.stamps, return_index=True)
        rows = rows[stamps >= 0.0]
        times, columns = drives.stamps[rows], drives.columns(self._mechanism.actuated)
        position, velocity, effort = (
            values[rows][:, columns] for values in (drives.position, drives.velocity, drives.effort)
        )
        # Encoder errors are spread over the loops.
        y = self._mechanism.forward_kinematics_batch(position, np.inf).y
        q = self._mechanism.feedforward_batch(y).q
        tooth = f'molar_{mouthful.motion.side}'
        height = frame_poses(self._mechanism, q, tooth)[0][:, 2]
        home = self._mechanism.frame_pose(self._mechanism.home, tooth).position[2]
        lifts = (0,) * len(self._mechanism.contacts)  # not known on a robot
        force, contact = np.zeros((len(times), 1)), np.zeros((len(times), len(lifts)))
        bites, loads = self._events(topics.BITE_FORCE), self._events(topics.CONTACTS)
        if bites:
            recorded = force_series(bites, start)
            size = np.linalg.norm(recorded.force, axis=1)[:, None]
            force = rows_at(times, recorded.stamps, size, 0.0, 0.0)
        if loads:
            carried = joint_series(loads, start)
            chosen = carried.columns(self._mechanism.contacts)
            contact = rows_at(times, carried.stamps, carried.effort[:, chosen], 0.0, 0.0)
        return Series(
            times, home - height, force[:, 0], q, position, velocity, effort, contact, lifts, end
        )

    def _events(self, topic: str) -> list[Event]:
        """Decoded events recorded from a topic."""
        mine = [event for event in self.events if event.topic == topic]
        read = [(event, _read(topic, event.content)) for event in mine]
        return [dataclasses.replace(event, content=message) for event, message in read if message]

    def _call(self, service: str) -> tuple[bool, str]:
        future = self._requests[service].call_async(Trigger.Request())
        self._until(future.done, lambda: f'no answer from {service}')
        answer = future.result()
        return bool(answer.success), str(answer.message)

    def _lacking(self) -> str:
        lacking = [f'messages on {topic}' for topic in _RECEIVED if topic not in self.heard]
        if not self._trajectory.get_subscription_count():
            lacking.append(f'a listener on {topics.TRAJECTORY}')
        if not self._health.phase:
            lacking.append('diagnostics of servo_drives')
        lacking += [name for name, c in self._requests.items() if not c.service_is_ready()]
        return ', '.join(lacking)

    def _pause(self, seconds: float) -> None:
        """Let time pass; messages are handled meanwhile, but not kept."""
        self.spin(seconds, self.events.clear)

    def _until(self, condition: Callable[[], bool], failure: Callable[[], str]) -> None:
        if not self.spin(_PATIENCE, condition):
            raise InputError(f'the robot, after {_PATIENCE:.0f} s: {failure()}')

    def _close(self) -> None:
        self.spinner.shutdown()
        self.destroy_node()
        rclpy.shutdown()


def _read(topic: str, content: bytes) -> Any:
    """A message; None where it cannot be read: strangers may send anything."""
    with held_back(), contextlib.suppress(Exception):
        return deserialize_message(content, message_class(_RECEIVED[topic]))
    return None
