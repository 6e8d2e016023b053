# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that exists while node ``dynamics`` is configured."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_goal import Reason
from masticator_dynamics.control.pressing_path import Servos
from masticator_dynamics.drives import real_time
from masticator_dynamics.engine.evaluation.frames import check_frame
from masticator_dynamics.errors import InputError, LimitError
from masticator_dynamics.ros.common.node_clock import NodeClock
from masticator_dynamics.ros.dynamics.cycle import CycleAnswer, ExecutedMotion, FeedforwardCycle
from masticator_dynamics.ros.dynamics.cycle_scheduler import CycleScheduler
from masticator_dynamics.ros.dynamics.dynamics_topics import Publishers, WrenchInput
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp, LoadWatch
from masticator_dynamics.ros.dynamics.force_markers import ForceMarkers
from masticator_dynamics.ros.dynamics.force_turn import ForceTurn, JointReadings
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches
from masticator_dynamics.ros.dynamics.preparation_process import Preparer
from masticator_dynamics.ros.dynamics.settings import OBSERVER, SENSOR, DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import PreparedTrajectory
from masticator_dynamics.ros.dynamics.trajectory_input import ACTION, TrajectoryInput

if TYPE_CHECKING:
    from masticator_dynamics.drives.scaling import Scaling
    from masticator_dynamics.ros.dynamics.force_action import ForceAction
    from masticator_dynamics.ros.dynamics.trajectory_action import TrajectoryAction

# s, for a point that presses to open before the node is inactive: 12 mm take 0.25 s.
_RELEASED = 1.0
_POLL = 0.005  # s


class DynamicsRuntime:
    """Mechanism, motion, topics and the control cycle.

    The scheduler's thread reads wrenches, computes and publishes; a process of its own prepares
    trajectories; the executor's thread does the rest.

    Raises
    ------
    DescriptionError
        If the mechanism cannot be loaded.
    InputError
        If the goal or point frame does not exist.
    """

    def __init__(self, node: LifecycleNode, settings: DynamicsSettings):
        self.mechanism = mechanism = _load(settings)
        mechanism.feedforward(mechanism.home.y, goal=settings.goal, friction=settings.friction)
        self.motion = ExecutedMotion(mechanism.home.y)
        self.bite, self.external = BiteForce(mechanism), MeasuredWrenches(mechanism)
        self.clamp = EffortClamp(mechanism)
        self.watch = LoadWatch(mechanism) if settings.limits else None
        self._apply(settings)
        self.turn = ForceTurn(JointReadings())
        self._new_cycle = functools.partial(
            FeedforwardCycle, mechanism, self.motion, goal=settings.goal, friction=settings.friction
        )
        self.cycle = self._new_cycle(
            self.bite, self.clamp, external=self.external, watch=self.watch, turn=self.turn
        )
        self.answer: CycleAnswer | None = None
        self.errors = 0  # cycles that failed
        self._node = node
        self.now = NodeClock(node)
        self._visual_every = max(round(settings.rate / settings.visual_rate), 1)
        self._visual_countdown = 0
        self._publishers = Publishers(node, mechanism, settings, self.cycle)
        self._publishers.show_joints(settings.publish_joint_states, active=False)
        self._markers = ForceMarkers(
            node, mechanism, settings.frame_prefix, self.cycle, self.bite, self.external, self.clamp
        )
        self._markers.closures = settings.marker_closures
        self.scheduler = CycleScheduler(
            settings.rate, self.now, self._run_cycle, self._after_cycle, self._clock_jumped,
            self._stalled, self._cycle_failed,
        )  # fmt: skip
        with contextlib.ExitStack() as failed:  # before there are threads
            # It loads its code while this process does.
            preparer = Preparer(mechanism.description, settings, node.get_logger().error)
            failed.callback(preparer.close)
            self._warm_up()
            preparer.start_up()
            failed.pop_all()
        self.trajectory_input = TrajectoryInput(
            node,
            self.motion,
            lambda: self._settings,
            self.now,
            self._trajectory_accepted,
            preparer,
            busy=lambda: self.turn.busy,
        )
        prefix = settings.frame_prefix
        self.bite_input, self.external_input = (
            WrenchInput(node, topic, kept, self.now, prefix, by_cycle=True)
            for topic, kept in (('bite_force', self.bite), ('external_wrench', self.external))
        )
        self.action = self._new_action()
        self.force_action = self._new_force_action()

    def apply(self, settings: DynamicsSettings) -> None:
        """Apply the parameters that may change.

        Raises
        ------
        InputError
            If the point frame is unknown.
        """
        self._apply(settings)
        self._markers.closures = settings.marker_closures
        active = self.trajectory_input.active
        self._publishers.show_joints(settings.publish_joint_states, active=active)

    def _apply(self, settings: DynamicsSettings) -> None:
        self.check(settings)
        self.bite.point_frame = settings.bite_force_point_frame
        self.bite.timeout = self.external.timeout = settings.bite_force_timeout
        self.clamp.scale = settings.effort_limit_scale
        if self.watch is not None:
            self.watch.limits = self.mechanism.load_limits.scaled(settings.effort_limit_scale)
        self._settings = settings

    def check(self, settings: DynamicsSettings) -> None:
        """Refuse (`InputError`) a point frame or a source of forces that does not exist."""
        if settings.force_source not in (SENSOR, OBSERVER):
            raise InputError(
                f'force.source is {settings.force_source!r}; there are {SENSOR} and {OBSERVER}'
            )
        if settings.bite_force_point_frame:
            check_frame(self.mechanism, settings.bite_force_point_frame)

    def fail(self, reason: str) -> None:
        """Do nothing: the motion goes on, which is safer than efforts that stop."""

    def activate(self) -> str:
        """Start the control cycle."""
        self.trajectory_input.preparer.wait_until_ready()  # it may have failed since
        # This thread may hold Python's lock when the cycle needs it.
        real_time.request(real_time.SERVICE)
        self.scheduler.simulated = self._node.get_parameter('use_sim_time').value
        if self.force_action is not None:
            self.force_action.active = True
        self.trajectory_input.active = True  # before anybody can see that the node works
        self.scheduler.start()
        names, rate = ', '.join(self.mechanism.actuated), self._settings.rate
        return f'{self.mechanism.name}: efforts of {names} at {rate:g} Hz'

    def deactivate(self) -> None:
        """Stop the control cycle; the motion stays where it is."""
        self.trajectory_input.active = False
        self._let_go()
        self.scheduler.stop()
        real_time.release()
        self.cycle.stop_pressing(self.now())
        self.motion.hold(self.now())
        for action in (self.action, self.force_action):
            if action is not None:
                action.deactivate()

    def _let_go(self) -> None:
        """Let what presses open before cycles end: who activates the node again would go on."""
        if self.force_action is not None:
            self.force_action.active = False
        self.turn.let_go(Reason.CANCELLED, 'the node is not active any more')
        end = time.monotonic() + _RELEASED
        while self.turn.job is not None and time.monotonic() < end:
            time.sleep(_POLL)

    def destroy(self) -> None:
        """Destroy topics and threads."""
        self.scheduler.stop()
        for action in (self.action, self.force_action):
            if action is not None:
                action.destroy()
        self.trajectory_input.destroy()
        self.bite_input.destroy()
        self.external_input.destroy()
        self._publishers.destroy(self._node)
        self._markers.destroy()

    def _server_in(self, module: str, action: str) -> Any:
        """The module with an action's server; None where the action's type is not installed."""
        try:
            return importlib.import_module(f'{__package__}.{module}')
        except ModuleNotFoundError as error:
            package = (error.name or '').partition('.')[0]
            if package not in ('masticator_interfaces', 'control_msgs'):
                raise
            self._node.get_logger().info(f'no action {action}: {package} is not installed')
        return None

    def _new_action(self) -> TrajectoryAction | None:
        """The action's server; None if the messages of joint actions are not installed."""
        module = self._server_in('trajectory_action', ACTION)
        return module and module.TrajectoryAction(
            self._node, self.mechanism, self.trajectory_input, lambda: self.cycle.failure
        )

    def _new_force_action(self) -> ForceAction | None:
        """The action's server; None without a drives file or the action's type."""
        if not self._settings.drives:
            return None
        module = self._server_in('force_action', '~/apply_force')
        if module is None:
            return None
        try:
            servos, motors = _driven(self._settings.drives, self.mechanism)
        except InputError as error:
            self._node.get_logger().info(f'no action ~/apply_force: {error}')
            return None
        return module.ForceAction(
            self._node, self.mechanism, self.motion, self.turn, self.bite,
            lambda: self._settings, self.now, servos, motors,
        )  # fmt: skip

    def _run_cycle(self, due: int) -> None:
        """What others wait for; uses everything measured so far."""
        self.bite_input.read()
        self.external_input.read()
        self.answer = answer = self.cycle(due)
        self._publishers.publish(due, answer)

    def _after_cycle(self, due: int) -> None:
        """Compute the next cycle as far as it is known, and publish the rest of the last one."""
        following = due + self.scheduler.period
        self._publishers.prepare(following, self.cycle.prepare(following))
        if self.answer is None:
            return
        self._markers.show(due, self.answer)
        self._visual_countdown -= 1
        if self._visual_countdown >= 0:
            return
        self._visual_countdown = self._visual_every - 1
        self._publishers.visual(due, self.answer)

    def _trajectory_accepted(self, prepared: PreparedTrajectory) -> None:
        self.cycle.failure = ''
        self._publishers.trajectory.publish(prepared.message)

    def _clock_jumped(self, step: int) -> None:
        self.motion.shift(step)
        self.turn.let_go(Reason.CANCELLED, f'the clock jumped by {step * 1e-9:.3f} s')
        self.turn.joints.forget()
        self.bite.forget()
        self.external.forget()
        self._node.get_logger().warning(
            f'the clock jumped by {step * 1e-9:.3f} s; the motion goes on from where it was'
        )

    def _stalled(self, due: int, duration: float) -> None:
        """Hold still after a stall until a motion is requested: the drives went on without us.

        Continuing on time would be a leap, and continuing from there would make all later stamps
        wrong.
        """
        last = due - round(duration * 1e9)
        self.turn.let_go(Reason.CANCELLED, f'there was no cycle for {duration:.3f} s')
        held = self.cycle.hold_if_moving(last, due, f'there was no cycle for {duration:.3f} s')
        what = 'the motion is held where it was until the next trajectory' if held else 'at rest'
        self._node.get_logger().error(f'no cycle for {duration:.3f} s; {what}')

    def _cycle_failed(self, error: Exception) -> None:
        self.errors += 1
        self._node.get_logger().error(
            f'control cycle failed: {type(error).__name__}: {error}', throttle_duration_sec=1.0
        )

    def _warm_up(self) -> None:
        """Run everything once, so that code is compiled or loaded and caches are filled."""
        self.mechanism.load_code(self._settings.goal, self._settings.friction)
        bite, external = BiteForce(self.mechanism), MeasuredWrenches(self.mechanism)
        for measured in (bite, external):
            measured.take(self.mechanism.description.platform, 0, 1, np.ones(6))
        clamp, watch = EffortClamp(self.mechanism), self._warm_watch()
        cycle = self._new_cycle(bite, clamp, external=external, watch=watch)
        cycle.prepare(1)
        answer = cycle(1)
        cycle.external_effort(answer)
        cycle.contact_forces(answer.effort)
        cycle.joint_forces(answer.effort)

    def _warm_watch(self) -> LoadWatch | None:
        """Limits so tight that the motion must give way, to run the search for the reason, too."""
        if self.watch is None:
            return None
        mechanism, limits = self.mechanism, self.mechanism.load_limits
        ask = functools.partial(
            mechanism.feedforward,
            mechanism.home.y,
            wrench=np.ones(6),
            goal=self._settings.goal,
            friction=self._settings.friction,
        )
        largest = np.abs(ask().actuated).max(initial=1e-6)
        few = np.full_like(limits.effort, 0.01 * largest)
        tight = dataclasses.replace(limits, effort=few, effort_low=None)
        with contextlib.suppress(LimitError):
            ask(limits=tight)
        return LoadWatch(mechanism, tight)


def _load(settings: DynamicsSettings) -> Mechanism:
    """The mechanism, with the rotors of its drives if there are any."""
    if not settings.drives:
        return Mechanism.load(settings.mechanism)
    # Imported only here: pydantic, which reads drives files, takes 20 MB.
    from masticator_dynamics.drives.configuration import load_drives
    from masticator_dynamics.drives.scaling import with_rotors

    return Mechanism(with_rotors(settings.mechanism, load_drives(settings.drives)))


def _driven(file: str, mechanism: Mechanism) -> tuple[Servos, Scaling]:
    """Gains and limits of the drives of a file, and their motors, as the joints are ordered.

    Raises
    ------
    InputError
        If the file leaves gains to the drives.
    """
    from masticator_dynamics.drives.configuration import load_drives
    from masticator_dynamics.drives.joint_limits import in_order
    from masticator_dynamics.drives.scaling import Scaling

    rows, in_cycle = [], in_order(load_drives(file), mechanism)
    drives = in_cycle.drives
    for joint, drive in drives.items():
        if drive.gains is None:
            raise InputError(f'{file}: {joint} has no gains, which force control needs')
        rows.append((drive.gains.position, drive.limits.velocity, drive.limits.acceleration))
    motors = Scaling([drive.motor for drive in drives.values()])
    gains, velocities, accelerations = np.array(rows).T
    return Servos(gains, velocities, accelerations, 1.0 / in_cycle.cycle_rate), motors
