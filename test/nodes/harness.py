# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node in its own process, and a ROS 2 client that talks to it from the tests."""

import contextlib
import itertools
import sys
import threading
import time
import traceback

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from processes import PATIENCE, PYTHON, START, Process, meanwhile, wait_for
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.robot.recording.processes import NODE_MODULE
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription

# Of a node beside other tests, ns: clients that are written in Python keep up with 125 Hz of it.
CYCLE = 8_000_000
SHOWN_EVERY = round(20_000_000 / CYCLE) * CYCLE  # what people look at, near 50 Hz
AGAIN = 5.0  # s; then a message that best effort may have lost is sent again
LEVELS = {b'\x00': 'OK', b'\x01': 'WARN', b'\x02': 'ERROR', b'\x03': 'STALE'}


def send_until(send, condition, what):
    """Send and wait; send again if best effort seems to have lost the message."""
    sent = []

    def answered():
        if not sent or time.monotonic() - sent[-1] > AGAIN:
            send()
            sent.append(time.monotonic())
        return condition()

    answer = wait_for(answered, what)
    if len(sent) > 1:
        time.sleep(AGAIN)  # until the others have been answered, too
    return answer


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


def to_time(ns):
    return Time(sec=ns // 10**9, nanosec=ns % 10**9)


READY = {
    'dynamics': 'efforts of',
    'joint_state_completion': 'completing',
    'inertia_coupling': 'inertia coupling of',
    'frame_path': 'path of',
    'bite_observer': 'force of the food',
    'inertia_estimator': 'load inertia of',
    'servo_drives': 'drives of',
    'twin': 'simulating',
}


class NodeProcess(Process):
    """A node with parameters, e.g. {'rate': 200.0}; all of its output is kept."""

    def __init__(self, name='dynamics', *, namespace='', wait=True, remap=(), **parameters):
        self.name = name
        arguments = ['--ros-args', '-r', f'__ns:=/{namespace}']
        arguments += [part for pair in remap for part in ('-r', ':='.join(pair))]
        for parameter, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else value
            arguments += ['-p', f'{parameter.replace("__", ".")}:={text}']
        super().__init__(*PYTHON, '-m', NODE_MODULE, f'{name}_node', *arguments)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        """Wait until the node reports that it is active."""
        try:
            self.wait_for_line(READY[self.name], START)
        except AssertionError:
            self.kill()
            raise


class Peer:
    """A ROS 2 node in this process, with its own thread, that talks to the node under test."""

    def __init__(self, node_name, namespace=''):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('client', context=self.context, namespace=namespace)
        self.peer = node_name
        self._status_prefix = f'{namespace}/{node_name}' if namespace else node_name
        self._records = []
        self.diagnostics = self.record(DiagnosticArray, '/diagnostics')
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._ended = threading.Event()
        # Where a test fails before it closes this, the threads must not keep the run from its end.
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._spin, self._take)
        ]
        for thread in self._threads:
            thread.start()

    def record(self, kind, topic):
        """List to which each message of a topic is added.

        Without the executor, which would fall behind the node on a busy computer.
        """
        subscription = DirectSubscription(self.node, kind, topic, QoSProfile(depth=4000))
        messages = []
        self._records.append((subscription, messages))
        return messages

    def _spin(self):
        while not self._ended.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def _take(self):
        while not self._ended.wait(0.005):
            for subscription, messages in list(self._records):
                if not self._ended.is_set():  # thousands may wait on a busy computer
                    messages.extend(message for message, _ in subscription.take())

    def close(self):
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                stack = ''.join(traceback.format_stack(sys._current_frames()[thread.ident]))
                raise AssertionError(f'a client does not end within {PATIENCE} s:\n{stack}')
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def ask(self, send, *args):
        """Send a request to an action in the executor's thread; returns what it returns.

        From another thread, an answer that comes at once is lost: rclpy sends a request before it
        notes that it waits for the answer.
        """
        task = self.executor.create_task(send, *args)
        wait_for(task.done, 'the executor')
        return task.result()

    def now(self):
        return self.node.get_clock().now().nanoseconds

    def reports(self):
        """Diagnostics of the node under test, oldest first."""
        prefix = f'{self._status_prefix}: '
        return [a for a in list(self.diagnostics) if a.status[0].name.startswith(prefix)]

    def status(self, name):
        """The latest diagnostic status: level, message, values."""
        for array in reversed(list(self.diagnostics)):
            for status in array.status:
                if status.name == f'{self._status_prefix}: {name}':
                    values = {entry.key: entry.value for entry in status.values}
                    return LEVELS[status.level], status.message, values
        return None

    def wait_for_status(self, name, level, text=''):
        def found():
            status = self.status(name)
            return status if status and status[0] == level and text in status[1] else None

        return wait_for(found, f'status {name} {level} {text!r}')

    def wait_for_value(self, name, key, wanted):
        """Wait until an entry of a status equals a text or meets a condition."""
        fits = wanted if callable(wanted) else wanted.__eq__

        def found():
            status = self.status(name)
            return status and fits(status[2][key])

        try:
            wait_for(found, f'{key} of status {name}')
        except AssertionError as error:
            raise AssertionError(f'{error}; {self.status(name)}') from None

    def set_parameter(self, name, value):
        """Set a parameter of the node; return (successful, reason)."""
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        result = self.call(SetParameters, f'{self.peer}/set_parameters', request).results[0]
        return result.successful, result.reason

    def call(self, kind, service, request):
        client = self.node.create_client(kind, service)
        assert client.wait_for_service(PATIENCE)
        future = client.call_async(request)
        wait_for(future.done, service, START)  # to configure may be to compile
        self.node.destroy_client(client)
        return future.result()

    def change(self, transition):
        """Request a life cycle transition."""
        request = ChangeState.Request(transition=Transition(id=transition))
        assert self.call(ChangeState, f'{self.peer}/change_state', request).success

    def state(self):
        """Life cycle state."""
        answer = self.call(GetState, f'{self.peer}/get_state', GetState.Request())
        return answer.current_state.id


class Sender(Peer):
    """Publishes joint states to a node and records its answers."""

    def __init__(self, node_name, topic, answers, namespace=''):
        super().__init__(node_name, namespace)
        self.topic = topic
        self.answers = self.record(*answers)
        self._publisher = self.node.create_publisher(JointState, topic, 50)
        self._stamps = itertools.count(1)
        wait_for(self._publisher.get_subscription_count, topic)
        wait_for(lambda: self.node.count_publishers(answers[1]), answers[1])
        wait_for(lambda: self.status(topic), 'diagnostics')

    def send(self, names, position, velocity=(), stamp=None):
        """Publish one state; the stamps count seconds unless given (ns)."""
        message = JointState(name=list(names))
        message.header.stamp = to_time(next(self._stamps) * 10**9 if stamp is None else stamp)
        message.position, message.velocity = list(map(float, position)), list(map(float, velocity))
        self._publisher.publish(message)
        return message.header.stamp

    def ask(self, *args, **kwargs):
        """Publish one state; return the answer."""
        before = len(self.answers)
        return send_until(
            lambda: self.send(*args, **kwargs),
            lambda: self.answers[before:],
            f'answer to {self.topic}',
        )[0]

    def refused(self, *args):
        """Publish a bad state; return why it was refused."""
        before = len(self.answers)
        count = int(self.status(self.topic)[2]['rejected'])

        def counted():
            level, text, values = self.status(self.topic)
            return text if level == 'ERROR' and int(values['rejected']) > count else None

        text = send_until(lambda: self.send(*args), counted, 'rejection')
        assert len(self.answers) == before
        return text


class Client(Peer):
    """Publishes to node `dynamics` and records what it publishes."""

    def __init__(self, contacts=(), namespace=''):
        super().__init__('dynamics', namespace)
        self.states = self.record(JointState, 'feedforward_state')
        self.efforts = self.record(Float64MultiArray, 'feedforward_effort')
        self.joints = self.record(JointState, 'joint_states')
        self.trajectories = self.record(JointTrajectory, 'feedforward_trajectory')
        topics = {contact: f'contact_force/{contact}' for contact in contacts}
        self.contacts = {c: self.record(WrenchStamped, topic) for c, topic in topics.items()}
        self._trajectory = self.node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self.external = self.record(JointState, 'external_effort')
        self._bite = self.node.create_publisher(WrenchStamped, 'bite_force', 10)
        self._external = self.node.create_publisher(WrenchStamped, 'external_wrench', 10)

    def connect(self):
        """Wait until messages flow both ways."""
        wait_for(lambda: self.states, 'feedforward_state')
        wait_for(lambda: self.status('cycle'), 'diagnostics')
        wait_for(self._trajectory.get_subscription_count, 'joint_trajectory')
        wait_for(self._bite.get_subscription_count, 'bite_force')
        wait_for(self._external.get_subscription_count, 'external_wrench')

    def publish(self, message):
        """Publish a trajectory unchanged."""
        self._trajectory.publish(message)

    def send(self, names, times, positions, velocities=None, accelerations=None, start=0):
        """Publish a trajectory; `start` is its stamp in ns."""
        message = JointTrajectory(joint_names=list(names))
        message.header.stamp = to_time(start)
        for k, seconds in enumerate(times):
            point = JointTrajectoryPoint(positions=[float(v) for v in positions[k]])
            if velocities is not None:
                point.velocities = [float(v) for v in velocities[k]]
            if accelerations is not None:
                point.accelerations = [float(v) for v in accelerations[k]]
            ns = round(seconds * 1e9)
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(ns, 10**9)
            message.points.append(point)
        self.publish(message)

    def follow(self, *args, **kwargs):
        """Publish a trajectory; return the node's feedforward_trajectory."""
        before = len(self.trajectories)
        self.send(*args, **kwargs)
        return self.answer(before)

    def finish(self, answer):
        """Wait until a motion is over; return when that was (ns)."""
        end = nanoseconds(answer.header.stamp) + nanoseconds(answer.points[-1].time_from_start)
        self.states_between(end, end)
        return end

    def answer(self, before):
        """Return the first feedforward_trajectory after those already received."""
        try:
            return wait_for(lambda: self.trajectories[before:], 'feedforward_trajectory')[0]
        except AssertionError as error:
            raise AssertionError(f'{error}; {self.status("trajectory")}') from None

    def bite(self, frame, force, torque=(0.0, 0.0, 0.0), stamp=None):
        self.bite_message(self._wrench(frame, force, torque, stamp))

    def push(self, frame, wrench, stamp=None):
        """Publish an external wrench (6,) on a link."""
        self._external.publish(self._wrench(frame, wrench[:3], wrench[3:], stamp))

    def _wrench(self, frame, force, torque, stamp):
        message = WrenchStamped()
        message.header.frame_id = frame
        message.header.stamp = to_time(self.now() if stamp is None else stamp)
        wrench = message.wrench
        wrench.force.x, wrench.force.y, wrench.force.z = (float(v) for v in force)
        wrench.torque.x, wrench.torque.y, wrench.torque.z = (float(v) for v in torque)
        return message

    def bite_message(self, message):
        """Publish a bite force unchanged."""
        self._bite.publish(message)

    def biting(self, frame, force, torque=(0.0, 0.0, 0.0), period=0.01):
        """Keep sending a constant force; enters once the node has received it."""

        def fresh():
            status = self.status('bite force')
            return status and status[2]['state'] == 'fresh'

        return self._sending(
            'a fresh bite force', fresh, lambda: self.bite(frame, force, torque), period
        )

    def pushing(self, wrenches):
        """Keep sending constant wrenches (6,) by frame."""

        def publish():
            for frame, wrench in wrenches.items():
                self.push(frame, wrench)

        def fresh():
            _, _, values = self.status('external wrench') or (None, None, {'state': 'none'})
            stale = values.get('stale frames', '')
            return values['state'] != 'none' and not any(frame in stale for frame in wrenches)

        return self._sending('fresh external wrenches', fresh, publish, 0.01)

    @contextlib.contextmanager
    def _sending(self, what, received, publish, period):
        def send(ended):
            while not ended.wait(period):
                publish()

        with meanwhile(send):
            wait_for(received, what)
            yield

    def collect(self, count=50):
        """Collect at least this many successive states, stamped from now on."""
        begin, first = self.now(), len(self.states)

        def newer():
            found = [s for s in self.states[first:] if nanoseconds(s.header.stamp) >= begin]
            return found if len(found) >= count else None

        return wait_for(newer, f'{count} states')

    def settles_at(self, effort):
        """Whether fifty successive efforts are soon as expected.

        Not at once, since a busy computer may delay a bite force or its sender.
        """
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if np.abs(rows(self.collect())[3] - effort).max() < 1e-9:
                return True
        return False

    def skipped(self):
        """Number of cycles that the node has skipped, by its latest diagnostics."""
        return int(self.status('cycle')[2]['skipped cycles'])

    def check_complete(self, stamps, skipped=0):
        """Check that no cycle (ns) is missing except those the node counted as skipped.

        A busy computer skips cycles; ``skipped`` is their number before.
        """
        steps = np.diff(stamps)
        assert (steps > 0).all() and not (steps % CYCLE).any()
        lost = int((steps // CYCLE - 1).sum())
        self.wait_for_value('cycle', 'skipped cycles', lambda count: int(count) >= skipped + lost)

    def states_between(self, begin, end):
        """All states stamped from begin to end (ns)."""
        wait_for(
            lambda: self.states and nanoseconds(self.states[-1].header.stamp) > end, 'later states'
        )
        return [s for s in list(self.states) if begin <= nanoseconds(s.header.stamp) <= end]


def rows(states):
    """Stamps (ns) and arrays position, velocity, effort of states."""
    states = list(states)  # of one moment: more may come
    stamps = np.array([nanoseconds(s.header.stamp) for s in states])
    return stamps, *(
        np.array([getattr(s, f) for s in states]) for f in ('position', 'velocity', 'effort')
    )
