# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of a launch: the planner that it can start, and what remains when it ends."""

import os
import pathlib
import signal
import sys
import textwrap
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from lifecycle_msgs.msg import Transition
from processes import PATIENCE, PYTHON, ROOT, START, Process, children, meanwhile, runs, wait_for
from rosgraph_msgs.msg import Clock

from nodes.harness import NodeProcess, Peer, to_time
from nodes.launch_files import needs_launch

pytestmark = pytest.mark.waiting


def planner_of(namespace, *options):
    """The example."""
    planner = PYTHON + ('examples/chewing_planner.py', '--ros-args', '-r', f'__ns:=/{namespace}')
    return Process(*planner, *options)


def test_the_planner_waits_for_a_node_that_is_active(ros_domain):
    node = NodeProcess(namespace='planned', autostart=False, wait=False, rate=100.0)
    planner, peer = planner_of('planned'), Peer('dynamics', 'planned')
    try:
        planner.wait_for_line('waiting for feedforward_state: node dynamics is not active yet')
        peer.change(Transition.TRANSITION_CONFIGURE)
        time.sleep(2.5)  # it sends every 2 s
        peer.change(Transition.TRANSITION_ACTIVATE)
        node.wait_for_line('joint_trajectory accepted: 51 points')
        peer.change(Transition.TRANSITION_DEACTIVATE)
        time.sleep(4.5)
        # One message may have been on its way.
        assert len(node.log('rejected')) <= 1, node.lines
        assert planner.end() == 0 and not planner.log('Traceback'), planner.text
    finally:
        planner.kill()
        peer.close()
        assert node.end() == 0


def test_the_planner_says_why_strokes_are_refused(ros_domain):
    node = NodeProcess(namespace='weak', effort_limit_scale=0.001, rate=100.0)
    planner = planner_of('weak')
    try:
        planner.wait_for_line('the stroke was refused: rejected (1): ')
        assert planner.end() == 0 and not planner.log('largest torques'), planner.text
    finally:
        planner.kill()
        assert node.end() == 0


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_planner_that_is_told_to_end_says_nothing(ros_domain, number):
    """At any time after Python itself has started, twice as from a terminal and a launch."""
    planners = [planner_of('told') for _ in range(5)]
    try:
        for planner in planners:
            maps = pathlib.Path(f'/proc/{planner.pid}/maps')
            wait_for(lambda maps=maps: 'numpy' in maps.read_text(), 'the first import', START)
            planner.process.send_signal(number)
            time.sleep(0.4)  # the others go on
        for planner in planners:
            assert planner.end(number) in (0, -number) and not planner.log('Traceback'), (
                planner.text
            )
    finally:
        for planner in planners:
            planner.kill()


def test_a_planner_on_simulated_time_is_understood(ros_domain):
    node = NodeProcess(namespace='clocked', use_sim_time=True, rate=100.0)
    planner, peer = planner_of('clocked', '-p', 'use_sim_time:=true'), Peer('dynamics', 'clocked')

    def tick(ended, clock):
        now = 1000 * 10**9
        while not ended.wait(0.01):
            now += 10_000_000
            clock.publish(Clock(clock=to_time(now)))

    try:
        with meanwhile(tick, peer.node.create_publisher(Clock, '/clock', 10)):
            (line, *_) = node.wait_for_line('joint_trajectory accepted: 51 points')
            assert 0.0 < float(line.partition('starts in ')[2].partition(' s')[0]) <= 0.5
            assert not node.log('rejected')
            planner.end()
            assert not planner.log('Traceback')
    finally:
        planner.kill()
        peer.close()
        assert node.end() == 0


LAUNCH = """
    import sys
    from launch import LaunchDescription, LaunchService
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    source = PythonLaunchDescriptionSource('launch/dynamics.launch.py')
    arguments = [argument.split(':=') for argument in sys.argv[1:]]
    service = LaunchService(argv=[])
    included = IncludeLaunchDescription(source, launch_arguments=arguments)
    service.include_launch_description(LaunchDescription([included]))
    sys.exit(service.run())
"""


@needs_launch
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_nothing_remains_of_a_launch(ros_domain, tmp_path, number):
    """Neither processes nor files; launch ends on SIGTERM without ending what it has started."""
    prefix, temporary = tmp_path / 'prefix', tmp_path / 'temporary'
    index = prefix / 'share/ament_index/resource_index/packages'
    for folder in (index, prefix / 'lib', temporary):
        folder.mkdir(parents=True)
    (index / 'masticator_dynamics').touch()
    (prefix / 'lib/masticator_dynamics').symlink_to(ROOT / 'scripts')
    given = {
        'AMENT_PREFIX_PATH': str(prefix),
        'TMPDIR': str(temporary),
        'PATH': f'{os.path.dirname(sys.executable)}:{os.environ["PATH"]}',
    }
    options = ('robot_state_publisher:=false', 'gui:=false', 'rate:=100', 'namespace:=launched')
    peer = Peer('dynamics', 'launched')
    launch = Process(*PYTHON, '-c', textwrap.dedent(LAUNCH), *options, env=os.environ | given)
    try:
        wait_for(lambda: peer.status('cycle'), 'diagnostics of the node', START)
        started = children(launch.pid)
        assert len(started) == 1
        launch.process.send_signal(number)
        launch.process.wait(PATIENCE)
        wait_for(lambda: not any(map(runs, started)), 'the end of the node')
        if number != signal.SIGKILL:
            assert not list(temporary.iterdir())
    finally:
        launch.kill()
        peer.close()
