# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that exists while node ``dynamics`` is configured, and its topics."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.exceptions import InvalidHandle
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.drives import real_time
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.ros.common.diagnostics import Rejections
from masticator_dynamics.ros.common.direct_subscription import (
    Outgoing,
    ReadTopic,
    joint_topic,
    publisher,
)
from masticator_dynamics.ros.common.status_reporter import NodeClock
from masticator_dynamics.ros.dynamics.cycle import Answer, ExecutedMotion, FeedforwardCycle
from masticator_dynamics.ros.dynamics.cycle_scheduler import CycleScheduler
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp, LoadWatch
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_input import ACTION, TrajectoryInput
from masticator_dynamics.ros.dynamics.trajectory_preparation import PreparedTrajectory

if TYPE_CHECKING:
    from masticator_dynamics.ros.dynamics.trajectory_action import TrajectoryAction


class Publishers:
    """What the node publishes of a motion.

    Parameters
    ----------
    node : LifecycleNode
    mechanism : Mechanism
    frame_prefix : str
        Put before the frames of contacts and joints.
    cycle : FeedforwardCycle
        Computes forces when somebody wants them.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        frame_prefix: str,
        cycle: FeedforwardCycle,
    ):
        def wrench(topic: str, frame: str, *parts: str) -> Outgoing:
            message = WrenchStamped()
            message.header.frame_id = frame_prefix + frame
            return Outgoing(node, topic, message, *(f'wrench.{part}' for part in parts))

        self._node, self._mechanism, self._cycle = node, mechanism, cycle
        names = mechanism.actuated
        self._effort = Outgoing(node, 'feedforward_effort', Float64MultiArray(), 'data')
        self._state = joint_topic(
            node, 'feedforward_state', names, 'position', 'velocity', 'effort'
        )
        self._trajectory = publisher(node, JointTrajectory, 'feedforward_trajectory')
        self._joint_states: Outgoing | None = None
        self._multipliers = joint_topic(node, 'contact_multipliers', mechanism.contacts, 'effort')
        self._external = joint_topic(node, 'external_effort', names, 'effort')
        self._contacts = [
            wrench(f'contact_force/{contact.name}', contact.frame, 'force')
            for contact in mechanism.description.contacts
        ]
        self._joint_forces = [
            wrench(f'joint_force/{joint}', frame, 'force', 'torque')
            for joint, frame in zip(names, cycle.joint_frames, strict=True)
        ]
        self._of_cycles = self._effort, self._state, self._multipliers, self._external
        self._wanted = dict.fromkeys(self._of_cycles, True)
        self._ready: tuple[Answer | None, dict[Outgoing, Any]] = None, {}

    def destroy(self, node: LifecycleNode) -> None:
        """Destroy the topics."""
        node.destroy_lifecycle_publisher(self._trajectory)
        for topic in (
            *self._of_cycles, *self._contacts, *self._joint_forces
        ):  # fmt: skip
            topic.destroy()
        self.show_joints(False, active=False)

    def show_joints(self, wanted: bool, *, active: bool) -> None:
        """Publish all joints or not; a topic that is silent would be taken for a second source."""
        topic = self._joint_states
        if topic is None and wanted:
            joints = self._mechanism.tree_joints
            topic = joint_topic(self._node, 'joint_states', joints, 'position', 'velocity')
            if active:
                topic.publisher.on_activate(None)
            self._joint_states = topic
        elif topic is not None and not wanted:
            self._joint_states = None
            topic.destroy()

    def prepare(self, time: int, answer: Answer | None) -> None:
        """Make messages for a time (ns), in case the answer stays the same.

        Also note who is subscribed: new subscribers get the next cycle but one.
        """
        self._wanted = {topic: topic.wanted for topic in self._of_cycles}
        self._ready = answer, self._messages(time, answer) if answer else {}

    def publish(self, time: int, answer: Answer) -> None:
        """What belongs to every cycle, where wanted, at a time (ns): what others wait for first."""
        known, messages = self._ready
        if known is not answer:
            messages = self._messages(time, answer)
        for topic, message in messages.items():
            topic.publisher.publish(message)
        if self._wanted[self._external]:
            self._external.publish(time, self._cycle.external_effort(answer))

    def _messages(self, time: int, answer: Answer) -> dict[Outgoing, Any]:
        """Messages by topic, where there are subscribers."""
        rows = {
            self._effort: (answer.actuated,),
            self._state: (answer.position, answer.velocity, answer.actuated),
            self._multipliers: (answer.effort.contact,),
        }
        return {
            topic: topic.filled(time, *blocks)
            for topic, blocks in rows.items()
            if self._wanted[topic]
        }

    def visual(self, time: int, effort: Effort) -> None:
        """What people look at, at a time (ns): forces, where anybody does, and all joints."""
        for topics, forces in (
            (self._contacts, self._cycle.contact_forces),
            (self._joint_forces, self._cycle.joint_forces),
        ):
            if any(topic.wanted for topic in topics):
                for topic, force in zip(topics, forces(effort), strict=True):
                    topic.publish(time, *force.reshape(-1, 3))
        joint_states = self._joint_states
        if joint_states is not None:
            with contextlib.suppress(InvalidHandle):  # it may have been switched off just now
                joint_states.publish(time, effort.q, effort.v)

    def trajectory(self, prepared: PreparedTrajectory) -> None:
        """The motion of the actuated joints with its efforts, as for a trajectory controller."""
        self._trajectory.publish(prepared.message)


_LARGEST = 4096  # bytes; a wrench has 100, and the name of its frame
# Only the newest wrench counts; best effort accepts reliable and best-effort publishers alike.
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class WrenchInput:
    """A topic of wrenches.

    Parameters
    ----------
    node : LifecycleNode
    topic : str
    kept : MeasuredWrenches
        Gets what passes the checks, in that thread.
    now : callable
        The node's clock, ns.
    frame_prefix : str
        Removed from the frames of messages that have it.
    """

    def __init__(
        self,
        node: LifecycleNode,
        topic: str,
        kept: MeasuredWrenches,
        now: Callable[[], int],
        frame_prefix: str,
    ):
        self._prefix = frame_prefix
        self.rejections = Rejections(node.get_logger().error)
        self.topic, self.kept, self._now = topic, kept, now
        self._messages = ReadTopic(node, WrenchStamped, topic, _NEWEST, self._read, _LARGEST)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._messages.destroy()

    def _read(self, message: WrenchStamped) -> None:
        header, force, torque = message.header, message.wrench.force, message.wrench.torque
        stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        try:
            self.kept.take(header.frame_id.removeprefix(self._prefix), stamp, self._now(), wrench)
        except MasticatorError as error:
            self.rejections.reject(f'{self.topic} rejected: ', str(error))
        else:
            self.rejections.accept()


class DynamicsRuntime:
    """Mechanism, motion, topics and the control cycle.

    The scheduler's thread computes and publishes; wrenches are read by threads of their own; a
    process of its own prepares trajectories; the executor's thread does the rest.

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
        self._new_cycle = functools.partial(
            FeedforwardCycle, mechanism, self.motion, goal=settings.goal, friction=settings.friction
        )
        self.cycle = self._new_cycle(
            self.bite, self.clamp, external=self.external, watch=self.watch
        )
        self.answer: Answer | None = None
        self.errors = 0  # cycles that failed
        self._node = node
        self.now = NodeClock(node)
        self._visual_every = max(round(settings.rate / settings.visual_rate), 1)
        self._visual_countdown = 0
        self._publishers = Publishers(node, mechanism, settings.frame_prefix, self.cycle)
        self._publishers.show_joints(settings.publish_joint_states, active=False)
        self.scheduler = CycleScheduler(
            settings.rate, self.now, self._run_cycle, self._after_cycle, self._clock_jumped,
            self._stalled, self._cycle_failed,
        )  # fmt: skip
        self._warm_up()  # before there are threads: it may fail
        self.trajectory_input = TrajectoryInput(
            node,
            mechanism,
            self.motion,
            lambda: self._settings,
            self.now,
            self._trajectory_accepted,
        )
        prefix = settings.frame_prefix
        self.bite_input = WrenchInput(node, 'bite_force', self.bite, self.now, prefix)
        self.external_input = WrenchInput(node, 'external_wrench', self.external, self.now, prefix)
        self.action = self._new_action()

    def apply(self, settings: DynamicsSettings) -> None:
        """Apply the parameters that may change.

        Raises
        ------
        InputError
            If the point frame is unknown.
        """
        self._apply(settings)
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
        """Refuse a point frame that does not exist (`InputError`)."""
        if settings.bite_force_point_frame:
            self.bite.check_frame(settings.bite_force_point_frame)

    def fail(self, reason: str) -> None:
        """Do nothing: the motion goes on, which is safer than efforts that stop."""

    def activate(self) -> str:
        """Start the control cycle."""
        # This thread may hold Python's lock when the cycle needs it.
        real_time.request(real_time.SERVICE)
        self.scheduler.simulated = self._node.get_parameter('use_sim_time').value
        self.trajectory_input.active = True  # before anybody can see that the node works
        self.scheduler.start()
        names, rate = ', '.join(self.mechanism.actuated), self._settings.rate
        return f'{self.mechanism.name}: efforts of {names} at {rate:g} Hz'

    def deactivate(self) -> None:
        """Stop the control cycle; the motion stays where it is."""
        self.trajectory_input.active = False
        self.scheduler.stop()
        real_time.release()
        self.motion.hold(self.now())
        if self.action is not None:
            self.action.deactivate()

    def destroy(self) -> None:
        """Destroy topics and threads."""
        self.scheduler.stop()
        if self.action is not None:
            self.action.destroy()
        self.trajectory_input.destroy()
        self.bite_input.destroy()
        self.external_input.destroy()
        self._publishers.destroy(self._node)

    def _new_action(self) -> TrajectoryAction | None:
        """The action's server; None if the messages of joint actions are not installed."""
        try:
            from masticator_dynamics.ros.dynamics.trajectory_action import TrajectoryAction
        except ModuleNotFoundError as error:
            if (error.name or '').partition('.')[0] != 'control_msgs':
                raise
            text = f'no action {ACTION}: control_msgs is not installed'
            self._node.get_logger().info(text)
            return None
        return TrajectoryAction(
            self._node, self.mechanism, self.trajectory_input, lambda: self.cycle.failure
        )

    def _run_cycle(self, due: int) -> None:
        """What others wait for; uses everything measured so far."""
        self.answer = answer = self.cycle(due)
        self._publishers.publish(due, answer)

    def _after_cycle(self, due: int) -> None:
        """Compute the next cycle as far as it is known, and publish the rest of the last one."""
        following = due + self.scheduler.period
        self._publishers.prepare(following, self.cycle.prepare(following))
        self._visual_countdown -= 1
        if self._visual_countdown >= 0 or self.answer is None:
            return
        self._visual_countdown = self._visual_every - 1
        self._publishers.visual(due, self.answer.effort)

    def _trajectory_accepted(self, prepared: PreparedTrajectory) -> None:
        self.cycle.failure = ''
        self._publishers.trajectory(prepared)

    def _clock_jumped(self, step: int) -> None:
        self.motion.shift(step)
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
