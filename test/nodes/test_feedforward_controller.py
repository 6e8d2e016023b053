# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""FeedforwardController in the real controller manager: on mock hardware, and with the twin.

Needs ROS 2 with ros2_control, and masticator_control built. ``STROKES`` is how many the twin chews.
"""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')

from geometry_msgs.msg import WrenchStamped
from processes import ROOT, START, wait_for
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.ros.ros2_control import controllers_for, description_for
from nodes.harness import Peer, to_time

pytestmark = pytest.mark.clock

STROKES = int(os.environ.get('STROKES', '5'))
PACKAGES = ('controller_manager', 'forward_command_controller', 'joint_trajectory_controller',
            'masticator_control', 'robot_state_publisher')  # fmt: skip
SWITCH = '/controller_manager/switch_controller'
OWN = ['joint_trajectory_controller', 'feedforward_controller']


def missing():
    """What is not installed of that which these tests run."""
    from ament_index_python.packages import get_package_prefix

    names = [
        n for n in ('controller_manager_msgs', 'launch_ros') if not importlib.util.find_spec(n)
    ]
    for name in PACKAGES:
        try:
            get_package_prefix(name)
        except (LookupError, OSError):  # OSError: there is no index at all
            names.append(name)
    return names


@pytest.fixture(scope='module', autouse=True)
def installed():
    if absent := missing():
        pytest.skip(f'not installed: {", ".join(absent)}')


class Run:
    """A client, and processes that end with it."""

    def __init__(self, folder):
        self.peer, self.folder, self._started = Peer('feedforward_controller'), folder, []
        self.points = self.publisher(JointTrajectoryPoint, 'feedforward_controller/reference')
        self.bites, self.others = (
            self.publisher(WrenchStamped, topic, qos_profile_sensor_data)
            for topic in ('bite_force', 'external_wrench')
        )
        from control_msgs.msg import JointTrajectoryControllerState

        self.states = self.peer.record(
            JointTrajectoryControllerState, 'feedforward_controller/state'
        )

    def publisher(self, kind, topic, qos=10):
        return self.peer.node.create_publisher(kind, topic, qos)

    def start(self, *command):
        log = self.folder / f'{len(self._started)}.log'
        with log.open('w') as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self._started.append((process, log))
        return process

    def switch(self, **controllers):
        from controller_manager_msgs.srv import SwitchController

        strict = SwitchController.Request.STRICT
        request = SwitchController.Request(strictness=strict, **controllers)
        return self.peer.call(SwitchController, SWITCH, request).ok

    def controllers(self):
        from controller_manager_msgs.srv import ListControllers

        name = '/controller_manager/list_controllers'
        answer = self.peer.call(ListControllers, name, ListControllers.Request())
        return {controller.name: controller.state for controller in answer.controller}

    def logs(self):
        return '\n'.join(log.read_text() for _, log in self._started)

    def close(self):
        """Once: what was started ends, the client, too."""
        if self.peer is None:
            return
        print(self.logs()[-20000:])  # shown when a test fails
        self.peer.close()
        self.peer = None
        for process, _ in reversed(self._started):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process, _ in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30.0)
            process.kill()


def program(package, name):
    from ament_index_python.packages import get_package_prefix

    return f'{get_package_prefix(package)}/lib/{package}/{name}'


@pytest.fixture(scope='module')
def mock(ros_domain, tmp_path_factory):
    """The controller alone at 1 kHz, on hardware that stays where it is."""
    folder = tmp_path_factory.mktemp('mock')
    description = description_for('masticator', 'mock')
    file = folder / 'controllers.yaml'
    content = yaml.safe_load(
        controllers_for(
            ROOT / 'config/controllers.yaml', description, hardware='mock', controller='effort',
            rate=1000.0, exported='masticator',
        )
    )  # fmt: skip
    own = content['/**/feedforward_controller']['ros__parameters']
    own |= {'state_rate': 1000.0, 'ramp_time': 0.0, 'reference_timeout': 60.0}
    manager = content['/**/controller_manager']['ros__parameters']
    manager['pusher'] = {'type': 'forward_command_controller/ForwardCommandController'}
    pushed = {'joints': ['crank_1'], 'interface_name': 'position'}
    content['/**/pusher'] = {'ros__parameters': pushed}
    file.write_text(yaml.safe_dump(content))
    robot = folder / 'robot.yaml'
    parameters = {'robot_description': description.urdf_xml}
    robot.write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    run = Run(folder)
    try:
        run.start(
            program('robot_state_publisher', 'robot_state_publisher'), '--ros-args',
            '--params-file', str(robot),
        )  # fmt: skip
        run.start(
            program('controller_manager', 'ros2_control_node'), '--ros-args', '--params-file',
            str(file),
        )  # fmt: skip
        spawner = run.start(program('controller_manager', 'spawner'), 'feedforward_controller')
        assert spawner.wait(120.0) == 0, run.logs()
        wait_for(lambda: run.states, 'states', 30.0)
        yield run
    finally:
        run.close()


def answers(run, points):
    """Efforts that the controller commands for reference points, one after the other."""
    found = []
    for position, velocity, acceleration in points:
        point = JointTrajectoryPoint(
            positions=position.tolist(), velocities=velocity.tolist(),
            accelerations=acceleration.tolist(),
        )  # fmt: skip
        del run.states[:-1]
        run.points.publish(point)

        def answered(at=position):
            for state in list(run.states):
                if np.array_equal(state.reference.positions, at):
                    return np.array(state.output.effort)
            return None

        end = time.monotonic() + 10.0
        while (effort := answered()) is None:
            assert time.monotonic() < end, 'no answer'
            time.sleep(0.001)
        found.append(effort)
    return np.array(found)


def motion(mechanism, rate=50.0, strokes=1):
    times = np.arange(1, round(strokes * rate)) / rate
    return times, chewing_stroke(strokes=strokes, period=1.0, opening=0.1).sample(times)


def test_torques_are_those_of_the_node(mock, mechanism):
    """Of each point of the trajectory that node dynamics hands on, at that point's time."""
    from nodes.harness import NodeProcess

    node = NodeProcess('dynamics')
    try:
        handed = mock.peer.record(JointTrajectory, 'feedforward_trajectory')
        send = mock.publisher(JointTrajectory, 'joint_trajectory')
        times, rows = motion(mechanism)
        message = JointTrajectory(joint_names=list(mechanism.independent))
        for stamp, *row in zip(times, *rows, strict=True):
            point = JointTrajectoryPoint(time_from_start=to_duration(stamp))
            point.positions, point.velocities, point.accelerations = (x.tolist() for x in row)
            message.points.append(point)
        wait_for(lambda: send.get_subscription_count(), 'node dynamics', 30.0)
        send.publish(message)
        wait_for(lambda: handed, 'feedforward_trajectory', 30.0)
    finally:
        node.end()
    points = handed[-1].points
    assert len(points) > 40
    columns = ([np.array(getattr(p, part)) for p in points]
               for part in ('positions', 'velocities', 'accelerations'))  # fmt: skip
    efforts = answers(mock, zip(*columns, strict=True))
    difference = np.abs(efforts - [point.effort for point in points]).max()
    print('largest difference', difference, 'N m of', np.abs(efforts).max())
    assert np.abs(efforts).max() > 0.01 and difference < 1e-9


def to_duration(seconds):
    from builtin_interfaces.msg import Duration

    return Duration(sec=int(seconds), nanosec=round((seconds - int(seconds)) * 1e9))


def bite(run, publisher, duration):
    """60 N on the molar for a time; when the last of them was sent, s."""
    message = WrenchStamped()
    message.header.frame_id = 'molar_right'
    message.wrench.force.z = -60.0
    end = time.monotonic() + duration
    while time.monotonic() < end:
        message.header.stamp = to_time(run.peer.now())
        publisher.publish(message)
        time.sleep(0.01)
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def wait_for_stale(run):
    """Until the diagnostics say that a wrench no longer comes."""
    wait_for(
        lambda: any('no longer comes' in status.message for array in list(run.peer.diagnostics)
                    for status in array.status),
        'diagnostics',
    )  # fmt: skip


def test_a_wrench_that_stops_coming(mock, mechanism):
    """On the molar, for 0.1 s; then the diagnostics say so, and efforts are those without it."""
    rows = mechanism.home.q[mechanism.actuated_rows]
    (free,) = answers(mock, [(rows, 0.0 * rows, 0.0 * rows)])
    loaded = mechanism.inverse_dynamics(
        mechanism.home, link_wrenches={'molar_right': [0.0, 0.0, -60.0, 0.0, 0.0, 0.0]}
    ).actuated
    sent = bite(mock, mock.bites, 0.5)
    bitten = wait_for(
        lambda: [s for s in list(mock.states) if not np.allclose(s.output.effort, free)], 'bite'
    )
    assert np.abs(np.array(bitten[-1].output.effort) - loaded).max() < 1e-9
    time.sleep(0.3)
    last = mock.states[-1]
    assert np.abs(np.array(last.output.effort) - free).max() < 1e-12
    stopped = max(seconds(s) for s in mock.states if not np.allclose(s.output.effort, free))
    print('it counted for', stopped - sent, 's after the last message')
    assert 0.09 < stopped - sent < 0.13
    wait_for_stale(mock)


def seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_what_is_refused_ends_the_controller_as_ros2_control_expects(mock, mechanism):
    """The last efforts are held, then it is deactivated; it can be activated again."""
    rows = mechanism.home.q[mechanism.actuated_rows]
    broken = rows + 0.05 * np.eye(6)[2]
    mock.points.publish(
        JointTrajectoryPoint(
            positions=broken.tolist(), velocities=[0.0] * 6, accelerations=[0.0] * 6
        )
    )
    wait_for(lambda: mock.controllers()['feedforward_controller'] != 'active', 'deactivated')
    assert 'the loops do not close' in mock.logs()
    state = mock.controllers()['feedforward_controller']
    assert state == 'inactive', state
    assert mock.switch(activate_controllers=['feedforward_controller'])
    del mock.states[:]
    wait_for(lambda: mock.states, 'states')
    free = mechanism.feedforward(mechanism.home.y).actuated
    assert np.abs(np.array(mock.states[-1].output.effort) - free).max() < 1e-9


def test_joints_that_do_not_close_leave_it_inactive(mock, mechanism):
    """When they do, it is activated; so it is after having been cleaned up and configured again."""
    from controller_manager_msgs.srv import CleanupController, ConfigureController
    from std_msgs.msg import Float64MultiArray

    name = 'feedforward_controller'
    push = mock.publisher(Float64MultiArray, 'pusher/commands')
    assert mock.start(program('controller_manager', 'spawner'), 'pusher').wait(60.0) == 0

    def pushed(position):
        wait_for(push.get_subscription_count, 'pusher')
        for _ in range(10):
            push.publish(Float64MultiArray(data=[position]))
            time.sleep(0.02)

    def activated():
        del mock.states[:]
        assert mock.switch(activate_controllers=[name])
        wait_for(lambda: mock.states, 'states')
        free = mechanism.feedforward(mechanism.home.y).actuated
        assert np.abs(np.array(mock.states[-1].output.effort) - free).max() < 1e-9

    assert mock.switch(deactivate_controllers=[name])
    pushed(0.05)
    assert not mock.switch(activate_controllers=[name])
    assert 'the loops do not close: crank_' in mock.logs()
    assert mock.controllers()[name] == 'inactive'
    pushed(0.0)
    activated()
    assert mock.switch(deactivate_controllers=[name])
    for kind, word in ((CleanupController, 'cleanup'), (ConfigureController, 'configure')):
        request = kind.Request(name=name)
        assert mock.peer.call(kind, f'/controller_manager/{word}_controller', request).ok
    activated()


@pytest.fixture(scope='module')
def twin(ros_domain, mock, tmp_path_factory):
    """twin.launch.py with the controller; mock hardware is over."""
    mock.close()
    run = Run(tmp_path_factory.mktemp('twin'))
    command = 'import sys; from ros2cli.cli import main; sys.exit(main())'
    arguments = ['launch', str(ROOT / 'launch/twin.launch.py')]
    try:
        run.launch = run.start(
            sys.executable, '-c', command, *arguments, 'feedforward:=controller', 'gui:=false'
        )
        ready = ('Configured and activated all the parsed controllers list', 'efforts of crank_1')
        wait_for(lambda: all(text in run.logs() for text in ready), 'controllers, dynamics', START)
        yield run
    finally:
        run.close()


def vector(message):
    return message.x, message.y, message.z


def chew(run, mechanism, strokes):
    """Send strokes to node dynamics in one message; returns when they are over."""
    publisher = run.publisher(JointTrajectory, 'joint_trajectory')
    wait_for(lambda: publisher.get_subscription_count(), 'node dynamics')
    times, rows = motion(mechanism, rate=20.0, strokes=strokes)
    message = JointTrajectory(joint_names=list(mechanism.independent))
    for stamp, *row in zip(times, *rows, strict=True):
        point = JointTrajectoryPoint(time_from_start=to_duration(stamp))
        point.positions, point.velocities, point.accelerations = (x.tolist() for x in row)
        message.points.append(point)
    message.header.stamp = to_time(run.peer.now() + 2 * 10**9)
    publisher.publish(message)
    time.sleep(strokes + 3.0)


def on_the_way(at, references, feedback, longest=0.1):
    """How far joints are from where references were, rad, and how long before, s, state by state.

    It is the time within ``longest`` at which all joints together are nearest: where the computer
    stands still for a moment, drives are late, and yet on their way. Of references at rest it is
    NaN. States for which those of the time before are missing are left out.
    """
    gaps = at[1:][np.diff(at) > 0.05]
    delays = np.arange(0.0, longest, 0.001)
    off, late = [], []
    for t, measured in zip(at, feedback, strict=True):
        if t - at[0] < longest or ((gaps > t - longest) & (gaps <= t)).any():
            continue
        earlier = np.array([np.interp(t - delays, at, column) for column in references.T]).T
        distances = np.abs(earlier - measured).max(axis=1)
        off.append(distances.min())
        moves = np.ptp(earlier, axis=0).max() > 0.01
        late.append(delays[distances.argmin()] if moves else np.nan)
    return np.array(off), np.array(late)


def test_the_twin_chews(twin, mechanism, driven):
    """It follows, and each effort is that of node dynamics' function for the same reference."""
    measured = twin.peer.record(JointState, 'servo_drives/state')
    node = twin.peer.record(JointState, 'feedforward_state')
    forces = twin.peer.record(WrenchStamped, 'bite_force')
    wait_for(lambda: measured, 'drives')
    del twin.states[:], measured[:], node[:], forces[:]
    chew(twin, mechanism, STROKES)
    states, node, forces = list(twin.states), list(node), list(forces)  # more come meanwhile
    references = np.array([state.reference.positions for state in states])
    feedback = np.array([state.feedback.positions for state in states])
    assert np.ptp(references, axis=0).max() > 0.2
    ahead = np.abs(references - feedback).max()
    at = np.array([seconds(state) for state in states])
    theirs = np.array([seconds(state) for state in node])
    efforts = np.array([state.output.effort for state in states])
    same = np.array([np.interp(at, theirs, column)
                     for column in np.array([state.effort for state in node]).T]).T  # fmt: skip
    off, late = on_the_way(at, references, feedback)
    late = late[np.isfinite(late)]
    assert len(off) > 0.5 * len(states) and len(late) > 0.3 * len(states), 'too few states'
    typical, mostly = np.percentile(late, [50, 90])
    drives = np.array([seconds(state) for state in measured])
    print(f'{STROKES} strokes, {len(at)} states: references are ahead by {ahead:.4f} rad at most')
    print(f'drives: off their way by {off.max():.4f} rad; late by {typical:.3f} s (median), '
          f'{mostly:.3f} (90 %), {late.max():.3f} (most)')  # fmt: skip
    print(f'longest time between states: of the controller {np.diff(at).max():.3f} s, of the '
          f'drives {np.diff(drives).max():.3f}')  # fmt: skip
    print(f'efforts {np.abs(efforts).max():.4f} N m, node at the same times, interpolated, differs '
          f'by {np.abs(efforts - same)[100:-100].max():.2e} N m')  # fmt: skip
    # Teeth that touch are felt by the controller, and its state does not say how much.
    pressed = [any(vector(f.wrench.force)) for f in forces]
    touched = np.array([seconds(f) for f in forces])[np.array(pressed, dtype=bool)]
    # The first are of the ramp after activation (0.2 s), where that was just before.
    free = [s for s in states if seconds(s) - at[0] > 0.21
            and not (np.abs(touched - seconds(s)) < 0.1).any()]  # fmt: skip
    assert len(free) > 0.5 * len(states)
    chosen = free[:: len(free) // 200]
    difference = max(
        np.abs(state.output.effort - by_python(driven, state)).max() for state in chosen
    )
    print(f'{len(chosen)} of these states by Python: efforts differ by {difference:.1e} N m')
    assert difference < 1e-9
    assert off.max() < 0.03, 'the drives have left the way, or stopped'
    # A late moment is the computer's, lateness for long is not: at 2 rad/s 0.03 s are 0.06 rad.
    assert typical < 0.02 and mostly < 0.03
    assert twin.controllers()['feedforward_controller'] == 'active'


@pytest.fixture(scope='module')
def driven():
    """The mechanism with the rotors of its drives, as robot.launch.py has it."""
    description = load_description('masticator')
    return Mechanism(with_rotors(description, load_drives('drives.yaml')))


def by_python(mechanism, state):
    """Efforts of the reference in a state, which interpolation leaves a little open."""
    q, v, a = (np.array(getattr(state.reference, part))
               for part in ('positions', 'velocities', 'accelerations'))  # fmt: skip
    y = mechanism.forward_kinematics(q, tolerance=0.01)
    jacobian = mechanism.jacobian_actuated_from_independent(mechanism.solve(y))
    y_dot = np.linalg.lstsq(jacobian, v, rcond=None)[0]
    drift = mechanism.solve(y, y_dot).a[mechanism.actuated_rows]
    y_ddot = np.linalg.lstsq(jacobian, a - drift, rcond=None)[0]
    return mechanism.feedforward(y, y_dot, y_ddot).actuated


def test_a_wrench_that_stops_coming_while_the_twin_stands(twin):
    """The efforts come back to those of before, and the controller goes on.

    An external one: the bite force is published by the twin, all the time.
    """
    before = np.array(twin.states[-1].output.effort)
    del twin.states[:]
    sent = bite(twin, twin.others, 0.5)
    wait_for_stale(twin)
    states = list(twin.states)
    off = np.array([np.abs(state.output.effort - before).max() for state in states])
    assert off.max() > 0.05
    bitten = [state for state, far in zip(states, off, strict=True) if far > 0.5 * off.max()]
    stopped = max(seconds(state) for state in bitten) - sent
    print(f'the bite counted for {stopped:.3f} s after its last message')
    assert 0.07 < stopped < 0.15
    assert off[-1] < 0.1 * off.max()  # the jaw gives way, and what it bites presses otherwise
    assert twin.controllers()['feedforward_controller'] == 'active'


def test_switching_off_and_on_makes_no_step(twin, mechanism):
    """Drives are taken through disable and enable, as docs/robot.md has it."""
    for request in ('disable', 'reset'):
        answer = twin.peer.call(Trigger, f'servo_drives/{request}', Trigger.Request())
        assert answer.success, (request, answer.message)
    assert twin.switch(deactivate_controllers=OWN)
    assert {twin.controllers()[name] for name in OWN} == {'inactive'}
    answer = twin.peer.call(Trigger, 'servo_drives/enable', Trigger.Request())
    assert answer.success, answer.message
    del twin.states[:]
    assert twin.switch(activate_controllers=OWN)
    wait_for(lambda: len(twin.states) > 25, 'states')
    efforts = np.array([state.output.effort for state in twin.states])
    assert np.abs(efforts[0]).max() < 0.1 * np.abs(efforts[-1]).max() + 0.01
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.3 * np.abs(efforts[-1]).max()
    chew(twin, mechanism, 1)
    assert twin.controllers()['feedforward_controller'] == 'active'


def test_everything_ends_when_the_manager_is_killed(twin):
    """As for any other process that moves the robot; the drives stop, since commands stop."""
    states = twin.peer.record(JointState, 'servo_drives/state')
    wait_for(lambda: states, 'drives')
    found = subprocess.run(
        ['pgrep', '-P', str(twin.launch.pid), '-f', 'ros2_control_node'],
        capture_output=True,
        text=True,
    )
    os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
    twin.launch.wait(30.0)
    assert 'the controller manager has ended' in twin.logs() or 'ros2_control_node' in twin.logs()
    velocity = np.abs(states[-1].velocity).max()
    assert velocity < 0.2 or not np.isfinite(velocity)
